#include "server/api/arch_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/ids.h"
#include "common/base/str.h"
#include "server/core/ops.h"

#define MAX_CACHED 64 /* runs; the one not used for longest gives way */

struct arch_ref {
    atomic_size_t refs;
    struct arch *arch;
};

struct entry {
    char run_id[ID_SIZE];
    struct arch_ref *ref; /* NULL: free */
    uint64_t used;
};

struct arch_cache {
    pthread_mutex_t lock;
    uint64_t clock;
    struct entry entries[MAX_CACHED];
};

enum err arch_cache_new(struct arch_cache **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return ERR_NO_MEMORY;
    if (pthread_mutex_init(&(*out)->lock, NULL) == 0)
        return ERR_OK;
    free(*out);
    *out = NULL;
    return ERR_NO_MEMORY;
}

void arch_cache_free(struct arch_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < MAX_CACHED; i++)
        arch_unref(c->entries[i].ref);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

const struct arch *arch_of(const struct arch_ref *ref)
{
    return ref->arch;
}

void arch_unref(struct arch_ref *ref)
{
    if (!ref || atomic_fetch_sub(&ref->refs, 1) != 1)
        return;
    arch_free(ref->arch);
    free(ref);
}

static struct arch_ref *look_up(struct arch_cache *c, const char *run_id)
{
    struct arch_ref *found = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < MAX_CACHED && !found; i++) {
        struct entry *e = &c->entries[i];
        if (!e->ref || strcmp(e->run_id, run_id) != 0)
            continue;
        e->used = ++c->clock;
        found = e->ref;
        atomic_fetch_add(&found->refs, 1);
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

/* Two threads may parse the same one at the same time; then it stands in the cache twice, which harms nobody.
 */
static void remember(struct arch_cache *c, const char *run_id, struct arch_ref *ref)
{
    pthread_mutex_lock(&c->lock);
    struct entry *oldest = &c->entries[0];
    for (size_t i = 1; i < MAX_CACHED; i++) {
        if (c->entries[i].used < oldest->used)
            oldest = &c->entries[i];
    }
    struct arch_ref *former = oldest->ref;
    if (str_copy(oldest->run_id, sizeof oldest->run_id, run_id) == ERR_OK) {
        atomic_fetch_add(&ref->refs, 1);
        oldest->ref = ref;
        oldest->used = ++c->clock;
    } else {
        former = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    arch_unref(former);
}

enum err arch_cache_get(struct arch_cache *c, struct store_txn *txn, const char *run_id, struct arena *arena,
                        struct arch_ref **out)
{
    *out = look_up(c, run_id);
    if (*out)
        return ERR_OK;
    struct arch *arch = NULL;
    enum err e = core_run_arch(txn, run_id, arena, &arch);
    if (e != ERR_OK)
        return e;
    struct arch_ref *ref = malloc(sizeof *ref);
    if (!ref) {
        arch_free(arch);
        return ERR_NO_MEMORY;
    }
    atomic_init(&ref->refs, 1);
    ref->arch = arch;
    remember(c, run_id, ref);
    *out = ref;
    return ERR_OK;
}
