/* Writes into an object what a field table's defaults say, so that a stored spec holds every value in force.
 */
#ifndef FEDLANE_CORE_JSON_DEFAULTS_H
#define FEDLANE_CORE_JSON_DEFAULTS_H

#include "common/json/json_spec.h"

/* For each field that `obj` lacks (or has as null), the value of `values`' member. Texts "" and NULL,
 * objects, arrays and JSON_FIELD_ANY are left out. ERR_NO_MEMORY. */
enum err json_fill_defaults(json_t *obj, const struct json_field *fields, size_t num_fields,
                            const void *values) MUST_CHECK;

#endif
