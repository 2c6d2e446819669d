/* GET /runs/{run}/work: who did how much in which round, compact enough to draw thousands of rounds. The text
 * is written straight: as a tree of JSON values a page would take longer to build than to read. */
#include <jansson.h>
#include <math.h>
#include "common/json/json_num.h"
#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/api/round_numbers.h"
#include "server/api/run_json.h"
#include "server/core/names.h"

#define TASKS_AT_ONCE 1000
#define MAX_CELLS     20000 /* of a page; the round that reaches it is the page's last */

struct work_look {
    struct reading r; /* first: reads take it */
    struct page page;
    size_t num_cells;
    struct arena piece; /* the tasks that are written now */
    struct buf out;
};

static const char *cell_state(const struct task_row *t)
{
    switch (t->status) {
    case TASK_READY:
    case TASK_CLAIMED:
        return "open";
    case TASK_COMPLETED:
        return t->is_partial ? "partial" : "completed";
    default:
        return task_status_name(t->status);
    }
}

/* While a task is open, its device says now and then how far it is. */
static int64_t steps_done(struct api *api, const struct task_row *t)
{
    struct progress progress = {.steps_done = t->steps_done};
    if (t->status <= TASK_CLAIMED)
        (void)core_progress_get(api->core, t->id, &progress);
    return progress.steps_done;
}

static enum err put_piece(struct work_look *look, const struct task_row *rows, size_t n, bool is_first)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = buf_printf(&look->out, "%s[%lld,\"%s\",%lld,%lld]", i || !is_first ? "," : "",
                       (long long)rows[i].ordinal, cell_state(&rows[i]),
                       (long long)steps_done(look->r.api, &rows[i]), (long long)rows[i].steps_assigned);
    return e;
}

/* Piece by piece: a round may have as many tasks as there are devices. */
static enum err put_cells(struct work_look *look, struct store_txn *txn, const struct round_row *round)
{
    int64_t from = 0;
    enum err e = ERR_OK;
    bool is_end = false;
    while (e == ERR_OK && !is_end) {
        struct task_row *rows;
        size_t n;
        e = store_find(txn, QUERY_TASKS_OF_ROUND_FROM, &look->piece, TASKS_AT_ONCE, &rows, &n,
                       store_text(round->run_id), store_int(round->n), store_any, store_int(TASK_TRAIN),
                       store_int(from));
        if (e != ERR_OK)
            break;
        e = put_piece(look, rows, n, from == 0);
        look->num_cells += n;
        is_end = n < TASKS_AT_ONCE;
        if (n > 0)
            from = rows[n - 1].ordinal + 1;
        arena_clear(&look->piece);
    }
    return e;
}

static enum err put_number(struct buf *out, const char *name, double value)
{
    if (isnan(value))
        return ERR_OK;
    if (isinf(value))
        return buf_printf(out, ",\"%s\":\"%sInfinity\"", name, value < 0 ? "-" : "");
    return buf_printf(out, ",\"%s\":%.17g", name, value);
}

/* Of the round's metrics, as they are stored: JSON. */
static enum err put_metrics(struct buf *out, const char *metrics)
{
    static const char *const names[] = {"train_loss", "test_accuracy"};
    json_t *all = json_loads(metrics, 0, NULL);
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && e == ERR_OK; i++) {
        double value;
        const json_t *metric = json_object_get(all, names[i]);
        if (!metric || json_num_read(metric, &value) != ERR_OK)
            continue;
        e = isnan(value) ? buf_printf(out, ",\"%s\":\"NaN\"", names[i]) : put_number(out, names[i], value);
    }
    json_decref(all);
    return e;
}

