/* Every question the server asks its store, as data: the SQL backend makes a prepared statement of each row,
 * the memory backend interprets it. Arguments are given in the order of the conditions, then the limit.
 *
 * Q(NAME, record kind, conditions, order). A condition is C(column, operator) or O(column, operator):
 * optional, left out when its argument is store_any. Orders: ASC(column), DESC(column). Ties are broken by
 * the primary key, in the same direction, so every backend gives the same rows in the same order. A query
 * needs an index by its C(.., EQ) columns and then its order: sql/README.md. */
#ifndef FEDLANE_STORE_QUERIES_H
#define FEDLANE_STORE_QUERIES_H

#include "server/store/records.h"

#define QUERY_TABLE(Q)                                                                                       \
    Q(EXPERIMENTS, EXPERIMENT, (O(id, GT)), (ASC(id)))                                                       \
    Q(EXPERIMENT_BY_NAME, EXPERIMENT, (C(name, EQ)), (ASC(id)))                                              \
    /* newest first; the cursor is the last id seen */                                                       \
    Q(RUNS, RUN, (O(experiment_id, EQ) O(status, EQ) O(id, LT)), (DESC(id)))                                 \
    Q(RUNS_BY_STATUS, RUN, (C(status, EQ)), (ASC(id)))                                                       \
    Q(RUN_DEVICES, RUN_DEVICE, (C(run_id, EQ) O(ordinal, GT)), (ASC(ordinal)))                               \
    Q(RUN_DEVICE_AT, RUN_DEVICE, (C(run_id, EQ) C(position, EQ)), (ASC(ordinal)))                            \
    Q(ROUNDS, ROUND, (C(run_id, EQ) O(n, GT)), (ASC(n)))                                                     \
    Q(TASKS_BY_ROUND, TASK, (C(run_id, EQ) C(round, EQ) O(status, EQ) O(type, EQ)),                          \
      (ASC(ordinal) ASC(type)))                                                                              \
    Q(TASKS_OF_ROUND_FROM, TASK, (C(run_id, EQ) C(round, EQ) O(status, EQ) O(type, EQ) O(ordinal, GE)),      \
      (ASC(ordinal) ASC(type)))                                                                              \
    Q(TASKS_OPEN_BY_ROUND, TASK, (C(run_id, EQ) C(round, EQ) C(status, LE)), (ASC(ordinal) ASC(type)))       \
    /* claims: status LE TASK_CLAIMED finds the open ones, LE TASK_READY the unclaimed */                    \
    Q(TASKS_OPEN_BY_WORKER, TASK, (C(worker_id, EQ) C(status, LE)), (ASC(created_at) ASC(ordinal) ASC(id)))  \
    Q(TASKS_OPEN_BY_DEVICE, TASK, (C(device_id, EQ) C(status, LE)), (ASC(created_at) ASC(ordinal) ASC(id)))  \
    /* a device's history, newest first */                                                                   \
    Q(TASKS_OF_DEVICE, TASK, (C(device_id, EQ) O(run_id, EQ) O(type, EQ) O(id, LT)), (DESC(id)))             \
    Q(UPDATE_BY_TASK, UPDATE, (C(task_id, EQ)), (ASC(id)))                                                   \
    Q(UPDATES_BY_ROUND, UPDATE, (C(run_id, EQ) C(round, EQ) O(type, EQ)), (ASC(ordinal)))                    \
    Q(UPLOADS, UPLOAD, (O(id, GT)), (ASC(id)))                                                               \
    Q(UPLOADS_BY_TASK, UPLOAD, (C(task_id, EQ) O(id, GT)), (ASC(id)))                                        \
    Q(UPLOADS_BY_ROUND, UPLOAD, (C(run_id, EQ) C(round, EQ)), (ASC(id)))                                     \
    Q(MODELS, MODEL, (C(run_id, EQ) O(version, LT)), (DESC(version)))                                        \
    Q(DEVICES, DEVICE, (O(dataset, EQ) O(worker_id, EQ) O(id, GT)), (ASC(id)))                               \
    Q(DEVICES_WITH_LABEL, DEVICE_LABEL, (C(name, EQ) O(device_id, GT)), (ASC(device_id)))                    \
    Q(DEVICES_WITH_LABEL_VALUE, DEVICE_LABEL, (C(name, EQ) C(value, EQ) O(device_id, GT)), (ASC(device_id))) \
    Q(DEVICES_OF_DATASET, DEVICE, (C(dataset, EQ) C(revoked_at, EQ) O(ordinal, LT)), (ASC(ordinal)))         \
    Q(DEVICES_OF_DATASET_DOWN, DEVICE, (C(dataset, EQ) C(revoked_at, EQ)), (DESC(ordinal)))                  \
    Q(DEVICE_BY_ORDINAL, DEVICE, (C(dataset, EQ) C(ordinal, EQ) C(revoked_at, EQ)), (ASC(id)))               \
    Q(DEVICES_OF_WORKER, DEVICE, (C(worker_id, EQ) C(revoked_at, EQ)), (ASC(ordinal)))                       \
    Q(WORKERS, WORKER, (O(id, GT)), (ASC(id)))                                                               \
    Q(WORKER_BY_INSTANCE, WORKER, (C(instance_id, EQ)), (ASC(id)))                                           \
    Q(TOKENS, TOKEN, (O(role, EQ) O(id, GT)), (ASC(id)))                                                     \
    Q(TOKEN_BY_SHA256, TOKEN, (C(sha256, EQ)), (ASC(id)))                                                    \
    Q(TOKENS_OF_WORKER, TOKEN, (C(worker_id, EQ) C(revoked_at, EQ)), (ASC(id)))                              \
    Q(TOKENS_OF_DEVICE, TOKEN, (C(device_id, EQ) C(revoked_at, EQ)), (ASC(id)))                              \
    Q(IDEMPOTENCY_BEFORE, IDEMPOTENCY, (C(created_at, LT)), (ASC(created_at)))                               \
    Q(EVENTS, EVENT, (O(id, GT)), (ASC(id)))                                                                 \
    Q(EVENTS_DOWN, EVENT, (O(id, LT)), (DESC(id)))                                                           \
    Q(EVENTS_OF_RUN, EVENT, (C(run_id, EQ) O(seq, GT)), (ASC(seq)))                                          \
    Q(METRICS, METRIC, (C(run_id, EQ) O(name, EQ) O(ordinal, EQ) O(round, GE)),                              \
      (ASC(round) ASC(name) ASC(ordinal)))                                                                   \
    Q(AUDIT, AUDIT, (O(token_id, EQ) O(id, LT)), (DESC(id)))

enum query {
#define Q(name, kind, conditions, order) QUERY_##name,
    QUERY_TABLE(Q)
#undef Q
        QUERY_COUNT
};

#endif
