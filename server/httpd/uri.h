/* Paths and queries as bytes: percent-decoding per segment, so that %2F stays data and %00 is refused. */
#ifndef FEDLANE_HTTPD_URI_H
#define FEDLANE_HTTPD_URI_H

#include <stddef.h>
#include "common/base/arena.h"
#include "common/base/err.h"

/* n bytes of `raw`, decoded into the arena. ERR_INVALID_FIELD: a broken escape, a NUL, or what is no UTF-8
 * (the fault names `field`). ERR_NO_MEMORY. */
enum err uri_decode(const char *raw, size_t n, const char *field, struct arena *arena, const char **out,
                    struct fault *fault) MUST_CHECK;

#define URI_MAX_SEGMENTS 64
/* "/a/b%20c" to {"a", "b c"}; "/" to none. The scheme and host of an absolute form are skipped.
 * ERR_INVALID_FIELD, also past URI_MAX_SEGMENTS; ERR_NOT_FOUND: it does not begin with a slash. */
enum err uri_split(const char *path, struct arena *arena, const char *const **out_segments, size_t *out_num,
                   struct fault *fault) MUST_CHECK;

#endif
