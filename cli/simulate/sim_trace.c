#include "cli/simulate/sim_trace.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/csv.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/str.h"

#define TRACE_MAX GIB

enum column { DEVICE, STEPS, UP, DOWN, FROM, TO, NUM_COLUMNS };
static const char *const titles[NUM_COLUMNS] = {"device",           "steps_per_s",   "up_bytes_per_s",
                                                "down_bytes_per_s", "online_from_s", "online_to_s"};

struct row {
    size_t line;
    int64_t ordinal;
    double values[NUM_COLUMNS]; /* NaN: an empty cell, or no such column */
};

struct reading {
    const char *path;
    struct arena *arena;
    struct fault *fault;
    struct csv csv;
    int columns[NUM_COLUMNS]; /* -1: not there */
    struct row *rows;
};

/* -- the file -------------------------------------------------------------------------------------------- */

static enum err read_text(const struct reading *r, struct buf *out)
{
    struct fault inner = FAULT_NONE;
    enum err e = file_read(r->path, out, &inner);
    if (e == ERR_NO_MEMORY)
        return e;
    if (e)
        return fault_set(r->fault, ERR_BAD_FILE, "systems.trace", "%s", inner.detail);
    if (out->len == 0 || memchr(out->data, '\0', out->len))
        return fault_set(r->fault, ERR_BAD_FILE, "systems.trace", "%s: %s", r->path,
                         out->len ? "is no text: it has zero bytes" : "is empty");
    return ERR_OK;
}

static enum err find_columns(struct reading *r)
{
    for (size_t i = 0; i < r->csv.num_columns; i++) {
        int known = -1;
        for (int c = 0; c < NUM_COLUMNS; c++)
            known = str_eq(r->csv.titles[i], titles[c]) ? c : known;
        if (known < 0 || r->columns[known] >= 0)
            return fault_set(r->fault, ERR_BAD_FILE, "systems.trace",
                             "%s: line 1: %s column \"%.60s\"; there are device, steps_per_s, "
                             "up_bytes_per_s, down_bytes_per_s, online_from_s and online_to_s",
                             r->path, known < 0 ? "unknown" : "a second", r->csv.titles[i]);
        r->columns[known] = (int)i;
    }
    if (r->columns[DEVICE] < 0)
        return fault_set(r->fault, ERR_BAD_FILE, "systems.trace", "%s: line 1: there is no column \"device\"",
                         r->path);
    if ((r->columns[FROM] < 0) != (r->columns[TO] < 0))
        return fault_set(r->fault, ERR_BAD_FILE, "systems.trace",
                         "%s: line 1: online_from_s and online_to_s go together; without both of them all "
                         "devices are always online",
                         r->path);
    return r->csv.num_rows > 0 ? ERR_OK
                               : fault_set(r->fault, ERR_BAD_FILE, "systems.trace",
                                           "%s: there are no devices behind the titles", r->path);
}

static enum err bad_cell(const struct reading *r, size_t row, enum column c, const char *wanted)
{
    return fault_set(r->fault, ERR_BAD_FILE, "systems.trace",
                     "%s: line %zu, device %.20s: %s must be %s, but is \"%.40s\"", r->path,
                     r->csv.lines[row], csv_cell(&r->csv, row, r->columns[DEVICE]), titles[c], wanted,
                     csv_cell(&r->csv, row, r->columns[c]));
}

static enum err read_row(struct reading *r, size_t i)
{
    struct row *row = &r->rows[i];
    uint64_t ordinal;
    row->line = r->csv.lines[i];
    if (str_to_u64(csv_cell(&r->csv, i, r->columns[DEVICE]), &ordinal) || ordinal > (uint64_t)LIMIT_ORDINAL)
        return bad_cell(r, i, DEVICE, "a device's number, 0 to 100000000");
    row->ordinal = (int64_t)ordinal;
    for (int c = STEPS; c < NUM_COLUMNS; c++) {
        const char *text = r->columns[c] < 0 ? "" : csv_cell(&r->csv, i, r->columns[c]);
        bool is_speed = c <= DOWN;
        row->values[c] = NAN;
        if (!*text && (is_speed || r->columns[c] < 0))
            continue;
        double v = NAN;
        bool is_number = str_to_double(text, &v) == ERR_OK;
        if (is_speed && !(is_number && v >= 1e-9 && v <= 1e15))
            return bad_cell(r, i, (enum column)c, "a number above 0 (1e-09 to 1e+15)");
        if (!is_speed && !(is_number && v >= 0 && v <= 9e9))
            return bad_cell(r, i, (enum column)c, "seconds since the start, 0 to 9e+09");
        row->values[c] = v;
    }
    return ERR_OK;
}

