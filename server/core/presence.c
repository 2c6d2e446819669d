#include "server/core/presence.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "server/core/events.h"
#include "server/core/names.h"

#define SUSPECT_AFTER 3 /* heartbeats */
#define OFFLINE_AFTER 12
#define SAVE_EVERY_MS ((int64_t)60 * 1000)

#define SWEEP_SLOTS                                                                                          \
    8192                 /* looked at while the lock is held: the loops that note who was seen wait for it   \
                          */
#define SWEEP_ROWS   128 /* written at once: claims and updates wait for it */
#define RECOVER_ROWS 1000

enum err presence_init(struct presence_table *p, int64_t heartbeat_ms, bool all_online)
{
    *p = (struct presence_table){
        .heartbeat_ms = heartbeat_ms, .all_online = all_online, .sweep_next_ms = INT64_MAX};
    return pthread_mutex_init(&p->lock, NULL) ? ERR_NO_MEMORY : ERR_OK;
}

void presence_release(struct presence_table *p)
{
    id_table_release(&p->workers);
    id_table_release(&p->devices);
    free(p->worker_times.ms);
    free(p->device_times.ms);
    roster_release(&p->roster);
    (void)pthread_mutex_destroy(&p->lock);
}

static bool has_room(const struct id_table *t, struct seen_times *times)
{
    if (t->count < times->capacity)
        return true;
    size_t capacity = times->capacity ? times->capacity * 2 : 64;
    int64_t *grown = realloc(times->ms, capacity * sizeof *grown);
    if (!grown)
        return false;
    times->ms = grown;
    times->capacity = capacity;
    return true;
}

static struct id_entry *note(struct id_table *t, struct seen_times *times, const char *id, int64_t at_ms)
{
    struct id_entry *e = has_room(t, times) ? id_table_put(t, id) : NULL;
    if (e)
        e->at_ms = times->ms[e->number] = at_ms;
    return e;
}

bool presence_seen(struct id_table *t, struct seen_times *times, const char *id, int64_t now_ms)
{
    struct id_entry *e = *id ? note(t, times, id, now_ms) : NULL;
    if (e)
        e->is_dirty = true;
    return e != NULL;
}

