#include <stdio.h>
#include "server/core/events.h"
#include "server/core/names.h"
#include "server/core/round.h"

enum err run_save(struct work *w, const struct run_row *run)
{
    return store_update(w->txn, RECORD_RUN, run);
}

enum err run_finish(struct work *w, struct run_row *run, enum run_outcome outcome, const char *reason)
{
    run->status = RUN_FINISHED;
    run->outcome = outcome;
    run->status_reason = reason;
    run->finished_at = w->now_ms;
    return event_add(w, run, "run_finished",
                     json_pack("{s:s, s:s}", "outcome", run_outcome_name(outcome), "reason", reason));
}

void run_not_deterministic(struct run_row *run, const char *reason)
{
    if (!run->is_deterministic)
        return;
    run->is_deterministic = 0;
    run->nondeterminism = reason;
}

void run_depends_on_time(struct run_row *run, const struct run_spec *spec, const char *reason)
{
    if (!spec->systems.is_timed)
        run_not_deterministic(run, reason);
}

enum err run_warn_of_divergence(struct work *w, struct run_row *run, const struct training_spec *training,
                                double mu)
{
    char text[200];
    if (!training_may_diverge(training, mu))
        return ERR_OK;
    (void)snprintf(text, sizeof text,
                   "learning_rate * proximal_mu = %.3g is 2 or more: the proximal term alone makes training "
                   "diverge; lower one of them",
                   training->learning_rate * mu);
    return event_warn(w, run, text);
}
