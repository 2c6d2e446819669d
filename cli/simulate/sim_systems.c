#include "cli/simulate/sim_systems.h"
#include <math.h>
#include <stdlib.h>
#include "cli/simulate/sim_trace.h"
#include "common/base/rng.h"
#include "common/json/json_spec.h"
#include "server/core/run_spec.h"
#include "worker/upload_time.h"

#define SYSTEMS_ARENA_MAX ((size_t)4 * GIB)

static double draw(const struct spread *s, uint64_t seed, enum rng_tag tag, int64_t ordinal)
{
    if (isnan(s->median))
        return INFINITY;
    if (!(s->sigma > 0))
        return s->median;
    double z = rng_normal(rng_key(seed, tag, (uint64_t)ordinal, 0, 0), 0);
    return s->median * exp(s->sigma * z);
}

static void draw_all(struct sim_systems *s, const struct systems_spec *spec, const struct dataset *data,
                     uint64_t seed)
{
    for (size_t i = 0; i < s->num_devices; i++) {
        int64_t ordinal = dataset_device(data, i)->ordinal;
        s->devices[i] = (struct sim_device){
            .ordinal = ordinal,
            .steps_per_s = draw(&spec->steps_per_s, seed, RNG_SPEED_STEPS, ordinal),
            .up_bytes_per_s = draw(&spec->up_bytes_per_s, seed, RNG_SPEED_UP, ordinal),
            .down_bytes_per_s = draw(&spec->down_bytes_per_s, seed, RNG_SPEED_DOWN, ordinal),
            .upload_ms = UPLOAD_MS_START};
    }
}

static int by_ordinal(const void *key, const void *item)
{
    int64_t a = *(const int64_t *)key, b = ((const struct sim_device *)item)->ordinal;
    return (a > b) - (a < b);
}

struct sim_device *sim_systems_device(const struct sim_systems *s, int64_t ordinal)
{
    struct sim_device *d =
        s->num_devices == 0 ? NULL
                            : bsearch(&ordinal, s->devices, s->num_devices, sizeof *s->devices, by_ordinal);
    if (!d)
        bug("there is no device %lld", (long long)ordinal);
    return d;
}

/* -- the trace ------------------------------------------------------------------------------------------- */

/* The first device that the run may take and the trace does not have. */
static enum err check_missing(const struct sim_systems *s, const struct sim_trace *trace, const char *path,
                              int64_t population, struct fault *fault)
{
    size_t at = 0;
    for (size_t i = 0; i < s->num_devices; i++) {
        int64_t ordinal = s->devices[i].ordinal;
        while (at < trace->num_devices && trace->devices[at].ordinal < ordinal)
            at++;
        bool is_there = at < trace->num_devices && trace->devices[at].ordinal == ordinal;
        if (!is_there && (population == 0 || ordinal < population))
            return fault_set(fault, ERR_BAD_FILE, "systems.trace",
                             "%s: has no row of device %lld, which would never come online; add one, or "
                             "lower selection.population to leave the device out",
                             path, (long long)ordinal);
    }
    return ERR_OK;
}

static void lay_over(struct sim_device *d, const struct sim_trace_device *t)
{
    if (!isnan(t->steps_per_s))
        d->steps_per_s = t->steps_per_s;
    if (!isnan(t->up_bytes_per_s))
        d->up_bytes_per_s = t->up_bytes_per_s;
    if (!isnan(t->down_bytes_per_s))
        d->down_bytes_per_s = t->down_bytes_per_s;
    d->online = t->online;
    d->num_online = t->num_online;
}

static enum err apply_trace(struct sim_systems *s, const char *path, const struct dataset *data,
                            int64_t population, struct fault *fault)
{
    struct sim_trace trace;
    enum err e = sim_trace_load(path, &s->arena, &trace, fault);
    if (!e)
        e = check_missing(s, &trace, path, population, fault);
    for (size_t i = 0; i < trace.num_devices && !e; i++) {
        const struct sim_trace_device *t = &trace.devices[i];
        if (!dataset_find(data, t->ordinal))
            return fault_set(fault, ERR_BAD_FILE, "systems.trace",
                             "%s: line %zu: the data have no device %lld, only %zu devices", path, t->line,
                             (long long)t->ordinal, s->num_devices);
        lay_over(sim_systems_device(s, t->ordinal), t);
    }
    return e;
}

/* -- all ------------------------------------------------------------------------------------------------- */

static enum err load(struct sim_systems *s, json_t *doc, const struct dataset *data, struct fault *fault)
{
    struct systems_spec spec;
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(doc, "seed"));
    int64_t population = json_integer_value(json_object_get(json_object_get(doc, "selection"), "population"));
    s->num_devices = dataset_num_devices(data);
    s->devices = calloc(s->num_devices ? s->num_devices : 1, sizeof *s->devices);
    enum err e = s->devices ? systems_spec_parse(doc, &s->arena, &spec, fault) : ERR_NO_MEMORY;
    if (e)
        return e;
    s->is_timed = spec.is_timed;
    draw_all(s, &spec, data, seed);
    return *spec.trace ? apply_trace(s, spec.trace, data, population, fault) : ERR_OK;
}

enum err sim_systems_load(const json_t *spec, const struct dataset *data, struct sim_systems *out,
                          struct fault *fault)
{
    *out = (struct sim_systems){.arena = ARENA_INIT(SYSTEMS_ARENA_MAX)};
    json_t *doc = json_clone(spec);
    enum err e = doc ? load(out, doc, data, fault) : ERR_NO_MEMORY;
    json_decref(doc);
    return e;
}

void sim_systems_release(struct sim_systems *s)
{
    free(s->devices);
    arena_release(&s->arena);
}
