/* What the store keeps, as data: one list per record gives its struct, its columns for the SQL backend and
 * its fields for the memory backend. T is text (const char *, never NULL in a row: "" stands for none), I is
 * int64_t, R is double (NaN stands for none). The first `keys` columns are the primary key. Times are
 * milliseconds since 1970; 0 is "not yet". */
#ifndef FEDLANE_STORE_RECORDS_H
#define FEDLANE_STORE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

/* Statuses are small numbers in the store and words in the API (server/core/names.h). Order matters where
 * stated. */
enum run_status { RUN_PENDING, RUN_WAITING_FOR_DEVICES, RUN_RUNNING, RUN_PAUSED, RUN_FINISHED };
enum run_outcome { RUN_OUTCOME_NONE, RUN_COMPLETED, RUN_FAILED, RUN_STOPPED };
enum round_type { ROUND_TRAIN, ROUND_FINAL /* evaluates the last model only */ };
enum round_status { ROUND_SELECTING, ROUND_TRAINING, ROUND_AGGREGATING, ROUND_CLOSED };
enum round_outcome { ROUND_OUTCOME_NONE, ROUND_COMPLETED, ROUND_SKIPPED, ROUND_FAILED };
enum task_type { TASK_TRAIN, TASK_EVALUATE };
/* Up to TASK_CLAIMED a task is open. */
enum task_status {
    TASK_READY,
    TASK_CLAIMED,
    TASK_COMPLETED,
    TASK_DROPPED,
    TASK_FAILED,
    TASK_LATE,
    TASK_CANCELLED
};
enum token_role { ROLE_ADMIN = 1, ROLE_OPERATOR = 2, ROLE_VIEWER = 4, ROLE_WORKER = 8, ROLE_ENROLLMENT = 16 };

/* clang-format breaks these lists anew each time it runs. */
/* clang-format off */
#define EXPERIMENT_COLUMNS(T, I, R) T(id) T(name) T(description) I(created_at) I(updated_at)

/* spec: the run spec as submitted, defaults filled in. config: what is in force from the next round on
 * (training, strategy.params, reporting, evaluation), changed by PATCH. population: devices frozen at the
 * start (0 before). round: the number of the open round, or of the next one. strategy_state: the strategy's
 * own JSON, carried from round to round. last_event: the run's highest event sequence number. */
#define RUN_COLUMNS(T, I, R)                                                                                 \
    T(id) T(experiment_id) T(name) T(dataset) T(spec) T(config) I(seed) I(num_rounds) I(status) I(outcome)   \
    T(status_reason) I(population) I(round) I(model_version) T(strategy_state) I(is_deterministic)           \
    T(nondeterminism) I(last_event) T(created_by) I(created_at) I(started_at) I(finished_at)

/* The population of a run: which device is which ordinal, with the sizes it had at the start. position: 0, 1,
 * ... by ascending ordinal. */
#define RUN_DEVICE_COLUMNS(T, I, R)                                                                          \
    T(run_id) I(ordinal) T(device_id) I(num_examples) I(num_test_examples) I(position)

/* config: the values this round used. metrics: JSON object name -> value, aggregated, at model_version_in.
 * selected = received + dropped + failed + late once closed. evaluators / evaluated: evaluate tasks given out
 * / answered. deadline_at, grace_until: 0 where there is none. */
#define ROUND_COLUMNS(T, I, R)                                                                               \
    T(run_id) I(n) I(type) I(status) I(outcome) T(reason) I(model_version_in) I(model_version_out) T(config) \
    R(proximal_mu) I(devices_per_round) I(selected) I(received) I(partial) I(dropped) I(failed) I(late)      \
    I(evaluators) I(evaluated) I(steps_assigned) I(steps_done) I(extensions) T(aggregate_sha256)             \
    T(weights_sha256) T(metrics) R(mean_gamma) R(dissimilarity_b) R(grad_variance_weighted)                  \
    R(grad_variance_uniform) I(bytes_in) I(bytes_out) I(opened_at) I(training_at) I(aggregating_at)          \
    I(closed_at) I(deadline_at) I(grace_until)