void core_seen(struct core *c, const char *worker_id, const char *device_id)
{
    struct presence_table *p = &c->presence;
    if (p->all_online)
        return;
    pthread_mutex_lock(&p->lock);
    size_t num_before = p->devices.count;
    (void)presence_seen(&p->workers, &p->worker_times, worker_id, core_now(c));
    (void)presence_seen(&p->devices, &p->device_times, device_id, core_now(c));
    if (p->devices.count > num_before)
        presence_tie(p, device_id);
    pthread_mutex_unlock(&p->lock);
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

enum presence presence_of(const struct presence_table *p, int64_t silent_ms)
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

struct sweep_list {
    struct id_entry items[SWEEP_ROWS];
    size_t count;
};

struct sweep {
    struct op_base base;
    struct sweep_list workers, devices; /* what is to be written */
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

/* A copy of an entry that changed, or was seen a good while after it was last written (count): as it shall
 * be, is_dirty where the state is another. The entry stays as it is until it is written. */
static void sweep_entry(struct sweep *s, const struct presence_table *p, const struct id_entry *e,
                        int64_t now_ms, struct sweep_list *out)
{
    enum presence state = presence_of(p, now_ms - e->at_ms);
    bool is_changed = (int)state != e->state;
    if (is_changed || (e->is_dirty && now_ms - e->count >= SAVE_EVERY_MS)) {
        struct id_entry *copy = &out->items[out->count++];
        *copy = *e;
        copy->state = (int)state;
        copy->count = now_ms;
        copy->is_dirty = is_changed;
    }
    int64_t next = next_change(p, e, state);
    s->next_ms = next < s->next_ms ? next : s->next_ms;
}

/* Goes on where the last sweep stopped, until there is enough to write or both tables are done. An entry that
 * moves meanwhile may be passed over, or seen twice: the next sweep comes within a heartbeat. */
static bool sweep_some(struct sweep *s, struct presence_table *p, int64_t now_ms)
{
    size_t all = p->workers.capacity + p->devices.capacity;
    for (size_t n = 0; n < SWEEP_SLOTS && p->sweep_at < all; n++, p->sweep_at++) {
        bool is_worker = p->sweep_at < p->workers.capacity;
        const struct id_entry *e =
            is_worker ? &p->workers.slots[p->sweep_at] : &p->devices.slots[p->sweep_at - p->workers.capacity];
        if (e->id[0])
            sweep_entry(s, p, e, now_ms, is_worker ? &s->workers : &s->devices);
        if (s->workers.count + s->devices.count == SWEEP_ROWS) {
            p->sweep_at++;
            return false;
        }
    }
    return p->sweep_at < all;
}

/* They are written. Who was seen meanwhile is to be written again. */
static void sweep_apply(const struct id_table *t, const struct sweep_list *written)
{
    for (size_t i = 0; i < written->count; i++) {
        const struct id_entry *is_written = &written->items[i];
        struct id_entry *e = id_table_find(t, is_written->id);
        if (!e)
            continue;
        e->state = is_written->state;
        e->count = is_written->count;
        e->is_dirty = e->is_dirty && e->at_ms != is_written->at_ms;
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
    for (size_t i = 0; i < s->workers.count && !e; i++) {
        struct worker_row row;
        e = worker_load(&w, s->workers.items[i].id, &row);
        row.last_seen_at = s->workers.items[i].at_ms;
        if (!e)
            e = store_update(txn, RECORD_WORKER, &row);
        if (!e && s->workers.items[i].is_dirty && !row.revoked_at)
            e = status_event(&w, "worker_status", "worker_id", &s->workers.items[i], row.name);
        e = e == ERR_NOT_FOUND ? ERR_OK : e;
    }
    for (size_t i = 0; i < s->devices.count && !e; i++) {
        struct device_row row;
        e = device_load(&w, s->devices.items[i].id, &row);
        row.last_seen_at = s->devices.items[i].at_ms;
        if (!e)
            e = store_update(txn, RECORD_DEVICE, &row);
        if (!e && s->devices.items[i].is_dirty && !row.revoked_at)
            e = status_event(&w, "device_status", "device_id", &s->devices.items[i], row.name);
        e = e == ERR_NOT_FOUND ? ERR_OK : e;
    }
    return e;
}

static void sweep_restart(struct presence_table *p)
{
    p->sweep_at = 0;
    p->sweep_next_ms = INT64_MAX;
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
    struct sweep s = {.base = {.core = c, .arena = &arena}, .next_ms = p->sweep_next_ms};
    bool has_more = true;
    while (has_more && s.workers.count + s.devices.count < SWEEP_ROWS) {
        pthread_mutex_lock(&p->lock);
        has_more = sweep_some(&s, p, now_ms);
        pthread_mutex_unlock(&p->lock);
    }
    enum err e = ERR_OK;
    if (s.workers.count + s.devices.count > 0)
        e = store_write_wait(c->store, op_presence, &s);
    arena_release(&arena);
    if (e) {
        sweep_restart(p); /* next_ms stays in the past: the next try is not put off */
        return e;
    }
    pthread_mutex_lock(&p->lock);
    sweep_apply(&p->workers, &s.workers);
    sweep_apply(&p->devices, &s.devices);
    has_more = p->sweep_at < p->workers.capacity + p->devices.capacity;
    pthread_mutex_unlock(&p->lock);
    p->sweep_next_ms = s.next_ms;
    *out_next_ms = now_ms;
    if (has_more)
        return ERR_OK; /* after the other work that is due */
    progress_forget_before(&c->progress, now_ms - (int64_t)100 * OFFLINE_AFTER * p->heartbeat_ms);
    sweep_restart(p);
    /* Somebody who was silent is seen again within a heartbeat at the latest. */
    int64_t soon = now_ms + (p->heartbeat_ms > 100 ? p->heartbeat_ms : 100);
    if (now_ms + SAVE_EVERY_MS < s.next_ms)
        s.next_ms = now_ms + SAVE_EVERY_MS;
    p->next_ms = s.next_ms < soon ? s.next_ms : soon;
    *out_next_ms = p->next_ms;
    return ERR_OK;
}

/* What its row says: nothing to write, and no news where it had been silent for long. */
static enum err take_up(const struct core *c, struct id_table *t, struct seen_times *times, const char *id,
                        int64_t last_seen_at)
{
    struct id_entry *e = note(t, times, id, last_seen_at);
    if (!e)
        return ERR_NO_MEMORY;
    e->count = core_now(c);
    if (presence_of(&c->presence, core_now(c) - last_seen_at) == PRESENCE_OFFLINE)
        e->state = PRESENCE_OFFLINE;
    return ERR_OK;
}

/* A piece at a time: there may be very many. */
static enum err take_up_devices(struct core *c, struct store_txn *txn)
{
    struct presence_table *p = &c->presence;
    struct device_row *rows;
    size_t n = RECOVER_ROWS;
    char after[ID_SIZE] = "";
    enum err e = ERR_OK;
    while (!e && n == RECOVER_ROWS) {
        struct arena piece = ARENA_INIT(CORE_ARENA_MAX);
        e = store_find(txn, QUERY_DEVICES, &piece, RECOVER_ROWS, &rows, &n, store_any, store_any,
                       store_text_or_any(*after ? after : NULL));
        pthread_mutex_lock(&p->lock);
        for (size_t i = 0; i < n && !e; i++) {
            if (!rows[i].revoked_at && !*rows[i].worker_id)
                e = take_up(c, &p->devices, &p->device_times, rows[i].id, rows[i].last_seen_at);
            if (!e)
                e = presence_add(p, &rows[i]);
        }
        pthread_mutex_unlock(&p->lock);
        if (!e && n > 0)
            e = str_copy(after, sizeof after, rows[n - 1].id);
        arena_release(&piece);
    }
    return e;
}

enum err presence_recover(struct core *c, struct store_txn *txn)
{
    struct arena arena = ARENA_INIT(CORE_ARENA_MAX);
    struct presence_table *p = &c->presence;
    struct worker_row *workers;
    size_t num_workers = 0;
    enum err e = store_find(txn, QUERY_WORKERS, &arena, 0, &workers, &num_workers, store_any);
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < num_workers && !e; i++)
        if (!workers[i].revoked_at)
            e = take_up(c, &p->workers, &p->worker_times, workers[i].id, workers[i].last_seen_at);
    pthread_mutex_unlock(&p->lock);
    arena_release(&arena);
    return e ? e : take_up_devices(c, txn);
}
