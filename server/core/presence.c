#include "server/core/presence.h"

#include <stdlib.h>
#include <string.h>
#include "server/core/events.h"
#include "server/core/names.h"

#define SUSPECT_AFTER 3 /* heartbeats */
#define OFFLINE_AFTER 12
#define SAVE_EVERY_MS ((int64_t)60 * 1000)

enum err presence_init(struct presence_table *p, int64_t heartbeat_ms, bool all_online)
{
    *p = (struct presence_table){.heartbeat_ms = heartbeat_ms, .all_online = all_online};
    return pthread_mutex_init(&p->lock, NULL) ? ERR_NO_MEMORY : ERR_OK;
}

void presence_release(struct presence_table *p)
{
    id_table_release(&p->workers);
    id_table_release(&p->devices);
    (void)pthread_mutex_destroy(&p->lock);
}

static void seen(struct id_table *t, const char *id, int64_t now_ms)
{
    struct id_entry *e = *id ? id_table_put(t, id) : NULL;
    if (e) {
        e->at_ms = now_ms;
        e->is_dirty = true;
    }
}

void core_seen(struct core *c, const char *worker_id, const char *device_id)
{
    if (c->presence.all_online)
        return;
    pthread_mutex_lock(&c->presence.lock);
    seen(&c->presence.workers, worker_id, core_now(c));
    seen(&c->presence.devices, device_id, core_now(c));
    pthread_mutex_unlock(&c->presence.lock);
}

static int64_t last_seen(struct presence_table *p, const struct id_table *t, const char *id, int64_t stored)
{
    pthread_mutex_lock(&p->lock);
    const struct id_entry *e = id_table_find(t, id);
    int64_t at = e && e->at_ms > stored ? e->at_ms : stored;
    pthread_mutex_unlock(&p->lock);
    return at;
}

int64_t core_worker_last_seen(struct core *c, const struct worker_row *worker)
{
    return last_seen(&c->presence, &c->presence.workers, worker->id, worker->last_seen_at);
}

int64_t core_device_last_seen(struct core *c, const struct device_row *device)
{
    int64_t own = last_seen(&c->presence, &c->presence.devices, device->id, device->last_seen_at);
    return *device->worker_id ? last_seen(&c->presence, &c->presence.workers, device->worker_id, own) : own;
}

static enum presence presence_of(const struct presence_table *p, int64_t silent_ms)
{
    if (p->all_online || silent_ms <= SUSPECT_AFTER * p->heartbeat_ms)
        return PRESENCE_ONLINE;
    return silent_ms <= OFFLINE_AFTER * p->heartbeat_ms ? PRESENCE_SUSPECT : PRESENCE_OFFLINE;
}

enum presence core_device_presence(struct core *c, const struct device_row *device)
{
    if (device->revoked_at)
        return PRESENCE_REVOKED;
    return presence_of(&c->presence, core_now(c) - core_device_last_seen(c, device));
}

enum presence core_worker_presence(struct core *c, const struct worker_row *worker)
{
    if (worker->revoked_at)
        return PRESENCE_REVOKED;
    return presence_of(&c->presence, core_now(c) - core_worker_last_seen(c, worker));
}

/* -- in the background ----------------------------------------------------------------------------------- */

struct sweep {
    struct op_base base;
    struct id_entry *workers, *devices; /* what is to be written; in the arena */
    size_t num_workers, num_devices;
    int64_t next_ms;
};

/* When silence will next change what this entry then is. */
static int64_t next_change(const struct presence_table *p, const struct id_entry *e, enum presence state)
{
    int64_t suspect = e->at_ms + SUSPECT_AFTER * p->heartbeat_ms + 1,
            offline = e->at_ms + OFFLINE_AFTER * p->heartbeat_ms + 1;
    if (state == PRESENCE_ONLINE)
        return suspect;
    return state == PRESENCE_SUSPECT ? offline : INT64_MAX;
}

/* Copies of entries that changed, or were seen a good while after they were last written (count): as they
 * shall be, is_dirty where the state is another. The table stays as it is until they are written. */
static enum err sweep_table(struct sweep *s, const struct presence_table *p, const struct id_table *t,
                            int64_t now_ms, struct id_entry **out, size_t *out_count)
{
    *out_count = 0;
    *out = arena_calloc(s->base.arena, t->count, sizeof **out);
    if (!*out)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < t->capacity; i++) {
        const struct id_entry *e = &t->slots[i];
        if (!e->id[0])
            continue;
        enum presence state = presence_of(p, now_ms - e->at_ms);
        bool is_changed = (int)state != e->state;
        if (is_changed || (e->is_dirty && now_ms - e->count >= SAVE_EVERY_MS)) {
            struct id_entry *copy = &(*out)[(*out_count)++];
            *copy = *e;
            copy->state = (int)state;
            copy->count = now_ms;
            copy->is_dirty = is_changed;
        }
        int64_t next = next_change(p, e, state);
        s->next_ms = next < s->next_ms ? next : s->next_ms;
    }
    return ERR_OK;
}