static int by_device_and_time(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    if (x->values[FROM] < y->values[FROM] || x->values[FROM] > y->values[FROM])
        return x->values[FROM] < y->values[FROM] ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* -- a device -------------------------------------------------------------------------------------------- */

static enum err take_speed(const struct reading *r, const struct row *row, enum column c, double *speed)
{
    double v = row->values[c];
    if (isnan(v))
        return ERR_OK;
    if (!isnan(*speed) && (v < *speed || v > *speed))
        return fault_set(r->fault, ERR_BAD_FILE, "systems.trace",
                         "%s: line %zu, device %lld: %s is %g here and %g in another row: a device has one "
                         "speed; leave it "
                         "empty in all rows but one, or repeat it",
                         r->path, row->line, (long long)row->ordinal, titles[c], v, *speed);
    *speed = v;
    return ERR_OK;
}

static enum err take_interval(const struct reading *r, const struct row *row, struct sim_trace_device *d)
{
    double from = row->values[FROM], to = row->values[TO];
    const struct sim_interval next = {sim_seconds(from), sim_seconds(to)};
    if (next.to_ns <= next.from_ns)
        return fault_set(r->fault, ERR_BAD_FILE, "systems.trace",
                         "%s: line %zu, device %lld: %s: online_from_s is %g, online_to_s %g", r->path,
                         row->line, (long long)row->ordinal,
                         next.to_ns < next.from_ns ? "the time online ends before it begins"
                                                   : "it never comes online in an empty interval",
                         from, to);
    struct sim_interval *last = d->num_online ? &d->online[d->num_online - 1] : NULL;
    if (last && next.from_ns < last->to_ns)
        return fault_set(
            r->fault, ERR_BAD_FILE, "systems.trace",
            "%s: line %zu, device %lld: the time online from %g s on overlaps with another row's "
            "that ends at %g s",
            r->path, row->line, (long long)row->ordinal, from, (double)last->to_ns / 1e9);
    if (last && next.from_ns == last->to_ns)
        last->to_ns = next.to_ns;
    else
        d->online[d->num_online++] = next;
    return ERR_OK;
}

/* From the rows of one device, in time's order. */
static enum err make_device(const struct reading *r, const struct row *rows, size_t count,
                            struct sim_trace_device *out)
{
    bool has_times = r->columns[FROM] >= 0;
    *out = (struct sim_trace_device){.ordinal = rows[0].ordinal,
                                     .line = rows[0].line,
                                     .steps_per_s = NAN,
                                     .up_bytes_per_s = NAN,
                                     .down_bytes_per_s = NAN};
    if (!has_times && count > 1)
        return fault_set(r->fault, ERR_BAD_FILE, "systems.trace",
                         "%s: line %zu, device %lld: has a row already, in line %zu; several rows need the "
                         "columns online_from_s and online_to_s",
                         r->path, rows[1].line, (long long)rows[1].ordinal, rows[0].line);
    out->online = has_times ? arena_calloc(r->arena, count, sizeof *out->online) : NULL;
    if (has_times && !out->online)
        return ERR_NO_MEMORY;
    enum err e = ERR_OK;
    for (size_t i = 0; i < count && !e; i++) {
        e = take_speed(r, &rows[i], STEPS, &out->steps_per_s);
        if (!e)
            e = take_speed(r, &rows[i], UP, &out->up_bytes_per_s);
        if (!e)
            e = take_speed(r, &rows[i], DOWN, &out->down_bytes_per_s);
        if (!e && has_times)
            e = take_interval(r, &rows[i], out);
    }
    return e;
}

static enum err make_devices(struct reading *r, struct sim_trace *out)
{
    size_t total = r->csv.num_rows, count;
    enum err e = ERR_OK;
    out->devices = arena_calloc(r->arena, total, sizeof *out->devices);
    if (!out->devices)
        return ERR_NO_MEMORY;
    qsort(r->rows, total, sizeof *r->rows, by_device_and_time);
    for (size_t i = 0; i < total && !e; i += count) {
        for (count = 1; i + count < total && r->rows[i + count].ordinal == r->rows[i].ordinal;)
            count++;
        e = make_device(r, &r->rows[i], count, &out->devices[out->num_devices++]);
    }
    return e;
}

enum err sim_trace_load(const char *path, struct arena *arena, struct sim_trace *out, struct fault *fault)
{
    struct reading r = {.path = path, .arena = arena, .fault = fault, .columns = {-1, -1, -1, -1, -1, -1}};
    struct buf text = BUF_INIT(TRACE_MAX);
    struct fault inner = FAULT_NONE;
    *out = (struct sim_trace){0};
    enum err e = read_text(&r, &text);
    if (!e)
        e = csv_parse(text.data, arena, &r.csv, &inner);
    if (e && inner.err)
        e = fault_set(fault, ERR_BAD_FILE, "systems.trace", "%s: %s", path, inner.detail);
    if (!e)
        e = find_columns(&r);
    r.rows = e ? NULL : arena_calloc(arena, r.csv.num_rows, sizeof *r.rows);
    if (!e && !r.rows)
        e = ERR_NO_MEMORY;
    for (size_t i = 0; i < r.csv.num_rows && !e; i++)
        e = read_row(&r, i);
    if (!e)
        e = make_devices(&r, out);
    buf_release(&text);
    return e;
}
