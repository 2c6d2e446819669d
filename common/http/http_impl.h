/* What the files of common/http share. */
#ifndef FEDLANE_HTTP_IMPL_H
#define FEDLANE_HTTP_IMPL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "common/base/arena.h"
#include "common/http/http.h"
#include "common/http/http_loop.h"

struct http_client {
    char *base_url, *user_agent, *ca_file, *cert_file, *key_file;
    long connect_timeout_ms, max_connections;
    uint64_t retry_seed;
    const char *log_as; /* borrowed */
    atomic_uint_fast64_t num_calls;
    pthread_mutex_t token_lock;
    char *token;                /* under token_lock */
    struct http_loop *own_loop; /* of http_request */
    atomic_bool is_cancelled;
};

enum call_state { CALL_WAITING /* for its time or for a free connection */, CALL_RUNNING, CALL_DONE };

struct http_call {
    struct http_call *prev, *next;
    struct http_client *client;
    enum call_state state;
    bool is_cancelled;
    int64_t due_ns;
    uint64_t nonce;

    struct arena arena; /* the request's texts */
    struct http_request request;
    char *url;
    http_done_fn *done;
    void *ctx;

    CURL *easy; /* while running */
    struct curl_slist *headers;
    char curl_text[CURL_ERROR_SIZE];
    enum err callback_err; /* why a callback of ours ended the transfer */
    bool on_body_got_some;
    struct http_response response;
    struct fault fault;
};

/* Copies the request. ERR_USAGE for texts that no request can hold. */
enum err call_new(struct http_client *c, const struct http_request *request,
                  struct http_call **out) MUST_CHECK;
void call_free(struct http_call *call);
/* Makes `easy` ready for one try of the call. ERR_NO_MEMORY. */
enum err call_set_up(struct http_call *call, CURL *easy) MUST_CHECK;
/* After the try: reads what the handle knows into the response and gives the error and call->fault. */
enum err call_outcome(struct http_call *call, CURLcode rc) MUST_CHECK;
/* Empties the response before a further try. */
void call_reset_response(struct http_call *call);

/* Token text that may stand in a header: visible ASCII, not too long. */
bool http_is_token(const char *token);

/* Ends all calls at once, as http_loop_free does. */
void loop_end_all(struct http_loop *loop);

/* Reads an error reply's body into f. */
enum err problem_read(const struct http_response *r, const struct http_request *request, const char *url,
                      bool names_request, struct fault *f) MUST_CHECK;

#endif