/* steps_assigned: of the whole job; max_steps: the budget, at most that. wants: bits of enum task_want. code,
 * detail: why it failed. report: JSON of what the device said with its failure; with an update: UPDATE_REPORT. */
#define TASK_COLUMNS(T, I, R)                                                                                \
    T(id) T(run_id) I(round) I(ordinal) I(type) T(device_id) T(worker_id) I(status) I(attempt)               \
    I(model_version) I(num_examples) I(num_test_examples) I(steps_assigned) I(max_steps) R(max_seconds)      \
    I(is_straggler) I(wants) I(steps_done) I(is_partial) T(stop_reason) T(code) T(detail) T(update_id)       \
    T(report) I(bytes_in) I(created_at) I(claimed_at) I(downloaded_at) I(trained_at) I(uploaded_at)          \
    I(deadline_at)

/* An accepted update. body_sha256 covers body and metadata: what tells a repeat from a conflict. blob_id 0:
 * there was no body. Once its round is closed only a run that keeps updates still has the blob. */
#define UPDATE_COLUMNS(T, I, R)                                                                              \
    T(id) T(task_id) T(run_id) I(round) I(ordinal) T(device_id) I(type) I(attempt) T(body_sha256) I(blob_id) \
    I(size_bytes) T(content) I(num_examples) I(steps_done) I(is_partial) T(receipt) I(accepted_at)

/* JSON of what the device said with its update. By itself, because it is as long as all the rest: a task's row that
 * grew so would not stay where it is. */
#define UPDATE_REPORT_COLUMNS(T, I, R) T(update_id) T(report)

/* An update that comes in pieces. size_bytes: of the whole; sha256: of it, as the caller promised it, or "".
 * metadata: JSON of what the query said of it. body_sha256: as in an update, once it was taken: the blob is
 * the update's then. blob_id 0: dropped, because a newer attempt took its place. */
#define UPLOAD_COLUMNS(T, I, R)                                                                              \
    T(id) T(task_id) T(run_id) I(round) I(attempt) I(blob_id) I(size_bytes) T(sha256) T(metadata)            \
    T(body_sha256) I(created_at)

/* size_bytes: of the safetensors file. blob_id 0: deleted by the run's retention. */
#define MODEL_COLUMNS(T, I, R)                                                                               \
    T(run_id) I(version) I(blob_id) I(size_bytes) T(weights_sha256) T(aggregate_sha256) I(created_at)

/* input: JSON array. labels, capabilities: JSON objects. steps_per_second: moving average, NaN before the
 * first. */
#define DEVICE_COLUMNS(T, I, R)                                                                              \
    T(id) T(worker_id) T(name) T(dataset) I(ordinal) I(num_examples) I(num_test_examples) T(input)           \
    I(classes) T(labels) T(capabilities) R(steps_per_second) I(last_seen_at) I(revoked_at) I(created_at)

/* A label of a device, as its `labels` say it: what lists of devices are filtered by. */
#define DEVICE_LABEL_COLUMNS(T, I, R) T(device_id) T(name) T(value)

#define WORKER_COLUMNS(T, I, R)                                                                              \
    T(id) T(name) T(instance_id) T(version) T(capabilities) T(resources) I(last_seen_at) I(revoked_at)       \
    I(created_at)

/* worker_id or device_id: whose token it is, for ROLE_WORKER. max_uses, uses: for ROLE_ENROLLMENT, how many
 * workers and devices it may admit (0: any number) and has admitted. */
#define TOKEN_COLUMNS(T, I, R)                                                                               \
    T(id) T(name) I(role) T(sha256) T(worker_id) T(device_id) T(created_by) I(created_at) I(expires_at)      \
    I(revoked_at) T(revoked_reason) I(max_uses) I(uses)

