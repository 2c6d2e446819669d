#include "lanes/virtual/virtual.h"
#include <stdlib.h>
#include <string.h>
#include "lanes/virtual/summary.h"

/* An iteration that is on its way. */
struct running {
    lanes_job_id job;
    size_t row;
    int64_t began_ns, left_ns; /* left: of what it takes alone */
};

struct virtual_device {
    struct running running[LANES_MAX_CONCURRENT];
    int num_running;
};

struct virtual_run {
    struct virtual_config config;
    struct scheduler *scheduler;
    size_t max_rows, num_rows, num_resident, most_resident;
    const struct virtual_job *rows; /* the caller's, for the length of a run */
    struct virtual_job *kept;       /* [num_rows]: the rows of the last run, for the summary */
    struct virtual_outcome *outcomes;
    struct summary_scratch scratch;
    size_t *order; /* rows in the order of arrival */
    int64_t *steps_done;
    int64_t now_ns, iterations;
    struct virtual_device devices[LANES_MAX_DEVICES];
    void (*watch)(void *, const struct scheduler *, int64_t);
    void *watch_context;
};

/* -- what the scheduler decides
 * ------------------------------------------------------------------------------ */

static void begin_iteration(struct virtual_run *v, const struct lanes_decision *d)
{
    size_t row = (size_t)d->tag;
    struct virtual_device *device = &v->devices[d->device];
    device->running[device->num_running++] =
        (struct running){.job = d->job, .row = row, .began_ns = v->now_ns, .left_ns = v->rows[row].step_ns};
    v->iterations++;
    if (v->outcomes[row].start_ns < 0)
        v->outcomes[row].start_ns = v->now_ns;
}

static void decide(void *context, const struct lanes_decision *d)
{
    struct virtual_run *v = context;
    size_t row = (size_t)d->tag;
    switch (d->kind) {
    case LANES_RUN:
        begin_iteration(v, d);
        break;
    case LANES_ENTER:
        v->outcomes[row].waited_ns = v->now_ns - v->rows[row].arrival_ns;
        v->num_resident++;
        if (v->num_resident > v->most_resident)
            v->most_resident = v->num_resident;
        break;
    case LANES_LEAVE:
        v->outcomes[row].end_ns = v->now_ns;
        v->num_resident--;
        break;
    case LANES_MOVE:
    case LANES_EVICT: /* only of a device that is made smaller, which these are not */
        break;
    }
}

/* -- making
 * -------------------------------------------------------------------------------------------------- */

enum err virtual_new(const struct virtual_config *config, size_t max_rows, struct virtual_run **out,
                     struct fault *fault)
{
    struct virtual_run *v = calloc(1, sizeof *v);
    *out = NULL;
    if (!v)
        return ERR_NO_MEMORY;
    v->config = *config;
    v->config.lanes.decide = decide;
    v->config.lanes.context = v;
    v->max_rows = max_rows;
    for (int n = 0; n < LANES_MAX_CONCURRENT; n++)
        if (v->config.work_permille[n] <= 0)
            v->config.work_permille[n] = 1000 * (n + 1);
    v->kept = calloc(max_rows, sizeof *v->kept);
    v->outcomes = calloc(max_rows, sizeof *v->outcomes);
    v->order = calloc(max_rows, sizeof *v->order);
    v->steps_done = calloc(max_rows, sizeof *v->steps_done);
    v->scratch.completions = calloc(max_rows, sizeof *v->scratch.completions);
    enum err e = ERR_OK;
    if (!v->kept || !v->outcomes || !v->order || !v->steps_done || !v->scratch.completions)
        e = ERR_NO_MEMORY;
    if (!e)
        e = scheduler_new(&v->config.lanes, &v->scheduler, fault);
    if (e) {
        virtual_free(v);
        return e;
    }
    *out = v;
    return ERR_OK;
}

void virtual_free(struct virtual_run *v)
{
    if (!v)
        return;
    scheduler_free(v->scheduler);
    free(v->kept);
    free(v->outcomes);
    free(v->order);
    free(v->steps_done);
    free(v->scratch.completions);
    free(v);
}

/* -- running
 * ------------------------------------------------------------------------------------------------- */

/* By insertion: it keeps the order of equal ones, and rows mostly are in order. */
static void sort_by_arrival(struct virtual_run *v)
{
    for (size_t i = 0; i < v->num_rows; i++) {
        size_t at = i;
        for (; at > 0 && v->rows[v->order[at - 1]].arrival_ns > v->rows[i].arrival_ns; at--)
            v->order[at] = v->order[at - 1];
        v->order[at] = i;
    }
}

static void arrive(struct virtual_run *v, size_t row)
{
    const struct virtual_job *job = &v->rows[row];
    const struct lanes_request request = {.tag = row,
                                          .client = row,
                                          .steps = job->told_steps,
                                          .persistent_bytes = job->persistent_bytes,
                                          .ephemeral_bytes = job->ephemeral_bytes,
                                          .priority = job->priority,
                                          .weight = job->weight,
                                          .told_length_ns = job->told_length_ns};
    lanes_job_id id;
    if (scheduler_submit(v->scheduler, v->now_ns, &request, &id, NULL))
        v->outcomes[row].end_ns = -1;
}

