/* What the core's own files ask of each other. */
#ifndef FEDLANE_LANES_CORE_STEPS_H
#define FEDLANE_LANES_CORE_STEPS_H

#include "lanes/core/job.h"

void lanes_decide(struct scheduler *s, enum lanes_decision_kind kind, const struct lanes_job *job);

/* -- order.c ------------------------------------------------------------------------------------------------
 */

/* NULL where it is gone. */
struct lanes_job *lanes_find(const struct scheduler *s, lanes_job_id id);
/* The first n of s->scratch, by a comparison of which no two jobs are equal. */
void lanes_sort_scratch(const struct scheduler *s, size_t n, lanes_before_fn before);

/* -- leave.c ------------------------------------------------------------------------------------------------
 */

/* The job gives back its memory and waits. */
void lanes_free_memory(struct scheduler *s, struct lanes_job *job);
/* The same of one that does not run, with its state. */
void lanes_evict(struct scheduler *s, struct lanes_job *job);
/* The job is gone. It does not run. */
void lanes_leave(struct scheduler *s, struct lanes_job *job, enum lanes_leave_reason reason);
/* The same, but after its iteration where one runs. */
void lanes_end(struct scheduler *s, struct lanes_job *job, enum lanes_leave_reason reason);
/* Comes down to the capacity that is wanted, as far as running iterations allow. */
void lanes_shrink(struct scheduler *s, int device);

/* -- enter.c ------------------------------------------------------------------------------------------------
 */

/* Whether a device that had all its memory to itself could hold the job. */
bool lanes_could_hold(const struct scheduler *s, int device, const struct lanes_job *job);
/* Gives memory to those that wait, as far as it goes. */
void lanes_enter_waiting(struct scheduler *s);
/* Gives memory of an empty device to a job that it can hold. */
void lanes_enter_on(struct scheduler *s, struct lanes_job *job, int device);
/* The jobs of lane `from` are those of lane `into`. */
void lanes_merge(struct scheduler *s, int device, int from, int into);

/* -- balance.c ----------------------------------------------------------------------------------------------
 */

/* Jobs in the device's memory. */
size_t lanes_num_resident(const struct scheduler *s, int device);
/* Gives idle devices some of what others have too much of. Whether any was moved. */
bool lanes_balance(struct scheduler *s);

/* -- run.c --------------------------------------------------------------------------------------------------
 */

/* After every event: memory to whom it fits, and an iteration on every device that may begin one. */
void lanes_settle(struct scheduler *s);

#endif