/* id: SHA-256 of caller, route and key. */
#define IDEMPOTENCY_COLUMNS(T, I, R) T(id) T(body_sha256) I(status) T(reply) T(object_id) I(created_at)

/* id: over all runs, given by the store on insert when 0. seq: within the run, 1, 2, ... */
#define EVENT_COLUMNS(T, I, R) I(id) T(run_id) I(seq) T(type) T(data) I(at)

/* ordinal -1: aggregated over the round's devices. */
#define METRIC_COLUMNS(T, I, R) T(run_id) I(round) T(name) I(ordinal) R(value) R(weight) I(at)

/* Who did what. role: 0 for nobody (a login link). operation: the route's operation_id. object: where what
 * was made is found. id: given by the store. */
#define AUDIT_COLUMNS(T, I, R)                                                                               \
    I(id) I(at) T(token_id) I(role) T(remote) T(request_id) T(operation) T(path) T(object)

/* clang-format on */

/* X(KIND, struct name, table name, COLUMNS, number of key columns) */
#define RECORD_TABLE(X)                                                                                      \
    X(EXPERIMENT, experiment_row, "experiment", EXPERIMENT_COLUMNS, 1)                                       \
    X(RUN, run_row, "run", RUN_COLUMNS, 1)                                                                   \
    X(RUN_DEVICE, run_device_row, "run_device", RUN_DEVICE_COLUMNS, 2)                                       \
    X(ROUND, round_row, "round", ROUND_COLUMNS, 2)                                                           \
    X(TASK, task_row, "task", TASK_COLUMNS, 1)                                                               \
    X(UPDATE, update_row, "update_record", UPDATE_COLUMNS, 1)                                                \
    X(UPDATE_REPORT, update_report_row, "update_report", UPDATE_REPORT_COLUMNS, 1)                           \
    X(UPLOAD, upload_row, "upload", UPLOAD_COLUMNS, 1)                                                       \
    X(MODEL, model_row, "model", MODEL_COLUMNS, 2)                                                           \
    X(DEVICE, device_row, "device", DEVICE_COLUMNS, 1)                                                       \
    X(DEVICE_LABEL, device_label_row, "device_label", DEVICE_LABEL_COLUMNS, 2)                               \
    X(WORKER, worker_row, "worker", WORKER_COLUMNS, 1)                                                       \
    X(TOKEN, token_row, "token", TOKEN_COLUMNS, 1)                                                           \
    X(IDEMPOTENCY, idempotency_row, "idempotency", IDEMPOTENCY_COLUMNS, 1)                                   \
    X(EVENT, event_row, "event", EVENT_COLUMNS, 1)                                                           \
    X(METRIC, metric_row, "metric", METRIC_COLUMNS, 4)                                                       \
    X(AUDIT, audit_row, "audit", AUDIT_COLUMNS, 1)

enum record_kind {
#define X(kind, row, table, columns, keys) RECORD_##kind,
    RECORD_TABLE(X)
#undef X
        RECORD_COUNT
};

#define RECORD_T(name) const char *name;
#define RECORD_I(name) int64_t name;
#define RECORD_R(name) double name;
#define X(kind, row, table, columns, keys)                                                                   \
    struct row {                                                                                             \
        columns(RECORD_T, RECORD_I, RECORD_R)                                                                \
    };
RECORD_TABLE(X)
#undef X

enum column_type { COLUMN_TEXT, COLUMN_INT, COLUMN_REAL };
struct record_column {
    const char *name;
    enum column_type type;
    size_t offset;
};
struct record_type {
    const char *table;
    size_t row_size;
    size_t num_keys;
    const struct record_column *columns;
    size_t num_columns;
};
extern const struct record_type record_types[RECORD_COUNT];
/* Every text "", every number 0, every real NaN. */
void record_init(enum record_kind kind, void *row);

#endif
