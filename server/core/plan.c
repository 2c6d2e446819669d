#include "server/core/plan.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/json/json_spec.h"
#include "common/base/log.h"

#define PLAN_ARENA_MAX LIMIT_JSON_FILE

static enum err parse(struct plan *p, const struct run_row *run, const char *config)
{
    struct fault fault = FAULT_NONE;
    json_t *patch = NULL;
    enum err e = json_text_parse(run->spec, strlen(run->spec), &p->doc, &fault);
    if (!e)
        e = json_text_parse(config, strlen(config), &patch, &fault);
    if (!e)
        e = run_config_apply(p->doc, patch, &fault);
    if (!e)
        e = run_spec_parse(p->doc, &p->arena, &p->spec, &fault);
    if (!e)
        e = arch_parse(p->spec.model, &p->arch, &fault);
    json_decref(patch);
    if (e && e != ERR_NO_MEMORY) {
        log_error("core", "run %s: the stored spec cannot be read: %s %s", run->id, fault.field,
                  fault.detail);
        e = ERR_CORRUPT;
    }
    return e;
}

enum err plan_new(const struct run_row *run, const char *config, struct plan **out)
{
    struct plan *p = calloc(1, sizeof *p);
    if (!p)
        return ERR_NO_MEMORY;
    arena_init(&p->arena, PLAN_ARENA_MAX);
    (void)memccpy(p->run_id, run->id, '\0', sizeof p->run_id - 1);
    p->config = strdup(config);
    enum err e = p->config ? parse(p, run, config) : ERR_NO_MEMORY;
    if (e) {
        plan_free(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    arch_free(p->arch);
    json_decref(p->doc);
    arena_release(&p->arena);
    free(p->config);
    free(p);
}

enum err plan_cache_get(struct plan_cache *cache, const struct run_row *run, const char *config,
                        const struct plan **out)
{
    struct plan *found = NULL;
    size_t at = 0;
    for (; at < PLAN_CACHE_SIZE && cache->items[at] && !found; at++)
        if (strcmp(cache->items[at]->run_id, run->id) == 0 && strcmp(cache->items[at]->config, config) == 0)
            found = cache->items[at];
    if (found) {
        at--;
    } else {
        enum err e = plan_new(run, config, &found);
        if (e)
            return e;
        if (at == PLAN_CACHE_SIZE)
            plan_free(cache->items[--at]);
    }
    memmove(&cache->items[1], &cache->items[0], at * sizeof cache->items[0]);
    cache->items[0] = found;
    *out = found;
    return ERR_OK;
}

void plan_cache_release(struct plan_cache *cache)
{
    for (size_t i = 0; i < PLAN_CACHE_SIZE; i++) {
        plan_free(cache->items[i]);
        cache->items[i] = NULL;
    }
}
