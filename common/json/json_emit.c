#include "common/json/json_emit.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RAW ((json_type)100) /* none of Jansson's own */
#define NOT_COUNTED                                                                                          \
    ((size_t)-1)         /* Jansson leaves references alone where it stands: so do its true and null */
#define EXACT_WHOLE 1e15 /* whole numbers below are written with all their digits */
#define FEW_KEYS    48

struct raw {
    json_t json; /* first */
    size_t size;
    char text[];
};

json_t *json_raw(struct arena *arena, const char *text)
{
    size_t n = strlen(text);
    struct raw *r = arena_alloc(arena, sizeof *r + n);
    if (!r)
        return NULL;
    r->json = (json_t){.type = RAW, .refcount = NOT_COUNTED};
    r->size = n;
    memcpy(r->text, text, n);
    return &r->json;
}

static enum err emit(const json_t *value, bool is_sorted, struct buf *out);

/* --- numbers --- */

static enum err emit_whole(int64_t value, const char *end, struct buf *out)
{
    char digits[32], *at = digits + sizeof digits;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0)
        *--at = '-';
    enum err e = buf_append(out, at, (size_t)(digits + sizeof digits - at));
    return e ? e : buf_puts(out, end);
}

/* "1e+05" to "1e5", and a number with neither point nor exponent gets a point: it must stay a real. */
static void normalize(char *text, size_t size)
{
    char *exponent = strchr(text, 'e');
    if (!exponent && !strchr(text, '.')) {
        size_t n = strlen(text);
        (void)snprintf(text + n, size - n, ".0");
    }
    if (!exponent)
        return;
    char *from = exponent + 1, *to = exponent + 1;
    if (*from == '-')
        to = ++from;
    else if (*from == '+')
        from++;
    while (*from == '0')
        from++;
    memmove(to, from, strlen(from) + 1);
}

static enum err emit_real(double value, struct buf *out)
{
    if (fabs(value) < EXACT_WHOLE && value == trunc(value) && !(value == 0 && signbit(value)))
        return emit_whole((int64_t)value, ".0", out);
    char text[40];
    int n = snprintf(text, sizeof text, "%.17g", value);
    if (n < 0 || (size_t)n >= sizeof text - 2)
        return ERR_INTERNAL;
    char *comma = strchr(text, ','); /* of some locales */
    if (comma)
        *comma = '.';
    normalize(text, sizeof text);
    return buf_puts(out, text);
}

/* --- texts --- */

static enum err emit_escape(unsigned char c, struct buf *out)
{
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *s = shorts; *s; s += 2)
        if ((unsigned char)s[0] == c)
            return buf_append(out, (const char[]){'\\', s[1]}, 2);
    return buf_printf(out, "\\u%04X", c);
}

static enum err emit_text(const char *text, size_t n, struct buf *out)
{
    enum err e = buf_append(out, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < n && !e; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        e = buf_append(out, text + from, i - from);
        if (!e)
            e = emit_escape(c, out);
        from = i + 1;
    }
    if (!e)
        e = buf_append(out, text + from, n - from);
    return e ? e : buf_append(out, "\"", 1);
}

/* --- what holds others --- */

static enum err emit_array(const json_t *array, bool is_sorted, struct buf *out)
{
    enum err e = buf_append(out, "[", 1);
    for (size_t i = 0; i < json_array_size(array) && !e; i++) {
        if (i)
            e = buf_append(out, ",", 1);
        if (!e)
            e = emit(json_array_get(array, i), is_sorted, out);
    }
    return e ? e : buf_append(out, "]", 1);
}

static enum err emit_member(const char *key, const json_t *value, bool is_first, bool is_sorted,
                            struct buf *out)
{
    enum err e = is_first ? ERR_OK : buf_append(out, ",", 1);
    if (!e)
        e = emit_text(key, strlen(key), out);
    if (!e)
        e = buf_append(out, ":", 1);
    return e ? e : emit(value, is_sorted, out);
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static enum err emit_sorted_members(json_t *object, struct buf *out)
{
    const char *few[FEW_KEYS], **keys = few, *key;
    size_t n = json_object_size(object), i = 0;
    json_t *value;
    enum err e = ERR_OK;
    if (n > FEW_KEYS && !(keys = malloc(n * sizeof *keys)))
        return ERR_NO_MEMORY;
    json_object_foreach(object, key, value) keys[i++] = key;
    qsort(keys, n, sizeof *keys, compare_keys);
    for (i = 0; i < n && !e; i++)
        e = emit_member(keys[i], json_object_get(object, keys[i]), i == 0, true, out);
    if (keys != few)
        free(keys);
    return e;
}

static enum err emit_members(json_t *object, struct buf *out)
{
    const char *key;
    json_t *value;
    bool is_first = true;
    enum err e = ERR_OK;
    json_object_foreach(object, key, value)
    {
        if (!e)
            e = emit_member(key, value, is_first, false, out);
        is_first = false;
    }
    return e;
}

static enum err emit_object(const json_t *value, bool is_sorted, struct buf *out)
{
    json_t *object = (json_t *)(uintptr_t)value; /* Jansson's iterators want it so; they change nothing */
    enum err e = buf_append(out, "{", 1);
    if (!e)
        e = is_sorted ? emit_sorted_members(object, out) : emit_members(object, out);
    return e ? e : buf_append(out, "}", 1);
}

static enum err emit(const json_t *value, bool is_sorted, struct buf *out)
{
    if (json_is_string(value))
        return emit_text(json_string_value(value), json_string_length(value), out);
    if (json_is_integer(value))
        return emit_whole(json_integer_value(value), "", out);
    if (json_is_object(value))
        return emit_object(value, is_sorted, out);
    if (json_is_null(value))
        return buf_puts(out, "null");
    if (json_is_boolean(value))
        return buf_puts(out, json_is_true(value) ? "true" : "false");
    if (json_is_real(value))
        return emit_real(json_real_value(value), out);
    if (json_is_array(value))
        return emit_array(value, is_sorted, out);
    if (!value || value->type != RAW)
        return ERR_INTERNAL;
    const struct raw *r = (const struct raw *)value;
    return buf_append(out, r->text, r->size);
}

enum err json_emit(const json_t *value, bool is_sorted, struct buf *out)
{
    /* Most documents are near this size: so they grow once. */
    enum err e = out->max - out->len > 1000 ? buf_reserve(out, 1000) : ERR_OK;
    return e ? e : emit(value, is_sorted, out);
}
