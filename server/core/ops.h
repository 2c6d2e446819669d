/* The operations that change state. Each is a function for store_write with its own argument struct: inputs
 * above, outputs below. On an error the fault says what is wrong; outputs are undefined and the store is
 * unchanged. All pointers in an argument struct, and the arena, must live until the write is done. Outputs
 * lie in the arena. */
#ifndef FEDLANE_CORE_OPS_H
#define FEDLANE_CORE_OPS_H

#include <jansson.h>
#include "common/fl/optimizer.h"
#include "common/model/arch.h"
#include "common/tensor/safetensors.h"
#include "server/core/core.h"

/* Every argument struct begins with this. */
struct op_base {
    struct core *core;
    struct arena *arena;
    struct fault fault;
    const char *caller; /* token id, for created_by and the record of who did it; "" in simulate */
    /* output: what was asked for was so already, so nothing was changed and no event tells of it */
    bool is_repeat;
};

/* -- experiments ----------------------------------------------------------------------------------------- */
struct op_experiment {
    struct op_base base;
    const char *id; /* patch: which; create: NULL */
    json_t *body;   /* create: {name, description?}; patch: any of them */
    struct experiment_row out;
};
enum err op_experiment_create(struct store_txn *txn, void *arg); /* ERR_CONFLICT where the name is taken */
enum err op_experiment_patch(struct store_txn *txn, void *arg);

/* -- runs ------------------------------------------------------------------------------------------------ */
struct op_run_create {
    struct op_base base;
    json_t *spec; /* as submitted */
    struct run_row out;
};
enum err op_run_create(struct store_txn *txn, void *arg);

enum run_action { RUN_ACTION_START, RUN_ACTION_PAUSE, RUN_ACTION_RESUME, RUN_ACTION_STOP };
struct op_run_action {
    struct op_base base;
    const char *run_id;
    enum run_action action; /* one that is already so is no error; one that cannot be is ERR_CONFLICT */
    struct run_row out;
};
enum err op_run_action(struct store_txn *txn, void *arg);

struct op_run_config {
    struct op_base base;
    const char *run_id;
    json_t *patch; /* {"training": {...}, "strategy": {"params": {...}}, "reporting": {...}, "evaluation":
                      {...}}: any part */
    struct run_row out;
};
enum err op_run_config(struct store_txn *txn, void *arg);

/* Initial weights, already put and checked against the run's tensors (core_run_arch). ERR_CONFLICT once the
 * run left pending. The blob holds the canonical file. */
struct op_run_weights {
    struct op_base base;
    const char *run_id;
    int64_t blob_id, size_bytes;
    const char *weights_sha256, *aggregate_sha256;
    struct model_row out;
    int64_t out_former_blob; /* that no row names: of weights put before, or, where those are the same,
                                blob_id; 0: none */
};
enum err op_run_weights(struct store_txn *txn, void *arg);

/* The architecture of a run, parsed anew (caller: arch_free). Inside a read or a write. */
enum err core_run_arch(struct store_txn *txn, const char *run_id, struct arena *arena,
                       struct arch **out) MUST_CHECK;

/* -- workers and devices --------------------------------------------------------------------------------- */
struct op_worker_register {
    struct op_base base;
    json_t *body;             /* API.md: POST /api/v1/workers */
    const char *token_sha256; /* of the token the caller will hand out or already has */
    /* A known instance_id is the same worker come back: same ids, its former token revoked (it then gets 409
     * device_busy), its claimed tasks ready again. */
    struct worker_row out;
    struct device_row *out_devices; /* in the order of the body's devices */
    size_t out_num_devices;
};
enum err op_worker_register(struct store_txn *txn, void *arg);

struct op_device_register {
    struct op_base base;
    json_t *body; /* one device */
    const char *token_sha256;
    struct device_row out;
};
enum err op_device_register(struct store_txn *txn, void *arg);

struct op_device_patch {
    struct op_base base;
    const char *device_id;
    json_t *body; /* name, labels, capabilities, num_examples, num_test_examples (a running run keeps the
                     sizes it froze) */
    struct device_row out;
};
enum err op_device_patch(struct store_txn *txn, void *arg);

