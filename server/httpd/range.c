#include "server/httpd/range.h"
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Digits at *at, saturated, so that an absurd number is past every end. */
static bool number_read(const char **at, uint64_t *out)
{
    const char *p = *at;
    uint64_t value = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    bool any = p != *at;
    *at = p;
    *out = value;
    return any;
}

static enum range_result range_last(uint64_t count, uint64_t size, uint64_t *out_offset, uint64_t *out_length)
{
    if (count == 0 || size == 0)
        return RANGE_UNSATISFIABLE;
    *out_length = count < size ? count : size;
    *out_offset = size - *out_length;
    return RANGE_PART;
}

enum range_result range_parse(const char *header, uint64_t size, uint64_t *out_offset, uint64_t *out_length)
{
    uint64_t first = 0, last = UINT64_MAX;
    if (!header || strncasecmp(header, "bytes=", 6) != 0)
        return RANGE_WHOLE;
    const char *at = header + 6;
    at += strspn(at, " \t");
    bool has_first = number_read(&at, &first);
    if (*at++ != '-')
        return RANGE_WHOLE;
    bool has_last = number_read(&at, &last);
    at += strspn(at, " \t");
    if (*at || (!has_first && !has_last) || (has_first && has_last && last < first))
        return RANGE_WHOLE;
    if (!has_first)
        return range_last(last, size, out_offset, out_length);
    if (first >= size)
        return RANGE_UNSATISFIABLE;
    if (!has_last || last >= size)
        last = size - 1;
    *out_offset = first;
    *out_length = last - first + 1;
    return RANGE_PART;
}

bool etag_matches(const char *header, const char *tag, bool is_strong)
{
    if (!header || !tag)
        return false;
    size_t len = strlen(tag);
    for (const char *at = header; *at;) {
        at += strspn(at, ", \t");
        if (*at == '*')
            return true;
        bool is_weak = at[0] == 'W' && at[1] == '/';
        if (is_weak)
            at += 2;
        if (*at != '"')
            return false;
        const char *end = strchr(++at, '"');
        if (!end)
            return false;
        if ((size_t)(end - at) == len && memcmp(at, tag, len) == 0 && !(is_weak && is_strong))
            return true;
        at = end + 1;
    }
    return false;
}
