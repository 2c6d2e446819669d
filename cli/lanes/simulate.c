/* fedlane lanes simulate: the jobs of a trace on a device that a policy shares out, on a virtual clock. */
#include <stdio.h>
#include "cli/commands.h"
#include "cli/csv.h"
#include "cli/print.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "lanes/policies/policies.h"
#include "lanes/trace/trace.h"

#define COUNT(a)         (sizeof(a) / sizeof *(a))
#define DEFAULT_CAPACITY ((int64_t)14000000000) /* where neither the trace nor the caller says */
#define CSV_MAX          (64 * KIB)

static const struct table_column columns[] = {
    {"policy", "policy", CELL_TEXT, 0},
    {"average completion s", "average_completion_s", CELL_NUMBER, 0},
    {"95 % s", "p95_completion_s", CELL_NUMBER, 0},
    {"makespan s", "makespan_s", CELL_NUMBER, 0},
    {"jain", "jain", CELL_NUMBER, 0},
    {"overtakes", "overtakes", CELL_COUNT, 0},
    {"worst slowdown", "max_slowdown", CELL_NUMBER, 0},
    {"jobs", "jobs", CELL_COUNT, 0},
    {"refused", "refused", CELL_COUNT, 0},
    {"why", "reason", CELL_TEXT, 0},
};
static const char *const csv_fields[] = {"policy",
                                         "average_completion_s",
                                         "p95_completion_s",
                                         "makespan_s",
                                         "jain",
                                         "overtakes",
                                         "max_slowdown",
                                         "jobs",
                                         "refused"};

struct simulation {
    struct cli *cli;
    struct lanes_trace trace;
    json_t *results; /* an array */
};

/* -- running
 * ------------------------------------------------------------------------------------------------- */

static json_t *result_json(const struct lanes_policy *policy, const struct virtual_summary *s,
                           const char *reason)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:I, s:f, s:I, s:I, s:s*}", "policy", policy->name,
                     "average_completion_s", s->average_completion_s, "p95_completion_s", s->p95_completion_s,
                     "makespan_s", s->makespan_s, "jain", s->jain, "overtakes", (json_int_t)s->overtakes,
                     "max_slowdown", s->max_slowdown, "jobs", (json_int_t)s->num_jobs, "refused",
                     (json_int_t)s->num_refused, "reason", *reason ? reason : NULL);
}

static enum err nothing_fits(struct simulation *m, const struct lanes_policy *policy)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < m->trace.num_jobs; i++) {
        int64_t bytes = m->trace.jobs[i].persistent_bytes + m->trace.jobs[i].ephemeral_bytes;
        least = bytes < least ? bytes : least;
    }
    for (size_t d = 0; d < m->trace.num_devices; d++)
        most = m->trace.capacity_bytes[d] > most ? m->trace.capacity_bytes[d] : most;
    return fault_set(
        &m->cli->fault, ERR_USAGE, NULL,
        "%s: no job fits under %s: the smallest needs %lld bytes%s, the largest device has %lld; "
        "give --capacity",
        m->cli->words[0], policy->name, (long long)least,
        policy->rules.pad_ephemeral_percent ? " and padding" : "", (long long)most);
}

static enum err run(struct simulation *m, const struct lanes_policy *policy)
{
    const struct lanes_trace *t = &m->trace;
    struct virtual_config config = {
        .lanes = {.max_jobs = t->num_jobs < LIMIT_LANES_JOBS ? t->num_jobs : LIMIT_LANES_JOBS,
                  .num_devices = t->num_devices,
                  .policy = policy}};
    struct virtual_run *v = NULL;
    for (size_t d = 0; d < t->num_devices; d++)
        config.lanes.capacity_bytes[d] = t->capacity_bytes[d];
    enum err e = virtual_new(&config, t->num_jobs, &v, &m->cli->fault);
    if (e)
        return e;
    virtual_run(v, policy, t->jobs, t->num_jobs);
    struct virtual_summary summary = virtual_summarise(v);
    if (summary.num_refused == summary.num_jobs) {
        virtual_free(v);
        return nothing_fits(m, policy);
    }
    json_t *result = result_json(policy, &summary, scheduler_reason(virtual_scheduler(v)));
    if (json_array_append_new(m->results, result) != 0)
        e = ERR_NO_MEMORY;
    virtual_free(v);
    return e;
}

static enum err run_all(struct simulation *m)
{
    const char *name = m->cli->options.policy;
    const struct lanes_policy *policy = NULL;
    enum err e = ERR_OK;
    if (str_eq(name, "all")) {
        for (size_t i = 0; i < num_lanes_policies && !e; i++)
            e = run(m, lanes_policies[i]);
        return e;
    }
    e = lanes_policy_named(name, &policy, &m->cli->fault);
    return e ? e : run(m, policy);
}

/* -- printing
 * ------------------------------------------------------------------------------------------------ */

static enum err print_csv(const json_t *results)
{
    struct buf csv = BUF_INIT(CSV_MAX);
    enum err e = ERR_OK;
    for (size_t c = 0; c < COUNT(csv_fields) && !e; c++)
        e = csv_add_text(&csv, csv_fields[c], c + 1 == COUNT(csv_fields));
    for (size_t i = 0; i < json_array_size(results) && !e; i++)
        for (size_t c = 0; c < COUNT(csv_fields) && !e; c++)
            e = csv_add(&csv, json_object_get(json_array_get(results, i), csv_fields[c]),
                        c + 1 == COUNT(csv_fields));
    if (!e)
        (void)fwrite(csv.data, 1, csv.len, stdout);
    buf_release(&csv);
    return e;
}

static enum err print(const struct simulation *m)
{
    bool is_one = json_array_size(m->results) == 1;
    if (m->cli->format == FORMAT_CSV)
        return print_csv(m->results);
    if (is_one)
        return print_object(m->cli, columns, COUNT(columns), json_array_get(m->results, 0));
    return print_items(m->cli, columns, COUNT(columns) - 1, m->results);
}

/* -- the command
 * --------------------------------------------------------------------------------------------- */

static enum err load(struct simulation *m)
{
    struct cli *cli = m->cli;
    struct lanes_trace *t = &m->trace;
    enum err e = lanes_trace_read(cli->words[0], &cli->arena, t, &cli->fault);
    if (e)
        return e;
    if (cli->options.capacity > 0 || t->num_devices == 0) {
        t->num_devices = 1;
        t->capacity_bytes[0] = cli->options.capacity > 0 ? cli->options.capacity : DEFAULT_CAPACITY;
    }
    /* What an oracle would say; only Salus's rules listen to it. */
    for (size_t i = 0; i < t->num_jobs; i++)
        t->jobs[i].told_length_ns = t->jobs[i].steps * t->jobs[i].step_ns;
    return ERR_OK;
}

enum err cmd_lanes_simulate(struct cli *cli)
{
    struct simulation m = {.cli = cli, .results = json_array()};
    enum err e = m.results ? load(&m) : ERR_NO_MEMORY;
    if (!e)
        e = run_all(&m);
    if (!e)
        e = print(&m);
    json_decref(m.results);
    return cli_fail(cli, e, "lanes simulate");
}