struct op_revoke {
    struct op_base base;
    const char *id;
};
enum err op_worker_revoke(struct store_txn *txn, void *arg); /* and its devices, tokens, open tasks */
enum err op_device_revoke(struct store_txn *txn, void *arg);

struct op_worker_resources {
    struct op_base base;
    const char *worker_id;
    const char *resources; /* JSON text of the last heartbeat */
};
enum err op_worker_resources(struct store_txn *txn, void *arg);

/* revoked_reason of a token whose owner came back with a new one: to be answered with ERR_DEVICE_BUSY. */
#define TOKEN_REASON_REPLACED "replaced"

/* -- tokens ---------------------------------------------------------------------------------------------- */
struct op_token_create {
    struct op_base base;
    const char *name;
    int64_t role; /* enum token_role: one */
    const char *token_sha256;
    int64_t expires_at; /* 0: never */
    int64_t max_uses;   /* ROLE_ENROLLMENT: workers and devices it may admit; 0: any number */
    const char *id;     /* NULL: a new one; else ERR_CONFLICT where there is or was a token of this id */
    struct token_row out;
};
enum err op_token_create(struct store_txn *txn, void *arg);
enum err op_token_revoke(struct store_txn *txn, void *arg); /* struct op_revoke */

/* -- tasks ----------------------------------------------------------------------------------------------- */
enum task_want { WANT_EVALUATION = 1, WANT_GAMMA = 2, WANT_GRADIENT = 4 };

/* What a device is told: everything it needs for one task. */
struct task_offer {
    struct task_row task; /* ids, round, ordinal, type, attempt, model_version, steps_assigned, max_steps,
                             max_seconds, wants */
    const char *dataset;
    const char *model;          /* JSON text of the spec's model */
    const char *weights_sha256; /* of the safetensors file of model_version */
    const char *optimizer;      /* "sgd" */
    struct optimizer settings;  /* of that optimizer */
    int64_t local_epochs, local_steps, batch_size, seed;
    double learning_rate, proximal_mu; /* of the round */
    bool accept_partial;  /* false: work to the budget, and when that was not all, fail with code "incomplete"
                           */
    int64_t time_left_ms; /* until deadline_at; -1: no deadline */
};

struct op_task_claim {
    struct op_base base;
    const char *worker_id, *device_id; /* one of them; the other "" */
    int64_t max;
    /* Tasks the caller says it holds: a claimed task of its that is not among them was lost on the way and is
     * offered again, with attempt + 1. NULL: it says nothing (a worker gets unclaimed tasks only; a single
     * device is given its claimed task again). */
    const char *const *holding;
    size_t num_holding;
    struct task_offer *out;
    size_t out_count; /* 0: nothing to do now */
};
enum err op_task_claim(struct store_txn *txn, void *arg);

struct report_metric {
    const char *name;
    double value, weight;
};

/* What a device says with an update or a failure. Unset numbers: -1, or NaN that is not in said_nan. */
struct task_report {
    int64_t attempt;      /* -1: the current one */
    const char *content;  /* "weights" (default) or "delta" */
    const char *encoding; /* "" or "none" */
    int64_t num_examples, steps_assigned, steps_done, samples_seen, batch_size;
    const char *seed; /* decimal, or "" */
    double proximal_mu, learning_rate;
    double train_loss_start, train_loss_end, grad_norm_start, grad_norm_end, gamma, update_norm;
    double compute_ms, download_ms;
    const char *stop_reason; /* "", completed, budget, deadline, asked */
    double eval_train_loss, eval_test_loss;
    int64_t eval_train_examples, eval_test_examples, eval_test_correct;
    const struct report_metric *metrics;
    size_t num_metrics;
    uint32_t said_nan; /* the doubles that the device gave as NaN: bits, for task_report_has */
};
void task_report_init(struct task_report *r);
/* Whether the device gave this number, a double of the report's own: "NaN" is said of a model that diverged,
 * and is not the same as nothing. */
bool task_report_has(const struct task_report *r, const double *number);
/* From key/value pairs (safetensors metadata or query parameters): unknown keys refused where `strict`, bad
 * values with the field's name. `metrics` is a JSON array as text. */
