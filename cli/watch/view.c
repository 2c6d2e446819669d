#include "cli/watch/view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cli/table.h"
#include "common/base/str.h"

#define BAR_MIN       10
#define BAR_MAX       40
#define NUMBERS_WIDTH 58 /* what stands behind the bar, at its longest */
#define LANE_WIDTH    8
#define CELL_COLUMNS  20 /* a lane with its number, mark and gap */

static const struct {
    enum color color;
    const char *mark, *word;
} looks[] = {
    [LANE_OPEN] = {COLOR_BLUE, " ", "working"},      [LANE_COMPLETED] = {COLOR_GREEN, "+", "all steps"},
    [LANE_PARTIAL] = {COLOR_YELLOW, "~", "partial"}, [LANE_DROPPED] = {COLOR_RED, "x", "dropped"},
    [LANE_FAILED] = {COLOR_RED, "!", "failed"},      [LANE_LATE] = {COLOR_GREY, "<", "late"},
};
#define NUM_LOOKS (sizeof looks / sizeof *looks)

/* -- lines ----------------------------------------------------------------------------------------------- */

static void numbers_text(double loss, double accuracy, char *out, size_t size)
{
    size_t len = 0;
    *out = '\0';
    if (!isnan(loss))
        len = (size_t)snprintf(out, size, "  loss %.4f", loss);
    if (!isnan(accuracy) && len < size)
        (void)snprintf(out + len, size - len, "  accuracy %.1f %%", 100 * accuracy);
}

static void closed_line(const struct watched *w, const json_t *data, char *out)
{
    char numbers[80], counts[160] = "";
    static const char *const names[] = {"partial", "dropped", "failed", "late"};
    size_t len = 0;
    bool is_final = str_eq(json_text_at(data, "type"), "final");
    numbers_text(json_number_at(data, "metrics.train_loss"), json_number_at(data, "metrics.test_accuracy"),
                 numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_count_at(data, names[i]) > 0 && len < sizeof counts)
            len += (size_t)snprintf(counts + len, sizeof counts - len, ", %lld %s",
                                    (long long)json_count_at(data, names[i]), names[i]);
    if (is_final)
        (void)snprintf(out, VIEW_LINE, "%s: final evaluation%s", w->name, numbers);
    else
        (void)snprintf(out, VIEW_LINE, "%s: round %lld of %lld%s  steps %lld of %lld  %lld received%s",
                       w->name, (long long)json_count_at(data, "round"), (long long)w->num_rounds, numbers,
                       (long long)json_count_at(data, "steps_done"),
                       (long long)json_count_at(data, "steps_assigned"),
                       (long long)json_count_at(data, "received"), counts);
}

void view_state_line(const struct watched *w, char out[VIEW_LINE])
{
    char numbers[80];
    numbers_text(w->train_loss, w->test_accuracy, numbers, sizeof numbers);
    (void)snprintf(out, VIEW_LINE, "%s: %s%s%s%s", w->name, watched_has_ended(w) ? w->outcome : w->status,
                   numbers, w->reason[0] ? "  " : "", w->reason);
}

void view_line(const struct watched *w, const json_t *event, char out[VIEW_LINE])
{
    const char *type = json_text_at(event, "type");
    const json_t *data = json_at(event, "data");
    *out = '\0';
    if (str_eq(type, "round_closed"))
        closed_line(w, data, out);
    else if (str_eq(type, "run_waiting") || str_eq(type, "run_paused") || str_eq(type, "run_resumed") ||
             str_eq(type, "run_finished"))
        view_state_line(w, out);
    else if (str_eq(type, "warning"))
        (void)snprintf(out, VIEW_LINE, "%s: warning: %s", w->name, json_text_at(data, "detail"));
    else if (str_eq(type, "task_failed"))
        (void)snprintf(out, VIEW_LINE, "%s: device %lld failed (%s): %s", w->name,
                       (long long)json_count_at(data, "ordinal"), json_text_at(data, "code"),
                       json_text_at(data, "detail"));
    else if (str_eq(type, "round_extended"))
        (void)snprintf(out, VIEW_LINE, "%s: round %lld has more time: too few updates", w->name,
                       (long long)json_count_at(data, "round"));
    text_clean(out);
}

