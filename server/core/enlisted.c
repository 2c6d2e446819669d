/* Which devices there are, and what they are now, without reading their rows. */
#include <string.h>
#include "common/base/str.h"
#include "server/core/work.h"

#define LOOK_AT 8192 /* entries while the lock is held: the loops that note who was seen wait for it */

/* ---- what is told of them ---- */

void presence_tie(struct presence_table *p, const char *device_id)
{
    struct roster_entry *e = roster_find(&p->roster, device_id);
    const struct id_entry *own = id_table_find(&p->devices, device_id);
    if (e && own)
        e->own_slot = own->number;
}

static enum err marks_of(const char *labels, struct roster_marks *out)
{
    const char *name;
    json_t *all = NULL, *value;
    *out = (struct roster_marks){{0}};
    enum err e = str_eq(labels, "{}") ? ERR_OK : json_from_row(labels, &all);
    json_object_foreach(all, name, value)
    {
        roster_mark(out, name, NULL);
        roster_mark(out, name, json_string_value(value));
    }
    json_decref(all);
    return e;
}

enum err presence_add(struct presence_table *p, const struct device_row *device)
{
    struct roster_marks labels;
    enum err err = marks_of(device->labels, &labels);
    struct roster_entry *e = err ? NULL : roster_add(&p->roster, device);
    if (!e)
        return err ? err : ERR_NO_MEMORY;
    const struct id_entry *own = id_table_find(&p->devices, device->id),
                          *worker = id_table_find(&p->workers, device->worker_id);
    e->labels = labels;
    if (own)
        e->own_slot = own->number;
    if (worker)
        e->worker_slot = worker->number;
    return ERR_OK;
}

enum err presence_relabelling(struct core *c, const struct device_row *device)
{
    struct presence_table *p = &c->presence;
    struct roster_marks labels;
    enum err err = marks_of(device->labels, &labels);
    pthread_mutex_lock(&p->lock);
    struct roster_entry *e = err ? NULL : roster_find(&p->roster, device->id);
    if (e)
        roster_mark_all(&e->labels, &labels);
    pthread_mutex_unlock(&p->lock);
    return err;
}

enum err presence_enlist(struct core *c, const struct device_row *device)
{
    struct presence_table *p = &c->presence;
    if (p->all_online)
        return ERR_OK;
    pthread_mutex_lock(&p->lock);
    bool is_seen = *device->worker_id
                       ? presence_seen(&p->workers, &p->worker_times, device->worker_id, core_now(c))
                       : presence_seen(&p->devices, &p->device_times, device->id, core_now(c));
    enum err e = is_seen ? presence_add(p, device) : ERR_NO_MEMORY;
    pthread_mutex_unlock(&p->lock);
    return e;
}

static void set_end(struct core *c, const char *device_id, enum roster_end end)
{
    pthread_mutex_lock(&c->presence.lock);
    struct roster_entry *e = roster_find(&c->presence.roster, device_id);
    if (e && e->end < end)
        e->end = end;
    pthread_mutex_unlock(&c->presence.lock);
}

void presence_revoking(struct core *c, const char *device_id)
{
    set_end(c, device_id, ROSTER_PERHAPS_REVOKED);
}

void core_device_is_revoked(struct core *c, const char *device_id)
{
    set_end(c, device_id, ROSTER_REVOKED);
}

/* ---- what is asked ---- */

struct look {
    const struct presence_table *p;
    bool has_status, of_dataset, of_worker;
    struct roster_marks labels;
    enum presence status;
    uint64_t dataset, worker;
    int64_t now_ms;
};

static struct look look_begin(struct core *c, const struct core_device_filter *f)
{
    struct look l = {.p = &c->presence,
                     .has_status = f->has_status,
                     .of_dataset = f->dataset != NULL,
                     .of_worker = f->worker_id != NULL,
                     .status = f->status,
                     .dataset = f->dataset ? roster_hash(f->dataset) : 0,
                     .worker = f->worker_id ? roster_hash(f->worker_id) : 0,
                     .now_ms = core_now(c)};
    if (f->label)
        roster_mark(&l.labels, f->label, f->label_value);
    return l;
}

static int64_t latest(int64_t at_ms, const struct seen_times *times, uint32_t slot)
{
    return slot != ROSTER_NO_SLOT && times->ms[slot] > at_ms ? times->ms[slot] : at_ms;
}

static bool has_status(const struct look *l, const struct roster_entry *e)
{
    if (l->status == PRESENCE_REVOKED)
        return e->end != ROSTER_ACTIVE;
    if (e->end == ROSTER_REVOKED)
        return false;
    int64_t at_ms = latest(e->last_seen_at, &l->p->device_times, e->own_slot);
    at_ms = latest(at_ms, &l->p->worker_times, e->worker_slot);
    return presence_of(l->p, l->now_ms - at_ms) == l->status;
}

static bool may_pass(const struct look *l, const struct roster_entry *e)
{
    return (!l->of_dataset || e->dataset == l->dataset) && (!l->of_worker || e->worker == l->worker) &&
           roster_has_marks(&e->labels, &l->labels) && (!l->has_status || has_status(l, e));
}

bool core_device_may_pass(struct core *c, const struct core_device_filter *f, const char *device_id)
{
    struct look l = look_begin(c, f);
    pthread_mutex_lock(&c->presence.lock);
    const struct roster_entry *e = roster_find(&c->presence.roster, device_id);
    bool passes = e && may_pass(&l, e);
    pthread_mutex_unlock(&c->presence.lock);
    return passes;
}

/* Looks at a piece of the roster from `at` on, and moves it behind what was looked at. */
static size_t take_some(const struct look *l, const struct roster *r, size_t *at, size_t max,
                        struct core_device *out)
{
    size_t n = 0, end = r->count - *at > LOOK_AT ? *at + LOOK_AT : r->count;
    for (; *at < end && n < max; (*at)++) {
        const struct roster_entry *e = &r->entries[*at];
        if (!may_pass(l, e))
            continue;
        hex_encode(e->id, sizeof e->id, out[n].id);
        out[n++].ordinal = e->ordinal;
    }
    return n;
}

size_t core_devices(struct core *c, const struct core_device_filter *f, const char *after, size_t max,
                    struct core_device *out)
{
    struct look l = look_begin(c, f);
    struct roster *r = &c->presence.roster;
    uint8_t last[ROSTER_ID_BYTES] = {0};
    size_t n = 0, at;
    bool has_more = !*after || hex_decode(after, last, sizeof last) == ERR_OK;
    while (has_more && n < max) {
        pthread_mutex_lock(&c->presence.lock);
        /* Others may have been added meanwhile. */
        at = roster_behind(r, last);
        n += take_some(&l, r, &at, max - n, out + n);
        if (at > 0)
            memcpy(last, r->entries[at - 1].id, sizeof last);
        has_more = at < r->count;
        pthread_mutex_unlock(&c->presence.lock);
    }
    return n;
}
