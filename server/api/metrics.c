/* GET /runs/{run}/metrics: pages of points, or thinned curves; JSON, or CSV by Accept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/metric_points.h"
#include "server/api/page.h"
#include "server/api/round_numbers.h"
#include "server/api/run_json.h"

#define MAX_POINTS 10000

struct metrics_look {
    struct reading r; /* first: reads take it */
    struct metric_filter filter;
    int64_t limit, max_points;
    bool has_limit, is_csv, has_steps;
    struct metric_points points;
    const char **device_ids; /* one per point; "" for none */
};

/* ---- the question ---- */

/* "ROUND.SKIP": where the next page begins. */
static enum err read_cursor(struct metrics_look *look, const char *cursor, struct fault *fault)
{
    const char *dot = strchr(cursor, '.');
    char round[20];
    if (dot && (size_t)(dot - cursor) < sizeof round) {
        memcpy(round, cursor, (size_t)(dot - cursor));
        round[dot - cursor] = '\0';
        if (round[0] != '-' && dot[1] != '-' && str_to_i64(round, &look->filter.since_round) == ERR_OK &&
            str_to_i64(dot + 1, &look->filter.skip) == ERR_OK && look->filter.skip <= (int64_t)1 << 40)
            return ERR_OK;
    }
    return fault_set(
        fault, ERR_INVALID_CURSOR, "cursor",
        "This cursor was not given out by this list. Use the next_cursor of the page before, unchanged, or "
        "leave it out to start anew.");
}

/* ?device=: an id, an ordinal, or "aggregate". */
static enum err read_device(struct metrics_look *look, struct store_txn *txn)
{
    const char *device = request_query(look->r.rq, "device");
    int64_t ordinal = -1;
    if (!device)
        return ERR_OK;
    if (id_is_valid(device)) {
        struct device_row row;
        record_init(RECORD_DEVICE, &row);
        row.id = device;
        enum err e = api_get(txn, RECORD_DEVICE, look->r.arena, &row, "device", device, look->r.fault);
        if (e != ERR_OK)
            return e;
        ordinal = row.ordinal;
    } else if (!str_eq(device, "aggregate") && (device[0] == '-' || str_to_i64(device, &ordinal) != ERR_OK)) {
        return fault_set(
            look->r.fault, ERR_INVALID_FIELD, "device",
            "It must be a device's id, its ordinal, or \"aggregate\" for the metrics over all devices.");
    }
    look->filter.ordinal = store_int(ordinal);
    return ERR_OK;
}

/* ?number=: of the rounds, so neither a metric nor a device's. */
static enum err read_number(struct metrics_look *look, struct fault *fault)
{
    const char *number = request_query(look->r.rq, "number");
    if (!number)
        return ERR_OK;
    look->filter.number = round_number_find(number);
    if (!look->filter.number)
        return fault_set(fault, ERR_INVALID_FIELD, "number",
                         "It must be proximal_mu, mean_gamma, dissimilarity_b, grad_variance_weighted, "
                         "grad_variance_uniform, duration_ms, bytes_in or bytes_out.");
    if (look->filter.name || request_query(look->r.rq, "device"))
        return fault_set(fault, ERR_INVALID_FIELD, look->filter.name ? "name" : "device",
                         "With number there are no metrics: leave it out.");
    return ERR_OK;
}

static enum err read_question(struct metrics_look *look, struct fault *fault)
{
    const struct request *rq = look->r.rq;
    look->filter.name = request_query(rq, "name");
    look->filter.ordinal = store_any;
    look->is_csv = request_accepts(rq, MEDIA_CSV);
    look->has_limit = request_query(rq, "limit") != NULL;
    enum err e = request_query_int(rq, "since_round", 0, LIMIT_ROUNDS, 0, &look->filter.since_round, fault);
    if (e == ERR_OK)
        e = request_query_int(rq, "limit", 1, LIMIT_PAGE, LIMIT_PAGE, &look->limit, fault);
    if (e == ERR_OK)
        e = request_query_int(rq, "max_points", 2, MAX_POINTS, 0, &look->max_points, fault);
    if (e == ERR_OK)
        e = read_number(look, fault);
    const char *steps = request_query(rq, "total_steps");
    look->has_steps = steps && str_eq(steps, "true");
    if (e == ERR_OK && steps && !look->has_steps && !str_eq(steps, "false"))
        e = fault_set(fault, ERR_INVALID_FIELD, "total_steps", "It must be true or false.");
    const char *cursor = request_query(rq, "cursor");
    if (e == ERR_OK && cursor && look->max_points)
        e = fault_set(fault, ERR_INVALID_FIELD, "cursor",
                      "With max_points there is one page only; leave it out.");
    if (e == ERR_OK && cursor)
        e = read_cursor(look, cursor, fault);
    return e;
}