/* -- painting -------------------------------------------------------------------------------------------- */

static enum color color_of_run(const struct watched *w)
{
    if (str_eq(w->outcome, "completed"))
        return COLOR_GREEN;
    return watched_has_ended(w) ? COLOR_RED : COLOR_BLUE;
}

static size_t num_answered(const struct watched *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->num_lanes; i++)
        n += w->lanes[i].state != LANE_OPEN;
    return n;
}

static void paint_run(struct screen *s, const struct watched *w, int name_width)
{
    char numbers[80];
    int fill = name_width - text_width(w->name), bar = s->width - name_width - 2 - NUMBERS_WIDTH;
    double all = w->num_rounds > 0 ? (double)w->num_rounds : 1;
    screen_text(s, COLOR_BOLD, w->name);
    screen_printf(s, COLOR_NONE, "%*s  ", fill > 0 ? fill : 0, "");
    screen_bar(s, color_of_run(w),
               bar < BAR_MIN   ? BAR_MIN
               : bar > BAR_MAX ? BAR_MAX
                               : bar,
               (double)w->round / all);
    numbers_text(w->train_loss, w->test_accuracy, numbers, sizeof numbers);
    screen_printf(s, COLOR_NONE, "  %lld/%lld%s", (long long)w->round, (long long)w->num_rounds, numbers);
    if (!watched_has_ended(w) && w->num_lanes > 0)
        screen_printf(s, COLOR_GREY, "  %zu of %zu devices", num_answered(w), w->num_lanes);
    screen_newline(s);
}

static void paint_lane(struct screen *s, const struct lane *lane)
{
    double all = lane->steps_assigned > 0 ? (double)lane->steps_assigned : 1;
    screen_printf(s, COLOR_GREY, "%6lld ", (long long)lane->ordinal);
    screen_bar(s, looks[lane->state].color, LANE_WIDTH, (double)lane->steps_done / all);
    screen_printf(s, looks[lane->state].color, " %s   ", looks[lane->state].mark);
}

static void paint_lanes(struct screen *s, const struct watched *w)
{
    int per_line = s->width / CELL_COLUMNS > 0 ? s->width / CELL_COLUMNS : 1;
    for (size_t i = 0; i < w->num_lanes; i++) {
        paint_lane(s, &w->lanes[i]);
        if ((i + 1) % (size_t)per_line == 0 || i + 1 == w->num_lanes)
            screen_newline(s);
    }
}

static void paint_legend(struct screen *s)
{
    screen_text(s, COLOR_GREY, "  steps done of each device: ");
    for (size_t i = 1; i < NUM_LOOKS; i++)
        screen_printf(s, looks[i].color, " %s %s", looks[i].mark, looks[i].word);
    screen_newline(s);
}

void view_paint(struct screen *s, const struct watched *runs, size_t num_runs)
{
    int name_width = 0;
    bool has_lanes = false;
    screen_begin(s);
    for (size_t i = 0; i < num_runs; i++) {
        int width = text_width(runs[i].name);
        name_width = width > name_width ? width : name_width;
    }
    if (name_width > 40)
        name_width = 40;
    for (size_t i = 0; i < num_runs; i++) {
        const struct watched *w = &runs[i];
        paint_run(s, w, name_width);
        if (watched_has_ended(w) || !str_eq(w->status, "running")) {
            screen_printf(s, watched_has_ended(w) ? color_of_run(w) : COLOR_YELLOW,
                          "  %s: ", watched_has_ended(w) ? w->outcome : w->status);
            screen_text(s, COLOR_NONE, w->reason);
            screen_newline(s);
        } else {
            paint_lanes(s, w);
            has_lanes = has_lanes || w->num_lanes > 0;
        }
    }
    if (has_lanes)
        paint_legend(s);
    screen_end(s);
}
