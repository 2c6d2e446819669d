#include <math.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"
#include "lanes/trace/trace_reading.h"

enum column { ARRIVAL, STEPS, STEP, PERSISTENT, EPHEMERAL, TOLD, PRIORITY, WEIGHT, NUM_COLUMNS };
#define NUM_REQUIRED TOLD

static const struct {
    const char *title;
    double min, max;
    bool is_whole;
} columns[NUM_COLUMNS] = {
    [ARRIVAL] = {"arrival_s", 0, TRACE_MOST_S, false},
    [STEPS] = {"steps", 1, LIMIT_LANES_TRACE_STEPS, true},
    [STEP] = {"step_s", 0, TRACE_MOST_STEP_S, false},
    [PERSISTENT] = {"persistent_mb", 0, 1e9, false},
    [EPHEMERAL] = {"ephemeral_mb", 0, 1e9, false},
    [TOLD] = {"told_steps", 0, LIMIT_LANES_TRACE_STEPS, true},
    [PRIORITY] = {"priority", -1000, 1000, true},
    [WEIGHT] = {"weight", 1, LANES_MAX_WEIGHT, true},
};

/* Cuts off the first cell of a line. */
static char *next_cell(char **at)
{
    char *cell = *at;
    size_t len = strcspn(cell, ",");
    *at = cell[len] ? cell + len + 1 : NULL;
    cell[len] = '\0';
    return cell;
}

/* places[c]: which cell of a line the column is; -1: none. */
static enum err read_titles(const struct trace_reading *r, char *line, int places[NUM_COLUMNS],
                            int *out_count)
{
    int n = 0;
    for (int c = 0; c < NUM_COLUMNS; c++)
        places[c] = -1;
    for (char *at = line; at; n++) {
        const char *title = next_cell(&at);
        int known = -1;
        for (int c = 0; c < NUM_COLUMNS; c++)
            known = str_eq(title, columns[c].title) ? c : known;
        if (known < 0 || places[known] >= 0)
            return trace_fault(r,
                               "%s column \"%.60s\"; there are arrival_s, steps, step_s, persistent_mb, "
                               "ephemeral_mb, told_steps, priority and weight",
                               known < 0 ? "unknown" : "a second", title);
        places[known] = n;
    }
    for (int c = 0; c < NUM_REQUIRED; c++)
        if (places[c] < 0)
            return trace_fault(r, "there is no column %s", columns[c].title);
    *out_count = n;
    return ERR_OK;
}

static enum err read_number(const struct trace_reading *r, enum column c, const char *cell, double *out)
{
    double v = NAN;
    bool is_number = str_to_double(cell, &v) == ERR_OK;
    if (!is_number || v < columns[c].min || v > columns[c].max || (columns[c].is_whole && v != floor(v)))
        return trace_fault(r, "%s must be a %snumber, %.10g to %.10g, but is \"%.40s\"", columns[c].title,
                           columns[c].is_whole ? "whole " : "", columns[c].min, columns[c].max, cell);
    *out = v;
    return ERR_OK;
}

static enum err read_job(struct trace_reading *r, char *line, const int places[NUM_COLUMNS], int count)
{
    double v[NUM_COLUMNS] = {[WEIGHT] = 1};
    int n = 0;
    for (char *at = line; at; n++) {
        const char *cell = next_cell(&at);
        for (int c = 0; c < NUM_COLUMNS; c++) {
            enum err e = places[c] == n ? read_number(r, (enum column)c, cell, &v[c]) : ERR_OK;
            if (e)
                return e;
        }
    }
    if (n != count)
        return trace_fault(r, "%d fields, but there are %d titles", n, count);
    struct virtual_job job = {.arrival_ns = (int64_t)llround(v[ARRIVAL] * 1e9),
                              .steps = (int64_t)v[STEPS],
                              .step_ns = (int64_t)llround(v[STEP] * 1e9),
                              .told_steps = (int64_t)(places[TOLD] < 0 ? v[STEPS] : v[TOLD]),
                              .persistent_bytes = (int64_t)llround(v[PERSISTENT] * 1e6),
                              .ephemeral_bytes = (int64_t)llround(v[EPHEMERAL] * 1e6),
                              .priority = (int)v[PRIORITY],
                              .weight = (int)v[WEIGHT]};
    return trace_keep(r, &job);
}

enum err trace_read_csv(struct trace_reading *r)
{
    int places[NUM_COLUMNS], count = 0;
    enum err e = ERR_OK;
    for (char *line; !e && (line = trace_next_line(r));) {
        if (*line == '#' || !*line)
            continue;
        e = count == 0 ? read_titles(r, line, places, &count) : read_job(r, line, places, count);
    }
    return e;
}
