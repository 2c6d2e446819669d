#include "server/api/device_filter.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "server/core/names.h"

#define FIRST_PIECE 256
/* So many candidates are looked at one by one before all members of a run, or all devices with a label, are.
 */
#define FEW 2048

enum err device_filter_read(struct reading *r, struct device_filter *out)
{
    *out = (struct device_filter){
        .known = {.dataset = request_query(r->rq, "dataset"), .worker_id = request_query(r->rq, "worker")},
        .run = request_query(r->rq, "run")};
    const char *status = request_query(r->rq, "status");
    if (status) {
        if (presence_parse(status, &out->known.status) != ERR_OK)
            return fault_set(r->fault, ERR_INVALID_FIELD, "status",
                             "It must be online, suspect, offline or revoked.");
        out->known.has_status = true;
    }
    const char *label = request_query(r->rq, "label");
    if (label) {
        const char *eq = strchr(label, '=');
        out->known.label_value = eq ? eq + 1 : NULL;
        out->known.label = eq ? arena_strndup(r->arena, label, (size_t)(eq - label)) : label;
        if (!out->known.label)
            return ERR_NO_MEMORY;
    }
    return ERR_OK;
}

static bool is_filtered(const struct device_filter *f)
{
    return f->known.has_status || f->known.dataset || f->known.worker_id || f->known.label;
}

/* ---- where candidates come from ---- */

static enum err labelled(const struct device_filter *f, struct store_txn *txn, const char *after, int64_t max,
                         struct arena *arena, struct device_label_row **out, size_t *out_count)
{
    struct store_value behind = store_text_or_any(*after ? after : NULL);
    if (!f->known.label_value)
        return store_find(txn, QUERY_DEVICES_WITH_LABEL, arena, max, out, out_count,
                          store_text(f->known.label), behind);
    return store_find(txn, QUERY_DEVICES_WITH_LABEL_VALUE, arena, max, out, out_count,
                      store_text(f->known.label), store_text(f->known.label_value), behind);
}

static enum err next_labelled(struct device_source *s, struct store_txn *txn, const char *after)
{
    struct arena arena = ARENA_INIT(LIMIT_REQUEST_ARENA);
    struct device_label_row *rows;
    size_t n = 0;
    enum err e = labelled(s->filter, txn, after, (int64_t)s->piece, &arena, &rows, &n);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = str_copy(s->items[i].id, ID_SIZE, rows[i].device_id);
    arena_release(&arena);
    s->count = n;
    return e;
}

static enum err next_members(struct device_source *s, struct store_txn *txn, const char *after)
{
    struct arena arena = ARENA_INIT(LIMIT_REQUEST_ARENA);
    struct run_device_row *rows;
    size_t n = 0;
    uint64_t ordinal;
    struct store_value behind = store_any;
    if (str_to_u64(after, &ordinal) == ERR_OK)
        behind = store_int((int64_t)ordinal);
    enum err e = store_find(txn, QUERY_RUN_DEVICES, &arena, (int64_t)s->piece, &rows, &n,
                            store_text(s->filter->run), behind);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        e = str_copy(s->items[i].id, ID_SIZE, rows[i].device_id);
        s->items[i].ordinal = rows[i].ordinal;
    }
    arena_release(&arena);
    s->count = n;
    return e;
}

enum err device_source_next(struct device_source *s, struct store_txn *txn, const char *after)
{
    enum err e = ERR_OK;
    if (s->from == FROM_FEW)
        return ERR_OK; /* all of it was found when it was opened */
    if (s->from == FROM_ALL)
        s->count = core_devices(s->api->core, &s->filter->known, after, s->piece, s->items);
    else
        e = s->from == FROM_LABEL ? next_labelled(s, txn, after) : next_members(s, txn, after);
    s->is_last = s->count < s->piece;
    s->piece = s->piece * 2 < FEW ? s->piece * 2 : FEW;
    return e;
}

/* ---- a few of them ---- */

