#include "tests/unit/http/http_run.h"
#include <stdlib.h>
#include <string.h>
#include "tests/support/unit.h"

struct http_client *client_of(const char *base_url)
{
    struct http_config config = {
        .base_url = base_url, .user_agent = "test/1", .token = RUN_TOKEN, .retry_seed = 7};
    struct http_client *c = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(http_client_new(&config, &c, &fault) == ERR_OK, "%s", fault.detail);
    return c;
}

struct run run_start(stub_handler *handler, void *ctx)
{
    struct run r = {.stub = stub_start(handler, ctx), .request = {.path = "/x", .timeout_ms = 20000}};
    r.client = client_of(stub_url(r.stub));
    return r;
}

enum err run_send(struct run *r)
{
    r->fault = FAULT_NONE;
    enum err e = http_request(r->client, &r->request, &r->response, &r->fault);
    ck_assert_int_eq(e, r->fault.err);
    ck_assert_msg(!strstr(r->fault.detail, RUN_TOKEN), "a fault tells the token: %s", r->fault.detail);
    return e;
}

void run_end(struct run *r)
{
    http_response_release(&r->response);
    http_client_free(r->client);
    stub_stop(r->stub);
}

bool answer_hello(struct stub *s, int fd, const struct stub_request *request)
{
    (void)s;
    (void)request;
    stub_reply(fd, 200, "ETag: \"abc\"\r\nX-Empty:\r\nContent-Type: text/plain\r\n", "hello");
    return true;
}

bool answer_fixed(struct stub *s, int fd, const struct stub_request *request)
{
    const struct fixed_reply *reply = stub_ctx(s);
    (void)request;
    stub_reply(fd, reply->status, reply->headers, reply->body);
    return true;
}

TCase *run_case(const char *name)
{
    TCase *tc = unit_case(name);
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    return tc;
}
