/* fedlane run watch: follows the event streams of one or several runs until all have ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/print.h"
#include "cli/rest.h"
#include "cli/run.h"
#include "cli/watch/sse.h"
#include "cli/watch/view.h"
#include "cli/watch/waiting.h"
#include "common/api/api.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/http/http_loop.h"
#include "common/http/retry.h"
#include "common/http/url.h"
#include "common/json/json_spec.h"

#define MS               ((int64_t)1000000)
#define REPAINT_NS       (100 * MS)
#define POLL_NS          (400 * MS)   /* of the tasks of a round, for the lanes of those that still work */
#define SILENCE_NS       (45000 * MS) /* the server sends a comment every 15 s */
#define GIVE_UP_NS       (60000 * MS) /* without any connection */
#define RECONNECT_CAP_MS 5000
#define POLL_TIMEOUT_MS  2000

struct feed {
    struct watch *watch;
    struct watched *run;
    struct sse_reader reader;
    struct http_call *call; /* NULL: not connected */
    int64_t due_ns;         /* when to connect */
    int64_t heard_ns;       /* the last byte */
    int64_t lost_ns;        /* since when there is no connection; 0: there is one */
    int failures;
    int64_t polled_ns;
    char waiting[WAITING_LINE]; /* what was last said of what it waits for */
};

struct watch {
    struct cli *cli;
    struct http_loop *loop;
    struct watched *runs;
    struct feed *feeds;
    size_t num_runs;
    struct screen screen;
    bool is_painted;            /* a terminal, and a table is asked for */
    int64_t painted_ns, end_ns; /* end_ns: --timeout; INT64_MAX for none */
    enum err err;               /* ends the watch */
};

/* -- what happens ---------------------------------------------------------------------------------------- */

static void say(struct watch *w, const char *line)
{
    if (!*line || w->cli->format != FORMAT_TABLE)
        return;
    if (w->is_painted)
        screen_message(&w->screen, line);
    else
        (void)puts(line);
    (void)fflush(stdout);
}

/* Whoever looks at a run that waits, in whatever format, is told for what. On a terminal the painted lines
 * say it, but for the command that helps. */
static void say_what_it_waits_for(struct feed *f)
{
    struct watch *w = f->watch;
    char line[WAITING_LINE];
    bool names_command = waiting_line(f->run, line);
    if (str_eq(line, f->waiting))
        return;
    memcpy(f->waiting, line, sizeof line);
    if (w->is_painted && names_command)
        screen_message(&w->screen, line);
    else if (!w->is_painted && *line)
        (void)fprintf(stderr, "fedlane: %s\n", line);
}

/* On a terminal the painted lines say the rest. */
static bool is_worth_a_message(const json_t *event)
{
    const char *type = json_text_at(event, "type");
    return strcmp(type, "warning") == 0 || strcmp(type, "task_failed") == 0;
}

static enum err on_event(void *ctx, const char *id, const char *type, const char *data)
{
    struct feed *f = ctx;
    struct watch *w = f->watch;
    json_t *event = NULL;
    char line[VIEW_LINE];
    (void)id;
    (void)type;
    enum err e = json_text_parse(data, strlen(data), &event, &w->cli->fault);
    if (e)
        return e;
    watched_apply(f->run, event);
    view_line(f->run, event, line);
    if (w->cli->format == FORMAT_JSONL) {
        (void)puts(data);
        (void)fflush(stdout);
    } else if (!w->is_painted || is_worth_a_message(event)) {
        say(w, line);
    }
    json_decref(event);
    say_what_it_waits_for(f);
    return ERR_OK;
}

/* -- connections ----------------------------------------------------------------------------------------- */

static enum err on_body(void *ctx, const void *bytes, size_t n)
{
    struct feed *f = ctx;
    f->heard_ns = mono_ns();
    f->lost_ns = 0;
    f->failures = 0;
    return sse_feed(&f->reader, bytes, n);
}

/* What trying again cannot mend: a refusal, or a stream that we cannot read. */
static bool is_hopeless(enum err e, const struct http_response *response)
{
    bool is_cut = e == ERR_OK || e == ERR_CANCELLED || e == ERR_NETWORK || e == ERR_TIMEOUT;
    return !is_cut && response->status > 0 && !retry_is_worth_it(e, response->status);
}

