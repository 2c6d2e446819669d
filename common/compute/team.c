#include "common/compute/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "common/base/log.h"

/* How often a helper looks for the next operation, and a caller whether the helpers are done, before it goes
 * to sleep: some tens of microseconds, about as long as it takes to wake up again. */
enum { LOOKS = 1000 };

/* An operation under way, on its caller's stack. */
struct region {
    team_work *work;
    const void *ctx;
    size_t count, chunk;
    atomic_size_t next;    /* where the next part begins */
    atomic_size_t helpers; /* at work; the caller stays until it is 0 */
    struct region *later;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t posted; /* a region came, a core became free, or the end is near */
    pthread_cond_t left;   /* a helper left a region, or its core */
    struct region *first;
    size_t sleeping; /* helpers that wait for `posted` */
    size_t cores, num_helpers;
    pthread_t helpers[TEAM_MAX_SEATS - 1];
    /* Changed with the lock, read without it: */
    atomic_size_t jobs;    /* threads between enter and leave */
    atomic_size_t helping; /* helpers that have a core */
    atomic_size_t number;  /* of the last region */
    atomic_bool is_stopping;
} team = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static void lock(void)
{
    (void)pthread_mutex_lock(&team.lock);
}

static void unlock(void)
{
    (void)pthread_mutex_unlock(&team.lock);
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* How many threads are busy, or may be. */
static size_t num_busy(void)
{
    return atomic_load_explicit(&team.jobs, memory_order_relaxed) +
           atomic_load_explicit(&team.helping, memory_order_relaxed);
}

static bool must_give_way(void)
{
    return num_busy() > team.cores || atomic_load_explicit(&team.is_stopping, memory_order_relaxed);
}

static bool take(struct region *r, struct team_part *out)
{
    out->from = atomic_fetch_add_explicit(&r->next, r->chunk, memory_order_relaxed);
    if (out->from >= r->count)
        return false;
    out->to = r->count - out->from < r->chunk ? r->count : out->from + r->chunk;
    return true;
}

/* The one that has work left and the fewest helpers; with the lock held. */
static struct region *pick(void)
{
    struct region *best = NULL;
    for (struct region *r = team.first; r; r = r->later) {
        if (atomic_load_explicit(&r->next, memory_order_relaxed) < r->count &&
            (!best || atomic_load_explicit(&r->helpers, memory_order_relaxed) <
                          atomic_load_explicit(&best->helpers, memory_order_relaxed)))
            best = r;
    }
    return best;
}

/* Called and left with the lock held. */
static void help(struct region *r, size_t seat)
{
    struct team_part part = {.seat = seat};
    (void)atomic_fetch_add_explicit(&r->helpers, 1, memory_order_relaxed);
    unlock();
    while (!must_give_way() && take(r, &part))
        r->work(r->ctx, &part);
    lock();
    /* What was computed is there for who sees the 0, and then r is gone. */
    if (atomic_fetch_sub_explicit(&r->helpers, 1, memory_order_release) == 1)
        (void)pthread_cond_broadcast(&team.left);
}

/* The next region, if it comes at once. Called and left with the lock held. */
static struct region *look_for_more(void)
{
    const size_t seen = atomic_load_explicit(&team.number, memory_order_relaxed);
    struct region *r = must_give_way() ? NULL : pick();
    if (r)
        return r;
    unlock();
    for (int i = 0;
         i < LOOKS && !must_give_way() && atomic_load_explicit(&team.number, memory_order_relaxed) == seen;
         i++)
        pause_briefly();
    lock();
    return must_give_way() ? NULL : pick();
}

static void *helper_main(void *arg)
{
    const size_t seat = (uintptr_t)arg;
    lock();
    while (!team.is_stopping) {
        struct region *r = num_busy() < team.cores ? pick() : NULL;
        if (!r) {
            team.sleeping++;
            (void)pthread_cond_wait(&team.posted, &team.lock);
            team.sleeping--;
            continue;
        }
        (void)atomic_fetch_add_explicit(&team.helping, 1, memory_order_relaxed);
        for (; r; r = look_for_more())
            help(r, seat);
        (void)atomic_fetch_sub_explicit(&team.helping, 1, memory_order_relaxed);
        (void)pthread_cond_broadcast(&team.left);
    }
    unlock();
    return NULL;
}

enum err team_start(size_t cores, struct fault *fault)
{
    const size_t seats = cores < TEAM_MAX_SEATS ? cores : TEAM_MAX_SEATS;
    if (team.cores > 0)
        bug("a second team");
    team.cores = cores;
    team.is_stopping = false;
    while (team.num_helpers + 1 < seats) {
        const uintptr_t seat = team.num_helpers + 1;
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): a small number, not an address */
        if (pthread_create(&team.helpers[team.num_helpers], NULL, helper_main, (void *)seat) != 0) {
            team_stop();
            return fault_set(fault, ERR_UNAVAILABLE, NULL,
                             "only %zu of %zu threads can be started; try fewer --threads", (size_t)seat,
                             seats);
        }
        team.num_helpers++;
    }
    return ERR_OK;
}

