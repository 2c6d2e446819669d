/* From a job to its report: decode the weights, run the task, put the report into the outbox. */
#ifndef FEDLANE_WORKER_JOB_RUN_H
#define FEDLANE_WORKER_JOB_RUN_H

#include "worker/job.h"

/* On the runner's thread. Afterwards job->outcome is set, and job->report unless it is WORK_CANCELLED. What
 * goes wrong becomes a report of failure; a report that cannot be stored is kept in memory only, and the log
 * says so. */
void job_run(struct job *job, struct task_runner *runner, const struct task_control *control,
             const char *outbox);

/* A report {code, detail, attempt} that the task cannot be done; not stored. ERR_NO_MEMORY. */
enum err job_report_failure(const char *task_id, int64_t attempt, const char *code, const char *detail,
                            struct report *out) MUST_CHECK;

#endif
