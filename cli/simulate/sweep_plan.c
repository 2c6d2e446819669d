/* What --seeds and --sweep say. */
#include <stdlib.h>
#include <string.h>
#include "cli/simulate/sweep.h"
#include "cli/spec_file.h"
#include "common/base/str.h"

#define MAX_SEED ((uint64_t)1 << 53)

/* -- seeds ----------------------------------------------------------------------------------------------- */

static enum err bad_seeds(struct sweep *s, const char *seeds, const char *part, const char *why)
{
    return fault_set(&s->cli->fault, ERR_USAGE, "seeds", "--seeds %s: %s%s%s%s; write it like 1-6 or 1,3,7-9",
                     seeds, *part ? "\"" : "", part, *part ? "\" " : "", why);
}

static enum err add_seed(struct sweep *s, const char *seeds, const char *part, uint64_t seed)
{
    for (size_t i = 0; i < s->num_seeds; i++)
        if (s->seeds[i] == (int64_t)seed)
            return bad_seeds(s, seeds, part, "names a seed that is there already");
    if (s->num_seeds == SWEEP_MAX_RUNS)
        return bad_seeds(s, seeds, part, "makes more than 4096 seeds");
    s->seeds[s->num_seeds++] = (int64_t)seed;
    return ERR_OK;
}

/* "7" or "7-9"; changed in place. */
static enum err add_seeds(struct sweep *s, const char *seeds, char *part)
{
    char *dash = strchr(part, '-');
    uint64_t first, last;
    const char *shown = arena_strdup(&s->arena, part);
    if (!shown)
        return ERR_NO_MEMORY;
    if (dash)
        *dash = '\0';
    if (!*shown)
        return bad_seeds(s, seeds, "", "a number is missing");
    if (str_to_u64(part, &first) || str_to_u64(dash ? dash + 1 : part, &last) || last > MAX_SEED)
        return bad_seeds(s, seeds, shown, "is no whole number from 0 to 2^53, and no range of them");
    if (first > last)
        return bad_seeds(s, seeds, shown, "runs backwards");
    enum err e = ERR_OK;
    for (uint64_t seed = first; seed <= last && !e; seed++)
        e = add_seed(s, seeds, shown, seed);
    return e;
}

static enum err plan_seeds(struct sweep *s, const char *seeds)
{
    s->seeds = calloc(SWEEP_MAX_RUNS, sizeof *s->seeds);
    if (!s->seeds)
        return ERR_NO_MEMORY;
    if (!seeds) {
        /* What is no number is refused with the spec. */
        s->seeds[s->num_seeds++] = json_integer_value(json_object_get(s->base, "seed"));
        return ERR_OK;
    }
    s->has_seeds = true;
    char *copy = arena_strdup(&s->arena, seeds), *part = copy;
    enum err e = copy ? ERR_OK : ERR_NO_MEMORY;
    while (!e && part) {
        char *comma = strchr(part, ',');
        if (comma)
            *comma++ = '\0';
        e = add_seeds(s, seeds, part);
        part = comma;
    }
    return e;
}

/* -- values ---------------------------------------------------------------------------------------------- */

/* The end of the value at `at`: its comma, or the text's end. Commas within brackets, and within quotes where
 * JSON has them, belong to the value. */
static const char *value_end(const char *at)
{
    size_t depth = 0;
    while (*at == ' ')
        at++;
    bool is_json = *at == '"' || *at == '{' || *at == '[', is_quoted = false;
    for (; *at; at++) {
        if (is_quoted && *at == '\\' && at[1])
            at++;
        else if (is_json && *at == '"')
            is_quoted = !is_quoted;
        else if (is_json && !is_quoted && strchr("{[", *at))
            depth++;
        else if (is_json && !is_quoted && strchr("}]", *at) && depth > 0)
            depth--;
        else if (*at == ',' && !is_quoted && depth == 0)
            break;
    }
    return at;
}

static bool is_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return !(json_number_value(a) < json_number_value(b)) &&
               !(json_number_value(a) > json_number_value(b));
    return json_equal(a, b);
}

