/* Events of a run, or of all: Server-Sent Events that resume by Last-Event-ID, or pages of JSON. */
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "server/api/caller.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/api/run_json.h"
#include "server/httpd/sse.h"

#define PIECE_BYTES   MIB        /* a look of a stream ends once it has as much */
#define EVENTS_MEMORY (24 * MIB) /* of the rows of one look; the largest event needs a few MiB */

static json_t *event_json(struct arena *arena, const struct event_row *ev)
{
    struct obj o = obj_new();
    obj_int(&o, "id", ev->id);
    obj_text_or_null(&o, "run_id", ev->run_id);
    obj_int(&o, "seq", ev->seq);
    obj_text(&o, "type", ev->type);
    obj_time(&o, "at", ev->at);
    obj_raw(&o, arena, "data", ev->data[0] ? ev->data : "{}");
    return obj_end(&o);
}

/* run_id "": of all runs, counted by id; else counted by the run's own sequence. */
static enum err find_events(struct store_txn *txn, const char *run_id, int64_t after, int64_t limit,
                            struct arena *arena, struct event_row **out_rows, size_t *out_n)
{
    if (run_id[0])
        return store_find(txn, QUERY_EVENTS_OF_RUN, arena, limit, out_rows, out_n, store_text(run_id),
                          store_int(after));
    return store_find(txn, QUERY_EVENTS, arena, limit, out_rows, out_n, store_int(after));
}

/* The first of them, at most `limit`, *out_asked of which were asked for: fewer where they are so large that
 * `arena`, which is empty, cannot hold as many. Fewer than asked: those are all. */
static enum err find_some(struct store_txn *txn, const char *run_id, int64_t after, int64_t limit,
                          struct arena *arena, struct event_row **out_rows, size_t *out_n, size_t *out_asked)
{
    enum err e = find_events(txn, run_id, after, limit, arena, out_rows, out_n);
    while (e == ERR_NO_MEMORY && limit > 1) {
        limit = limit > 4 ? limit / 4 : 1;
        arena_release(arena);
        e = find_events(txn, run_id, after, limit, arena, out_rows, out_n);
    }
    *out_asked = (size_t)limit;
    return e;
}

static int64_t place_of(const char *run_id, const struct event_row *ev)
{
    return run_id[0] ? ev->seq : ev->id;
}

/* ---- the stream ---- */

struct feed {
    struct api *api;
    const struct caller *caller; /* the request's */
    char run_id[ID_SIZE];
    int64_t last;
    bool may_stay;
    struct arena arena;
    struct event_row *rows;
    size_t count;
};

static enum err read_feed(struct store_txn *txn, void *arg)
{
    struct feed *f = arg;
    size_t asked;
    struct fault ignored = FAULT_NONE;
    enum err e = caller_check(f->api, txn, f->caller, &f->arena, &ignored);
    f->may_stay = err_http_status(e) != 401 && e != ERR_DEVICE_BUSY;
    f->count = 0;
    if (!f->may_stay)
        return ERR_OK;
    if (e != ERR_OK)
        return e;
    arena_clear(&f->arena);
    return find_some(txn, f->run_id, f->last, LIMIT_EVENTS_PAGE, &f->arena, &f->rows, &f->count, &asked);
}

/* The text of event_json(), made from the parts that are text already: each open page costs this once an
 * event. Ids and types need no escaping. */
static const char *event_text(struct arena *arena, const struct event_row *ev)
{
    char at[TIME_TEXT_SIZE];
    const char *quote = ev->run_id[0] ? "\"" : "";
    time_format(ev->at, at);
    return arena_printf(
        arena, "{\"id\":%lld,\"run_id\":%s%s%s,\"seq\":%lld,\"type\":\"%s\",\"at\":\"%s\",\"data\":%s}",
        (long long)ev->id, quote, ev->run_id[0] ? ev->run_id : "null", quote, (long long)ev->seq, ev->type,
        at, ev->data[0] ? ev->data : "{}");
}

