/* The life of a round: selecting -> training -> aggregating -> closed. Each function is one step inside a
 * store write. The round and run rows are changed in place and saved where it says so. */
#ifndef FEDLANE_CORE_ROUND_H
#define FEDLANE_CORE_ROUND_H

#include "server/core/work.h"

/* Opens round run->round: tasks for the evaluation, and for the training unless the strategy must know f(w_t)
 * first. Saves the round, not the run. A final round evaluates w_T only. */
enum err round_open(struct work *w, struct run_row *run) MUST_CHECK;

/* Something was answered: goes to the next step where the round has what it waits for. Saves round and run.
 */
enum err round_advance(struct work *w, struct run_row *run, struct round_row *round) MUST_CHECK;

/* The clock: at grace_until what is open is late, or the time is extended. Saves round and run. */
enum err round_by_clock(struct work *w, struct run_row *run, struct round_row *round) MUST_CHECK;

/* Ends an open round whose run ends: its tasks are cancelled, w stays. Saves the round, not the run. */
enum err round_abandon(struct work *w, struct run_row *run, struct round_row *round,
                       enum round_outcome outcome, const char *reason) MUST_CHECK;

/* What the aggregation of a round made. */
struct round_result {
    enum round_outcome outcome;
    char reason[256];
    bool has_model; /* a new one; otherwise w stays */
    int64_t blob_id, size_bytes;
    char weights_sha256[65], aggregate_sha256[65];
    double dissimilarity_b, grad_variance_weighted, grad_variance_uniform; /* NaN where not measured */
};

/* Closes an aggregating round, stores the next model's row, applies the retention, and opens the next round
 * or ends the run. *out_garbage: blobs that nothing names any more once this is committed; in the arena.
 * Saves both. */
enum err round_close(struct work *w, struct run_row *run, struct round_row *round,
                     const struct round_result *result, int64_t **out_garbage,
                     size_t *out_num_garbage) MUST_CHECK;

/* -- the end of tasks */

/* Gives an open task its end: saves it, and counts it in the round. */
enum err task_end(struct work *w, struct round_row *round, struct task_row *task,
                  enum task_status status) MUST_CHECK;
/* The same for all open tasks of the round with this type (-1: any). */
enum err round_end_tasks(struct work *w, struct round_row *round, int64_t type,
                         enum task_status status) MUST_CHECK;

/* -- runs */

/* From pending to waiting for devices; core_advance does the rest. Does not save. */
enum err run_start(struct work *w, struct run_row *run) MUST_CHECK;
enum err run_save(struct work *w, const struct run_row *run) MUST_CHECK;
/* Ends the run: status, outcome, reason, event. Does not save. */
enum err run_finish(struct work *w, struct run_row *run, enum run_outcome outcome,
                    const char *reason) MUST_CHECK;
/* Tells where the proximal term alone makes training diverge: eta * mu >= 2. Does not save. */
enum err run_warn_of_divergence(struct work *w, struct run_row *run, const struct training_spec *training,
                                double mu) MUST_CHECK;
/* From now on the run's bits depend on what no seed gives; the first reason is kept. Does not save. */
void run_not_deterministic(struct run_row *run, const char *reason);
/* The same for what came from the time that passed: simulated time is the same in every run. */
void run_depends_on_time(struct run_row *run, const struct run_spec *spec, const char *reason);

#endif