/* Time until so much work is done, and work in so much time, where n share the device. */
static int64_t time_for(const struct virtual_run *v, int n, int64_t work_ns)
{
    int64_t permille = v->config.work_permille[n - 1];
    return (work_ns * 1000 * n + permille - 1) / permille;
}

static int64_t work_in(const struct virtual_run *v, int n, int64_t time_ns)
{
    return time_ns * v->config.work_permille[n - 1] / (1000 * n);
}

/* The iteration that ends next, and when; false where none runs. */
static bool next_end(const struct virtual_run *v, int *out_device, int *out_which, int64_t *out_ns)
{
    bool is_any = false;
    for (size_t d = 0; d < v->config.lanes.num_devices; d++) {
        const struct virtual_device *device = &v->devices[d];
        for (int i = 0; i < device->num_running; i++) {
            int64_t end = v->now_ns + time_for(v, device->num_running, device->running[i].left_ns);
            if (is_any && end >= *out_ns)
                continue;
            is_any = true;
            *out_device = (int)d;
            *out_which = i;
            *out_ns = end;
        }
    }
    return is_any;
}

static void advance_to(struct virtual_run *v, int64_t now_ns)
{
    for (size_t d = 0; d < v->config.lanes.num_devices; d++) {
        struct virtual_device *device = &v->devices[d];
        int64_t work = device->num_running ? work_in(v, device->num_running, now_ns - v->now_ns) : 0;
        for (int i = 0; i < device->num_running; i++) {
            struct running *r = &device->running[i];
            r->left_ns = work < r->left_ns ? r->left_ns - work : 0;
        }
    }
    v->now_ns = now_ns;
}

static void end_iteration(struct virtual_run *v, int d, int which)
{
    struct virtual_device *device = &v->devices[d];
    const struct running r = device->running[which];
    device->num_running--;
    memmove(&device->running[which], &device->running[which + 1],
            (size_t)(device->num_running - which) * sizeof *device->running);
    bool is_last = ++v->steps_done[r.row] == v->rows[r.row].steps;
    scheduler_iteration_done(v->scheduler, v->now_ns, r.job, v->now_ns - r.began_ns, is_last);
}

static void begin(struct virtual_run *v, const struct lanes_policy *policy, const struct virtual_job *rows,
                  size_t n)
{
    if (n > v->max_rows)
        bug("%zu rows in a virtual run of %zu", n, v->max_rows);
    v->rows = rows;
    v->num_rows = n;
    v->num_resident = v->most_resident = 0;
    v->now_ns = v->iterations = 0;
    memset(v->devices, 0, sizeof v->devices);
    for (size_t i = 0; i < n; i++) {
        v->kept[i] = rows[i];
        v->outcomes[i] = (struct virtual_outcome){.start_ns = -1, .end_ns = -1};
        v->steps_done[i] = 0;
    }
    scheduler_reset(v->scheduler, policy);
    for (size_t d = 0; d < v->config.lanes.num_devices; d++)
        scheduler_resize(v->scheduler, 0, (int)d, v->config.lanes.capacity_bytes[d]);
    sort_by_arrival(v);
}

void virtual_run(struct virtual_run *v, const struct lanes_policy *policy, const struct virtual_job *rows,
                 size_t n)
{
    size_t arrived = 0;
    int device = 0, which = 0;
    begin(v, policy, rows, n);
    for (;;) {
        int64_t end_ns = 0;
        bool is_running = next_end(v, &device, &which, &end_ns);
        bool is_arrival = arrived < n && (!is_running || rows[v->order[arrived]].arrival_ns <= end_ns);
        if (!is_arrival && !is_running)
            break;
        if (is_arrival) {
            advance_to(v, rows[v->order[arrived]].arrival_ns);
            arrive(v, v->order[arrived++]);
        } else {
            advance_to(v, end_ns);
            end_iteration(v, device, which);
        }
        if (v->watch)
            v->watch(v->watch_context, v->scheduler, v->now_ns);
    }
    if (scheduler_num_jobs(v->scheduler) > 0)
        bug("%zu jobs wait for nothing", scheduler_num_jobs(v->scheduler));
    v->rows = NULL;
}

/* -- looking
 * ------------------------------------------------------------------------------------------------- */

void virtual_watch(struct virtual_run *v, void (*watch)(void *, const struct scheduler *, int64_t),
                   void *context)
{
    v->watch = watch;
    v->watch_context = context;
}

void virtual_resize(struct virtual_run *v, int device, int64_t capacity_bytes)
{
    v->config.lanes.capacity_bytes[device] = capacity_bytes;
}

const struct virtual_outcome *virtual_outcome_at(const struct virtual_run *v, size_t row)
{
    return &v->outcomes[row];
}

const struct scheduler *virtual_scheduler(const struct virtual_run *v)
{
    return v->scheduler;
}

struct virtual_summary virtual_summarise(const struct virtual_run *v)
{
    struct virtual_summary summary = summarise(v->kept, v->outcomes, v->num_rows, &v->scratch);
    summary.overtakes = scheduler_overtakes(v->scheduler);
    summary.iterations = v->iterations;
    summary.most_resident = v->most_resident;
    return summary;
}
