/* Numbers between C and Jansson, in one place: NaN and infinities are the strings "NaN", "Infinity",
 * "-Infinity" (json_real(NAN) is NULL, and a json_object_set_new with it silently drops the key). */
#ifndef FEDLANE_JSON_NUM_H
#define FEDLANE_JSON_NUM_H

#include <jansson.h>
#include <stdint.h>
#include "common/base/err.h"

json_t *json_num(double value); /* new reference; NULL only when out of memory */
json_t *json_num_int(int64_t value);
/* Accepts integers, reals and the three strings. ERR_INVALID_FIELD otherwise. */
enum err json_num_read(const json_t *value, double *out) MUST_CHECK;

#endif