static enum err feed_event(struct feed *f, const struct event_row *ev, struct buf *out)
{
    char id[24];
    int64_t place = place_of(f->run_id, ev);
    (void)snprintf(id, sizeof id, "%lld", (long long)place);
    struct arena text = ARENA_INIT(EVENTS_MEMORY); /* beside the rows, which may fill theirs */
    const char *data = event_text(&text, ev);
    enum err e = data ? sse_event(out, id, ev->type, data) : ERR_NO_MEMORY;
    arena_release(&text);
    if (e == ERR_OK)
        f->last = place;
    return e;
}

/* Who comes back after the end is told why: his token was revoked or has expired. */
static enum err feed_next(void *ctx, struct buf *out, bool *out_end)
{
    struct feed *f = ctx;
    arena_init(&f->arena, EVENTS_MEMORY);
    enum err e = f->api->store->ops->read(f->api->store, read_feed, f);
    for (size_t i = 0; e == ERR_OK && i < f->count && out->len < PIECE_BYTES; i++)
        e = feed_event(f, &f->rows[i], out);
    arena_release(&f->arena);
    *out_end = e == ERR_OK && !f->may_stay;
    /* What did not fit comes with the next look; nothing of it stands in `out`. */
    return e == ERR_PAYLOAD_TOO_LARGE && out->len > 0 ? ERR_OK : e;
}

static enum err start_feed(struct api *api, struct request *rq, const char *run_id, int64_t since,
                           struct fault *fault)
{
    struct feed *f = calloc(1, sizeof *f);
    if (!f)
        return ERR_NO_MEMORY;
    f->api = api;
    f->caller = api_caller(rq);
    f->last = since;
    enum err e = str_copy(f->run_id, sizeof f->run_id, run_id);
    if (e != ERR_OK) {
        free(f);
        return e;
    }
    const uint64_t topics[] = {run_id[0] ? topic_of("run", run_id) : topic_of("events", NULL),
                               caller_topic(f->caller)};
    const struct sse_source source = {.next = feed_next,
                                      .free = free,
                                      .ctx = f,
                                      .topics = topics,
                                      .num_topics = 2,
                                      .look_again_ms = caller_wait_ms(api, f->caller, INT64_MAX)};
    return reply_events(rq, &source, fault);
}

/* ---- pages, and which of the two it is ---- */

struct events_look {
    struct reading r; /* first: reads take it */
    const char *run_id;
    int64_t since, limit;
    bool of_run;     /* of the run that the path names */
    bool is_latest;  /* since: the newest one, whatever its number */
    bool is_resumed; /* since: Last-Event-ID */
};

static enum err find_latest(struct store_txn *txn, int64_t *out)
{
    struct arena arena = ARENA_INIT(EVENTS_MEMORY);
    struct event_row *rows;
    size_t n;
    enum err e = store_find(txn, QUERY_EVENTS_DOWN, &arena, 1, &rows, &n, store_any);
    if (e == ERR_OK)
        *out = n > 0 ? rows[0].id : 0;
    arena_release(&arena);
    return e;
}

/* Who has seen more than there is would wait for events whose numbers he takes for seen: his are of data that
 * were replaced, by a backup for example. */
static enum err find_place(struct store_txn *txn, void *arg)
{
    struct events_look *look = arg;
    struct run_row run = {.id = ""};
    int64_t newest = 0;
    enum err e = look->of_run ? run_of_path(&look->r, txn, &run) : ERR_OK;
    look->run_id = run.id;
    if (e == ERR_OK && (look->is_latest || look->is_resumed)) {
        newest = run.last_event;
        if (!look->of_run)
            e = find_latest(txn, &newest);
    }
    if (e == ERR_OK && look->is_resumed && look->since > newest)
        return fault_set(
            look->r.fault, ERR_INVALID_FIELD, HEADER_LAST_EVENT_ID,
            "The newest event here is %lld, so that one was of other data. Read the present state, and begin "
            "anew without this header.",
            (long long)newest);
    if (look->is_latest)
        look->since = newest;
    return e;
}

