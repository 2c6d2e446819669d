/* A small HTTP client over a plain blocking socket, for tests: nothing of it is shared with what is tested.
 */
#ifndef FEDLANE_TESTS_HTTP_CLIENT_H
#define FEDLANE_TESTS_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct http_client {
    int fd; /* -1: closed */
    char in[65536];
    size_t start, end; /* of the bytes received and not yet used */
};

struct http_answer {
    int status; /* 0: the connection ended before a whole answer */
    char head[16384];
    char *body; /* NUL behind it; by free() */
    size_t body_len;
};

/* To 127.0.0.1. Reads give up after 30 s, so that a lost answer fails a test and does not hang it. */
bool http_client_open(struct http_client *c, uint16_t port);
void http_client_close(struct http_client *c);
bool http_client_send(struct http_client *c, const void *bytes, size_t n);
bool http_client_print(struct http_client *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The status line and the header fields. */
bool http_client_read_head(struct http_client *c, struct http_answer *out);
/* A whole answer: Content-Length, chunked, or until the end. */
bool http_client_read(struct http_client *c, bool is_head_request, struct http_answer *out);
/* The next bytes of a chunked body, at most n - 1, NUL-ended: for event streams. 0 at its end. */
size_t http_client_read_chunk(struct http_client *c, char *out, size_t n);
/* True when the server closes without sending more. */
bool http_client_read_end(struct http_client *c);
/* Request and answer on an open connection. `headers` are whole lines with \r\n, may be ""; body may be NULL.
 */
struct http_answer http_client_do(struct http_client *c, const char *method, const char *path,
                                  const char *headers, const char *body);
/* The same on a connection of its own. */
struct http_answer http_do(uint16_t port, const char *method, const char *path, const char *headers,
                           const char *body);
/* The value of a header field, in a buffer that the next call reuses; NULL when absent. */
const char *http_answer_field(const struct http_answer *a, const char *name);
void http_answer_release(struct http_answer *a);

#endif
