#include "server/core/population.h"

#include <stdio.h>
#include <string.h>
#include "common/json/json_spec.h"
#include "server/core/misfit.h"

enum err population_load(struct work *w, const struct run_row *run, struct run_device_row **out,
                         size_t *out_count)
{
    return store_find(w->txn, QUERY_RUN_DEVICES, w->arena, 0, out, out_count, store_text(run->id), store_any);
}

enum err population_member(struct work *w, const struct run_row *run, size_t position,
                           struct run_device_row **out)
{
    size_t count;
    enum err e = store_find(w->txn, QUERY_RUN_DEVICE_AT, w->arena, 1, out, &count, store_text(run->id),
                            store_int((int64_t)position));
    return !e && count == 0 ? ERR_CORRUPT : e;
}

enum err population_device(struct work *w, const struct run_row *run, struct run_device_row *member,
                           struct device_row *out)
{
    struct device_row *others;
    size_t count;
    enum err e = device_load(w, member->device_id, out);
    if (e || !out->revoked_at)
        return e;
    e = store_find(w->txn, QUERY_DEVICE_BY_ORDINAL, w->arena, 1, &others, &count, store_text(run->dataset),
                   store_int(member->ordinal), store_int(0));
    if (e || count == 0)
        return e;
    *out = others[0];
    member->device_id = out->id;
    member->num_examples = out->num_examples;
    member->num_test_examples = out->num_test_examples;
    return store_update(w->txn, RECORD_RUN_DEVICE, member);
}

/* The only data set that registered devices have; "" where there is none, with *out_reason, or where there
 * are several. */
static enum err only_dataset(struct work *w, const char **out, const char **out_reason)
{
    struct device_row *rows;
    size_t count;
    const char *found = "";
    enum err e =
        store_find(w->txn, QUERY_DEVICES, w->arena, 0, &rows, &count, store_any, store_any, store_any);
    *out = "";
    *out_reason = "waiting for devices: none is registered, and the run names no dataset";
    for (size_t i = 0; i < count && !e; i++) {
        if (rows[i].revoked_at || strcmp(rows[i].dataset, found) == 0)
            continue;
        if (*found) {
            *out_reason = arena_printf(w->arena,
                                       "waiting for devices: the run names no dataset, and there are several "
                                       "(\"%.60s\", \"%.60s\"): "
                                       "submit it again with \"dataset\"",
                                       found, rows[i].dataset);
            return *out_reason ? ERR_OK : ERR_NO_MEMORY;
        }
        found = rows[i].dataset;
    }
    *out = found;
    return e;
}

static bool has_labels(const struct device_row *d, json_t *required)
{
    const char *key;
    json_t *value, *labels = NULL;
    if (json_object_size(required) == 0)
        return true;
    if (json_from_row(d->labels, &labels))
        return false;
    bool all = true;
    json_object_foreach(required, key, value) all = all && json_equal(json_object_get(labels, key), value);
    json_decref(labels);
    return all;
}

static enum err freeze(struct work *w, struct run_row *run, const struct device_row *devices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct run_device_row row;
        record_init(RECORD_RUN_DEVICE, &row);
        row.run_id = run->id;
        row.ordinal = devices[i].ordinal;
        row.device_id = devices[i].id;
        row.num_examples = devices[i].num_examples;
        row.num_test_examples = devices[i].num_test_examples;
        row.position = (int64_t)i;
        enum err e = store_insert(w->txn, RECORD_RUN_DEVICE, &row);
        if (e)
            return e;
    }
    run->population = (int64_t)count;
    return ERR_OK;
}

#define REASON_SIZE   400
#define MISSING_SHOWN 8