static int by_ordinal(const void *a, const void *b)
{
    const struct core_device *x = a, *y = b;
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static void in_order_of_run(struct device_source *s, const char *after)
{
    uint64_t ordinal;
    size_t kept = 0;
    bool is_begun = str_to_u64(after, &ordinal) == ERR_OK;
    for (size_t i = 0; i < s->count; i++)
        if (!is_begun || s->items[i].ordinal > (int64_t)ordinal)
            s->items[kept++] = s->items[i];
    s->count = kept;
    qsort(s->items, s->count, sizeof *s->items, by_ordinal);
}

/* is_last: these are all that there are. */
static void find_few(struct device_source *s, const char *after)
{
    const struct device_filter *f = s->filter;
    s->count = core_devices(s->api->core, &f->known, f->run ? "" : after, FEW, s->items);
    s->is_last = s->count < FEW;
    if (s->is_last && f->run)
        in_order_of_run(s, after);
}

enum err device_source_open(struct reading *r, const struct device_filter *f, const char *after,
                            struct device_source *out)
{
    *out = (struct device_source){.api = r->api,
                                  .filter = f,
                                  .from = FROM_FEW,
                                  .items = arena_calloc(r->arena, FEW, sizeof *out->items)};
    if (!out->items)
        return ERR_NO_MEMORY;
    bool is_label_alone = !f->known.has_status && !f->known.dataset && !f->known.worker_id;
    if (f->run ? is_filtered(f) : f->known.label && !is_label_alone) {
        find_few(out, after);
        if (out->is_last)
            return ERR_OK;
    }
    out->from = f->run ? FROM_RUN : f->known.label ? FROM_LABEL : FROM_ALL;
    out->piece = FIRST_PIECE;
    return ERR_OK;
}

/* ---- whether one passes ---- */

static enum err has_label(const struct device_filter *f, struct store_txn *txn, const char *id,
                          struct arena *arena, bool *out)
{
    struct device_label_row row;
    record_init(RECORD_DEVICE_LABEL, &row);
    row.device_id = id;
    row.name = f->known.label;
    enum err e = store_get(txn, RECORD_DEVICE_LABEL, arena, &row);
    *out = e == ERR_OK && (!f->known.label_value || str_eq(row.value, f->known.label_value));
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err is_member(const struct device_filter *f, struct store_txn *txn,
                          const struct core_device *item, struct arena *arena, bool *out)
{
    struct run_device_row row;
    record_init(RECORD_RUN_DEVICE, &row);
    row.run_id = f->run;
    row.ordinal = item->ordinal;
    enum err e = store_get(txn, RECORD_RUN_DEVICE, arena, &row);
    *out = e == ERR_OK && str_eq(row.device_id, item->id);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* What the source has not looked at, the cheapest first. */
static enum err is_worth_reading(struct device_source *s, struct store_txn *txn,
                                 const struct core_device *item, struct arena *arena, bool *out)
{
    const struct device_filter *f = s->filter;
    enum err e = ERR_OK;
    *out = s->from == FROM_ALL || s->from == FROM_FEW || !is_filtered(f) ||
           core_device_may_pass(s->api->core, &f->known, item->id);
    if (*out && f->run && s->from != FROM_RUN)
        e = is_member(f, txn, item, arena, out);
    if (e == ERR_OK && *out && f->known.label && s->from != FROM_LABEL)
        e = has_label(f, txn, item->id, arena, out);
    return e;
}

static bool row_passes(struct api *api, const struct core_device_filter *f, const struct device_row *d)
{
    return (!f->dataset || str_eq(d->dataset, f->dataset)) &&
           (!f->worker_id || str_eq(d->worker_id, f->worker_id)) &&
           (!f->has_status || core_device_presence(api->core, d) == f->status);
}

enum err device_source_row(struct device_source *s, struct store_txn *txn, const struct core_device *item,
                           struct arena *arena, struct device_row *out, bool *out_passes)
{
    record_init(RECORD_DEVICE, out);
    enum err e = is_worth_reading(s, txn, item, arena, out_passes);
    if (e != ERR_OK || !*out_passes)
        return e;
    out->id = item->id;
    e = store_get(txn, RECORD_DEVICE, arena, out);
    if (e == ERR_OK && out->revoked_at)
        core_device_is_revoked(s->api->core, out->id);
    *out_passes = e == ERR_OK && row_passes(s->api, &s->filter->known, out);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

void device_source_cursor(const struct device_source *s, const struct core_device *item,
                          char out[DEVICE_CURSOR_SIZE])
{
    if (s->filter->run)
        (void)snprintf(out, DEVICE_CURSOR_SIZE, "%lld", (long long)item->ordinal);
    else
        memcpy(out, item->id, DEVICE_CURSOR_SIZE);
}