/* They are written. Who was seen meanwhile is to be written again. */
static void sweep_apply(const struct id_table *t, const struct id_entry *written, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct id_entry *e = id_table_find(t, written[i].id);
        if (!e)
            continue;
        e->state = written[i].state;
        e->count = written[i].count;
        e->is_dirty = e->is_dirty && e->at_ms != written[i].at_ms;
    }
}

static enum err status_event(struct work *w, const char *type, const char *key, const struct id_entry *e,
                             const char *name)
{
    return event_add_global(w, type,
                            json_pack("{s:s, s:s, s:s, s:I}", key, e->id, "name", name, "status",
                                      presence_name((enum presence)e->state), "last_seen_at", e->at_ms));
}

static enum err op_presence(struct store_txn *txn, void *arg)
{
    struct sweep *s = arg;
    struct work w = work_begin(txn, &s->base);
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->num_workers && !e; i++) {
        struct worker_row row;
        e = worker_load(&w, s->workers[i].id, &row);
        row.last_seen_at = s->workers[i].at_ms;
        if (!e)
            e = store_update(txn, RECORD_WORKER, &row);
        if (!e && s->workers[i].is_dirty && !row.revoked_at)
            e = status_event(&w, "worker_status", "worker_id", &s->workers[i], row.name);
        e = e == ERR_NOT_FOUND ? ERR_OK : e;
    }
    for (size_t i = 0; i < s->num_devices && !e; i++) {
        struct device_row row;
        e = device_load(&w, s->devices[i].id, &row);
        row.last_seen_at = s->devices[i].at_ms;
        if (!e)
            e = store_update(txn, RECORD_DEVICE, &row);
        if (!e && s->devices[i].is_dirty && !row.revoked_at)
            e = status_event(&w, "device_status", "device_id", &s->devices[i], row.name);
        e = e == ERR_NOT_FOUND ? ERR_OK : e;
    }
    return e;
}

enum err presence_advance(struct core *c, int64_t *out_next_ms)
{
    struct presence_table *p = &c->presence;
    int64_t now_ms = core_now(c);
    *out_next_ms = INT64_MAX;
    if (p->all_online)
        return ERR_OK;
    if (now_ms < p->next_ms) {
        *out_next_ms = p->next_ms;
        return ERR_OK;
    }
    struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
    struct sweep s = {.base = {.core = c, .arena = &arena}, .next_ms = now_ms + SAVE_EVERY_MS};
    pthread_mutex_lock(&p->lock);
    enum err e = sweep_table(&s, p, &p->workers, now_ms, &s.workers, &s.num_workers);
    if (!e)
        e = sweep_table(&s, p, &p->devices, now_ms, &s.devices, &s.num_devices);
    pthread_mutex_unlock(&p->lock);
    progress_forget_before(&c->progress, now_ms - (int64_t)100 * OFFLINE_AFTER * p->heartbeat_ms);
    if (!e && s.num_workers + s.num_devices > 0)
        e = store_write_wait(c->store, op_presence, &s);
    if (!e) {
        pthread_mutex_lock(&p->lock);
        sweep_apply(&p->workers, s.workers, s.num_workers);
        sweep_apply(&p->devices, s.devices, s.num_devices);
        pthread_mutex_unlock(&p->lock);
    }
    arena_release(&arena);
    if (e)
        return e; /* next_ms stays in the past: the next try is not put off */
    /* Somebody who was silent is seen again within a heartbeat at the latest. */
    int64_t soon = now_ms + (p->heartbeat_ms > 100 ? p->heartbeat_ms : 100);
    p->next_ms = s.next_ms < soon ? s.next_ms : soon;
    *out_next_ms = p->next_ms;
    return ERR_OK;
}

enum err presence_recover(struct core *c, struct store_txn *txn)
{
    struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
    struct worker_row *workers;
    struct device_row *devices;
    size_t num_workers = 0, num_devices = 0;
    enum err e = store_find(txn, QUERY_WORKERS, &arena, 0, &workers, &num_workers, store_any);
    if (!e)
        e = store_find(txn, QUERY_DEVICES, &arena, 0, &devices, &num_devices, store_any, store_text(""),
                       store_any);
    pthread_mutex_lock(&c->presence.lock);
    for (size_t i = 0; i < num_workers && !e; i++)
        if (!workers[i].revoked_at)
            seen(&c->presence.workers, workers[i].id, workers[i].last_seen_at);
    for (size_t i = 0; i < num_devices && !e; i++)
        if (!devices[i].revoked_at)
            seen(&c->presence.devices, devices[i].id, devices[i].last_seen_at);
    pthread_mutex_unlock(&c->presence.lock);
    arena_release(&arena);
    return e;
}
