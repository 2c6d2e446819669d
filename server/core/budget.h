/* How much work a device is asked for: the whole job, and how many of its steps it may do. */
#ifndef FEDLANE_CORE_BUDGET_H
#define FEDLANE_CORE_BUDGET_H

#include "server/core/plan.h"

/* Sets task->steps_assigned and max_steps. Simulated stragglers by the run's schedule; otherwise, and in
 * simulated time as well, where partial work counts, what the device should finish by the deadline at its
 * measured speed (NaN: unknown), at least one step. Unless that time is simulated, such a budget makes the
 * run depend on real time, which is noted in it. */
void budget_set(const struct plan *plan, struct run_row *run, struct task_row *task, double steps_per_second);

/* The moving average of a device's speed after `steps` in compute_ms. Unchanged where they say nothing. */
double budget_speed(double steps_per_second, int64_t steps, double compute_ms);

#endif
