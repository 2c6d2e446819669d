#include "cli/watch/watched.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/table.h"
#include "common/base/str.h"

static void set_text(char *out, size_t size, const char *text)
{
    (void)snprintf(out, size, "%s", text);
    text_clean(out);
}

static void set_metrics(struct watched *w, const json_t *metrics)
{
    double loss = json_number_at(metrics, "train_loss"), accuracy = json_number_at(metrics, "test_accuracy");
    if (!isnan(loss))
        w->train_loss = loss;
    if (!isnan(accuracy))
        w->test_accuracy = accuracy;
}

enum err watched_init(struct watched *w, const json_t *run)
{
    *w = (struct watched){.train_loss = NAN, .test_accuracy = NAN};
    if (str_copy(w->id, sizeof w->id, json_text_at(run, "id")) != ERR_OK || !w->id[0])
        return ERR_UNAVAILABLE;
    w->lanes = calloc(MAX_LANES, sizeof *w->lanes);
    if (!w->lanes)
        return ERR_NO_MEMORY;
    set_text(w->name, sizeof w->name, json_text_at(run, "name"));
    set_text(w->status, sizeof w->status, json_text_at(run, "status"));
    set_text(w->outcome, sizeof w->outcome, json_text_at(run, "outcome"));
    set_text(w->reason, sizeof w->reason, json_text_at(run, "status_reason"));
    w->num_rounds = json_count_at(run, "num_rounds");
    w->round = json_count_at(run, "round");
    w->last_event = json_count_at(run, "last_event");
    w->is_round_open = str_eq(w->status, "running");
    set_metrics(w, json_at(run, "metrics.values"));
    return ERR_OK;
}

void watched_release(struct watched *w)
{
    free(w->lanes);
    w->lanes = NULL;
    w->num_lanes = 0;
}

/* The lane of a device, made where there is none; NULL when there are too many. */
static struct lane *lane_of(struct watched *w, int64_t ordinal)
{
    size_t at = 0;
    while (at < w->num_lanes && w->lanes[at].ordinal < ordinal)
        at++;
    if (at < w->num_lanes && w->lanes[at].ordinal == ordinal)
        return &w->lanes[at];
    if (w->num_lanes == MAX_LANES)
        return NULL;
    memmove(&w->lanes[at + 1], &w->lanes[at], (w->num_lanes - at) * sizeof *w->lanes);
    w->num_lanes++;
    w->lanes[at] = (struct lane){.ordinal = ordinal};
    return &w->lanes[at];
}

/* -- events ---------------------------------------------------------------------------------------------- */

static void on_round_opened(struct watched *w, const json_t *data)
{
    w->round = json_count_at(data, "round");
    w->num_lanes = 0;
    w->is_round_open = true;
    set_text(w->status, sizeof w->status, "running");
}

static void on_answer(struct watched *w, const json_t *data, enum lane_state state)
{
    if (!str_eq(json_text_at(data, "type"), "train") || json_count_at(data, "round") != w->round)
        return;
    struct lane *lane = lane_of(w, json_count_at(data, "ordinal"));
    if (!lane)
        return;
    lane->steps_done = json_count_at(data, "steps_done");
    lane->steps_assigned = json_count_at(data, "steps_assigned");
    lane->state = state;
}

static void on_update_accepted(struct watched *w, const json_t *data)
{
    on_answer(w, data, json_is_true(json_at(data, "partial")) ? LANE_PARTIAL : LANE_COMPLETED);
}

static void on_task_dropped(struct watched *w, const json_t *data)
{
    on_answer(w, data, LANE_DROPPED);
}

static void on_task_failed(struct watched *w, const json_t *data)
{
    on_answer(w, data, LANE_FAILED);
}

static void on_round_closed(struct watched *w, const json_t *data)
{
    bool is_final = str_eq(json_text_at(data, "type"), "final");
    set_metrics(w, json_at(data, "metrics"));
    w->is_round_open = false;
    w->round = json_count_at(data, "round") + !is_final;
    for (size_t i = 0; i < w->num_lanes; i++)
        if (w->lanes[i].state == LANE_OPEN)
            w->lanes[i].state = LANE_LATE;
}

static void on_waiting(struct watched *w, const json_t *data)
{
    set_text(w->status, sizeof w->status, "waiting_for_devices");
    set_text(w->reason, sizeof w->reason, json_text_at(data, "reason"));
}

static void on_paused(struct watched *w, const json_t *data)
{
    (void)data;
    set_text(w->status, sizeof w->status, "paused");
}

static void on_resumed(struct watched *w, const json_t *data)
{
    (void)data;
    set_text(w->status, sizeof w->status, "running");
}

static void on_run_finished(struct watched *w, const json_t *data)
{
    set_text(w->status, sizeof w->status, "finished");
    set_text(w->outcome, sizeof w->outcome, json_text_at(data, "outcome"));
    set_text(w->reason, sizeof w->reason, json_text_at(data, "reason"));
    w->is_round_open = false;
}

static const struct {
    const char *type;
    void (*apply)(struct watched *w, const json_t *data);
} rows[] = {
    {"round_opened", on_round_opened}, {"update_accepted", on_update_accepted},
    {"task_dropped", on_task_dropped}, {"task_failed", on_task_failed},
    {"round_closed", on_round_closed}, {"run_waiting", on_waiting},
    {"run_paused", on_paused},         {"run_resumed", on_resumed},
    {"run_finished", on_run_finished},
};

void watched_apply(struct watched *w, const json_t *event)
{
    const char *type = json_text_at(event, "type");
    int64_t seq = json_count_at(event, "seq");
    if (seq >= 0 && seq <= w->last_event)
        return; /* known already */
    if (seq >= 0)
        w->last_event = seq;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(rows[i].type, type))
            rows[i].apply(w, json_at(event, "data"));
}

/* -- tasks ----------------------------------------------------------------------------------------------- */

static enum lane_state state_of_task(const json_t *task)
{
    static const struct {
        const char *status;
        enum lane_state state;
    } states[] = {{"completed", LANE_COMPLETED},
                  {"dropped", LANE_DROPPED},
                  {"failed", LANE_FAILED},
                  {"late", LANE_LATE},
                  {"cancelled", LANE_LATE}};
    const char *status = json_text_at(task, "status");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (str_eq(states[i].status, status))
            return states[i].state == LANE_COMPLETED && json_is_true(json_at(task, "partial"))
                       ? LANE_PARTIAL
                       : states[i].state;
    return LANE_OPEN;
}

void watched_tasks(struct watched *w, int64_t round, const json_t *tasks)
{
    if (round != w->round)
        return;
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *task = json_array_get(tasks, i);
        struct lane *lane = lane_of(w, json_count_at(task, "ordinal"));
        if (!lane)
            return;
        lane->steps_done = json_count_at(task, "steps_done");
        lane->steps_assigned = json_count_at(task, "steps_assigned");
        lane->state = state_of_task(task);
    }
}
