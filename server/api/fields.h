/* Building a reply's JSON object: after any failure nothing more happens, and obj_end() says it with NULL. */
#ifndef FEDLANE_API_FIELDS_H
#define FEDLANE_API_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/base/arena.h"

struct obj {
    json_t *json; /* NULL after a failure: out of memory, or text that is no UTF-8 */
};

struct obj obj_new(void);
json_t *obj_end(struct obj *o); /* moves the object to the caller; NULL after a failure */

void obj_take(struct obj *o, const char *key, json_t *value); /* steals the value; NULL is a failure */
void obj_text(struct obj *o, const char *key, const char *value);
void obj_text_or_null(struct obj *o, const char *key, const char *value); /* "" and NULL become null */
void obj_int(struct obj *o, const char *key, int64_t value);
void obj_int_or_null(struct obj *o, const char *key, int64_t value); /* negative becomes null */
void obj_num(struct obj *o, const char *key, double value);          /* NaN is "NaN", as json_num writes it */
void obj_num_or_null(struct obj *o, const char *key,
                     double value); /* NaN, the store's "none", becomes null */
void obj_bool(struct obj *o, const char *key, bool value);
void obj_time(struct obj *o, const char *key, int64_t ms); /* RFC 3339; 0 becomes null */
/* Stored JSON as it is, "" as null. It is not parsed (json_raw()): nobody can look into it, and the arena
 * outlives the object. */
void obj_raw(struct obj *o, struct arena *arena, const char *key, const char *json_text);

#endif
