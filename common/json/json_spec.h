/* JSON field tables: one row per field gives name, type, bounds and where it goes. Parsing refuses what the
 * table does not know, by name. */
#ifndef FEDLANE_JSON_SPEC_H
#define FEDLANE_JSON_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/arena.h"

enum json_kind {
    JSON_FIELD_INT,    /* int64_t, within min..max; a real with an integral value is refused */
    JSON_FIELD_DOUBLE, /* double, finite, within min..max; integers accepted */
    JSON_FIELD_BOOL,   /* bool */
    JSON_FIELD_TEXT,   /* const char * in the arena: valid UTF-8, no NUL, at most max bytes, at least min. At
                          most LIMIT_NAME bytes make a name: one line without control characters */
    JSON_FIELD_CHOICE, /* int: index in choices */
    JSON_FIELD_OBJECT, /* json_t *, borrowed from the parsed document */
    JSON_FIELD_ARRAY,  /* json_t *, borrowed; min..max elements (max 0: no bound) */
    JSON_FIELD_ANY,    /* json_t *, borrowed, whatever it is */
};

struct json_field {
    const char *name;
    enum json_kind kind;
    size_t offset; /* of the member in the caller's struct, which already holds the defaults */
    bool is_required;
    double min, max;            /* both 0: no bounds (text: at most LIMIT_TEXT bytes) */
    const char *const *choices; /* NULL-ended */
    bool allow_null;            /* null leaves the default */
    long is_set_offset; /* offset of a bool that says whether the field was there; -1 when nobody asks */
};

#define JSON_FIELD(struct_type, member, field_kind, ...)                                                     \
    {                                                                                                        \
        .name = #member, .kind = (field_kind), .offset = offsetof(struct_type, member), .is_set_offset = -1, \
        __VA_ARGS__                                                                                          \
    }

enum json_unknown { JSON_REFUSE_UNKNOWN, JSON_IGNORE_UNKNOWN };

/* `prefix` stands before the field's name in faults ("training."), may be "". ERR_INVALID_FIELD,
 * ERR_UNKNOWN_FIELD (with the nearest known name as a hint), ERR_MISSING_FIELD. `obj` that is no object:
 * ERR_INVALID_FIELD. */
enum err json_spec_parse(const json_t *obj, const struct json_field *fields, size_t num_fields,
                         enum json_unknown unknown, const char *prefix, struct arena *arena, void *out,
                         struct fault *fault) MUST_CHECK;

/* A deep copy, new reference; NULL when out of memory. json_deep_copy() leaves out what it has no memory for,
 * and says nothing. */
json_t *json_clone(const json_t *value) MUST_CHECK;

/* Text to a document: UTF-8 checked, a byte order mark passed over, duplicate keys refused, depth at most
 * LIMIT_JSON_DEPTH, nothing behind it. ERR_MALFORMED_JSON says line and column. The caller decrefs. */
enum err json_text_parse(const char *text, size_t len, json_t **out, struct fault *fault) MUST_CHECK;
/* A file of at most LIMIT_JSON_FILE bytes; the fault names the file. */
enum err json_file_parse(const char *path, json_t **out, struct fault *fault) MUST_CHECK;
/* Compact text with sorted keys: the same value always gives the same bytes. The caller frees. */
enum err json_text(const json_t *value, char **out) MUST_CHECK;

#endif
