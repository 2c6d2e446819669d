/* A run's spec with a config in force, parsed: what the rules read. */
#ifndef FEDLANE_CORE_PLAN_H
#define FEDLANE_CORE_PLAN_H

#include "common/base/ids.h"
#include "common/model/arch.h"
#include "server/core/run_spec.h"

struct plan {
    char run_id[ID_SIZE];
    char *config; /* the text it was made of; with run_id its key */
    json_t *doc;
    struct arena arena;
    struct run_spec spec;
    struct arch *arch;
};

/* The spec of `run` with `config` (of the run: for rounds to come; of a round: what that round used). */
enum err plan_new(const struct run_row *run, const char *config, struct plan **out) MUST_CHECK;
void plan_free(struct plan *p);

/* The last few plans, for one thread. */
#define PLAN_CACHE_SIZE 16
struct plan_cache {
    struct plan *items[PLAN_CACHE_SIZE]; /* most recently used first */
};
/* Borrowed until PLAN_CACHE_SIZE others were asked for. */
enum err plan_cache_get(struct plan_cache *cache, const struct run_row *run, const char *config,
                        const struct plan **out) MUST_CHECK;
void plan_cache_release(struct plan_cache *cache);

#endif
