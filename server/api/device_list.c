/* GET /devices. */
#include <string.h>
#include "common/base/str.h"
#include "server/api/device_filter.h"
#include "server/api/device_json.h"
#include "server/api/handlers.h"
#include "server/api/page.h"

/* A page in the making. */
struct listing {
    struct reading *r;
    struct store_txn *txn;
    struct device_source source;
    struct arena arena; /* of one candidate at a time */
    int64_t limit;
    json_t *items;
    char after[DEVICE_CURSOR_SIZE]; /* of the last candidate dealt with */
    bool is_full;                   /* one that passes found no more room */
};

static enum err take(struct listing *l, const struct core_device *candidate)
{
    struct device_row row;
    bool passes;
    enum err e = device_source_row(&l->source, l->txn, candidate, &l->arena, &row, &passes);
    if (e == ERR_OK && passes) {
        l->is_full = json_array_size(l->items) == (size_t)l->limit;
        if (!l->is_full &&
            json_array_append_new(l->items, device_json(l->r->api, l->txn, l->r->arena, &row)) != 0)
            e = ERR_NO_MEMORY;
    }
    arena_clear(&l->arena);
    if (e == ERR_OK && !l->is_full)
        device_source_cursor(&l->source, candidate, l->after);
    return e;
}

static enum err collect(struct listing *l, const struct device_filter *f)
{
    enum err e = device_source_open(l->r, f, l->after, &l->source);
    do {
        if (e == ERR_OK)
            e = device_source_next(&l->source, l->txn, l->after);
        for (size_t i = 0; i < l->source.count && e == ERR_OK && !l->is_full; i++)
            e = take(l, &l->source.items[i]);
    } while (e == ERR_OK && !l->is_full && !l->source.is_last);
    return e;
}

static enum err read_devices(struct store_txn *txn, void *arg)
{
    struct listing l = {.r = arg, .txn = txn, .arena = ARENA_INIT(LIMIT_REQUEST_ARENA)};
    struct device_filter f;
    struct page page;
    enum err e = device_filter_read(l.r, &f);
    if (e == ERR_OK)
        e = f.run ? page_read_number(l.r->rq, &page, l.r->fault) : page_read_id(l.r->rq, &page, l.r->fault);
    if (e == ERR_OK && page.text)
        e = str_copy(l.after, sizeof l.after, page.text);
    if (e != ERR_OK)
        return e;
    l.limit = page.limit;
    l.items = json_array();
    e = l.items ? collect(&l, &f) : ERR_NO_MEMORY;
    arena_release(&l.arena);
    if (e == ERR_OK)
        l.r->out = page_json(l.items, l.is_full ? l.after : NULL);
    else
        json_decref(l.items);
    return e == ERR_OK && !l.r->out ? ERR_NO_MEMORY : e;
}

enum err api_device_list(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_devices, fault);
}
