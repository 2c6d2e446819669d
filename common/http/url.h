/* Paths and queries, percent-encoded (RFC 3986: all but letters, digits and "-._~"). */
#ifndef FEDLANE_HTTP_URL_H
#define FEDLANE_HTTP_URL_H

#include <stdint.h>
#include "common/base/buf.h"
#include "common/base/err.h"

/* "/runs" + "a/b" -> "/runs/a%2Fb". ERR_INVALID_FIELD for "" and for "." and "..", which would be cut out of
 * the URL. On an error the path is unchanged. */
enum err url_add_segment(struct buf *path, const char *segment) MUST_CHECK;
/* Adds "?name=value", or "&name=value" behind an earlier one. */
enum err url_add_query(struct buf *path, const char *name, const char *value) MUST_CHECK;
enum err url_add_query_int(struct buf *path, const char *name, int64_t value) MUST_CHECK;

#endif
