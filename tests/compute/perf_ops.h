#ifndef FEDLANE_TESTS_COMPUTE_PERF_OPS_H
#define FEDLANE_TESTS_COMPUTE_PERF_OPS_H

/* Prints how long the operations take on a backend; NULL: on reference and openblas. Returns an exit status.
 */
int perf_ops(const char *backend);

#endif