static enum err add_value(struct sweep *s, struct sweep_axis *axis, const char *what, const char *from,
                          const char *end)
{
    while (from < end && *from == ' ')
        from++;
    while (end > from && end[-1] == ' ')
        end--;
    if (from == end)
        return fault_set(&s->cli->fault, ERR_USAGE, "sweep",
                         "%s: a value is missing; an empty text is written as \"\"", what);
    const char *text = arena_strndup(&s->arena, from, (size_t)(end - from));
    json_t *value = text ? json_value_of(text) : NULL;
    if (!value)
        return text ? fault_set(&s->cli->fault, ERR_USAGE, "sweep",
                                "%s: a value is neither JSON nor valid UTF-8", what)
                    : ERR_NO_MEMORY;
    for (size_t i = 0; i < json_array_size(axis->values); i++) {
        if (is_same(json_array_get(axis->values, i), value)) {
            json_decref(value);
            return fault_set(&s->cli->fault, ERR_USAGE, "sweep", "%s: the value %s is there twice", what,
                             text);
        }
    }
    return json_array_append_new(axis->values, value) ? ERR_NO_MEMORY : ERR_OK;
}

static bool leads_to(const char *path, const char *longer)
{
    size_t n = strlen(path);
    return strncmp(longer, path, n) == 0 && (longer[n] == '.' || longer[n] == '[');
}

static enum err check_path(struct sweep *s, const char *path, const char *what)
{
    if (str_eq(path, "seed"))
        return fault_set(&s->cli->fault, ERR_USAGE, "sweep", "%s: for several seeds there is --seeds", what);
    for (size_t i = 0; i + 1 < s->num_axes; i++) {
        if (str_eq(s->axes[i].path, path))
            return fault_set(&s->cli->fault, ERR_USAGE, "sweep",
                             "%s: the path is there twice; give all its values in one --sweep", what);
        if (leads_to(path, s->axes[i].path))
            return fault_set(&s->cli->fault, ERR_USAGE, "sweep",
                             "%s: would lie over the values of %s; give it first", what, s->axes[i].path);
    }
    return ERR_OK;
}

static enum err plan_axis(struct sweep *s, const char *sweep)
{
    struct sweep_axis *axis = &s->axes[s->num_axes++];
    const char *equals = strchr(sweep, '=');
    if (!equals || equals == sweep)
        return fault_set(&s->cli->fault, ERR_USAGE, "sweep",
                         "--sweep %s: write it like training.learning_rate=0.01,0.1", sweep);
    axis->path = arena_strndup(&s->arena, sweep, (size_t)(equals - sweep));
    axis->values = json_array();
    const char *what = arena_printf(&s->arena, "--sweep %.80s", sweep);
    if (!axis->path || !axis->values || !what)
        return ERR_NO_MEMORY;
    enum err e = check_path(s, axis->path, what);
    const char *at = equals;
    do {
        const char *from = at + 1;
        at = value_end(from);
        if (!e)
            e = add_value(s, axis, what, from, at);
    } while (!e && *at);
    return e;
}

/* -- keys ------------------------------------------------------------------------------------------------ */

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

static void name_axes(struct sweep *s)
{
    for (size_t i = 0; i < s->num_axes; i++) {
        const char *key = last_part(s->axes[i].path);
        bool is_clear = !str_eq(key, "seed");
        for (size_t k = 0; k < s->num_axes; k++)
            is_clear = is_clear && (k == i || !str_eq(key, last_part(s->axes[k].path)));
        s->axes[i].key = is_clear ? key : s->axes[i].path;
    }
}

enum err sweep_plan(struct sweep *s, const char *seeds, const struct option_list *sweeps)
{
    enum err e = plan_seeds(s, seeds);
    s->axes = arena_calloc(&s->arena, sweeps->count + 1, sizeof *s->axes);
    if (!e && !s->axes)
        e = ERR_NO_MEMORY;
    for (size_t i = 0; i < sweeps->count && !e; i++)
        e = plan_axis(s, sweeps->items[i]);
    if (!e)
        name_axes(s);
    return e;
}