/* ---- the points ---- */

#define CACHED 1024 /* ordinals at a time: most pages go round by round over the same devices */

struct id_cache {
    int64_t ordinals[CACHED];
    const char *ids[CACHED]; /* NULL: not yet */
};

static enum err device_id(struct metrics_look *look, struct store_txn *txn, struct id_cache *cache,
                          int64_t ordinal, const char **out)
{
    size_t slot = (size_t)ordinal % CACHED;
    *out = "";
    if (ordinal < 0)
        return ERR_OK;
    if (!cache->ids[slot] || cache->ordinals[slot] != ordinal) {
        struct run_device_row row;
        record_init(RECORD_RUN_DEVICE, &row);
        row.run_id = look->filter.run_id;
        row.ordinal = ordinal;
        enum err e = store_get(txn, RECORD_RUN_DEVICE, look->r.arena, &row);
        if (e != ERR_OK && e != ERR_NOT_FOUND)
            return e;
        cache->ordinals[slot] = ordinal;
        cache->ids[slot] = row.device_id;
    }
    *out = cache->ids[slot];
    return ERR_OK;
}

static enum err resolve(struct metrics_look *look, struct store_txn *txn)
{
    struct id_cache *cache = arena_alloc(look->r.arena, sizeof *cache);
    look->device_ids = arena_calloc(look->r.arena, look->points.count, sizeof *look->device_ids);
    if (!cache || !look->device_ids)
        return ERR_NO_MEMORY;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < look->points.count; i++)
        e = device_id(look, txn, cache, look->points.items[i].ordinal, &look->device_ids[i]);
    return e;
}

static enum err read_points(struct store_txn *txn, void *arg)
{
    struct metrics_look *look = arg;
    struct run_row run;
    enum err e = run_of_path(&look->r, txn, &run);
    if (e == ERR_OK)
        e = read_device(look, txn);
    if (e != ERR_OK)
        return e;
    look->filter.run_id = run.id;
    look->filter.last_round = run.round;
    bool is_whole = look->max_points || (look->is_csv && !look->has_limit);
    e = metric_points_read(&look->r, txn, &look->filter, is_whole ? MAX_METRIC_POINTS : (size_t)look->limit,
                           &look->points);
    if (e == ERR_OK && is_whole && look->points.has_more)
        return fault_set(look->r.fault, ERR_INVALID_FIELD, "name",
                         "The run has more than %zu points of these metrics. Ask for less by name, device or "
                         "since_round.",
                         MAX_METRIC_POINTS);
    if (e == ERR_OK && look->max_points)
        e = metric_points_thin(&look->points, (size_t)look->max_points);
    if (e == ERR_OK && look->has_steps)
        e = metric_points_steps(txn, run.id, &look->points);
    return e == ERR_OK ? resolve(look, txn) : e;
}

/* ---- the answer ---- */

static json_t *point_json(const struct metrics_look *look, size_t i)
{
    const struct metric_point *p = &look->points.items[i];
    struct obj o = obj_new();
    obj_int(&o, "round", p->round);
    obj_text(&o, "name", p->name);
    obj_int_or_null(&o, "ordinal", p->ordinal);
    obj_text_or_null(&o, "device_id", look->device_ids[i]);
    obj_num(&o, "value", p->value);
    obj_num_or_null(&o, "weight", p->weight);
    obj_time(&o, "at", p->at);
    if (look->has_steps)
        obj_int(&o, "total_steps", p->total_steps);
    return obj_end(&o);
}

