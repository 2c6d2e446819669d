/* From a round's updates to the next model: outside of any transaction, in ascending ordinal, range by range,
 * so that memory does not depend on the number of updates or the size of the model. May be done again from
 * the start at any time. */
#ifndef FEDLANE_CORE_AGGREGATION_H
#define FEDLANE_CORE_AGGREGATION_H

#include "server/core/round.h"

/* What the aggregation of one round reads; in `arena`. */
struct aggregation_input {
    struct run_row run;
    struct round_row round;
    const struct plan *plan;   /* of the cache */
    struct model_row model_in; /* w_t */
    struct update_row *updates;
    size_t num_updates;
    struct update_row *evaluations; /* of evaluate tasks; those with a blob hold gradients */
    size_t num_evaluations;
};

/* Inside a read. */
enum err aggregation_read(struct store_txn *txn, struct plan_cache *plans, struct arena *arena,
                          const char *run_id, int64_t round, struct aggregation_input *out) MUST_CHECK;

/* Decides the round's outcome and makes the new model where there is one. A result that says failed or
 * skipped is ERR_OK; an error is one of storage or memory, to be tried again. */
enum err aggregation_run(struct core *c, const struct aggregation_input *in, struct arena *arena,
                         struct round_result *out) MUST_CHECK;

/* Model version 0 from the run's seed, as a file. */
enum err aggregation_init_model(struct core *c, const struct plan *plan, struct round_result *out) MUST_CHECK;

/* The gradients' measures (gradients.c): dissimilarity_b and the variances of `out`. */
enum err aggregation_gradients(struct core *c, const struct aggregation_input *in, struct arena *arena,
                               struct round_result *out) MUST_CHECK;

/* Elements of the ranges that files are read in. */
#define AGGREGATION_RANGE ((size_t)64 * 1024)

#endif