static void on_done(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct feed *f = ctx;
    struct watch *w = f->watch;
    int64_t now = mono_ns();
    f->call = NULL;
    if (watched_has_ended(f->run) || w->err)
        return;
    bool is_new = f->lost_ns == 0;
    if (is_new)
        f->lost_ns = now;
    /* A stream that simply ended is a server that shuts down. */
    if (is_hopeless(e, response)) {
        w->err = e;
        w->cli->fault = *fault;
    } else if (now - f->lost_ns > GIVE_UP_NS) {
        w->err = fault_set(&w->cli->fault, ERR_NETWORK, NULL, "the connection is lost: %.300s",
                           e ? fault->detail : "the server ended it");
    } else if (is_new) {
        say(w, "the connection is lost; trying again");
    }
    int64_t wait_ms = retry_wait_ms((uint64_t)now, (uint64_t)(f - w->feeds), f->failures++, 0);
    f->due_ns = now + (wait_ms < RECONNECT_CAP_MS ? wait_ms : RECONNECT_CAP_MS) * MS;
}

static enum err connect_feed(struct feed *f)
{
    struct watch *w = f->watch;
    struct buf path;
    char last[24];
    (void)snprintf(last, sizeof last, "%lld", (long long)f->run->last_event);
    const struct http_header headers[] = {{"Accept", MEDIA_EVENTS}, {HEADER_LAST_EVENT_ID, last}};
    enum err e = rest_path(&path, "runs", f->run->id, "events");
    const struct http_request request = {.path = path.data,
                                         .headers = headers,
                                         .num_headers = 2,
                                         .timeout_ms = HTTP_NO_TIMEOUT,
                                         .on_body = on_body,
                                         .on_body_ctx = f};
    sse_reader_restart(&f->reader);
    f->heard_ns = mono_ns();
    if (!e)
        e = http_loop_start(w->loop, &request, on_done, f, &f->call);
    buf_release(&path);
    return e;
}

static enum err tend_feeds(struct watch *w, int64_t now)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < w->num_runs && !e; i++) {
        struct feed *f = &w->feeds[i];
        if (watched_has_ended(f->run)) {
            if (f->call)
                http_loop_cancel(w->loop, f->call);
            f->call = NULL;
        } else if (!f->call && now >= f->due_ns) {
            e = connect_feed(f);
        } else if (f->call && now - f->heard_ns > SILENCE_NS) {
            http_loop_cancel(w->loop, f->call);
            f->heard_ns = now;
        }
    }
    return e;
}

/* -- lanes ----------------------------------------------------------------------------------------------- */

static bool has_open_lanes(const struct watched *run)
{
    for (size_t i = 0; i < run->num_lanes; i++)
        if (run->lanes[i].state == LANE_OPEN)
            return true;
    return run->num_lanes == 0;
}

static enum err get_tasks(const struct watch *w, const struct watched *run, json_t **out)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fault ignored = FAULT_NONE;
    struct buf path;
    char round[24];
    (void)snprintf(round, sizeof round, "%lld", (long long)run->round);
    enum err e = rest_path(&path, "runs", run->id, "rounds", round, "tasks");
    if (!e)
        e = url_add_query(&path, "type", "train");
    if (!e)
        e = url_add_query_int(&path, "limit", MAX_LANES);
    const struct http_request request = {.path = path.data, .timeout_ms = POLL_TIMEOUT_MS};
    if (!e)
        e = http_request(w->cli->client, &request, &response, &ignored);
    if (!e)
        e = json_text_parse(response.body.data ? response.body.data : "", response.body.len, out, &ignored);
    http_response_release(&response);
    buf_release(&path);
    return e;
}

/* Who works, and how far: the events tell only of those that have answered. What cannot be read now is shown
 * as it was; the stream tells whether the server is there. */
static void poll_tasks(struct feed *f, int64_t now)
{
    json_t *page = NULL;
    if (get_tasks(f->watch, f->run, &page) == ERR_OK)
        watched_tasks(f->run, f->run->round, json_object_get(page, "items"));
    f->polled_ns = now;
    json_decref(page);
}

static void paint(struct watch *w, int64_t now, bool is_last)
{
    if (!w->is_painted || (!is_last && now - w->painted_ns < REPAINT_NS))
        return;
    for (size_t i = 0; i < w->num_runs && !is_last; i++) {
        struct feed *f = &w->feeds[i];
        bool is_due = now - f->polled_ns >= POLL_NS;
        if (f->lost_ns == 0 && f->run->is_round_open && is_due && has_open_lanes(f->run))
            poll_tasks(f, now);
    }
    view_paint(&w->screen, w->runs, w->num_runs);
    w->painted_ns = mono_ns();
}

/* -- the watch ------------------------------------------------------------------------------------------- */

