/* How many iterations may run at once on a device. They are kept only where they are measured to be worth it:
 * one more is tried for a window of iterations and stays if the device then does at least 5 % more work a
 * second, in time that the same iterations take alone. What does not stay is tried again, each time twice as
 * much later. */
#ifndef FEDLANE_LANES_CORE_CONCURRENCY_H
#define FEDLANE_LANES_CORE_CONCURRENCY_H

#include "lanes/core/job.h"

#define CONCURRENCY_WINDOW       32   /* iterations of a measurement */
#define CONCURRENCY_GAIN_PERCENT 5    /* that one more must bring */
#define CONCURRENCY_MOST_WAIT    8192 /* iterations between two trials */

void concurrency_reset(struct lanes_device *d);
/* The job's iteration is about to begin. */
void concurrency_begin(struct scheduler *s, struct lanes_job *job);
/* It is over; before it counts as no longer running. */
void concurrency_done(struct scheduler *s, struct lanes_job *job, int64_t duration_ns);
/* All that can run does. True: one more may from now on. */
bool concurrency_settled(struct scheduler *s, int device);

#endif
