/* How long a job may run when others wait for the same threads and all must end by a deadline. */
#ifndef FEDLANE_WORKER_FAIR_SHARE_H
#define FEDLANE_WORKER_FAIR_SHARE_H

#include <stddef.h>

/* Max-min fairness: the most that each of n + 1 jobs may take so that together they take at most `total`; who
 * needs less leaves the rest to the others. `need` is the job's own, `others` are those of the n that wait;
 * INFINITY where it is not known. All in the same unit. INFINITY when there is enough for all. */
double fair_share(double need, const double *others, size_t n, double total);

#endif
