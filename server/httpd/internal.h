/* What the files of httpd share. Nothing outside this folder includes it. */
#ifndef FEDLANE_HTTPD_INTERNAL_H
#define FEDLANE_HTTPD_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include "common/base/buf.h"
#include "common/base/limits.h"
#include "server/httpd/httpd.h"
#include "server/httpd/match.h"
#include "server/httpd/reply.h"
#include "server/httpd/sse.h"
#include "server/httpd/timers.h"
#include "server/httpd/tls.h"

#define REQUEST_ID_SIZE 65
#define DRAIN_AT_ONCE                                                                                        \
    (64 * KIB) /* a refused body up to this size is swallowed, so the connection can go on */
#define DRAIN_AFTER_FAULT (64 * MIB) /* what may still come of a body that failed in the middle */
#define SSE_COMMENT_MS    15000
#define SSE_GATHER_MS     100 /* events that come closer together than this are sent together */
#define RETRY_AFTER_S     "2"

struct httpd;

/* One thread, its daemon and its connections. Members without a note belong to that thread. */
struct loop {
    struct httpd *httpd;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    bool is_started;
    int listen_fd, epoll_fd, event_fd;
    pthread_mutex_t mutex;                   /* guards the four below and every request's inbox members */
    struct request *inbox_head, *inbox_tail; /* requests that something happened to */
    bool is_woken;                           /* event_fd was written since the inbox was last taken */
    struct timers timers;
    struct request *live; /* every request of this loop */
    struct request *fed;  /* those whose body got on, is not whole, and whose end was not looked for since */
    uint64_t turn;        /* of libmicrohttpd */
    size_t num_suspended; /* of them */
    struct connection *waiting_head, *waiting_tail; /* whose next headers are awaited, oldest first */
    bool is_quiesced, has_drained, is_stopping;
    int64_t stopping_since_ns;
    uint64_t id_prefix, id_next;
    atomic_size_t num_connections;
};

struct httpd {
    struct httpd_config config;
    struct httpd_hooks hooks;
    struct router *router;
    struct tls *tls; /* NULL: plain HTTP */
    struct peers *peers;
    struct loop *loops;
    size_t num_loops;
    uint16_t port;
    char url[128];
    atomic_bool is_closing, is_draining, is_stopping; /* stop_accepting, drain, stop were called */
    atomic_size_t num_requests;
    pthread_mutex_t mutex; /* for idle */
    pthread_cond_t idle;   /* the last request ended while draining */
};

/* A TCP connection, for the time between its requests. */
struct connection {
    struct loop *loop;
    struct connection *prev, *next;
    bool is_waiting;
    uint64_t network;            /* whose it counts as; 0: not counted */
    bool is_checked, is_trusted; /* the client's certificate, looked at with the first request */
    int fd;
    int64_t since_ns;
};

enum inbox_flag {
    INBOX_COMPLETE = 1, /* request_complete() */
    INBOX_CONTINUE = 2, /* request_continue() */
    INBOX_NOTIFIED = 4, /* a topic */
    INBOX_RESUME = 8,   /* request_resume() */
};

/* A subscription of one request to one topic; guarded by the hub. */
struct subscription {
    struct subscription *prev, *next;
    uint64_t topic;
    struct request *rq;
};

struct wait {
    wake_fn *wake; /* NULL: not parked */
    int64_t until_ns;
    bool is_missed;                     /* a look is due: just parked, or notified while deferred */
    bool is_last;                       /* the last look began: after it nothing is waited for */
    struct subscription *subscriptions; /* in the arena */
    size_t num_subscriptions;
    bool is_counted;
};

enum reply_kind { REPLY_NONE, REPLY_BYTES, REPLY_SOURCE, REPLY_EVENTS };

struct reply_field {
    const char *name, *value;
    struct reply_field *next;
};

struct reply {
    enum reply_kind kind;
    int status;
    const char *media_type;
    const void *bytes; /* the arena's, static, or owned */
    void *owned;       /* by free() */
    size_t size;
    struct reply_field *fields;
    const char *etag, *sha256_hex;
    struct body_source source; /* released by free() when the request ends */
    uint64_t offset, length;   /* the part of the source that is sent */
    struct sse_source events;
    struct buf page; /* events on their way */
    size_t page_sent;
    bool is_ended, is_comment_due, is_gathering;
    int64_t sent_ns;       /* when events were last looked for and found */
    int64_t look_again_ns; /* when they must be looked for once; INT64_MAX: at no certain time */
    uint64_t bytes_out;
};

struct slot {
    void *value;
    void (*release)(void *value);
};

/* A header field's value as libmicrohttpd has it, and without the blanks at its end. */
struct trimmed {
    const char *raw, *text;
    struct trimmed *next;
};

struct query_param {
    const char *name, *value;
};

enum phase {
    PHASE_HEAD,    /* first call of the access handler */
    PHASE_BODY,    /* bytes go to the buffer or the sink */
    PHASE_DRAIN,   /* a fault is known; bytes are dropped */
    PHASE_PENDING, /* the handler ran; the reply may be deferred or parked */
    PHASE_REPLY,   /* handed to libmicrohttpd */
};

