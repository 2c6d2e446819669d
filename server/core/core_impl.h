/* What the core keeps between calls. Only server/core sees it. */
#ifndef FEDLANE_CORE_CORE_IMPL_H
#define FEDLANE_CORE_CORE_IMPL_H

#include <pthread.h>
#include "server/core/core.h"
#include "server/core/plan.h"
#include "server/core/presence.h"
#include "server/core/progress.h"

/* A closed round whose update files may go; several threads' operations add, core_advance takes. */
struct leftover {
    char run_id[ID_SIZE];
    int64_t round;
    struct leftover *next;
};

struct core {
    struct store *store;
    struct blobs *blobs;
    struct clock clock;
    struct entropy entropy;
    bool is_simulated;
    struct plan_cache plans;            /* only store writes touch it, and they run one at a time */
    struct plan_cache background_plans; /* only core_advance touches it, and the arena: of one step */
    struct arena background_arena;
    struct presence_table presence;
    struct progress_table progress;
    int64_t blobs_begun;     /* what commit_end takes; of the thread that commits */
    int64_t last_global_seq; /* of events that belong to no run; as plans */
    struct id_sequence ids;  /* as plans */
    pthread_mutex_t leftovers_lock;
    struct leftover *leftovers;
};

#define CORE_ARENA_MAX ((size_t)1 << 30) /* of one piece of background work; a backstop, not a plan */

static inline int64_t core_now(const struct core *c)
{
    return clock_now_ms(&c->clock);
}

#endif
