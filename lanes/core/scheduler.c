#include "lanes/core/scheduler.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "lanes/core/concurrency.h"
#include "lanes/core/steps.h"

void lanes_decide(struct scheduler *s, enum lanes_decision_kind kind, const struct lanes_job *job)
{
    const struct lanes_decision decision = {.kind = kind,
                                            .job = job->id,
                                            .tag = job->request.tag,
                                            .device = job->device,
                                            .lane = job->lane,
                                            .reason = job->reason};
    s->config.decide(s->config.context, &decision);
}

/* -- making
 * -------------------------------------------------------------------------------------------------- */

static enum err check_config(const struct lanes_config *c, struct fault *fault)
{
    if (c->max_jobs < 1 || c->max_jobs > LIMIT_LANES_JOBS)
        return fault_set(fault, ERR_INVALID_FIELD, "max_jobs", "must be 1 to %d", LIMIT_LANES_JOBS);
    if (c->num_devices < 1 || c->num_devices > LANES_MAX_DEVICES)
        return fault_set(fault, ERR_INVALID_FIELD, "devices", "there can be 1 to %d", LANES_MAX_DEVICES);
    for (size_t d = 0; d < c->num_devices; d++)
        if (c->capacity_bytes[d] < 1)
            return fault_set(fault, ERR_INVALID_FIELD, "capacity", "must be at least 1 byte, not %lld",
                             (long long)c->capacity_bytes[d]);
    if (c->max_concurrent < 0 || c->max_concurrent > LANES_MAX_CONCURRENT)
        return fault_set(fault, ERR_INVALID_FIELD, "max_concurrent", "must be 1 to %d", LANES_MAX_CONCURRENT);
    if (c->overtake_limit < 0)
        return fault_set(fault, ERR_INVALID_FIELD, "overtake_limit", "must be at least 1");
    return ERR_OK;
}

void scheduler_reset(struct scheduler *s, const struct lanes_policy *policy)
{
    s->order = policy;
    if (s->policy != policy && (s->policy->open || policy->open))
        bug("a policy with a state of its own is chosen when the scheduler is made");
    s->policy = policy;
    s->rules = s->config.rules ? *s->config.rules : policy->rules;
    s->num_present = 0;
    s->last_id = 0;
    s->now_ns = s->iterations = s->overtakes = 0;
    s->learnt_ns = s->learnt_bytes = 0;
    s->memory_changed = false;
    for (size_t i = 0; i < s->config.max_jobs; i++) {
        s->jobs[i].id = 0;
        s->free_jobs[i] = &s->jobs[i];
    }
    for (size_t d = 0; d < s->config.num_devices; d++) {
        struct lanes_device *device = &s->devices[d];
        int64_t capacity = s->config.capacity_bytes[d];
        *device =
            (struct lanes_device){.memory.capacity = capacity, .wanted_capacity = capacity, .is_there = true};
        concurrency_reset(device);
    }
    if (policy->reset)
        policy->reset(s);
}

enum err scheduler_new(const struct lanes_config *config, struct scheduler **out, struct fault *fault)
{
    *out = NULL;
    enum err e = check_config(config, fault);
    if (e)
        return e;
    struct scheduler *s = calloc(1, sizeof *s);
    if (!s)
        return ERR_NO_MEMORY;
    s->config = *config;
    s->config.max_concurrent += config->max_concurrent == 0;
    if (config->overtake_limit == 0)
        s->config.overtake_limit = LANES_OVERTAKE_LIMIT;
    s->policy = s->order = config->policy;
    s->jobs = calloc(config->max_jobs, sizeof *s->jobs);
    s->present = calloc(config->max_jobs, sizeof(struct lanes_job *));
    s->free_jobs = calloc(config->max_jobs, sizeof(struct lanes_job *));
    s->scratch = calloc(config->max_jobs, sizeof(struct lanes_job *));
    if (!s->jobs || !s->present || !s->free_jobs || !s->scratch)
        e = ERR_NO_MEMORY;
    if (!e && s->policy->open)
        e = s->policy->open(s);
    if (e) {
        scheduler_free(s);
        return e;
    }
    scheduler_reset(s, config->policy);
    *out = s;
    return ERR_OK;
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    if (s->policy->close)
        s->policy->close(s);
    free(s->jobs);
    free(s->present);
    free(s->free_jobs);
    free(s->scratch);
    free(s);
}

