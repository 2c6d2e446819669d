/* Reports beyond what ops.h offers. */
#ifndef FEDLANE_CORE_TASK_REPORT_H
#define FEDLANE_CORE_TASK_REPORT_H

#include "server/core/work.h"

/* What was said, as JSON: unset values left out. New reference; NULL when out of memory. */
json_t *task_report_json(const struct task_report *r);
/* The same as text, in the operation's arena; "" in a simulation, which nobody asks for it. */
enum err task_report_text(struct work *w, const struct task_report *r, const char **out) MUST_CHECK;

/* Whether the report fits its task: counts in their bounds (ERR_INVALID_UPDATE), echoes as the task said
 * (ERR_CONFIG_MISMATCH), the attempt the present one (ERR_SUPERSEDED). */
enum err task_report_check(const struct task_row *task, const struct round_row *round,
                           const struct plan *plan, const struct task_report *r,
                           struct fault *fault) MUST_CHECK;

#endif