enum err task_report_parse(const struct safetensors_pair *pairs, size_t n, bool strict, struct arena *arena,
                           struct task_report *out, struct fault *fault) MUST_CHECK;

struct op_task_update {
    struct op_base base;
    const char *task_id;
    const char *worker_id, *device_id; /* the caller; both "" for an admin's tool is ERR_FORBIDDEN */
    struct task_report report;
    const char *body_sha256; /* over body and report: equal means the same update */
    int64_t
        blob_id; /* the body in the blob store, checked against the run's tensors; 0 for a JSON evaluation */
    int64_t size_bytes;
    int64_t received_at; /* when the request's headers arrived */
    /* receipt */
    bool out_accepted, out_duplicate, out_partial;
    const char *out_update_id;
    const char *out_reason; /* "" or why not accepted */
};
/* ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_STALE_ROUND, ERR_SUPERSEDED, ERR_DUPLICATE_CONFLICT, ERR_CONFIG_MISMATCH,
 * ERR_INVALID_UPDATE, ERR_RUN_NOT_RUNNING. A duplicate is ERR_OK with out_duplicate (the caller removes the
 * blob it put). */
enum err op_task_update(struct store_txn *txn, void *arg);

/* An update that comes in pieces, for the current attempt of the task. It takes the place of one that this
 * task had. */
struct op_upload_open {
    struct op_base base;
    const char *task_id, *worker_id, *device_id;
    int64_t attempt;      /* -1: the current one */
    int64_t blob_id;      /* paused, empty */
    int64_t size_bytes;   /* of the whole */
    const char *sha256;   /* of the whole, or "" */
    const char *metadata; /* JSON of what the query said */
    struct upload_row out;
    int64_t *out_former_blobs; /* no row names them any more */
    size_t out_num_former;
};
/* ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_STALE_ROUND, ERR_SUPERSEDED, ERR_RUN_NOT_RUNNING. */
enum err op_upload_open(struct store_txn *txn, void *arg);

/* An upload of a task, inside a read or a write. ERR_NOT_FOUND; ERR_STALE_ROUND, ERR_RUN_NOT_RUNNING,
 * ERR_SUPERSEDED where it will not be taken any more. One that was taken (body_sha256) is always found. */
enum err core_upload_find(struct store_txn *txn, const char *task_id, const char *upload_id,
                          struct arena *arena, struct upload_row *out, struct fault *fault) MUST_CHECK;

/* Some of it came: nothing changes, but what is in the blob store is durable once this is done. Errors as
 * core_upload_find. */
struct op_upload {
    struct op_base base;
    const char *task_id, *upload_id;
    int64_t out_blob; /* op_upload_drop: no row names it any more; 0: none */
};
enum err op_upload_touch(struct store_txn *txn, void *arg);
/* Forgets it. ERR_NOT_FOUND; ERR_CONFLICT where it was taken. */
enum err op_upload_drop(struct store_txn *txn, void *arg);

/* All of it came and was checked: the update's operation, and the record that this upload was it. */
struct op_upload_take {
    struct op_task_update update; /* first; its blob_id is the upload's */
    const char *upload_id;
    int64_t out_blob; /* of bytes that the task has already: no row names it any more; 0: none */
};
enum err op_upload_take(struct store_txn *txn, void *arg);

struct op_task_fail {
    struct op_base base;
    const char *task_id, *worker_id, *device_id;
    const char *code; /* "incomplete": dropped, as FedAvg does; anything else: failed */
    const char *detail;
    struct task_report report; /* steps_done, evaluation of w_t: metrics count even where the work does not */
    int64_t received_at;
    struct task_row out;
};
enum err op_task_fail(struct store_txn *txn, void *arg);

struct op_task_release {
    struct op_base base;
    const char *task_id, *worker_id, *device_id;
    struct task_row out;
};
enum err op_task_release(struct store_txn *txn, void *arg); /* ready again, for a later claim */

/* Weights that went out to a device or worker: counted in the round that starts from this version. Nobody
 * needs to wait. */
struct op_weights_sent {
    struct op_base base;
    const char *run_id;
    int64_t version, bytes;
};
enum err op_weights_sent(struct store_txn *txn, void *arg);

#endif