struct request {
    struct loop *loop;
    struct MHD_Connection *mhd;
    struct connection *connection;
    struct request *live_prev, *live_next, *fed_prev, *fed_next;
    bool is_fed;
    uint64_t fed_turn; /* in which its body got on last */
    enum phase phase;
    char id[REQUEST_ID_SIZE];
    const char *method_name, *path;
    bool is_head;
    struct route_match match;
    struct query_param *query;
    size_t num_query;
    struct trimmed *trimmed; /* in the arena; nearly always none */
    struct arena arena;
    struct slot slots[REQUEST_SLOTS];
    int64_t started_ns;

    uint64_t content_length, body_size, drained_size;
    int64_t stalled_since_ns, stalled_ns; /* the time that the sink, not the client, was slow */
    const char *media_type;
    struct buf body;
    json_t *json;
    struct sha256 *hash;
    bool has_digest, has_sha256;
    char digest[SHA256_HEX_SIZE], sha256[SHA256_HEX_SIZE]; /* what the client promised; what came */
    void *sink;
    struct fault fault; /* why a body is drained */
    struct reply_field *fault_fields;

    struct reply reply;
    bool is_suspended, is_deferred, is_dropped; /* dropped: close the connection without a reply */
    route_handler *step;
    struct wait wait;
    struct timer timer;
    struct request *inbox_prev, *inbox_next; /* guarded by the loop's mutex, like `inbox` */
    unsigned inbox;
    struct request *todo_next;
    unsigned todo;
};

/* loop.c */
enum err loop_start(struct loop *l, struct httpd *h, int listen_fd, struct fault *fault) MUST_CHECK;
void loop_wake(struct loop *l);                           /* any thread */
void loop_post(struct request *rq, enum inbox_flag flag); /* any thread */
void loop_forget(struct request *rq);
void loop_join(struct loop *l); /* after is_stopping was set and loop_wake */
void loop_suspend(struct request *rq);
void loop_resume(struct request *rq);

/* daemon.c: libmicrohttpd's callbacks around a loop */
enum err daemon_start(struct loop *l, struct fault *fault) MUST_CHECK;
void connections_cut_slow(struct loop *l, int64_t now_ns);
int64_t connections_next_cut_ns(const struct loop *l); /* INT64_MAX: none */
bool connection_is_trusted(
    struct request *rq); /* false: a client's certificate is asked for, and it has none that counts */

/* exchange.c */
enum MHD_Result exchange_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                const char *version, const char *upload, size_t *upload_size, void **cursor);
void exchange_completed(void *cls, struct MHD_Connection *mhd, void **cursor,
                        enum MHD_RequestTerminationCode code);
void exchange_cut_ended(struct loop *l); /* after each turn of libmicrohttpd */
void exchange_forget(struct request *rq);

/* head.c: from the headers to the decision who answers */
enum err head_check(struct request *rq, struct fault *fault) MUST_CHECK;

/* framing.c: the header fields' own form, and how long the body is. What is refused here closes the
 * connection: nobody knows where the next request begins. */
enum err framing_check(struct request *rq, struct fault *fault) MUST_CHECK;

/* body.c */
bool request_has_body(const struct request *rq); /* as the headers say */
enum err body_check(struct request *rq,
                    struct fault *fault) MUST_CHECK; /* length, type, digest header; opens the sink */
enum err body_write(struct request *rq, const char *bytes, size_t n, size_t *out_taken,
                    struct fault *fault) MUST_CHECK;
enum err body_finish(struct request *rq, struct fault *fault) MUST_CHECK; /* digest, JSON */
bool body_is_too_slow(const struct request *rq, int64_t now_ns);
void body_release(struct request *rq);

/* request.c */
struct request *request_new(struct loop *l, struct MHD_Connection *mhd, const char *path, const char *method);
void request_free(struct request *rq);
void request_cut(
    struct request *rq); /* ends its connection; libmicrohttpd frees the request when it sees that */
bool request_input_ended(const struct request *rq); /* the client sends no more, and all of it was read */

/* settle.c: what follows from a handler's, a step's or a look's return */
void settle_handler(struct request *rq);               /* runs the route's handler */
void settle_inbox(struct request *rq, unsigned flags); /* what happened meanwhile */
void settle_timer(struct request *rq);
void settle_shutdown(struct request *rq);       /* the server drains or stops */
bool settle_is_ready(const struct request *rq); /* a reply is there, or the request is dropped */

/* waiters.c */
enum err waiters_subscribe(struct request *rq, const uint64_t *topics, size_t num_topics,
                           struct fault *fault) MUST_CHECK;
void waiters_unsubscribe(struct request *rq); /* idempotent */

/* reply.c, send.c, problem.c */
void reply_reset(struct request *rq); /* releases all of it */
enum err reply_no_memory(struct fault *fault);
/* reply_json() with a media type of its own. */
enum err reply_json_as(struct request *rq, int status, const char *media_type, json_t *body) MUST_CHECK;
enum err reply_allow(struct request *rq) MUST_CHECK; /* the header; head.c */
enum MHD_Result send_reply(struct request *rq);

/* stream.c: libmicrohttpd's content readers; cls is the request */
ssize_t stream_source(void *cls, uint64_t position, char *buf, size_t max);
ssize_t stream_events(void *cls, uint64_t position, char *buf, size_t max);

#endif
