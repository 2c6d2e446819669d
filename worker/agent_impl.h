/* The agent's parts and what they share. Private to worker/agent*.c. */
#ifndef FEDLANE_WORKER_AGENT_IMPL_H
#define FEDLANE_WORKER_AGENT_IMPL_H

#include <stdatomic.h>
#include "common/http/http.h"
#include "common/http/http_loop.h"
#include "worker/agent.h"
#include "worker/job.h"
#include "worker/outbox.h"
#include "worker/pool.h"
#include "worker/weights.h"

/* Tasks held at a time: enough to keep all threads busy while the next claim is under way. */
#define AGENT_MAX_HELD 256

struct sending;

struct agent {
    struct agent_config config;
    char *outbox;
    uint64_t retry_seed, retry_nonce;
    struct http_client *client;
    struct http_loop *loop;
    struct pool *pool;
    struct weights_cache weights;
    char worker_id[ID_SIZE];
    bool must_register;    /* the server no longer knows our token */
    int num_registrations; /* without a claim that worked in between */
    int registration;      /* counts them all: which token a call went out with */

    struct job *held;               /* from the claim's reply to the receipt, oldest first */
    size_t num_held, num_computing; /* of these: with the pool */

    struct http_call *claim;
    char *claim_body;
    int claim_failures; /* in a row */
    int64_t claim_at_ns;

    struct http_call *beat;
    char *beat_body;
    int64_t beat_at_ns, beat_ms;

    size_t num_fetches;

    struct sending *sendings;   /* reports, oldest first */
    size_t num_leftovers;       /* of these: from a former process */
    int64_t leftovers_until_ns; /* until then they go before the first claim */
    int64_t send_at_ns;         /* not before */
    int send_failures;          /* in a row, that were no answer of the server's */
    size_t num_active, active_bytes, kept_bytes;
    double upload_ms; /* moving average of an update's way to the server */
    size_t num_releases;

    atomic_bool stop_requested;
    bool is_stopping;
    int64_t stop_by_ns;
    struct fault fatal; /* err is set when there is no point in going on */
};

/* -- agent.c --------------------------------------------------------------------------------------------- */

/* Ends agent_run with this. The first one counts. */
void agent_give_up(struct agent *a, enum err e, const struct fault *fault);
/* True when the reply says that our token is no good (any more): then a registration or the end follows, and
 * the caller's request is to be made again after it. `registration`: a->registration when the request went
 * out; that the token of a former one is no good says nothing about the present one. */
bool agent_lost_token(struct agent *a, enum err e, const struct fault *fault, int registration);
/* How long until try number `failures` + 1, in ns from now on; never more than some seconds. */
int64_t agent_retry_at_ns(struct agent *a, int failures, int64_t retry_after_ms);
/* Takes a job out of `held`, and frees it with all it has. */
void agent_drop_job(struct agent *a, struct job *job);
/* The held job with this task id that is not `except`; NULL if none. */
struct job *agent_find_job(const struct agent *a, const char *task_id, const struct job *except);

/* -- agent_register.c ------------------------------------------------------------------------------------ */

/* Until it worked, or cannot. ERR_CANCELLED: agent_stop. */
enum err agent_register(struct agent *a, struct fault *fault) MUST_CHECK;

/* -- agent_claim.c --------------------------------------------------------------------------------------- */

/* Keeps a long-poll open while there is room for tasks. */
void agent_claim_advance(struct agent *a, int64_t now_ns);
/* What the server was told we hold has become wrong: ask anew. */
void agent_claim_restart(struct agent *a);

/* -- agent_fetch.c --------------------------------------------------------------------------------------- */

/* Starts downloads that are due. *next_ns: lowered to when the next one is. */
void agent_fetch_advance(struct agent *a, int64_t now_ns, int64_t *next_ns);
/* Hands jobs whose weights are there (or never will be) to the pool. */
void agent_submit_ready(struct agent *a, const struct weights *w);

/* -- agent_heartbeat.c ----------------------------------------------------------------------------------- */

void agent_heartbeat_advance(struct agent *a, int64_t now_ns);

/* -- agent_send.c ---------------------------------------------------------------------------------------- */

/* What a former process left in the outbox. */
enum err agent_send_leftovers(struct agent *a, struct fault *fault) MUST_CHECK;
/* Takes the report (its body moves); `job`, if any, is dropped after the receipt. `is_stored`: it is in the
 * outbox. */
void agent_send(struct agent *a, struct report *report, bool is_stored, struct job *job);
void agent_send_advance(struct agent *a, int64_t now_ns);
/* Whether the report goes in pieces, and starting that. It stays as it is until `done`, which gets what the
 * server said of the whole, or status 0 where the next start goes on from what the server has. */
bool agent_upload_is_for(const struct agent *a, const struct report *r);
enum err agent_upload_start(struct agent *a, const struct report *r, http_done_fn *done,
                            void *ctx) MUST_CHECK;
/* The task may be handed out again; the job is dropped. */
void agent_send_release(struct agent *a, struct job *job);
void agent_send_free(struct agent *a); /* after the loop is gone */
/* Appends the ids of tasks with a report under way to a JSON array. */
enum err agent_send_add_ids(const struct agent *a, json_t *ids) MUST_CHECK;

#endif