/* "3 of 100 ...; missing ordinals 3, 4, 5, ..." */
static enum err missing_reason(struct work *w, const struct run_row *run, const struct device_row *have,
                               size_t count, int64_t wanted, const char *label_note, const char **out)
{
    char missing[REASON_SIZE] = "";
    size_t len = 0, at = 0, shown = 0;
    for (int64_t k = 0; k < wanted && shown <= MISSING_SHOWN; k++) {
        if (at < count && have[at].ordinal == k) {
            at++;
            continue;
        }
        int n = shown == MISSING_SHOWN ? snprintf(missing + len, sizeof missing - len, ", ...")
                                       : snprintf(missing + len, sizeof missing - len, "%s%lld",
                                                  shown ? ", " : "", (long long)k);
        len += n > 0 ? (size_t)n : 0;
        shown++;
    }
    *out = arena_printf(
        w->arena, "waiting for devices: %zu of %lld of dataset \"%s\" registered%s; missing ordinals %s",
        count, (long long)wanted, run->dataset, label_note, missing);
    return *out ? ERR_OK : ERR_NO_MEMORY;
}

/* Of the devices of the data set, those that do not fit. */
struct unfit {
    size_t count;
    const char *first; /* what is wrong with it; "": all fit */
};

/* Devices that the run may take, ascending ordinal: in place. */
static enum err keep_fitting(struct work *w, const struct plan *plan, bool must_fit, struct device_row *rows,
                             size_t *count, struct unfit *out)
{
    struct wanted_data wanted = wanted_data(plan->arch);
    size_t kept = 0;
    *out = (struct unfit){.first = ""};
    for (size_t i = 0; i < *count; i++) {
        const char *why;
        enum err e = wanted_from(w, &rows[i], &wanted);
        if (!e)
            e = device_misfit(w, &rows[i], &wanted, &why);
        if (e)
            return e;
        if (*why && must_fit)
            return fault_set(w->fault, ERR_INVALID_FIELD, "model", "%s", why);
        if (*why && out->count++ == 0)
            out->first = why;
        if (!*why && has_labels(&rows[i], plan->spec.selection.require_labels))
            rows[kept++] = rows[i];
    }
    *count = kept;
    return ERR_OK;
}

/* Without a population: those who are there. The silent ones only where the others are too few. */
static size_t keep_online(struct work *w, struct device_row *rows, size_t count, int64_t wanted)
{
    size_t online = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        online += core_device_presence(w->core, &rows[i]) == PRESENCE_ONLINE;
    if ((int64_t)online < wanted)
        return count;
    for (size_t i = 0; i < count && kept < online; i++)
        if (core_device_presence(w->core, &rows[i]) == PRESENCE_ONLINE)
            rows[kept++] = rows[i];
    return kept;
}

enum err population_freeze(struct work *w, struct run_row *run, const struct plan *plan, bool *out_is_there,
                           const char **out_reason)
{
    const struct selection_spec *spec = &plan->spec.selection;
    struct device_row *rows;
    size_t count;
    struct unfit unfit = {.first = ""};
    enum err e = ERR_OK;
    *out_is_there = false;
    *out_reason = "";
    if (!*run->dataset)
        e = only_dataset(w, &run->dataset, out_reason);
    if (e || !*run->dataset)
        return e;
    bool is_fixed = spec->population > 0;
    const char *note = json_object_size(spec->require_labels) > 0 ? " with the required labels" : "";
    e = store_find(w->txn, QUERY_DEVICES_OF_DATASET, w->arena, 0, &rows, &count, store_text(run->dataset),
                   store_int(0), is_fixed ? store_int(spec->population) : store_any);
    if (!e)
        e = keep_fitting(w, plan, is_fixed, rows, &count, &unfit);
    if (e)
        return e;
    if (is_fixed && (int64_t)count < spec->population)
        return missing_reason(w, run, rows, count, spec->population, note, out_reason);
    if ((int64_t)count < spec->devices_per_round) {
        *out_reason = arena_printf(
            w->arena, "waiting for devices: %zu of at least %lld of dataset \"%s\" registered%s%s%s", count,
            (long long)spec->devices_per_round, run->dataset, note, *unfit.first ? "; " : "", unfit.first);
        return *out_reason ? ERR_OK : ERR_NO_MEMORY;
    }
    if (!is_fixed)
        count = keep_online(w, rows, count, spec->devices_per_round);
    if (unfit.count > 0)
        *out_reason = arena_printf(w->arena, "the run goes without %zu of the devices of dataset \"%s\": %s",
                                   unfit.count, run->dataset, unfit.first);
    if (!*out_reason)
        return ERR_NO_MEMORY;
    *out_is_there = true;
    return freeze(w, run, rows, count);
}
