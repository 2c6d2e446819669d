#include "cli/simulate/sim_crew.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "common/compute/team.h"

/* A result's metadata: some thirty short texts. */
#define METADATA_MAX (64 * KIB)

struct crew_thread {
    struct sim_crew *crew;
    struct task_runner *runner;
    pthread_t thread;
    bool is_running;
};

struct sim_crew {
    pthread_mutex_t lock;
    pthread_cond_t work_came, work_ended;
    struct sim_job **queue; /* in the order in which they start */
    size_t num_jobs, next, num_done, room;
    const float *w_t;
    bool is_stopping;
    struct crew_thread *threads; /* the first one is the caller's */
    int num_threads;
};

void sim_job_release(struct sim_job *job)
{
    arena_release(&job->arena);
    buf_release(&job->file);
}

/* What a task leaves behind must be its own: the runner's values are gone with its next task. */
static enum err keep_result(struct sim_job *job, struct task_result *result)
{
    /* How long it really took is no property of the run, and budgets must not follow it. */
    result->compute_ms = job->timing.compute_ms;
    result->download_ms = job->timing.download_ms;
    job->outcome = result->outcome;
    memcpy(job->code, result->code, sizeof job->code);
    memcpy(job->detail, result->detail, sizeof job->detail);
    enum err e = task_result_metadata(&job->task, result, &job->arena, &job->metadata, &job->num_metadata);
    if (e || !result->values)
        return e;
    /* The metadata are handed in beside the file, so nobody has to read them out of it. */
    const char *prefix = job->task.type == WORK_TRAIN ? "" : "grad.";
    return safetensors_encode(result->tensors, prefix, result->values, NULL, NULL, 0, &job->file);
}

static void run_job(struct task_runner *runner, struct sim_job *job, const float *w_t)
{
    const struct sim_timing *timing = &job->timing;
    const struct task_control control = {.skip_dropped_work = true,
                                         .deadline_steps =
                                             timing->deadline_steps < 0 ? NULL : &timing->deadline_steps};
    struct task_result result;
    job->arena = ARENA_INIT(METADATA_MAX);
    job->file = BUF_INIT((size_t)LIMIT_MODEL_BYTES);
    task_run(runner, &job->task, w_t, &control, &result);
    job->err = keep_result(job, &result);
}

/* Does the next job, which must be there. Called and left with the lock held. */
static void work_one(struct sim_crew *crew, struct task_runner *runner)
{
    struct sim_job *job = crew->queue[crew->next++];
    (void)pthread_mutex_unlock(&crew->lock);
    run_job(runner, job, crew->w_t);
    (void)pthread_mutex_lock(&crew->lock);
    job->is_done = true;
    crew->num_done++;
    (void)pthread_cond_signal(&crew->work_ended);
}

