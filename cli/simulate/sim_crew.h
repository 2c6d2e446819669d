/* The threads of a simulation. Each has a task runner of its own; the caller's thread is one of them, from
 * sim_crew_new to sim_crew_free. While they have fewer jobs than cores, the others help
 * (common/compute/team.h). */
#ifndef FEDLANE_CLI_SIMULATE_SIM_CREW_H
#define FEDLANE_CLI_SIMULATE_SIM_CREW_H

#include "cli/simulate/sim_time.h"
#include "worker/task_runner.h"

/* A task, and what came of it. */
struct sim_job {
    struct worker_task task;
    const char *worker_id; /* who claimed it; borrowed */
    int64_t work;          /* in examples, roughly */

    struct sim_timing timing;
    bool is_over; /* handed in and released */

    bool is_done; /* it has run; the crew's between sim_crew_begin and sim_crew_wait */
    enum err err; /* the result could not even be kept */
    enum work_outcome outcome;
    char code[32], detail[512]; /* unless the outcome is WORK_UPDATE */
    struct arena arena;         /* of the metadata */
    struct safetensors_pair *metadata;
    size_t num_metadata;
    struct buf file; /* empty where the result has no tensors */
};

void sim_job_release(struct sim_job *job);

struct sim_crew;

/* `data` outlives the crew. ERR_NO_MEMORY, ERR_UNAVAILABLE when a thread cannot be started. */
enum err sim_crew_new(const struct dataset *data, int threads, struct sim_crew **out) MUST_CHECK;
void sim_crew_free(struct sim_crew *crew);

/* Starts them: long ones first, the longest of them at once; then the others as they stand in jobs[], so that
 * who waits for one after the other seldom waits. jobs[] must stay where it is, and w_t, their model's
 * parameters, as it is, until sim_crew_wait was called for each of them. ERR_NO_MEMORY. */
enum err sim_crew_begin(struct sim_crew *crew, struct sim_job *jobs, size_t num_jobs,
                        const float *w_t) MUST_CHECK;
/* Returns when this job is done. The caller's thread works meanwhile. */
void sim_crew_wait(struct sim_crew *crew, const struct sim_job *job);
/* Waits for them all. */
void sim_crew_end(struct sim_crew *crew);

#endif
