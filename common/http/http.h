/* The HTTP client, over libcurl. A client is a server's address, how to reach it and a token; requests go out
 * either one at a time (http_request, below) or many at once from one thread (common/http/http_loop.h). Both
 * retry by the same rules (common/http/retry.h). Redirects are not followed: a token goes to the server that
 * was named, and nowhere else. A token stands in the Authorization header only, never in a log line or a
 * fault. */
#ifndef FEDLANE_HTTP_HTTP_H
#define FEDLANE_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/buf.h"
#include "common/base/err.h"

struct http_client;

struct http_config {
    const char *base_url;   /* "https://host:8080" or "http://host/prefix"; a '/' at its end is cut */
    const char *user_agent; /* "fedlane-worker/0.1.0" */
    const char *token;      /* or NULL: no Authorization header */
    /* PEM files, each may be NULL. */
    const char *ca_file;        /* the certificates to trust in place of the system's */
    const char *cert_file;      /* the client's own certificate, for a server that asks for one */
    const char *key_file;       /* its private key; NULL: in cert_file, too */
    int64_t connect_timeout_ms; /* 0: 10 s */
    long max_connections;       /* open at the same time in one loop; further requests wait. 0: 64 */
    uint64_t retry_seed;        /* of the random waits between tries, and the start of the requests' ids; give
                                   each process its own */
    /* Each request carries an X-Request-Id, which the server logs. A program with a log names its component
     * here: what is logged in the callback that ends a request, and each further try, has the id. NULL: the
     * texts of error replies name it. */
    const char *log_as;
};

/* Copies everything. ERR_USAGE (with a fault) for a base URL that is none, is neither http nor https, or
 * holds a user, a query or a fragment; ERR_NO_MEMORY. Ignores SIGPIPE if nobody handles it. */
enum err http_client_new(const struct http_config *config, struct http_client **out,
                         struct fault *fault) MUST_CHECK;
void http_client_free(struct http_client *c); /* after its loops */
/* Any thread, any time; counts from the next try on. NULL: no token. ERR_USAGE when it holds bytes that no
 * token has. */
enum err http_client_set_token(struct http_client *c, const char *token) MUST_CHECK;
const char *http_client_base_url(const struct http_client *c); /* without '/' at the end */

struct http_header {
    const char *name, *value;
};

#define HTTP_NO_TIMEOUT ((int64_t)-1)

/* Start from {0}: what is not set has a sensible meaning. */
struct http_request {
    const char *method; /* NULL: GET */
    const char *path;   /* behind the base URL, from '/' on, percent-encoded, with the query: see url.h */
    const char *token;  /* in place of the client's, or NULL. Copied, like all texts here */

    const char *content_type;          /* of the body; NULL: application/json when there is a body */
    const void *body;                  /* not copied: stays as it is until the request is done */
    size_t body_size;                  /* 0 with POST, PUT, PATCH: an empty body */
    const struct http_header *headers; /* further ones: Idempotency-Key, Accept, Range, If-None-Match, ... */
    size_t num_headers;

    /* > 0: the whole try must end within it (calls, long-polls: wait + some seconds).
     * 0: a transfer: takes as long as it takes, but fails when fewer than 64 bytes a second move for 60 s.
     * HTTP_NO_TIMEOUT: for as long as it is open (event streams). */
    int64_t timeout_ms;
    int max_tries; /* 0, 1: once. More: tries again as common/http/retry.h says */
    /* An error reply that is no problem+json is not the server's word but that of something on the way (a
     * proxy's page): ERR_UNAVAILABLE, and worth a retry, whatever its status. */
    bool errors_are_problems;

    size_t max_reply_bytes; /* of the gathered body: ERR_PAYLOAD_TOO_LARGE beyond it. 0: LIMIT_JSON_REPLY */
    /* Takes the body of a 2xx reply piece by piece in place of gathering it; what it returns ends the request
     * with that error. There is no further try once it got a byte. Must not call the loop or the client. */
    enum err (*on_body)(void *ctx, const void *bytes, size_t n);
    void *on_body_ctx;
};

struct http_response {
    int status;                          /* 0: there was no reply */
    struct buf body;                     /* NUL-ended; also of an error reply. buf_take moves it out */
    int64_t retry_after_ms;              /* what the reply's Retry-After asks for; 0: nothing */
    int64_t duration_ms;                 /* of the last try */
    uint64_t bytes_sent, bytes_received; /* bodies of the last try */
    int num_tries;
    char request_id[40]; /* the X-Request-Id of the request */
    struct buf headers;  /* read it by http_response_header */
};

#define HTTP_RESPONSE_INIT ((struct http_response){0})

void http_response_release(struct http_response *r);
/* The value of the first header of that name, whatever its case; NULL when there is none. Borrowed. */
const char *http_response_header(const struct http_response *r, const char *name);

/* Sends and waits for the reply, and for further tries. `out` is released and filled anew, on an error too.
 * ERR_OK: status 2xx or 304. A problem+json reply becomes the error with its code, its field and its detail;
 * any other error reply the error that stands for its status. Without a reply: ERR_NETWORK, ERR_TIMEOUT (the
 * fault names the URL and what to check), ERR_CANCELLED, ERR_NO_MEMORY, ERR_PAYLOAD_TOO_LARGE, on_body's
 * error. One thread at a time per client. */
enum err http_request(struct http_client *c, const struct http_request *request, struct http_response *out,
                      struct fault *fault) MUST_CHECK;
/* From any thread or a signal handler: ends the http_request that runs, and all later ones, with
 * ERR_CANCELLED. Loops are not touched. */
void http_client_cancel(struct http_client *c);
/* Sleeps; http_client_cancel ends it (ERR_CANCELLED). For callers that poll. One thread at a time, like
 * http_request. */
enum err http_client_sleep(struct http_client *c, int64_t ms) MUST_CHECK;

#endif
