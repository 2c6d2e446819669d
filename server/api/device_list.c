/* GET /devices. Presence lives in memory and labels are JSON, so both are filtered here, a page of rows at a
 * time. */
#include <string.h>
#include "common/base/str.h"
#include "server/api/device_json.h"
#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/core/names.h"

#define SCAN_PAGE 256

struct device_filter {
    bool has_status;
    enum presence status;
    const char *label, *label_value; /* NULL: any; value NULL: the label may have any value */
    const char *dataset, *worker, *run;
};

static enum err read_filter(struct reading *r, struct device_filter *f)
{
    *f = (struct device_filter){.dataset = request_query(r->rq, "dataset"),
                                .worker = request_query(r->rq, "worker"),
                                .run = request_query(r->rq, "run")};
    const char *status = request_query(r->rq, "status");
    if (status) {
        if (presence_parse(status, &f->status) != ERR_OK)
            return fault_set(r->fault, ERR_INVALID_FIELD, "status",
                             "It must be online, suspect, offline or revoked.");
        f->has_status = true;
    }
    const char *label = request_query(r->rq, "label");
    if (label) {
        const char *eq = strchr(label, '=');
        f->label_value = eq ? eq + 1 : NULL;
        f->label = eq ? arena_strndup(r->arena, label, (size_t)(eq - label)) : label;
        if (!f->label)
            return ERR_NO_MEMORY;
    }
    return ERR_OK;
}

static bool has_label(const struct device_row *d, const struct device_filter *f)
{
    json_t *labels = json_loads(d->labels, 0, NULL);
    const json_t *value = json_object_get(labels, f->label);
    bool has = value && (!f->label_value || str_eq(json_string_value(value), f->label_value));
    json_decref(labels);
    return has;
}

static bool passes(struct api *api, const struct device_row *d, const struct device_filter *f)
{
    if (f->dataset && !str_eq(d->dataset, f->dataset))
        return false;
    if (f->worker && !str_eq(d->worker_id, f->worker))
        return false;
    if (f->has_status && core_device_presence(api->core, d) != f->status)
        return false;
    return !f->label || has_label(d, f);
}

#define CURSOR_SIZE ID_SIZE /* an id, or an ordinal */

/* The rows that come next, of all devices or of a run's, and the cursor behind each. */
struct scan {
    struct arena arena; /* of this page of rows only */
    struct device_row *rows;
    char (*cursors)[CURSOR_SIZE];
    size_t count;
};

static enum err scan_all(struct store_txn *txn, const struct device_filter *f, const char *after,
                         struct scan *s)
{
    enum err e = store_find(txn, QUERY_DEVICES, &s->arena, SCAN_PAGE, &s->rows, &s->count,
                            store_text_or_any(f->dataset), store_text_or_any(f->worker),
                            store_text_or_any(after[0] ? after : NULL));
    for (size_t i = 0; e == ERR_OK && i < s->count; i++)
        e = str_copy(s->cursors[i], CURSOR_SIZE, s->rows[i].id);
    return e;
}

static enum err scan_run(struct store_txn *txn, const struct device_filter *f, const char *after,
                         struct scan *s)
{
    uint64_t ordinal;
    struct store_value behind = store_any;
    if (str_to_u64(after, &ordinal) == ERR_OK)
        behind = store_int((int64_t)ordinal);
    struct run_device_row *members;
    enum err e = store_find(txn, QUERY_RUN_DEVICES, &s->arena, SCAN_PAGE, &members, &s->count,
                            store_text(f->run), behind);
    if (e != ERR_OK)
        return e;
    s->rows = arena_calloc(&s->arena, s->count, sizeof *s->rows);
    if (!s->rows)
        return ERR_NO_MEMORY;
    for (size_t i = 0; e == ERR_OK && i < s->count; i++) {
        record_init(RECORD_DEVICE, &s->rows[i]);
        s->rows[i].id = members[i].device_id;
        (void)snprintf(s->cursors[i], CURSOR_SIZE, "%lld", (long long)members[i].ordinal);
        e = store_get(txn, RECORD_DEVICE, &s->arena, &s->rows[i]);
    }
    return e;
}

/* Renders what passes of one scanned page. `after` moves to the last row dealt with; *out_is_full: a row that
 * passes found no more room. */
static enum err take(struct reading *r, struct store_txn *txn, const struct device_filter *f, int64_t limit,
                     struct scan *s, json_t *items, char after[CURSOR_SIZE], bool *out_is_full)
{
    for (size_t i = 0; i < s->count; i++) {
        if (passes(r->api, &s->rows[i], f)) {
            *out_is_full = json_array_size(items) == (size_t)limit;
            if (*out_is_full)
                return ERR_OK;
            if (json_array_append_new(items, device_json(r->api, txn, r->arena, &s->rows[i])) != 0)
                return ERR_NO_MEMORY;
        }
        memcpy(after, s->cursors[i], CURSOR_SIZE);
    }
    return ERR_OK;
}

/* Fills `items` up to the limit. `after`: the cursor to go on from; "" when there are no more. */
static enum err collect(struct reading *r, struct store_txn *txn, const struct device_filter *f,
                        int64_t limit, json_t *items, char after[CURSOR_SIZE])
{
    struct scan s = {.arena = ARENA_INIT(LIMIT_REQUEST_ARENA),
                     .cursors = arena_calloc(r->arena, SCAN_PAGE, CURSOR_SIZE)};
    bool is_full = false;
    enum err e = s.cursors ? ERR_OK : ERR_NO_MEMORY;
    do {
        if (e == ERR_OK)
            e = f->run ? scan_run(txn, f, after, &s) : scan_all(txn, f, after, &s);
        if (e == ERR_OK)
            e = take(r, txn, f, limit, &s, items, after, &is_full);
        arena_release(&s.arena);
    } while (e == ERR_OK && !is_full && s.count == SCAN_PAGE);
    if (!is_full)
        after[0] = '\0';
    return e;
}

static enum err read_devices(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct device_filter f;
    struct page page;
    enum err e = read_filter(r, &f);
    if (e == ERR_OK)
        e = f.run ? page_read_number(r->rq, &page, r->fault) : page_read_id(r->rq, &page, r->fault);
    if (e != ERR_OK)
        return e;
    json_t *items = json_array();
    char after[CURSOR_SIZE] = "";
    if (page.text)
        e = str_copy(after, sizeof after, page.text);
    if (e == ERR_OK)
        e = items ? collect(r, txn, &f, page.limit, items, after) : ERR_NO_MEMORY;
    if (e == ERR_OK)
        r->out = page_json(items, after[0] ? after : NULL);
    else
        json_decref(items);
    return e == ERR_OK && !r->out ? ERR_NO_MEMORY : e;
}

enum err api_device_list(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_devices, fault);
}
