/* The threads of a simulation. Each has a task runner of its own; the caller's thread is one of them. */
#ifndef FEDLANE_CLI_SIMULATE_SIM_CREW_H
#define FEDLANE_CLI_SIMULATE_SIM_CREW_H

#include "worker/task_runner.h"

/* A task, and what came of it. */
struct sim_job {
    struct worker_task task;
    const char *worker_id; /* who claimed it; borrowed */
    int64_t work;          /* in examples, roughly: the longest job starts first */

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

/* Runs them all, the longest first; w_t is their model's parameters. Returns when the last one is done. The
 * order of jobs[] is changed. */
void sim_crew_run(struct sim_crew *crew, struct sim_job *jobs, size_t num_jobs, const float *w_t);

#endif
