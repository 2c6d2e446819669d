#include "cli/simulate/sim_crew.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    struct sim_job *jobs;
    size_t num_jobs, next, num_done;
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
    /* How long it took is no property of the run, and budgets must not follow it. */
    result->compute_ms = NAN;
    job->outcome = result->outcome;
    memcpy(job->code, result->code, sizeof job->code);
    memcpy(job->detail, result->detail, sizeof job->detail);
    enum err e = task_result_metadata(&job->task, result, &job->arena, &job->metadata, &job->num_metadata);
    return !e && result->values ? task_result_encode(&job->task, result, &job->file) : e;
}

static void run_job(struct task_runner *runner, struct sim_job *job, const float *w_t)
{
    static const struct task_control control = {.skip_dropped_work = true};
    struct task_result result;
    job->arena = ARENA_INIT(METADATA_MAX);
    job->file = BUF_INIT((size_t)LIMIT_MODEL_BYTES);
    task_run(runner, &job->task, w_t, &control, &result);
    job->err = keep_result(job, &result);
}

/* Takes jobs until there is none left. Called and left with the lock held. */
static void work(struct sim_crew *crew, struct task_runner *runner)
{
    while (crew->next < crew->num_jobs) {
        struct sim_job *job = &crew->jobs[crew->next++];
        (void)pthread_mutex_unlock(&crew->lock);
        run_job(runner, job, crew->w_t);
        (void)pthread_mutex_lock(&crew->lock);
        if (++crew->num_done == crew->num_jobs)
            (void)pthread_cond_signal(&crew->work_ended);
    }
}

static void *thread_main(void *ctx)
{
    struct crew_thread *self = ctx;
    struct sim_crew *crew = self->crew;
    (void)pthread_mutex_lock(&crew->lock);
    while (!crew->is_stopping) {
        work(crew, self->runner);
        (void)pthread_cond_wait(&crew->work_came, &crew->lock);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static int longest_first(const void *a, const void *b)
{
    const struct sim_job *x = a, *y = b;
    return (x->work < y->work) - (x->work > y->work);
}

void sim_crew_run(struct sim_crew *crew, struct sim_job *jobs, size_t num_jobs, const float *w_t)
{
    qsort(jobs, num_jobs, sizeof *jobs, longest_first);
    (void)pthread_mutex_lock(&crew->lock);
    crew->jobs = jobs;
    crew->num_jobs = num_jobs;
    crew->next = crew->num_done = 0;
    crew->w_t = w_t;
    (void)pthread_cond_broadcast(&crew->work_came);
    work(crew, crew->threads[0].runner);
    while (crew->num_done < crew->num_jobs)
        (void)pthread_cond_wait(&crew->work_ended, &crew->lock);
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
    free(crew->threads);
    free(crew);
}
