/* Conditional and range requests (RFC 9110, sections 13 and 14). */
#ifndef FEDLANE_HTTPD_RANGE_H
#define FEDLANE_HTTPD_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum range_result {
    RANGE_WHOLE, /* no header, several ranges, another unit, or malformed: send everything */
    RANGE_PART,
    RANGE_UNSATISFIABLE, /* 416 */
};

/* The value of a Range header (NULL: none) against a body of `size` bytes. */
enum range_result range_parse(const char *header, uint64_t size, uint64_t *out_offset, uint64_t *out_length);

/* Is `tag` (without quotes) in an If-None-Match or If-Range list? Weak comparison takes W/"x" for "x"; a
 * strong one refuses it. "*" matches all. */
bool etag_matches(const char *header, const char *tag, bool is_strong);

#endif
