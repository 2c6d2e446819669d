#include "server/httpd/uri.h"
#include <stdbool.h>
#include <string.h>
#include "common/base/str.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static enum err no_memory(struct fault *fault)
{
    return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory for this request; try again later");
}

enum err uri_decode(const char *raw, size_t n, const char *field, struct arena *arena, const char **out,
                    struct fault *fault)
{
    char *text = arena_alloc(arena, n + 1);
    if (!text)
        return no_memory(fault);
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        char c = raw[i];
        if (c == '%') {
            bool is_whole = n - i > 2;
            int high = is_whole ? hex_value(raw[i + 1]) : -1;
            int low = is_whole ? hex_value(raw[i + 2]) : -1;
            if (high < 0 || low < 0)
                return fault_set(fault, ERR_INVALID_FIELD, field,
                                 "a '%%' in a URL must stand before two hex digits; write %%25 for the sign");
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0')
            return fault_set(fault, ERR_INVALID_FIELD, field, "a URL may not hold a NUL byte");
        text[len++] = c;
    }
    text[len] = '\0';
    if (!utf8_is_valid(text, len))
        return fault_set(fault, ERR_INVALID_FIELD, field, "this part of the URL is no valid UTF-8");
    *out = text;
    return ERR_OK;
}

/* "http://host/path" to "/path": what a client sends through a proxy. */
static const char *skip_authority(const char *path)
{
    size_t scheme = str_has_prefix(path, "http://") ? 7 : str_has_prefix(path, "https://") ? 8 : 0;
    if (!scheme)
        return path;
    const char *slash = strchr(path + scheme, '/');
    return slash ? slash : "/";
}

enum err uri_split(const char *path, struct arena *arena, const char *const **out_segments, size_t *out_num,
                   struct fault *fault)
{
    path = skip_authority(path);
    if (*path != '/')
        return fault_set(fault, ERR_NOT_FOUND, NULL, "a path begins with '/'");
    size_t count = 0;
    for (const char *p = path; *p; p++)
        count += *p == '/';
    if (count > URI_MAX_SEGMENTS)
        return fault_set(fault, ERR_INVALID_FIELD, "path", "a path has at most %d parts", URI_MAX_SEGMENTS);
    const char **segments = arena_calloc(arena, count, sizeof *segments);
    if (!segments)
        return no_memory(fault);
    size_t num = 0;
    for (const char *at = path + 1; path[1];) {
        size_t n = strcspn(at, "/");
        enum err e = uri_decode(at, n, "path", arena, &segments[num++], fault);
        if (e)
            return e;
        if (!at[n])
            break;
        at += n + 1;
    }
    *out_segments = segments;
    *out_num = num;
    return ERR_OK;
}
