/* What the tests of lanes share: jobs on a virtual clock. */
#ifndef FEDLANE_TESTS_UNIT_LANES_LAB_H
#define FEDLANE_TESTS_UNIT_LANES_LAB_H

#include "common/base/arena.h"
#include "lanes/policies/policies.h"
#include "lanes/trace/trace.h"
#include "lanes/virtual/virtual.h"
#include "tests/support/unit.h"

/* What the sanitizers make ten times slower is done in a shorter form under them. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define LAB_IS_SLOW 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LAB_IS_SLOW 1
#endif
#endif
#ifndef LAB_IS_SLOW
#define LAB_IS_SLOW 0
#endif
#define LAB_EVENTS (LAB_IS_SLOW ? 20000 : 100000)
#define LAB_SEEDS  (LAB_IS_SLOW ? 1 : 6)

#define LAB_ROWS 12000
#define SECOND   ((int64_t)1000000000)
#define MEGA     ((int64_t)1000000)

struct lab {
    struct virtual_job *rows; /* [LAB_ROWS] */
    size_t n;
    int64_t capacity;
    struct virtual_run *run; /* the last one */
};

/* An empty lab with a device of so many bytes. */
struct lab lab_make(int64_t capacity);
void lab_end(struct lab *l);
/* A job that says how many steps it does, with weight 1; to be changed by the caller. */
struct virtual_job *lab_add(struct lab *l, int64_t arrival_ns, int64_t steps, int64_t step_ns,
                            int64_t persistent, int64_t ephemeral);
/* The jobs of tests/data/trace100.csv, told to Salus's rules, too. */
void lab_add_trace100(struct lab *l);
/* Runs the jobs; `watch` may be NULL. The run stays for a look at it. */
struct virtual_summary lab_run_watched(struct lab *l, const struct lanes_policy *policy,
                                       const struct lanes_rules *rules,
                                       void (*watch)(void *, const struct scheduler *, int64_t),
                                       void *context);
struct virtual_summary lab_run(struct lab *l, const struct lanes_policy *policy);
/* How many times less its average completion time is than under `fifo`. */
double lab_gain(struct lab *l, const struct lanes_policy *policy);
void lab_path(char path[512], const char *name);
double lab_jain(const double *x, size_t n);

/* Fails with the figure where it is not within a part of the wanted one. */
void ck_near(const char *what, double value, double wanted, double part);
void ck_at_least(const char *what, double value, double bar);
void ck_at_most(const char *what, double value, double bar);

#endif
