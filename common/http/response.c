#include <string.h>
#include <strings.h>
#include "common/http/http.h"

void http_response_release(struct http_response *r)
{
    buf_release(&r->body);
    buf_release(&r->headers);
    *r = HTTP_RESPONSE_INIT;
}

/* The headers lie in their buffer as name NUL value NUL, one behind the other. */
const char *http_response_header(const struct http_response *r, const char *name)
{
    const char *s = r->headers.data, *end = s ? s + r->headers.len : NULL;
    while (s < end) {
        const char *value = s + strlen(s) + 1;
        if (strcasecmp(s, name) == 0)
            return value;
        s = value + strlen(value) + 1;
    }
    return NULL;
}
