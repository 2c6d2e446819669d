/* Metrics: per device as reports arrive, aggregated when a round closes. A metric of round t is of w_t, or of
 * the work that started from it. */
#ifndef FEDLANE_CORE_METRICS_H
#define FEDLANE_CORE_METRICS_H

#include "server/core/work.h"

/* The rows of one device's report. The evaluation of w_t and generic metrics always; what describes the local
 * work (losses and gradient norms at start and end, gamma, update_norm) only where the update counts. */
enum err metrics_of_report(struct work *w, const struct task_row *task, const struct task_report *r,
                           bool is_counted) MUST_CHECK;

/* The weighted mean over the round's devices, ascending ordinal, of one metric; NaN where nobody reported it.
 * Values that are not finite (a device diverged) are left out, unless all are so. */
enum err metrics_mean(struct work *w, const char *run_id, int64_t round, const char *name,
                      double *out) MUST_CHECK;
/* The same for every metric of the round: rows with ordinal -1, and the JSON object name -> value. Beside the
 * mean test_accuracy its percentiles test_accuracy_p10, _p50 and _p90 over the devices that have test data,
 * each device counting once: the smallest value that at least 10, 50, 90 % of them do not exceed (nearest
 * rank). *out_mean_gamma: NaN where there is none. What is left out is a warning of the run, which the caller
 * saves. */
enum err metrics_aggregate(struct work *w, struct run_row *run, int64_t round, json_t **out,
                           double *out_mean_gamma) MUST_CHECK;

#endif
