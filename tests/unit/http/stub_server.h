/* A tiny HTTP server inside the test: one thread per connection, replies written by the test's own handler.
 */
#ifndef FEDLANE_TEST_STUB_SERVER_H
#define FEDLANE_TEST_STUB_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct stub_request {
    int number;     /* 0, 1, ... in the order they came */
    int connection; /* which one it came on, from 0 */
    char *head;     /* request line and headers */
    char *body;
    size_t body_size;
};

struct stub;
/* Answers by stub_reply and the like; false: close the connection. */
typedef bool stub_handler(struct stub *s, int fd, const struct stub_request *request);

struct stub *stub_start(stub_handler *handler, void *ctx);
void stub_stop(struct stub *s); /* ends stub_hang, closes connections, joins all threads */
void *stub_ctx(const struct stub *s);
const char *stub_url(const struct stub *s); /* "http://127.0.0.1:PORT" */
int stub_num_requests(struct stub *s);
int stub_num_connections(struct stub *s);
void stub_wait_requests(struct stub *s, int n); /* until n have come */
/* What request number n was; borrowed until stub_stop. */
const struct stub_request *stub_request(struct stub *s, int n);
bool stub_has_header(const struct stub_request *request, const char *line);

void stub_send(int fd, const char *bytes, size_t n);
/* extra_headers: "" or "Name: value\r\n"... Sends Content-Length. */
void stub_reply(int fd, int status, const char *extra_headers, const char *body);
void stub_hang(struct stub *s); /* until stub_release or stub_stop */
void stub_release(struct stub *s);

#endif
