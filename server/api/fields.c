#include "server/api/fields.h"

#include <math.h>
#include "common/base/clock.h"
#include "common/json/json_emit.h"
#include "common/json/json_num.h"

struct obj obj_new(void)
{
    return (struct obj){.json = json_object()};
}

json_t *obj_end(struct obj *o)
{
    json_t *json = o->json;
    o->json = NULL;
    return json;
}

void obj_take(struct obj *o, const char *key, json_t *value)
{
    if (!o->json) {
        json_decref(value);
        return;
    }
    if (json_object_set_new(o->json, key, value) == 0)
        return;
    json_decref(o->json);
    o->json = NULL;
}

void obj_text(struct obj *o, const char *key, const char *value)
{
    obj_take(o, key, json_string(value));
}

void obj_text_or_null(struct obj *o, const char *key, const char *value)
{
    obj_take(o, key, value && value[0] ? json_string(value) : json_null());
}

void obj_int(struct obj *o, const char *key, int64_t value)
{
    obj_take(o, key, json_num_int(value));
}

void obj_int_or_null(struct obj *o, const char *key, int64_t value)
{
    obj_take(o, key, value < 0 ? json_null() : json_num_int(value));
}

void obj_num(struct obj *o, const char *key, double value)
{
    obj_take(o, key, json_num(value));
}

void obj_num_or_null(struct obj *o, const char *key, double value)
{
    obj_take(o, key, isnan(value) ? json_null() : json_num(value));
}

void obj_bool(struct obj *o, const char *key, bool value)
{
    obj_take(o, key, json_boolean(value));
}

void obj_time(struct obj *o, const char *key, int64_t ms)
{
    if (ms == 0) {
        obj_take(o, key, json_null());
        return;
    }
    char text[TIME_TEXT_SIZE];
    time_format(ms, text);
    obj_text(o, key, text);
}

void obj_raw(struct obj *o, struct arena *arena, const char *key, const char *json_text)
{
    obj_take(o, key, json_text[0] ? json_raw(arena, json_text) : json_null());
}
