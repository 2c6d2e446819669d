#include "common/json/json_spec.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"

struct parse {
    const char *prefix;
    struct arena *arena;
    char *out; /* the caller's struct, as bytes */
    struct fault *fault;
};

/* One value on its way to its member. */
struct member {
    const struct json_field *field;
    json_t *value;
    char path[256];
};

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a real number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

static enum err wrong_type(const struct parse *p, const struct member *m, const char *wanted)
{
    return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must be %s, but is %s", wanted,
                     type_name(m->value));
}

static bool has_bounds(const struct json_field *f)
{
    return f->min < 0 || f->min > 0 || f->max < 0 || f->max > 0;
}

/* Whole numbers are written as such. */
static void number_text(double value, char out[32])
{
    bool is_whole = fabs(value) <= 9007199254740992.0 && value == floor(value);
    (void)snprintf(out, 32, is_whole ? "%.0f" : "%.15g", value);
}

static enum err out_of_bounds(const struct parse *p, const struct member *m, const char *value)
{
    char min[32], max[32];
    number_text(m->field->min, min);
    number_text(m->field->max, max);
    if (isinf(m->field->max))
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must be at least %s, but is %s", min, value);
    if (isinf(m->field->min))
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must be at most %s, but is %s", max, value);
    return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must be between %s and %s, but is %s", min, max,
                     value);
}

/* Compared as integers: 2^53 + 1 as a double is 2^53. A bound beyond int64_t bounds nothing. */
static bool is_within(const struct json_field *f, int64_t value)
{
    const double edge = 9223372036854775808.0;
    bool above = f->min < -edge || (f->min < edge && value >= (int64_t)ceil(f->min));
    bool below = f->max >= edge || (f->max >= -edge && value <= (int64_t)floor(f->max));
    return above && below;
}

static enum err take_int(const struct parse *p, const struct member *m, void *out)
{
    if (!json_is_integer(m->value))
        return wrong_type(p, m, "an integer");
    int64_t value = json_integer_value(m->value);
    if (has_bounds(m->field) && !is_within(m->field, value)) {
        char text[32];
        (void)snprintf(text, sizeof text, "%lld", (long long)value);
        return out_of_bounds(p, m, text);
    }
    memcpy(out, &value, sizeof value);
    return ERR_OK;
}

static enum err take_double(const struct parse *p, const struct member *m, void *out)
{
    if (!json_is_number(m->value))
        return wrong_type(p, m, "a number");
    double value = json_number_value(m->value);
    if (has_bounds(m->field) && !(value >= m->field->min && value <= m->field->max)) {
        char text[32];
        number_text(value, text);
        return out_of_bounds(p, m, text);
    }
    memcpy(out, &value, sizeof value);
    return ERR_OK;
}

static enum err take_bool(const struct parse *p, const struct member *m, void *out)
{
    if (!json_is_boolean(m->value))
        return wrong_type(p, m, "true or false");
    bool value = json_is_true(m->value);
    memcpy(out, &value, sizeof value);
    return ERR_OK;
}

/* Also U+0080 to U+009F. In a name they would speak to the terminal that shows it. */
static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0))
            return true;
    }
    return false;
}

static enum err take_text(const struct parse *p, const struct member *m, void *out)
{
    if (!json_is_string(m->value))
        return wrong_type(p, m, "a string");
    const char *text = json_string_value(m->value);
    size_t len = json_string_length(m->value);
    size_t least = m->field->min > 0 ? (size_t)m->field->min : 0;
    size_t most = m->field->max > 0 ? (size_t)m->field->max : LIMIT_TEXT;
    if (len < least)
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path,
                         len == 0 ? "must not be empty" : "must have at least %zu bytes, but has %zu", least,
                         len);
    if (len > most)
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must have at most %zu bytes, but has %zu",
                         most, len);
    if (memchr(text, '\0', len) || !utf8_is_valid(text, len))
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must be valid UTF-8 without NUL");
    if (most <= LIMIT_NAME && has_control(text, len))
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must be one line without control characters");
    const char *copy = arena_strndup(p->arena, text, len);
    if (!copy)
        return fault_set(p->fault, ERR_NO_MEMORY, m->path, "not enough memory for its %zu bytes", len);
    memcpy(out, &copy, sizeof copy);
    return ERR_OK;
}

/* "a", "b": as much as fits. */
static void known_choices(const struct json_field *field, char *out, size_t size)
{
    size_t len = 0;
    for (int i = 0; field->choices[i]; i++) {
        int n = snprintf(out + len, size - len, "%s\"%s\"", i ? ", " : "", field->choices[i]);
        len = n > 0 && (size_t)n < size - len ? len + (size_t)n : size - 1;
    }
}

static enum err take_choice(const struct parse *p, const struct member *m, void *out)
{
    const char *text = json_string_value(m->value);
    char known[256] = "";
    for (int i = 0; m->field->choices[i]; i++) {
        if (str_eq(m->field->choices[i], text)) {
            memcpy(out, &i, sizeof i);
            return ERR_OK;
        }
    }
    known_choices(m->field, known, sizeof known);
    if (!text)
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must be one of %s, but is %s", known,
                         type_name(m->value));
    return fault_set(p->fault, ERR_INVALID_FIELD, m->path, "must be one of %s, but is \"%.60s\"", known,
                     text);
}