static enum err page_of(struct events_look *look, const struct event_row *rows, size_t n, bool is_last)
{
    json_t *items = json_array();
    for (size_t i = 0; items && i < n; i++) {
        if (json_array_append_new(items, event_json(look->r.arena, &rows[i])) != 0) {
            json_decref(items);
            return ERR_NO_MEMORY;
        }
    }
    const char *next = NULL;
    if (!is_last)
        next = arena_printf(look->r.arena, "%lld", (long long)place_of(look->run_id, &rows[n - 1]));
    look->r.out = items ? page_json(items, next) : NULL;
    return look->r.out ? ERR_OK : ERR_NO_MEMORY;
}

/* One more than the page holds is asked for, to know whether there are more. */
static enum err read_page(struct store_txn *txn, void *arg)
{
    struct events_look *look = arg;
    struct arena arena = ARENA_INIT(EVENTS_MEMORY);
    struct event_row *rows;
    size_t n, asked;
    enum err e = find_some(txn, look->run_id, look->since, look->limit + 1, &arena, &rows, &n, &asked);
    bool is_last = n < asked;
    if (e == ERR_OK)
        e = page_of(look, rows, is_last || n == 1 ? n : n - 1, is_last);
    arena_release(&arena);
    return e;
}

/* A stream unless a page is asked for: by ?since= and the like, or by an Accept that wants JSON. */
static bool wants_page(const struct request *rq)
{
    if (request_accepts(rq, MEDIA_EVENTS))
        return false;
    return request_query(rq, "since") || request_query(rq, "limit") || request_query(rq, "cursor") ||
           request_accepts(rq, MEDIA_JSON);
}

static enum err read_place(struct events_look *look, struct fault *fault)
{
    const struct request *rq = look->r.rq;
    struct page page;
    const char *since = request_query(rq, "since");
    enum err e = page_read_number(rq, &page, fault);
    look->is_latest = since && str_eq(since, "latest");
    if (e == ERR_OK && !look->is_latest)
        e = request_query_int(rq, "since", 0, INT64_MAX, 0, &look->since, fault);
    if (e != ERR_OK)
        return e;
    look->limit = page.limit;
    if (page.number >= 0)
        look->since = page.number;
    const char *last = request_header(rq, HEADER_LAST_EVENT_ID);
    bool has_last = last && last[0];
    if (has_last && (last[0] == '-' || str_to_i64(last, &look->since) != ERR_OK))
        return fault_set(fault, ERR_INVALID_FIELD, HEADER_LAST_EVENT_ID,
                         "It must be the id of the last event that was received, a decimal number.");
    look->is_resumed = has_last;
    look->is_latest = look->is_latest && page.number < 0 && !has_last;
    return ERR_OK;
}

static enum err answer(struct api *api, struct request *rq, bool of_run, struct fault *fault)
{
    struct events_look look = {.r = {.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault},
                               .run_id = "",
                               .of_run = of_run};
    enum err e = read_place(&look, fault);
    if (e == ERR_OK)
        e = api->store->ops->read(api->store, find_place, &look);
    if (e == ERR_OK && !wants_page(rq))
        return api_failure(fault, start_feed(api, rq, look.run_id, look.since, fault));
    if (e == ERR_OK)
        e = api->store->ops->read(api->store, read_page, &look);
    return e == ERR_OK ? reply_json(rq, 200, look.r.out) : api_failure(fault, e);
}

enum err api_run_events(void *ctx, struct request *rq, struct fault *fault)
{
    return answer(ctx, rq, true, fault);
}

enum err api_events(void *ctx, struct request *rq, struct fault *fault)
{
    return answer(ctx, rq, false, fault);
}
