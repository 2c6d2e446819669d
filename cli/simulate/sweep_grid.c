/* The points of the grid, and their runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/simulate/sweep.h"
#include "cli/spec_file.h"
#include "common/base/str.h"
#include "common/crypto/sha256.h"
#include "common/json/json_spec.h"

#define MAX_FOLDER 150 /* bytes; file systems take 255, and a seed comes behind it */
#define HASH_SHOWN 8

/* -- texts ----------------------------------------------------------------------------------------------- */

/* The shortest decimal that reads back to the same double. */
static const char *real_text(struct arena *arena, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        double back;
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (str_to_double(text, &back) == ERR_OK && !(back < value) && !(back > value))
            break;
    }
    return arena_strdup(arena, text);
}

const char *sweep_value_text(struct arena *arena, const json_t *value)
{
    if (json_is_string(value))
        return arena_strdup(arena, json_string_value(value));
    if (json_is_real(value))
        return real_text(arena, json_real_value(value));
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    const char *kept = text ? arena_strdup(arena, text) : NULL;
    free(text);
    return kept;
}

/* What is no letter, digit or one of "._+-" becomes one '_', none at the ends. */
static void make_safe(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++) {
        bool is_safe = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                       strchr("._+-", *c);
        if (is_safe)
            *to++ = *c;
        else if (to > text && to[-1] != '_')
            *to++ = '_';
    }
    while (to > text && to[-1] == '_')
        to--;
    *to = '\0';
}

static char *with_hash(struct sweep *s, const struct sweep_point *p, const char *folder)
{
    char hash[SHA256_HEX_SIZE];
    if (sha256_hex(p->label, strlen(p->label), hash))
        return NULL;
    return arena_printf(&s->arena, "%.*s-%.*s", MAX_FOLDER, folder, HASH_SHOWN, hash);
}

static enum err name_point(struct sweep *s, struct sweep_point *p)
{
    const char *label = "", *folder = "";
    for (size_t i = 0; i < s->num_axes; i++) {
        const struct sweep_axis *axis = &s->axes[i];
        const char *comma = i ? "," : "",
                   *text = sweep_value_text(&s->arena, json_object_get(p->overrides, axis->path));
        char *key = arena_strdup(&s->arena, axis->key), *value = arena_strdup(&s->arena, text);
        if (!key || !value)
            return ERR_NO_MEMORY;
        make_safe(key);
        make_safe(value);
        label = arena_printf(&s->arena, "%s%s%s=%s", label, comma, axis->key, text);
        folder = arena_printf(&s->arena, "%s%s%s=%s", folder, comma, key, value);
        if (!label || !folder)
            return ERR_NO_MEMORY;
    }
    p->label = label;
    p->folder = strlen(folder) > MAX_FOLDER ? with_hash(s, p, folder) : folder;
    return p->folder ? ERR_OK : ERR_NO_MEMORY;
}

static int by_folder(const void *a, const void *b)
{
    return strcmp((*(struct sweep_point *const *)a)->folder, (*(struct sweep_point *const *)b)->folder);
}

/* Different values may look alike once they are safe. */
static enum err tell_folders_apart(struct sweep *s)
{
    struct sweep_point **sorted = arena_calloc(&s->arena, s->num_points, sizeof(struct sweep_point *));
    if (!sorted)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < s->num_points; i++)
        sorted[i] = &s->points[i];
    qsort(sorted, s->num_points, sizeof *sorted, by_folder);
    for (size_t i = 0, end; i < s->num_points; i = end) {
        const char *folder = sorted[i]->folder;
        end = i + 1;
        while (end < s->num_points && str_eq(sorted[end]->folder, folder))
            end++;
        for (size_t k = i; k < end && end - i > 1; k++) {
            sorted[k]->folder = with_hash(s, sorted[k], folder);
            if (!sorted[k]->folder)
                return ERR_NO_MEMORY;
        }
    }
    return ERR_OK;
}

/* -- points and runs ------------------------------------------------------------------------------------- */

/* The last axis goes fastest. */
static enum err make_point(struct sweep *s, size_t number)
{
    struct sweep_point *p = &s->points[number];
    p->overrides = json_object();
    size_t stride = s->num_points;
    enum err e = p->overrides ? ERR_OK : ERR_NO_MEMORY;
    for (size_t i = 0; i < s->num_axes && !e; i++) {
        size_t size = json_array_size(s->axes[i].values);
        stride /= size;
        json_t *value = json_array_get(s->axes[i].values, number / stride % size);
        if (json_object_set(p->overrides, s->axes[i].path, value))
            e = ERR_NO_MEMORY;
    }
    return e ? e : name_point(s, p);
}

static enum err name_run(struct sweep *s, struct sweep_run *run)
{
    const struct sweep_point *p = &s->points[run->point];
    const char *seed =
        s->has_seeds ? arena_printf(&s->arena, "%sseed=%lld", s->num_axes ? "," : "", (long long)run->seed)
                     : "";
    if (!seed)
        return ERR_NO_MEMORY;
    run->name = arena_printf(&s->arena, "%s%s", p->folder, seed);
    run->label = arena_printf(&s->arena, "%s%s", p->label, seed);
    return run->name && run->label ? ERR_OK : ERR_NO_MEMORY;
}

static enum err make_run(struct sweep *s, struct sweep_run *run)
{
    const char *path;
    json_t *value;
    run->spec = json_clone(s->base);
    enum err e = run->spec ? ERR_OK : ERR_NO_MEMORY;
    json_object_foreach(s->points[run->point].overrides, path, value)
    {
        const char *what = arena_printf(&s->arena, "--sweep %s", path);
        if (!e)
            e = what ? json_put_path(run->spec, path, strlen(path), json_clone(value), what, &s->cli->fault)
                     : ERR_NO_MEMORY;
    }
    if (!e && s->has_seeds && json_object_set_new(run->spec, "seed", json_integer(run->seed)))
        e = ERR_NO_MEMORY;
    return e ? e : name_run(s, run);
}

static enum err count_runs(struct sweep *s)
{
    s->num_points = 1;
    for (size_t i = 0; i < s->num_axes; i++) {
        s->num_points *= json_array_size(s->axes[i].values);
        if (s->num_points > SWEEP_MAX_RUNS)
            break;
    }
    if (s->num_points > SWEEP_MAX_RUNS || s->num_points * s->num_seeds > SWEEP_MAX_RUNS)
        return fault_set(&s->cli->fault, ERR_USAGE, "sweep",
                         "the grid has more than %d runs; make several sweeps of it", SWEEP_MAX_RUNS);
    s->num_runs = s->num_points * s->num_seeds;
    s->points = arena_calloc(&s->arena, s->num_points, sizeof *s->points);
    s->runs = arena_calloc(&s->arena, s->num_runs, sizeof *s->runs);
    return s->points && s->runs ? ERR_OK : ERR_NO_MEMORY;
}

enum err sweep_grid(struct sweep *s)
{
    enum err e = count_runs(s);
    for (size_t i = 0; i < s->num_points && !e; i++)
        e = make_point(s, i);
    if (!e)
        e = tell_folders_apart(s);
    for (size_t i = 0; i < s->num_runs && !e; i++) {
        s->runs[i].point = i / s->num_seeds;
        s->runs[i].seed = s->seeds[i % s->num_seeds];
        e = make_run(s, &s->runs[i]);
    }
    return e;
}
