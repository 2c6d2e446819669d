#include "common/http/url.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "common/base/str.h"

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static enum err add_encoded(struct buf *path, const char *text)
{
    enum err e = ERR_OK;
    for (; *text && !e; text++) {
        if (is_unreserved(*text))
            e = buf_append(path, text, 1);
        else
            e = buf_printf(path, "%%%02X", (unsigned)(unsigned char)*text);
    }
    return e;
}

/* On an error the path must be what it was, not half of what it was to become. */
static enum err undo(struct buf *path, size_t len, enum err e)
{
    if (e && path->data) {
        path->len = len;
        path->data[len] = '\0';
    }
    return e;
}

enum err url_add_segment(struct buf *path, const char *segment)
{
    size_t len = path->len;
    if (str_eq(segment, "") || str_eq(segment, ".") || str_eq(segment, ".."))
        return ERR_INVALID_FIELD;
    enum err e = buf_append(path, "/", 1);
    return undo(path, len, e ? e : add_encoded(path, segment));
}

enum err url_add_query(struct buf *path, const char *name, const char *value)
{
    size_t len = path->len;
    bool is_first = len == 0 || !memchr(path->data, '?', len);
    enum err e = buf_append(path, is_first ? "?" : "&", 1);
    if (!e)
        e = add_encoded(path, name);
    if (!e)
        e = buf_append(path, "=", 1);
    return undo(path, len, e ? e : add_encoded(path, value));
}

enum err url_add_query_int(struct buf *path, const char *name, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    return url_add_query(path, name, text);
}