static bool have_all_ended(const struct watch *w)
{
    for (size_t i = 0; i < w->num_runs; i++)
        if (!watched_has_ended(&w->runs[i]))
            return false;
    return true;
}

static int64_t next_wait_ms(const struct watch *w, int64_t now)
{
    int64_t until = now + 1000 * MS;
    if (w->is_painted)
        until = w->painted_ns + REPAINT_NS;
    if (w->end_ns < until)
        until = w->end_ns;
    for (size_t i = 0; i < w->num_runs; i++)
        if (!w->feeds[i].call && !watched_has_ended(&w->runs[i]) && w->feeds[i].due_ns < until)
            until = w->feeds[i].due_ns;
    return until <= now ? 0 : (until - now + MS - 1) / MS;
}

static enum err follow(struct watch *w)
{
    enum err e = ERR_OK;
    while (!e && !w->err && !have_all_ended(w)) {
        int64_t now = mono_ns();
        if (now >= w->end_ns) {
            w->cli->status = STATUS_TIMED_OUT;
            return ERR_OK;
        }
        e = tend_feeds(w, now);
        paint(w, now, false);
        if (!e)
            e = http_loop_run_once(w->loop, next_wait_ms(w, mono_ns()));
    }
    return e ? e : w->err;
}

static enum err load_run(struct watch *w, size_t i, const char *id)
{
    json_t *run = NULL;
    struct feed *f = &w->feeds[i];
    enum err e = run_get(w->cli, id, &run);
    if (!e)
        e = watched_init(&w->runs[i], run);
    json_decref(run);
    f->watch = w;
    f->run = &w->runs[i];
    sse_reader_init(&f->reader, on_event, f);
    return e;
}

static enum err load(struct watch *w, const char *const *ids)
{
    char line[VIEW_LINE];
    struct http_client *client;
    w->runs = calloc(w->num_runs, sizeof *w->runs);
    w->feeds = calloc(w->num_runs, sizeof *w->feeds);
    enum err e = w->runs && w->feeds ? rest_client(w->cli, &client) : ERR_NO_MEMORY;
    if (!e)
        e = http_loop_new(client, &w->loop);
    for (size_t i = 0; i < w->num_runs && !e; i++) {
        e = load_run(w, i, ids[i]);
        if (!e && !w->is_painted) {
            view_state_line(&w->runs[i], line);
            say(w, line);
        }
        if (!e)
            say_what_it_waits_for(&w->feeds[i]);
    }
    return e;
}

/* Failed or stopped runs decide the exit status; a wait that ended before comes first. */
static enum err finish(struct watch *w)
{
    enum err e = ERR_OK;
    paint(w, mono_ns(), true);
    for (size_t i = 0; i < w->num_runs; i++)
        if (w->cli->status == STATUS_FINE && strcmp(w->runs[i].outcome, "completed") != 0)
            w->cli->status = STATUS_FAILED;
    if (w->cli->status == STATUS_TIMED_OUT)
        (void)fprintf(stderr, "fedlane: the wait of %g s is over, the runs go on\n",
                      w->cli->options.timeout_s);
    if (w->cli->format != FORMAT_JSON)
        return e;
    json_t *all = json_array();
    for (size_t i = 0; i < w->num_runs && !e; i++) {
        json_t *run = NULL;
        e = run_get(w->cli, w->runs[i].id, &run);
        if (!e && json_array_append_new(all, run) != 0)
            e = ERR_NO_MEMORY;
    }
    if (!e)
        e = print_json(w->cli, all);
    json_decref(all);
    return e;
}

static void release(struct watch *w)
{
    w->err = ERR_CANCELLED; /* what the loop still ends is no loss */
    http_loop_free(w->loop);
    for (size_t i = 0; i < w->num_runs; i++) {
        if (w->feeds)
            sse_reader_release(&w->feeds[i].reader);
        if (w->runs)
            watched_release(&w->runs[i]);
    }
    free(w->feeds);
    free(w->runs);
    screen_release(&w->screen);
}

enum err run_watch(struct cli *cli, const char *const *ids, size_t num_ids)
{
    struct watch w = {.cli = cli, .num_runs = num_ids, .end_ns = INT64_MAX};
    w.is_painted = cli->format == FORMAT_TABLE && isatty(STDOUT_FILENO);
    if (cli->options.timeout_s > 0)
        w.end_ns = mono_ns() + (int64_t)(cli->options.timeout_s * 1e9);
    screen_init(&w.screen, stdout);
    enum err e = load(&w, ids);
    if (!e)
        e = follow(&w);
    if (!e)
        e = finish(&w);
    release(&w);
    return e;
}
