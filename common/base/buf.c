#include "common/base/buf.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 64

void buf_init(struct buf *b, size_t max)
{
    *b = BUF_INIT(max);
}

void buf_release(struct buf *b)
{
    free(b->data);
    *b = BUF_INIT(b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

enum err buf_reserve(struct buf *b, size_t n)
{
    /* max = SIZE_MAX would leave no room for the NUL. */
    size_t max = b->max < SIZE_MAX ? b->max : SIZE_MAX - 1;
    if (b->len > max || n > max - b->len)
        return ERR_PAYLOAD_TOO_LARGE;
    size_t needed = b->len + n + 1;
    if (b->data && needed <= b->cap)
        return ERR_OK;
    size_t cap = b->cap ? b->cap : FIRST_CAP;
    while (cap < needed)
        cap = cap > SIZE_MAX / 2 ? needed : 2 * cap;
    if (cap > max + 1)
        cap = max + 1;
    char *data = realloc(b->data, cap);
    if (!data)
        return ERR_NO_MEMORY;
    data[b->len] = '\0';
    b->data = data;
    b->cap = cap;
    return ERR_OK;
}

enum err buf_append(struct buf *b, const void *bytes, size_t n)
{
    enum err e = buf_reserve(b, n);
    if (e)
        return e;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
    return ERR_OK;
}

enum err buf_puts(struct buf *b, const char *text)
{
    return buf_append(b, text, strlen(text));
}

enum err buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    enum err e = buf_vprintf(b, fmt, ap);
    va_end(ap);
    return e;
}

enum err buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    enum err e = n < 0 ? ERR_INTERNAL : buf_reserve(b, (size_t)n);
    if (!e) {
        (void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return e;
}

enum err buf_take(struct buf *b, char **out_data, size_t *out_len)
{
    enum err e = buf_reserve(b, 0);
    if (e)
        return e;
    *out_data = b->data;
    *out_len = b->len;
    *b = BUF_INIT(b->max);
    return ERR_OK;
}