/* -- events
 * -------------------------------------------------------------------------------------------------- */

static void at(struct scheduler *s, int64_t now_ns)
{
    s->now_ns = now_ns > s->now_ns ? now_ns : s->now_ns;
}

static bool fits_somewhere(const struct scheduler *s, const struct lanes_job *job)
{
    bool fits = false;
    for (size_t d = 0; d < s->config.num_devices; d++)
        fits = fits || lanes_could_hold(s, (int)d, job);
    return fits;
}

static int64_t largest_device(const struct scheduler *s)
{
    int64_t largest = 0;
    for (size_t d = 0; d < s->config.num_devices; d++)
        if (s->devices[d].wanted_capacity > largest)
            largest = s->devices[d].wanted_capacity;
    return largest;
}

static enum err check_request(const struct lanes_request *r, struct fault *fault)
{
    /* With the padding of any rule, sums stay far from overflow. */
    const int64_t most = INT64_MAX / 8;
    if (r->persistent_bytes < 0 || r->ephemeral_bytes < 0 || r->persistent_bytes > most ||
        r->ephemeral_bytes > most)
        return fault_set(fault, ERR_INVALID_FIELD, "memory", "P and E must be 0 to %lld bytes",
                         (long long)most);
    if (r->steps < 0)
        return fault_set(fault, ERR_INVALID_FIELD, "steps", "must be at least 1, or 0 where nobody knows");
    if (r->weight < 1 || r->weight > LANES_MAX_WEIGHT)
        return fault_set(fault, ERR_INVALID_FIELD, "weight", "must be 1 to %d, not %d", LANES_MAX_WEIGHT,
                         r->weight);
    return ERR_OK;
}

/* Of percents up to 100, without overflow. */
static int64_t padded(int64_t bytes, int percent)
{
    return bytes + bytes / 100 * percent + (bytes % 100 * percent + 99) / 100;
}

static struct lanes_job made(const struct scheduler *s, const struct lanes_request *r)
{
    return (struct lanes_job){.request = *r,
                              .persistent = padded(r->persistent_bytes, s->rules.pad_persistent_percent),
                              .ephemeral = padded(r->ephemeral_bytes, s->rules.pad_ephemeral_percent),
                              .device = -1,
                              .lane = -1,
                              .arrived_ns = s->now_ns};
}

enum err scheduler_submit(struct scheduler *s, int64_t now_ns, const struct lanes_request *request,
                          lanes_job_id *out_job, struct fault *fault)
{
    *out_job = 0;
    at(s, now_ns);
    enum err e = check_request(request, fault);
    if (e)
        return e;
    struct lanes_job job = made(s, request);
    if (!fits_somewhere(s, &job))
        return fault_set(fault, ERR_PAYLOAD_TOO_LARGE, "memory",
                         "the job needs %lld bytes (%lld persistent and %lld ephemeral), but the largest "
                         "device has %lld: use a smaller batch or model",
                         (long long)(job.persistent + job.ephemeral), (long long)job.persistent,
                         (long long)job.ephemeral, (long long)largest_device(s));
    if (s->num_present == s->config.max_jobs)
        return fault_set(fault, ERR_UNAVAILABLE, NULL,
                         "%zu jobs are here, as many as may be: try again later", s->num_present);
    job.id = *out_job = ++s->last_id;
    struct lanes_job *place = s->free_jobs[s->config.max_jobs - s->num_present - 1];
    *place = job;
    s->present[s->num_present++] = place;
    s->memory_changed = true;
    if (s->policy->on_arrive)
        s->policy->on_arrive(s, place);
    lanes_settle(s);
    return ERR_OK;
}

