#include "server/core/json_defaults.h"

#include <string.h>
#include "common/json/json_num.h"

static json_t *default_of(const struct json_field *f, const char *member)
{
    int64_t i;
    double d;
    bool b;
    int choice;
    const char *text;
    switch (f->kind) {
    case JSON_FIELD_INT:
        memcpy(&i, member, sizeof i);
        return json_num_int(i);
    case JSON_FIELD_DOUBLE:
        memcpy(&d, member, sizeof d);
        return json_num(d);
    case JSON_FIELD_BOOL:
        memcpy(&b, member, sizeof b);
        return json_boolean(b);
    case JSON_FIELD_CHOICE:
        memcpy(&choice, member, sizeof choice);
        return json_string(f->choices[choice]);
    case JSON_FIELD_TEXT:
        memcpy(&text, member, sizeof text);
        return json_string(text);
    case JSON_FIELD_OBJECT:
    case JSON_FIELD_ARRAY:
    case JSON_FIELD_ANY:
        break;
    }
    return NULL;
}

static bool has_default(const struct json_field *f, const char *member)
{
    if (f->kind == JSON_FIELD_OBJECT || f->kind == JSON_FIELD_ARRAY || f->kind == JSON_FIELD_ANY)
        return false;
    if (f->kind != JSON_FIELD_TEXT)
        return true;
    const char *text;
    memcpy(&text, member, sizeof text);
    return text && *text;
}

enum err json_fill_defaults(json_t *obj, const struct json_field *fields, size_t num_fields,
                            const void *values)
{
    for (size_t i = 0; i < num_fields; i++) {
        const struct json_field *f = &fields[i];
        const char *member = (const char *)values + f->offset;
        const json_t *given = json_object_get(obj, f->name);
        if (given && !json_is_null(given))
            continue;
        if (!has_default(f, member))
            continue;
        if (json_object_set_new(obj, f->name, default_of(f, member)))
            return ERR_NO_MEMORY;
    }
    return ERR_OK;
}
