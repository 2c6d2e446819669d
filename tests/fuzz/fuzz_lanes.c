/* Traces of jobs that share devices: what is taken is in order and within bounds, a job is the same when it
 * is written as a line and read again, and a short trace runs to its end under every policy. */
#include <string.h>
#include "common/base/limits.h"
#include "lanes/policies/policies.h"
#include "lanes/trace/trace.h"
#include "tests/fuzz/fuzz.h"

#define MOST_STEPS 300 /* that are run */
#define MOST_BYTES ((int64_t)1000000000000000)

static void prove_job(const struct virtual_job *job)
{
    PROVE(job->arrival_ns >= 0 && job->steps >= 1 && job->step_ns >= 0 && job->told_steps >= 0);
    PROVE(job->persistent_bytes >= 0 && job->persistent_bytes <= MOST_BYTES);
    PROVE(job->ephemeral_bytes >= 0 && job->ephemeral_bytes <= MOST_BYTES);
    PROVE(job->weight >= 1 && job->weight <= LANES_MAX_WEIGHT);
}

static void prove_round_trip(const struct virtual_job *job, struct arena *arena)
{
    const struct lanes_trace_job written = {
        .name = "n", .tenant = "", .job = *job, .start_ns = -1, .end_ns = 7, .outcome = LANES_STRUCK};
    struct lanes_trace_job read;
    struct buf line = BUF_INIT(4 * KIB);
    PROVE(!lanes_trace_write_job(&line, &written));
    PROVE(!lanes_trace_parse_job(line.data, line.len - 1, arena, &read, NULL));
    PROVE(read.job.arrival_ns == job->arrival_ns && read.job.steps == job->steps);
    PROVE(read.job.step_ns == job->step_ns && read.job.told_steps == job->told_steps);
    PROVE(read.job.persistent_bytes == job->persistent_bytes && read.job.weight == job->weight);
    PROVE(read.job.ephemeral_bytes == job->ephemeral_bytes && read.job.priority == job->priority);
    PROVE(read.start_ns == -1 && read.end_ns == 7 && read.outcome == LANES_STRUCK);
    buf_release(&line);
}

/* A run that leaves a job waiting is a bug() of its own. */
static void run(const struct lanes_trace *t, const struct lanes_policy *policy)
{
    struct virtual_config config = {
        .lanes = {.max_jobs = t->num_jobs, .num_devices = t->num_devices, .policy = policy}};
    struct virtual_run *v;
    for (size_t d = 0; d < t->num_devices; d++)
        config.lanes.capacity_bytes[d] = t->capacity_bytes[d];
    if (t->num_devices == 0) {
        config.lanes.num_devices = 1;
        config.lanes.capacity_bytes[0] = 1000000000;
    }
    if (virtual_new(&config, t->num_jobs, &v, NULL))
        return;
    virtual_run(v, policy, t->jobs, t->num_jobs);
    struct virtual_summary s = virtual_summarise(v);
    PROVE(s.num_jobs == t->num_jobs && s.num_refused <= s.num_jobs);
    PROVE(s.jain >= 0 && s.jain <= 1.000001 && s.makespan_s >= 0);
    virtual_free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(256 * MIB);
    struct lanes_trace trace;
    struct fault fault = FAULT_NONE;
    int64_t steps = 0;
    enum err e = lanes_trace_read(fuzz_file(0, data, size), &arena, &trace, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || e == ERR_BAD_FILE);
    for (size_t i = 0; i < trace.num_jobs && !e; i++) {
        PROVE(i == 0 || trace.jobs[i - 1].arrival_ns <= trace.jobs[i].arrival_ns);
        prove_job(&trace.jobs[i]);
        prove_round_trip(&trace.jobs[i], &arena);
        steps += trace.jobs[i].steps;
    }
    for (size_t p = 0; p < num_lanes_policies && !e && steps <= MOST_STEPS; p++)
        run(&trace, lanes_policies[p]);
    arena_release(&arena);
    return 0;
}