/* The job's iteration runs no more, however that came. */
static void stop_running(struct scheduler *s, struct lanes_job *job)
{
    struct lanes_device *d = &s->devices[job->device];
    d->memory.lanes[job->lane].is_running = false;
    d->num_running--;
    job->state = LANES_RESIDENT;
}

void scheduler_iteration_done(struct scheduler *s, int64_t now_ns, lanes_job_id id, int64_t duration_ns,
                              bool is_last)
{
    struct lanes_job *job = lanes_find(s, id);
    at(s, now_ns);
    if (!job || job->state != LANES_RUNNING)
        return; /* a late word of an executor that is lost */
    int device = job->device;
    duration_ns = duration_ns > 0 ? duration_ns : 0;
    concurrency_done(s, job, duration_ns);
    stop_running(s, job);
    lanes_learn(s, job, duration_ns);
    if (s->policy->on_iteration)
        s->policy->on_iteration(s, job, duration_ns);
    if (is_last || job->is_leaving)
        lanes_leave(s, job, is_last ? LANES_FINISHED : job->reason);
    else
        lanes_shrink(s, device);
    lanes_settle(s);
}

void scheduler_checkpointed(struct scheduler *s, lanes_job_id id, int64_t steps_done)
{
    struct lanes_job *job = lanes_find(s, id);
    if (job && steps_done > job->kept_steps && steps_done <= job->steps_done)
        job->kept_steps = steps_done;
}

void scheduler_cancel(struct scheduler *s, int64_t now_ns, lanes_job_id id)
{
    struct lanes_job *job = lanes_find(s, id);
    at(s, now_ns);
    if (job)
        lanes_end(s, job, LANES_CANCELLED);
    lanes_settle(s);
}

void scheduler_client_died(struct scheduler *s, int64_t now_ns, uint64_t client)
{
    at(s, now_ns);
    for (size_t i = s->num_present; i-- > 0;)
        if (s->present[i]->request.client == client)
            lanes_end(s, s->present[i], LANES_CLIENT_DIED);
    lanes_settle(s);
}

void scheduler_executor_lost(struct scheduler *s, int64_t now_ns, int device)
{
    at(s, now_ns);
    s->devices[device].is_there = false;
    for (size_t i = s->num_present; i-- > 0;) {
        struct lanes_job *job = s->present[i];
        if (job->device != device)
            continue;
        bool was_running = job->state == LANES_RUNNING;
        if (was_running)
            stop_running(s, job);
        lanes_free_memory(s, job);
        job->steps_done = job->kept_steps;
        job->strikes += was_running;
        if (job->is_leaving)
            lanes_leave(s, job, job->reason);
        else if (job->strikes >= LANES_MAX_STRIKES)
            lanes_leave(s, job, LANES_STRUCK);
    }
    lanes_shrink(s, device);
    concurrency_reset(&s->devices[device]);
    lanes_settle(s);
}

void scheduler_executor_back(struct scheduler *s, int64_t now_ns, int device)
{
    at(s, now_ns);
    s->devices[device].is_there = true;
    s->memory_changed = true;
    lanes_settle(s);
}

void scheduler_resize(struct scheduler *s, int64_t now_ns, int device, int64_t capacity_bytes)
{
    at(s, now_ns);
    s->devices[device].wanted_capacity = capacity_bytes > 0 ? capacity_bytes : 0;
    for (size_t i = s->num_present; i-- > 0;)
        if (!fits_somewhere(s, s->present[i]))
            lanes_end(s, s->present[i], LANES_TOO_LARGE);
    lanes_shrink(s, device);
    s->memory_changed = true;
    lanes_settle(s);
}

void scheduler_set_policy(struct scheduler *s, int64_t now_ns, const struct lanes_policy *policy)
{
    at(s, now_ns);
    if (s->policy->open || policy->open)
        bug("a policy with a state of its own is chosen when the scheduler is made");
    s->policy = s->order = policy;
    for (size_t i = 0; i < s->num_present && policy->on_arrive; i++)
        policy->on_arrive(s, s->present[i]);
    s->memory_changed = true;
    lanes_settle(s);
}
