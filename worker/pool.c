#include "worker/pool.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/compute/team.h"
#include "worker/fair_share.h"
#include "worker/job_run.h"

struct queue {
    struct job *first, **last;
};

struct worker_thread {
    struct pool *pool;
    struct task_runner *runner;
    const struct job *job; /* guarded by the pool's lock, like all of the pool but its config */
    pthread_t thread;
    bool is_running;
};

struct pool {
    struct pool_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job was queued, an order given, or the end is near */
    struct queue train, evaluate, done;
    size_t num_train; /* in the queue */
    struct {
        char *model;
        int64_t batch_size;
        double ns_per_step;
    } rate; /* of the last train job */
    bool is_stopping;
    struct worker_thread *threads; /* config.threads of them */
};

/* A job on its thread: what the runner's control calls get. */
struct running {
    struct pool *pool;
    struct job *job;
};

static void queue_init(struct queue *q)
{
    q->first = NULL;
    q->last = &q->first;
}

static void queue_push(struct queue *q, struct job *job)
{
    job->next_in_pool = NULL;
    *q->last = job;
    q->last = &job->next_in_pool;
}

static struct job *queue_pop(struct queue *q)
{
    struct job *job = q->first;
    if (job && !(q->first = job->next_in_pool))
        q->last = &q->first;
    return job;
}

static bool queue_remove(struct queue *q, const struct job *job)
{
    for (struct job **link = &q->first; *link; link = &(*link)->next_in_pool) {
        if (*link != job)
            continue;
        *link = job->next_in_pool;
        if (!*link)
            q->last = link;
        return true;
    }
    return false;
}

/* -- what the runner asks -------------------------------------------------------------------------------- */

static enum task_order order_now(const struct job *job, int64_t now_ns)
{
    return job->order == ORDER_GO_ON && now_ns >= job->stop_ns ? ORDER_DEADLINE : job->order;
}

static enum task_order on_check(void *ctx, int64_t steps_done, double train_loss)
{
    struct running *r = ctx;
    (void)pthread_mutex_lock(&r->pool->lock);
    r->job->steps_done = steps_done;
    r->job->train_loss = train_loss;
    enum task_order order = r->pool->is_stopping ? ORDER_CANCEL : order_now(r->job, mono_ns());
    (void)pthread_mutex_unlock(&r->pool->lock);
    return order;
}

static void on_begun(void *ctx)
{
    const struct running *r = ctx;
    job_done_with_weights(r->job, true);
}

static void on_wait(void *ctx, int64_t ns)
{
    struct running *r = ctx;
    int64_t until = mono_ns() + ns;
    team_leave();
    (void)pthread_mutex_lock(&r->pool->lock);
    if (until > r->job->stop_ns)
        until = r->job->stop_ns;
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
    int result = 0;
    while (result != ETIMEDOUT && !r->pool->is_stopping && order_now(r->job, mono_ns()) == ORDER_GO_ON)
        result = pthread_cond_timedwait(&r->pool->changed, &r->pool->lock, &at);
    (void)pthread_mutex_unlock(&r->pool->lock);
    team_enter();
}

/* -- threads --------------------------------------------------------------------------------------------- */

/* How long the steps of a job take, from those of the last one of the same model. */
static double need_of(const struct pool *p, const struct job *job)
{
    bool is_known = job->task.max_steps >= 0 && p->rate.ns_per_step > 0 &&
                    p->rate.batch_size == job->task.batch_size && str_eq(p->rate.model, job->task.model);
    return is_known ? (double)job->task.max_steps * p->rate.ns_per_step : INFINITY;
}

static void learn_rate(struct pool *p, const struct job *job)
{
    if (!(job->ns_per_step > 0))
        return;
    if (!str_eq(p->rate.model, job->task.model)) {
        free(p->rate.model);
        p->rate.model = strdup(job->task.model);
    }
    p->rate.batch_size = job->task.batch_size;
    p->rate.ns_per_step = job->ns_per_step;
}

/* Jobs that wait for a thread must get their part of the time to the deadline, or the first would leave
 * nothing to the others: partial work of all is worth more than whole work of a few. */
static int64_t fair_stop(struct pool *p, const struct job *job, int64_t now_ns)
{
    int64_t deadline_ns = job->deadline_ns;
    double total = 0, share;
    size_t n = 0;
    if (deadline_ns == INT64_MAX || job->task.type != WORK_TRAIN || now_ns >= deadline_ns ||
        p->num_train == 0)
        return deadline_ns;
    for (int i = 0; i < p->config.threads; i++) {
        const struct job *other = p->threads[i].job;
        bool is_busy = other && other != job;
        int64_t free_ns = is_busy && other->stop_ns > now_ns ? other->stop_ns : now_ns;
        total += free_ns < deadline_ns ? (double)(deadline_ns - free_ns) : 0;
    }
    double *others = calloc(p->num_train, sizeof *others);
    if (!others)
        return deadline_ns;
    for (const struct job *other = p->train.first; other; other = other->next_in_pool)
        others[n++] = need_of(p, other);
    share = fair_share(need_of(p, job), others, n, total);
    free(others);
    return share < (double)(deadline_ns - now_ns) ? now_ns + (int64_t)share : deadline_ns;
}