void team_stop(void)
{
    lock();
    team.is_stopping = true;
    (void)pthread_cond_broadcast(&team.posted);
    unlock();
    for (; team.num_helpers > 0; team.num_helpers--)
        (void)pthread_join(team.helpers[team.num_helpers - 1], NULL);
    team.cores = 0;
}

void team_enter(void)
{
    lock();
    (void)atomic_fetch_add_explicit(&team.jobs, 1, memory_order_relaxed);
    while (team.helping > 0 && num_busy() > team.cores)
        (void)pthread_cond_wait(&team.left, &team.lock);
    unlock();
}

void team_leave(void)
{
    lock();
    if (atomic_fetch_sub_explicit(&team.jobs, 1, memory_order_relaxed) == 0)
        bug("a thread leaves a team that it did not enter");
    if (team.first && team.sleeping > 0)
        (void)pthread_cond_signal(&team.posted);
    unlock();
}

size_t team_seats(void)
{
    return team.num_helpers + 1;
}

static void post(struct region *r)
{
    lock();
    r->later = team.first;
    team.first = r;
    (void)atomic_fetch_add_explicit(&team.number, 1, memory_order_relaxed);
    size_t wanted = (r->count - 1) / r->chunk, busy = num_busy(),
           free = busy < team.cores ? team.cores - busy : 0;
    wanted = wanted < free ? wanted : free;
    for (size_t i = 0; i < wanted && i < team.sleeping; i++)
        (void)pthread_cond_signal(&team.posted);
    unlock();
}

/* Nobody new comes to it, and those who are there are waited for. */
static void withdraw(struct region *r)
{
    lock();
    struct region **link = &team.first;
    while (*link != r)
        link = &(*link)->later;
    *link = r->later;
    unlock();
    for (int i = 0; i < LOOKS && atomic_load_explicit(&r->helpers, memory_order_acquire) > 0; i++)
        pause_briefly();
    if (atomic_load_explicit(&r->helpers, memory_order_acquire) == 0)
        return;
    lock();
    while (atomic_load_explicit(&r->helpers, memory_order_acquire) > 0)
        (void)pthread_cond_wait(&team.left, &team.lock);
    unlock();
}

void team_run(size_t count, size_t unit, size_t parts, team_work *work, const void *ctx)
{
    const size_t chunk = parts > 0 ? ((count + parts - 1) / parts + unit - 1) / unit * unit : count;
    struct team_part part = {.to = count};
    if (chunk >= count || atomic_load_explicit(&team.jobs, memory_order_relaxed) >= team.cores) {
        work(ctx, &part);
        return;
    }
    struct region r = {.work = work, .ctx = ctx, .count = count, .chunk = chunk};
    post(&r);
    while (take(&r, &part))
        work(ctx, &part);
    withdraw(&r);
}
