#include "cli/plot/series.h"
#include <math.h>
#include <stdio.h>
#include "cli/table.h"
#include "common/base/str.h"

static enum err begin(struct series *s, const char *name, size_t max_points, struct arena *arena)
{
    *s = (struct series){.name = name};
    s->points = arena_calloc(arena, max_points, sizeof *s->points);
    return s->points ? ERR_OK : ERR_NO_MEMORY;
}

static void add(struct series *s, int64_t round, double value)
{
    if (isfinite(value))
        s->points[s->num_points++] = (struct series_point){round, value};
}

enum err series_of_rounds(const json_t *rounds, const char *name, const char *metric, struct arena *arena,
                          struct series *out)
{
    enum err e = begin(out, name, json_array_size(rounds), arena);
    for (size_t i = 0; i < json_array_size(rounds) && !e; i++) {
        const json_t *round = json_array_get(rounds, i);
        double value = json_number_at(json_object_get(round, "metrics"), metric);
        if (isnan(value) && !str_eq(json_text_at(round, "type"), "final"))
            value = json_number_at(round, metric);
        add(out, json_count_at(round, "round"), value);
    }
    return e;
}

/* NaN for an empty cell and for what is no number. */
static double cell_number(const struct csv *c, size_t row, int column)
{
    double value;
    return str_to_double(csv_cell(c, row, column), &value) == ERR_OK ? value : NAN;
}

static bool is_of_all_devices(const char *ordinal)
{
    return !*ordinal || str_eq(ordinal, "-1");
}

/* round,name,ordinal,device_id,value,... */
static enum err from_points(const struct csv *c, int round, int name_column, const char *metric,
                            struct series *out)
{
    int value = csv_column(c, "value"), ordinal = csv_column(c, "ordinal");
    for (size_t i = 0; i < c->num_rows; i++)
        if (str_eq(csv_cell(c, i, name_column), metric) &&
            (ordinal < 0 || is_of_all_devices(csv_cell(c, i, ordinal))))
            add(out, (int64_t)cell_number(c, i, round), cell_number(c, i, value));
    return ERR_OK;
}

static enum err no_such_metric(const struct csv *c, const char *metric, struct fault *fault)
{
    char titles[300] = "";
    size_t len = 0;
    for (size_t i = 0; i < c->num_columns && len < sizeof titles; i++)
        len += (size_t)snprintf(titles + len, sizeof titles - len, "%s%s", i ? ", " : "", c->titles[i]);
    return fault_set(fault, ERR_BAD_FILE, NULL, "there is no column \"%.60s\"; there are: %s", metric,
                     titles);
}

enum err series_of_csv(const struct csv *csv, const char *name, const char *metric, struct arena *arena,
                       struct series *out, struct fault *fault)
{
    int round = csv_column(csv, "round"), names = csv_column(csv, "name"), column = csv_column(csv, metric),
        type = csv_column(csv, "type");
    enum err e = begin(out, name, csv->num_rows, arena);
    if (e)
        return e;
    if (round < 0)
        return no_such_metric(csv, "round", fault);
    if (names >= 0 && csv_column(csv, "value") >= 0)
        return from_points(csv, round, names, metric, out);
    if (column < 0)
        return no_such_metric(csv, metric, fault);
    bool is_work = str_has_prefix(metric, "steps_");
    for (size_t i = 0; i < csv->num_rows; i++) {
        bool is_final = type >= 0 && str_eq(csv_cell(csv, i, type), "final");
        if (!is_final || !is_work)
            add(out, (int64_t)cell_number(csv, i, round), cell_number(csv, i, column));
    }
    return ERR_OK;
}
