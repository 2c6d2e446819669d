#include "tests/unit/lanes/lab.h"
#include <math.h>
#include "common/base/limits.h"

struct lab lab_make(int64_t capacity)
{
    struct lab l = {.capacity = capacity, .rows = calloc(LAB_ROWS, sizeof *l.rows)};
    ck_assert_ptr_nonnull(l.rows);
    return l;
}

void lab_end(struct lab *l)
{
    virtual_free(l->run);
    free(l->rows);
    *l = (struct lab){0};
}

struct virtual_job *lab_add(struct lab *l, int64_t arrival_ns, int64_t steps, int64_t step_ns,
                            int64_t persistent, int64_t ephemeral)
{
    ck_assert_uint_lt(l->n, LAB_ROWS);
    l->rows[l->n] = (struct virtual_job){.arrival_ns = arrival_ns,
                                         .steps = steps,
                                         .step_ns = step_ns,
                                         .told_steps = steps,
                                         .told_length_ns = steps * step_ns,
                                         .persistent_bytes = persistent,
                                         .ephemeral_bytes = ephemeral,
                                         .weight = 1};
    return &l->rows[l->n++];
}

void lab_path(char path[512], const char *name)
{
    const char *srcdir = getenv("srcdir");
    (void)snprintf(path, 512, "%s/tests/data/%s", srcdir ? srcdir : ".", name);
}

void lab_add_trace100(struct lab *l)
{
    struct arena arena = ARENA_INIT(1 * MIB);
    struct lanes_trace trace;
    struct fault fault = FAULT_NONE;
    char path[512];
    lab_path(path, "trace100.csv");
    enum err e = lanes_trace_read(path, &arena, &trace, &fault);
    ck_assert_msg(!e, "%s", fault.detail);
    ck_assert_uint_eq(trace.num_jobs, 100);
    for (size_t i = 0; i < trace.num_jobs; i++) {
        l->rows[l->n] = trace.jobs[i];
        l->rows[l->n].told_length_ns = trace.jobs[i].steps * trace.jobs[i].step_ns;
        l->n++;
    }
    arena_release(&arena);
}

struct virtual_summary lab_run_watched(struct lab *l, const struct lanes_policy *policy,
                                       const struct lanes_rules *rules,
                                       void (*watch)(void *, const struct scheduler *, int64_t),
                                       void *context)
{
    const struct virtual_config config = {
        .lanes = {.max_jobs = l->n < LIMIT_LANES_JOBS ? l->n : LIMIT_LANES_JOBS,
                  .num_devices = 1,
                  .capacity_bytes = {l->capacity},
                  .policy = policy,
                  .rules = rules}};
    struct fault fault = FAULT_NONE;
    virtual_free(l->run);
    enum err e = virtual_new(&config, l->n, &l->run, &fault);
    ck_assert_msg(!e, "%s", fault.detail);
    virtual_watch(l->run, watch, context);
    virtual_run(l->run, policy, l->rows, l->n);
    return virtual_summarise(l->run);
}

struct virtual_summary lab_run(struct lab *l, const struct lanes_policy *policy)
{
    return lab_run_watched(l, policy, NULL, NULL, NULL);
}

double lab_gain(struct lab *l, const struct lanes_policy *policy)
{
    double fifo = lab_run(l, &policy_fifo).average_completion_s;
    return fifo / lab_run(l, policy).average_completion_s;
}

double lab_jain(const double *x, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    return sum * sum / ((double)n * squares);
}

void ck_near(const char *what, double value, double wanted, double part)
{
    ck_assert_msg(fabs(value - wanted) <= part * wanted, "%s: %.4f, not %.4f", what, value, wanted);
}

void ck_at_least(const char *what, double value, double bar)
{
    ck_assert_msg(value >= bar, "%s: %.4f, not at least %.4f", what, value, bar);
}

void ck_at_most(const char *what, double value, double bar)
{
    ck_assert_msg(value <= bar, "%s: %.4f, not at most %.4f", what, value, bar);
}
