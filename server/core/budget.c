#include "server/core/budget.h"

#include <math.h>
#include "common/fl/schedule.h"
#include "server/core/round.h"

#define SPEED_NEW_SHARE 0.3 /* of the latest measurement in the moving average */

static int64_t simulated(const struct plan *plan, const struct run_row *run, const struct task_row *t)
{
    const struct training_spec *job = &plan->spec.training;
    if (!t->is_straggler)
        return t->steps_assigned;
    int64_t steps = schedule_straggler_steps((uint64_t)run->seed, t->round, t->ordinal, t->num_examples,
                                             job->batch_size, job->local_epochs, job->local_steps);
    /* Where only whole jobs count a straggler is one that does not finish, whatever was drawn. */
    if (!plan->spec.params.accept_partial && steps >= t->steps_assigned)
        steps = t->steps_assigned - 1;
    return steps > 0 ? steps : 0;
}

void budget_set(const struct plan *plan, struct run_row *run, struct task_row *t, double steps_per_second)
{
    const struct run_spec *spec = &plan->spec;
    t->steps_assigned = schedule_full_steps(t->num_examples, spec->training.batch_size,
                                            spec->training.local_epochs, spec->training.local_steps);
    t->max_steps = spec->systems.has_stragglers ? simulated(plan, run, t) : t->steps_assigned;
    if ((spec->systems.has_stragglers && !spec->systems.is_timed) || !spec->params.accept_partial ||
        !(spec->reporting.deadline_s > 0) || !(steps_per_second > 0))
        return;
    double can_do = floor(steps_per_second * spec->reporting.deadline_s);
    if (can_do < (double)t->max_steps) {
        t->max_steps = can_do < 1 ? 1 : (int64_t)can_do;
        run_depends_on_time(run, spec, "step budgets came from the measured speed of the devices");
    }
}

double budget_speed(double steps_per_second, int64_t steps, double compute_ms)
{
    if (steps <= 0 || !(compute_ms > 0) || isinf(compute_ms))
        return steps_per_second;
    double latest = (double)steps * 1000 / compute_ms;
    if (!(steps_per_second > 0))
        return latest;
    return steps_per_second + SPEED_NEW_SHARE * (latest - steps_per_second);
}