/* What else is drawn of a round; what it does not have is left out. */
static enum err put_numbers(struct buf *out, const struct round_row *round)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"duration_ms", round->closed_at ? (double)(round->closed_at - round->opened_at) : NAN},
        {"bytes_in", (double)round->bytes_in},
        {"bytes_out", (double)round->bytes_out},
        {"proximal_mu", round->proximal_mu},
        {"mean_gamma", round->mean_gamma},
        {"dissimilarity_b", round->dissimilarity_b},
        {"grad_variance_weighted", round->grad_variance_weighted},
        {"grad_variance_uniform", round->grad_variance_uniform},
    };
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && e == ERR_OK; i++)
        e = put_number(out, numbers[i].name, numbers[i].value);
    if (e == ERR_OK && round_gamma_is_nan(round))
        e = buf_puts(out, ",\"mean_gamma\":\"NaN\"");
    return e == ERR_OK && round->metrics[0] ? put_metrics(out, round->metrics) : e;
}

/* No name in here needs escaping. */
static enum err put_round(struct work_look *look, struct store_txn *txn, const struct round_row *round)
{
    struct buf *out = &look->out;
    const char *outcome = round_outcome_name(round->outcome), *quote = outcome[0] ? "\"" : "";
    enum err e = buf_printf(out, "{\"round\":%lld,\"type\":\"%s\",\"status\":\"%s\",\"outcome\":%s%s%s",
                            (long long)round->n, round_type_name(round->type),
                            round_status_name(round->status), quote, outcome[0] ? outcome : "null", quote);
    if (e == ERR_OK)
        e = put_numbers(out, round);
    if (e == ERR_OK)
        e = buf_puts(out, ",\"cells\":[");
    if (e == ERR_OK)
        e = put_cells(look, txn, round);
    return e == ERR_OK ? buf_puts(out, "]}") : e;
}

static enum err read_work(struct store_txn *txn, void *arg)
{
    struct work_look *look = arg;
    struct run_row run;
    struct round_row *rounds;
    size_t n, sent = 0;
    enum err e = run_of_path(&look->r, txn, &run);
    if (e == ERR_OK)
        e = store_find(txn, QUERY_ROUNDS, look->r.arena, look->page.limit + 1, &rounds, &n,
                       store_text(run.id), page_after_number(&look->page));
    if (e == ERR_OK)
        e = buf_puts(&look->out, "{\"items\":[");
    while (e == ERR_OK && sent < n && sent < (size_t)look->page.limit && look->num_cells < MAX_CELLS) {
        e = sent ? buf_puts(&look->out, ",") : ERR_OK;
        if (e == ERR_OK)
            e = put_round(look, txn, &rounds[sent++]);
    }
    if (e == ERR_OK && sent < n)
        e = buf_printf(&look->out, "],\"next_cursor\":\"%lld\"}", (long long)rounds[sent - 1].n);
    else if (e == ERR_OK)
        e = buf_puts(&look->out, "],\"next_cursor\":null}");
    return e;
}

/* since_round is where the first page begins; a cursor is the last round that was sent. */
static enum err read_question(struct work_look *look, struct fault *fault)
{
    int64_t since;
    enum err e = page_read_number(look->r.rq, &look->page, fault);
    if (e == ERR_OK)
        e = request_query_int(look->r.rq, "since_round", 0, LIMIT_ROUNDS, 0, &since, fault);
    if (e == ERR_OK && !look->page.text && since > 0)
        look->page.number = since - 1;
    return e;
}

enum err api_run_work(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct work_look look = {
        .r = {.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault},
        .piece = ARENA_INIT(LIMIT_REQUEST_ARENA),
        .out = BUF_INIT(LIMIT_JSON_REPLY),
    };
    char *text;
    size_t len;
    enum err e = read_question(&look, fault);
    if (e == ERR_OK)
        e = api->store->ops->read(api->store, read_work, &look);
    if (e == ERR_OK)
        e = buf_take(&look.out, &text, &len);
    if (e == ERR_OK)
        e = reply_bytes_take(rq, 200, MEDIA_JSON, text, len);
    buf_release(&look.out);
    arena_release(&look.piece);
    return api_failure(fault, e);
}
