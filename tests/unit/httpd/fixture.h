/* A server in the test's own process, on a free port, with routes that show each thing that httpd can do. */
#ifndef FEDLANE_TESTS_HTTPD_FIXTURE_H
#define FEDLANE_TESTS_HTTPD_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include "server/httpd/httpd.h"
#include "server/httpd/reply.h"
#include "server/httpd/sse.h"
#include "tests/support/http_client.h"
#include "tests/support/unit.h"

/* One thread that answers deferred requests, as the writer of a store does. */
struct answerer {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t more;
    struct request *queue[4096];
    size_t head, tail;
    bool is_held, is_stopping; /* held: requests gather, none is answered */
    route_handler *step;       /* NULL: the thread itself sets the reply */
};

struct app {
    void (*arm)(long n);  /* GET /arm/{n} calls it in the server's thread */
    bool (*disarm)(void); /* GET /disarm */
    struct waiters *hub;
    struct httpd *httpd;
    uint16_t port;
    struct answerer answerer;
    atomic_int state, looks, opened, aborted, released, calls;
    atomic_int is_blocked;   /* GET /block holds its thread */
    atomic_int is_sink_full; /* the sink takes nothing more */
    _Atomic(struct request *) uploading, pulling;
    atomic_int last_status, observed;
    atomic_ullong last_bytes_in, last_bytes_out;
    atomic_ullong largest_pull;
};

extern struct app app;

/* Starts `app` anew with this many threads and waiters. */
void app_start(unsigned threads, size_t max_waiters, unsigned timeout_s);
void app_stop(void);
/* Until the number of parked requests, or of those that the answerer holds, is n. */
void app_await_waiters(size_t n);
void app_await_held(size_t n);
void answerer_hold(bool is_held);
void answerer_put(struct request *rq);

extern const struct route fixture_routes[];
extern const size_t num_fixture_routes;

#define BLOB_SIZE ((uint64_t)3000000)
char blob_byte(uint64_t offset);

/* Status of a request on a connection of its own; the answer is dropped. */
int status_of(const char *method, const char *path, const char *headers, const char *body);
/* Status and "code" of a problem+json answer are these. */
void expect_problem(struct http_answer *answer, int status, const char *code, const char *field);

#endif