static struct job *next_job(struct worker_thread *t)
{
    struct pool *p = t->pool;
    struct job *job = NULL;
    (void)pthread_mutex_lock(&p->lock);
    while (!p->is_stopping && !p->train.first && !p->evaluate.first)
        (void)pthread_cond_wait(&p->changed, &p->lock);
    if (!p->is_stopping) {
        job = queue_pop(&p->train);
        if (job)
            p->num_train--;
        else
            job = queue_pop(&p->evaluate);
        job->is_running = true;
        t->job = job;
        job->stop_ns = fair_stop(p, job, mono_ns());
    }
    (void)pthread_mutex_unlock(&p->lock);
    return job;
}

static void run_job(struct worker_thread *t, struct job *job)
{
    struct pool *p = t->pool;
    struct running running = {.pool = p, .job = job};
    const struct task_control control = {.ctx = &running,
                                         .check = on_check,
                                         .begun = on_begun,
                                         .slowdown = p->config.slowdown,
                                         .wait = on_wait};
    team_enter();
    job_run(job, t->runner, &control, p->config.outbox);
    team_leave();
    (void)pthread_mutex_lock(&p->lock);
    t->job = NULL;
    learn_rate(p, job);
    queue_push(&p->done, job);
    (void)pthread_mutex_unlock(&p->lock);
    p->config.on_done(p->config.ctx);
}

static void *thread_main(void *ctx)
{
    struct worker_thread *t = ctx;
    for (struct job *job; (job = next_job(t));)
        run_job(t, job);
    return NULL;
}

static bool cond_init_monotonic(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr) != 0)
        return false;
    bool ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 && pthread_cond_init(cond, &attr) == 0;
    (void)pthread_condattr_destroy(&attr);
    return ok;
}

enum err pool_new(const struct pool_config *config, struct pool **out)
{
    struct pool *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    p->config = *config;
    queue_init(&p->train);
    queue_init(&p->evaluate);
    queue_init(&p->done);
    if (pthread_mutex_init(&p->lock, NULL) != 0)
        bug("a mutex could not be made");
    if (!cond_init_monotonic(&p->changed))
        bug("a condition variable could not be made");
    p->threads = calloc((size_t)config->threads, sizeof *p->threads);
    enum err e = p->threads ? ERR_OK : ERR_NO_MEMORY;
    for (int i = 0; i < config->threads && !e; i++) {
        struct worker_thread *t = &p->threads[i];
        t->pool = p;
        e = task_runner_new(config->data, config->ops, &t->runner);
        if (!e) {
            t->is_running = pthread_create(&t->thread, NULL, thread_main, t) == 0;
            e = t->is_running ? ERR_OK : ERR_NO_MEMORY;
        }
    }
    if (e) {
        pool_free(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    (void)pthread_mutex_lock(&p->lock);
    p->is_stopping = true;
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    for (int i = 0; p->threads && i < p->config.threads; i++) {
        if (p->threads[i].is_running)
            (void)pthread_join(p->threads[i].thread, NULL);
        task_runner_free(p->threads[i].runner);
    }
    free(p->threads);
    free(p->rate.model);
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

void pool_submit(struct pool *p, struct job *job)
{
    (void)pthread_mutex_lock(&p->lock);
    job->is_running = false;
    job->stop_ns = job->deadline_ns;
    bool is_train = job->task.type == WORK_TRAIN;
    queue_push(is_train ? &p->train : &p->evaluate, job);
    p->num_train += is_train;
    /* Threads in a pause of a slowdown wait for the same condition, so one signal might wake the wrong one.
     */
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

struct job *pool_take_done(struct pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    struct job *jobs = p->done.first;
    queue_init(&p->done);
    (void)pthread_mutex_unlock(&p->lock);
    return jobs;
}

void pool_order(struct pool *p, struct job *job, enum task_order order, bool is_released)
{
    bool is_done = false;
    (void)pthread_mutex_lock(&p->lock);
    if (job->order == ORDER_GO_ON || (order == ORDER_CANCEL && job->order != ORDER_CANCEL)) {
        job->order = order;
        job->is_released = is_released;
    }
    if (!job->is_running && job->order == ORDER_CANCEL) {
        bool was_train = queue_remove(&p->train, job);
        if (was_train || queue_remove(&p->evaluate, job)) {
            p->num_train -= was_train;
            job->outcome = WORK_CANCELLED;
            queue_push(&p->done, job);
            is_done = true;
        }
    }
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    if (is_done)
        p->config.on_done(p->config.ctx);
}

void pool_progress(struct pool *p, const struct job *job, int64_t *out_steps_done, double *out_train_loss)
{
    (void)pthread_mutex_lock(&p->lock);
    *out_steps_done = job->steps_done;
    *out_train_loss = job->train_loss;
    (void)pthread_mutex_unlock(&p->lock);
}
