/* The threads of a sweep: each takes the longest run that is left. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/simulate/sweep.h"
#include "cli/simulate/sweep_progress.h"

#define LOOK_NS 100000000L /* how often the painter looks */

static volatile sig_atomic_t stopped_by;

static void on_signal(int number)
{
    stopped_by = number;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define NUM_SIGNALS (sizeof signals / sizeof *signals)

/* The first one stops the sweep when its rounds are done, the second one at once. */
static void watch_signals(struct sigaction former[NUM_SIGNALS])
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    stopped_by = 0;
    for (size_t i = 0; i < NUM_SIGNALS; i++)
        if (sigaction(signals[i], NULL, &former[i]) == 0 && former[i].sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
}

static void leave_signals(const struct sigaction former[NUM_SIGNALS])
{
    for (size_t i = 0; i < NUM_SIGNALS; i++)
        (void)sigaction(signals[i], &former[i], NULL);
}

/* -- threads --------------------------------------------------------------------------------------------- */

struct crew_thread {
    struct sweep *s;
    size_t *num_running; /* threads; by the lock */
    int threads;         /* of each of its runs */
    pthread_t thread;
};

/* Called and left with the lock held. */
static void do_next(struct sweep *s, int threads)
{
    struct sweep_run *run = s->order[s->next++];
    struct fault fault = FAULT_NONE;
    bool is_done = false;
    run->state = SWEEP_RUNNING;
    (void)pthread_mutex_unlock(&s->lock);
    enum err e = sweep_do_run(s, run, threads, &is_done, &fault);
    (void)pthread_mutex_lock(&s->lock);
    run->state = !e && is_done ? SWEEP_DONE : SWEEP_WAITING;
    if (!e && is_done)
        s->ended[s->num_ended++] = run;
    if (e && !s->err) {
        s->err = e;
        s->fault = fault;
    }
    s->is_stopping = s->is_stopping || e;
    (void)pthread_cond_signal(&s->run_ended);
}

static void *thread_main(void *ctx)
{
    struct crew_thread *self = ctx;
    struct sweep *s = self->s;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->is_stopping && s->next < s->num_order)
        do_next(s, self->threads);
    --*self->num_running;
    (void)pthread_cond_signal(&s->run_ended);
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* With more threads than runs, a run has several. Returns how many of them run. */
static size_t start(struct sweep *s, struct crew_thread *crew, size_t count, size_t *num_running)
{
    size_t all = (size_t)s->threads, i;
    (void)pthread_mutex_lock(&s->lock);
    for (i = 0; i < count; i++) {
        crew[i] = (struct crew_thread){
            .s = s, .num_running = num_running, .threads = (int)(all / count + (i < all % count))};
        if (pthread_create(&crew[i].thread, NULL, thread_main, &crew[i]) != 0)
            break;
        ++*num_running;
    }
    if (i < count) {
        s->err = fault_set(&s->fault, ERR_UNAVAILABLE, NULL,
                           "only %zu of %zu threads can be started; try fewer --threads", i, count);
        s->is_stopping = true;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return i;
}

/* -- the caller's thread --------------------------------------------------------------------------------- */

static void wait_a_little(struct sweep *s)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    (void)pthread_cond_timedwait(&s->run_ended, &s->lock, &until);
}

/* Tells of what ends until no thread is left. */
static enum err look_after(struct sweep *s, const size_t *num_running, struct sweep_progress *progress)
{
    size_t told = 0;
    enum err e = ERR_OK;
    (void)pthread_mutex_lock(&s->lock);
    while (*num_running > 0 || told < s->num_ended) {
        if (told < s->num_ended) {
            const struct sweep_run *run = s->ended[told++];
            (void)pthread_mutex_unlock(&s->lock);
            enum err told_e = sweep_progress_ended(progress, run);
            (void)pthread_mutex_lock(&s->lock);
            e = e ? e : told_e;
            continue;
        }
        s->is_stopping = s->is_stopping || stopped_by || e;
        sweep_progress_paint(progress);
        if (*num_running > 0)
            wait_a_little(s);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return e;
}

static int longest_first(const void *a, const void *b)
{
    const struct sweep_run *x = *(struct sweep_run *const *)a, *y = *(struct sweep_run *const *)b;
    if (x->work < y->work || x->work > y->work)
        return x->work < y->work ? 1 : -1;
    if (x->data->number != y->data->number) /* so that few data sets are loaded at a time */
        return x->data->number < y->data->number ? -1 : 1;
    return x < y ? -1 : x > y;
}

static enum err make_order(struct sweep *s)
{
    s->order = arena_calloc(&s->arena, s->num_runs, sizeof(struct sweep_run *));
    s->ended = arena_calloc(&s->arena, s->num_runs, sizeof(struct sweep_run *));
    if (!s->order || !s->ended)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < s->num_runs; i++) {
        if (s->runs[i].state == SWEEP_WAITING)
            s->order[s->num_order++] = &s->runs[i];
        else
            sweep_data_done(&s->data, s->runs[i].data);
    }
    qsort(s->order, s->num_order, sizeof(struct sweep_run *), longest_first);
    return ERR_OK;
}

enum err sweep_crew(struct sweep *s, int *out_signal)
{
    struct sigaction former[NUM_SIGNALS];
    struct sweep_progress progress;
    size_t num_running = 0, count;
    enum err e = make_order(s);
    if (e)
        return e;
    count = s->num_order < (size_t)s->threads ? s->num_order : (size_t)s->threads;
    struct crew_thread *crew = arena_calloc(&s->arena, count + 1, sizeof *crew);
    if (!crew)
        return ERR_NO_MEMORY;
    watch_signals(former);
    e = sweep_progress_begin(&progress, s);
    if (!e) {
        sweep_progress_paint(&progress); /* also where all of it takes no time */
        size_t num_started = start(s, crew, count, &num_running);
        e = look_after(s, &num_running, &progress);
        for (size_t i = 0; i < num_started; i++)
            (void)pthread_join(crew[i].thread, NULL);
    }
    sweep_progress_end(&progress);
    leave_signals(former);
    *out_signal = s->num_ended < s->num_order ? (int)stopped_by : 0;
    if (s->err) {
        s->cli->fault = s->fault;
        return s->err;
    }
    return e;
}