/* The place behind the last point: how many of its round come up to it. */
static const char *next_cursor(const struct metrics_look *look)
{
    if (!look->points.has_more)
        return NULL;
    const struct metric_point *items = look->points.items;
    int64_t round = items[look->points.count - 1].round, skip = 0;
    for (size_t i = look->points.count; i > 0 && items[i - 1].round == round; i--)
        skip++;
    if (round == look->filter.since_round)
        skip += look->filter.skip;
    return arena_printf(look->r.arena, "%lld.%lld", (long long)round, (long long)skip);
}

static enum err reply_points_json(struct metrics_look *look)
{
    json_t *items = json_array();
    for (size_t i = 0; items && i < look->points.count; i++) {
        if (json_array_append_new(items, point_json(look, i)) != 0) {
            json_decref(items);
            return ERR_NO_MEMORY;
        }
    }
    return reply_json(look->r.rq, 200, items ? page_json(items, next_cursor(look)) : NULL);
}

/* RFC 4180: quoted where it must be. */
static enum err csv_text(struct buf *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n"))
        return buf_puts(out, text);
    enum err e = buf_puts(out, "\"");
    for (; e == ERR_OK && *text; text++)
        e = *text == '"' ? buf_puts(out, "\"\"") : buf_append(out, text, 1);
    return e == ERR_OK ? buf_puts(out, "\"") : e;
}

/* As JSON says it. */
static enum err csv_number(struct buf *out, double value)
{
    if (isnan(value))
        return buf_puts(out, ",NaN");
    if (isinf(value))
        return buf_puts(out, value > 0 ? ",Infinity" : ",-Infinity");
    return buf_printf(out, ",%.17g", value);
}

static enum err csv_line(const struct metrics_look *look, size_t i, struct buf *out)
{
    const struct metric_point *p = &look->points.items[i];
    char at[TIME_TEXT_SIZE];
    time_format(p->at, at);
    enum err e = buf_printf(out, "%lld,", (long long)p->round);
    if (e == ERR_OK)
        e = csv_text(out, p->name);
    if (e == ERR_OK && p->ordinal < 0)
        e = buf_puts(out, ",,");
    else if (e == ERR_OK)
        e = buf_printf(out, ",%lld,%s", (long long)p->ordinal, look->device_ids[i]);
    if (e == ERR_OK)
        e = csv_number(out, p->value);
    if (e == ERR_OK)
        e = isnan(p->weight) ? buf_puts(out, ",") : csv_number(out, p->weight);
    if (e == ERR_OK)
        e = buf_printf(out, ",%s", at);
    if (e == ERR_OK && look->has_steps)
        e = buf_printf(out, ",%lld", (long long)p->total_steps);
    return e == ERR_OK ? buf_puts(out, "\r\n") : e;
}

static enum err reply_points_csv(struct metrics_look *look)
{
    struct buf out = BUF_INIT(LIMIT_JSON_REPLY);
    char *data;
    size_t len;
    enum err e = buf_printf(&out, "round,name,ordinal,device_id,value,weight,at%s\r\n",
                            look->has_steps ? ",total_steps" : "");
    for (size_t i = 0; e == ERR_OK && i < look->points.count; i++)
        e = csv_line(look, i, &out);
    if (e == ERR_OK)
        e = buf_take(&out, &data, &len);
    buf_release(&out);
    return e == ERR_OK ? reply_bytes_take(look->r.rq, 200, MEDIA_CSV "; charset=utf-8", data, len) : e;
}

enum err api_metrics(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct metrics_look *look = arena_alloc(request_arena(rq), sizeof *look);
    if (!look)
        return ERR_NO_MEMORY;
    look->r = (struct reading){.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault};
    enum err e = read_question(look, fault);
    if (e == ERR_OK)
        e = api->store->ops->read(api->store, read_points, look);
    if (e == ERR_OK)
        e = look->is_csv ? reply_points_csv(look) : reply_points_json(look);
    metric_points_release(&look->points);
    return api_failure(fault, e);
}
