/* The surroundings of one operation: what every step of it needs at hand. */
#ifndef FEDLANE_CORE_WORK_H
#define FEDLANE_CORE_WORK_H

#include "server/core/core_impl.h"
#include "server/core/ops.h"

struct work {
    struct core *core;
    struct store_txn *txn;
    struct arena *arena;
    struct fault *fault;
    const char *caller;
    int64_t now_ms;
};

struct work work_begin(struct store_txn *txn, struct op_base *base);
enum err work_id(struct work *w, const char **out) MUST_CHECK;
/* Compact JSON text in the arena; takes the reference. `value` NULL (building it failed) is ERR_NO_MEMORY. */
enum err json_to_arena(struct arena *arena, json_t *value, const char **out) MUST_CHECK;
/* A document that the core itself wrote: ERR_CORRUPT where it is none. */
enum err json_from_row(const char *text, json_t **out) MUST_CHECK;

/* Rows by key, with a fault that names what was not found. */
enum err run_load(struct work *w, const char *id, struct run_row *out) MUST_CHECK;
enum err round_load(struct work *w, const char *run_id, int64_t n, struct round_row *out) MUST_CHECK;
enum err task_load(struct work *w, const char *id, struct task_row *out) MUST_CHECK;
enum err device_load(struct work *w, const char *id, struct device_row *out) MUST_CHECK;
enum err worker_load(struct work *w, const char *id, struct worker_row *out) MUST_CHECK;

#endif