static enum err take_object(const struct parse *p, const struct member *m, void *out)
{
    if (!json_is_object(m->value))
        return wrong_type(p, m, "an object");
    memcpy(out, &m->value, sizeof m->value);
    return ERR_OK;
}

static enum err take_array(const struct parse *p, const struct member *m, void *out)
{
    if (!json_is_array(m->value))
        return wrong_type(p, m, "an array");
    double size = (double)json_array_size(m->value);
    if (size < m->field->min)
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path,
                         "must have at least %.0f elements, but has %.0f", m->field->min, size);
    if (m->field->max > 0 && size > m->field->max)
        return fault_set(p->fault, ERR_INVALID_FIELD, m->path,
                         "must have at most %.0f elements, but has %.0f", m->field->max, size);
    memcpy(out, &m->value, sizeof m->value);
    return ERR_OK;
}

static enum err take_any(const struct parse *p, const struct member *m, void *out)
{
    (void)p;
    memcpy(out, &m->value, sizeof m->value);
    return ERR_OK;
}

static enum err (*const takers[])(const struct parse *, const struct member *, void *) = {
    [JSON_FIELD_INT] = take_int,     [JSON_FIELD_DOUBLE] = take_double, [JSON_FIELD_BOOL] = take_bool,
    [JSON_FIELD_TEXT] = take_text,   [JSON_FIELD_CHOICE] = take_choice, [JSON_FIELD_OBJECT] = take_object,
    [JSON_FIELD_ARRAY] = take_array, [JSON_FIELD_ANY] = take_any,
};

/* "is required" alone would leave open what to give. */
static enum err missing(const struct parse *p, const struct member *m)
{
    static const char *const wanted[] = {
        [JSON_FIELD_INT] = "an integer",     [JSON_FIELD_DOUBLE] = "a number",
        [JSON_FIELD_BOOL] = "true or false", [JSON_FIELD_TEXT] = "a string",
        [JSON_FIELD_CHOICE] = "one of",      [JSON_FIELD_OBJECT] = "an object",
        [JSON_FIELD_ARRAY] = "an array",     [JSON_FIELD_ANY] = "a JSON value",
    };
    char known[256] = "";
    if (m->field->kind == JSON_FIELD_CHOICE)
        known_choices(m->field, known, sizeof known);
    return fault_set(p->fault, ERR_MISSING_FIELD, m->path, "is required: give %s%s%s", wanted[m->field->kind],
                     known[0] ? " " : "", known);
}

static void path_of(const struct parse *p, const char *name, char *out, size_t size)
{
    (void)snprintf(out, size, "%s%s", p->prefix, name);
}

static enum err take_field(const struct parse *p, const json_t *obj, const struct json_field *field)
{
    struct member m = {.field = field, .value = json_object_get(obj, field->name)};
    path_of(p, field->name, m.path, sizeof m.path);
    if (!m.value && field->is_required)
        return missing(p, &m);
    if (!m.value || (json_is_null(m.value) && field->allow_null))
        return ERR_OK;
    enum err e = takers[field->kind](p, &m, p->out + field->offset);
    if (!e && field->is_set_offset >= 0) {
        bool is_set = true;
        memcpy(p->out + field->is_set_offset, &is_set, sizeof is_set);
    }
    return e;
}

static enum err refuse_unknown(const struct parse *p, const json_t *obj, const struct json_field *fields,
                               size_t num_fields)
{
    /* Iterators take no const object; they change nothing. */
    json_t *o = (json_t *)(uintptr_t)obj;
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
        const char *name = json_object_iter_key(it), *nearest = NULL;
        bool is_known = false;
        for (size_t i = 0; i < num_fields && !is_known; i++) {
            is_known = str_eq(name, fields[i].name);
            if (str_is_typo_of(name, fields[i].name) &&
                (!nearest || str_distance(name, fields[i].name) < str_distance(name, nearest)))
                nearest = fields[i].name;
        }
        char path[256];
        path_of(p, name, path, sizeof path);
        if (!is_known && nearest)
            return fault_set(p->fault, ERR_UNKNOWN_FIELD, path, "is no known field; did you mean \"%s\"?",
                             nearest);
        if (!is_known)
            return fault_set(p->fault, ERR_UNKNOWN_FIELD, path,
                             "is no known field; remove it or correct its name");
    }
    return ERR_OK;
}

enum err json_spec_parse(const json_t *obj, const struct json_field *fields, size_t num_fields,
                         enum json_unknown unknown, const char *prefix, struct arena *arena, void *out,
                         struct fault *fault)
{
    struct parse p = {.prefix = prefix, .arena = arena, .out = out, .fault = fault};
    if (!json_is_object(obj)) {
        char path[256];
        size_t len = strlen(prefix);
        (void)snprintf(path, sizeof path, "%.*s", (int)(len && prefix[len - 1] == '.' ? len - 1 : len),
                       prefix);
        return fault_set(fault, ERR_INVALID_FIELD, path, "must be an object, but is %s",
                         obj ? type_name(obj) : "not there");
    }
    enum err e = unknown == JSON_REFUSE_UNKNOWN ? refuse_unknown(&p, obj, fields, num_fields) : ERR_OK;
    for (size_t i = 0; i < num_fields && !e; i++)
        e = take_field(&p, obj, &fields[i]);
    return e;
}