static void *thread_main(void *ctx)
{
    struct crew_thread *self = ctx;
    struct sim_crew *crew = self->crew;
    (void)pthread_mutex_lock(&crew->lock);
    while (!crew->is_stopping) {
        if (crew->next < crew->num_jobs) {
            team_enter();
            while (crew->next < crew->num_jobs)
                work_one(crew, self->runner);
            team_leave();
        }
        (void)pthread_cond_wait(&crew->work_came, &crew->lock);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* A job is long if a thread that starts it last could be the only one that still works. */
#define SHORT_JOBS 8 /* a thread, at least */

static int longest_first(const void *a, const void *b)
{
    const struct sim_job *x = *(struct sim_job *const *)a, *y = *(struct sim_job *const *)b;
    return (x->work < y->work) - (x->work > y->work);
}

static void queue_fill(struct sim_crew *crew, struct sim_job *jobs)
{
    int64_t total = 0;
    size_t num_long = 0, at = 0;
    for (size_t i = 0; i < crew->num_jobs; i++)
        total += jobs[i].work;
    const int64_t most = total / (SHORT_JOBS * crew->num_threads);
    for (size_t i = 0; i < crew->num_jobs; i++) {
        jobs[i].is_done = false;
        if (jobs[i].work > most)
            crew->queue[num_long++] = &jobs[i];
    }
    qsort(crew->queue, num_long, sizeof *crew->queue, longest_first);
    at = num_long;
    for (size_t i = 0; i < crew->num_jobs; i++)
        if (jobs[i].work <= most)
            crew->queue[at++] = &jobs[i];
}

static enum err reserve(struct sim_crew *crew, size_t num_jobs)
{
    if (num_jobs <= crew->room)
        return ERR_OK;
    struct sim_job **bigger = realloc(crew->queue, num_jobs * sizeof(struct sim_job *));
    if (!bigger)
        return ERR_NO_MEMORY;
    crew->queue = bigger;
    crew->room = num_jobs;
    return ERR_OK;
}

enum err sim_crew_begin(struct sim_crew *crew, struct sim_job *jobs, size_t num_jobs, const float *w_t)
{
    (void)pthread_mutex_lock(&crew->lock);
    enum err e = reserve(crew, num_jobs);
    crew->num_jobs = e ? 0 : num_jobs;
    crew->next = crew->num_done = 0;
    crew->w_t = w_t;
    if (!e)
        queue_fill(crew, jobs);
    (void)pthread_cond_broadcast(&crew->work_came);
    (void)pthread_mutex_unlock(&crew->lock);
    return e;
}

/* With the lock held: one job, or a wait until one ends, which leaves a core to those that run. */
static void help(struct sim_crew *crew)
{
    if (crew->next < crew->num_jobs) {
        work_one(crew, crew->threads[0].runner);
        return;
    }
    team_leave();
    (void)pthread_cond_wait(&crew->work_ended, &crew->lock);
    team_enter();
}

void sim_crew_wait(struct sim_crew *crew, const struct sim_job *job)
{
    (void)pthread_mutex_lock(&crew->lock);
    while (!job->is_done)
        help(crew);
    (void)pthread_mutex_unlock(&crew->lock);
}

void sim_crew_end(struct sim_crew *crew)
{
    (void)pthread_mutex_lock(&crew->lock);
    while (crew->num_done < crew->num_jobs)
        help(crew);
    (void)pthread_mutex_unlock(&crew->lock);
}

static enum err start_threads(struct sim_crew *crew, const struct dataset *data)
{
    for (int i = 0; i < crew->num_threads; i++) {
        struct crew_thread *t = &crew->threads[i];
        t->crew = crew;
        enum err e = task_runner_new(data, &trainer_local, &t->runner);
        if (e)
            return e;
        if (i > 0 && pthread_create(&t->thread, NULL, thread_main, t) != 0)
            return ERR_UNAVAILABLE;
        t->is_running = i > 0;
    }
    return ERR_OK;
}

enum err sim_crew_new(const struct dataset *data, int threads, struct sim_crew **out)
{
    struct sim_crew *crew = calloc(1, sizeof *crew);
    if (!crew)
        return ERR_NO_MEMORY;
    if (pthread_mutex_init(&crew->lock, NULL) != 0 || pthread_cond_init(&crew->work_came, NULL) != 0 ||
        pthread_cond_init(&crew->work_ended, NULL) != 0)
        bug("a mutex or a condition variable could not be made");
    team_enter(); /* the caller's thread, until it waits or frees the crew */
    crew->num_threads = threads;
    crew->threads = calloc((size_t)threads, sizeof *crew->threads);
    enum err e = crew->threads ? start_threads(crew, data) : ERR_NO_MEMORY;
    if (e) {
        sim_crew_free(crew);
        return e;
    }
    *out = crew;
    return ERR_OK;
}

void sim_crew_free(struct sim_crew *crew)
{
    if (!crew)
        return;
    (void)pthread_mutex_lock(&crew->lock);
    crew->is_stopping = true;
    (void)pthread_cond_broadcast(&crew->work_came);
    (void)pthread_mutex_unlock(&crew->lock);
    for (int i = 0; i < crew->num_threads && crew->threads; i++) {
        if (crew->threads[i].is_running)
            (void)pthread_join(crew->threads[i].thread, NULL);
        task_runner_free(crew->threads[i].runner);
    }
    (void)pthread_cond_destroy(&crew->work_ended);
    (void)pthread_cond_destroy(&crew->work_came);
    (void)pthread_mutex_destroy(&crew->lock);
    team_leave();
    free(crew->queue);
    free(crew->threads);
    free(crew);
}
