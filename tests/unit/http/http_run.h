/* What the client's tests share: one server, one client, one request at a time. */
#ifndef FEDLANE_TEST_HTTP_RUN_H
#define FEDLANE_TEST_HTTP_RUN_H

#include <check.h>
#include "common/http/http.h"
#include "tests/unit/http/stub_server.h"

#define RUN_TOKEN "fl_0123456789abcdef" /* the client's */

struct http_client *client_of(const char *base_url); /* the caller frees it */

struct run {
    struct stub *stub;
    struct http_client *client;
    struct http_request request;
    struct http_response response;
    struct fault fault;
};

/* A request for /x, which the test may change before run_send. */
struct run run_start(stub_handler *handler, void *ctx);
enum err run_send(struct run *r); /* the outcome is in response and fault; no fault tells the token */
void run_end(struct run *r);

bool answer_hello(struct stub *s, int fd, const struct stub_request *request); /* 200 "hello", with an ETag */

/* The handler's context is the reply: status, headers, body. */
struct fixed_reply {
    int status;
    const char *headers, *body;
};
bool answer_fixed(struct stub *s, int fd, const struct stub_request *request);

/* A case to add tests to; also takes the proxies out of the environment. */
TCase *run_case(const char *name);

#endif
