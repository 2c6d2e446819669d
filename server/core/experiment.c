#include "server/core/experiment.h"

#include <string.h>
#include "common/base/str.h"
#include "common/json/json_spec.h"

struct raw_experiment {
    const char *name, *description;
};
static const struct json_field create_fields[] = {
    JSON_FIELD(struct raw_experiment, name, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME,
               .is_required = true),
    JSON_FIELD(struct raw_experiment, description, JSON_FIELD_TEXT, .max = LIMIT_TEXT),
};
static const struct json_field patch_fields[] = {
    JSON_FIELD(struct raw_experiment, name, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME),
    JSON_FIELD(struct raw_experiment, description, JSON_FIELD_TEXT, .max = LIMIT_TEXT),
};

/* Decimal numbers that count up from 0, which is "Default". */
static enum err next_id(struct work *w, const char **out)
{
    struct experiment_row *rows;
    size_t count;
    int64_t next = 0, id;
    enum err e = store_find(w->txn, QUERY_EXPERIMENTS, w->arena, 0, &rows, &count, store_any);
    for (size_t i = 0; i < count && !e; i++)
        if (str_to_i64(rows[i].id, &id) == ERR_OK && id >= next)
            next = id + 1;
    *out = arena_printf(w->arena, "%lld", (long long)next);
    return e || *out ? e : ERR_NO_MEMORY;
}

static enum err name_is_free(struct work *w, const char *name, const char *own_id)
{
    struct experiment_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_EXPERIMENT_BY_NAME, w->arena, 1, &rows, &count, store_text(name));
    if (e || count == 0 || strcmp(rows[0].id, own_id) == 0)
        return e;
    return fault_set(w->fault, ERR_CONFLICT, "name", "experiment %s already has the name \"%.100s\"",
                     rows[0].id, name);
}

enum err experiment_insert(struct work *w, const char *name, const char *description,
                           struct experiment_row *out)
{
    record_init(RECORD_EXPERIMENT, out);
    enum err e = next_id(w, &out->id);
    out->name = name;
    out->description = description;
    out->created_at = out->updated_at = w->now_ms;
    return e ? e : store_insert(w->txn, RECORD_EXPERIMENT, out);
}

enum err experiment_resolve(struct work *w, const char *name_or_id, const char **out_id)
{
    struct experiment_row *rows, row;
    size_t count;
    enum err e =
        store_find(w->txn, QUERY_EXPERIMENT_BY_NAME, w->arena, 1, &rows, &count, store_text(name_or_id));
    if (e)
        return e;
    if (count > 0) {
        *out_id = rows[0].id;
        return ERR_OK;
    }
    record_init(RECORD_EXPERIMENT, &row);
    row.id = name_or_id;
    e = store_get(w->txn, RECORD_EXPERIMENT, w->arena, &row);
    if (e == ERR_NOT_FOUND)
        e = experiment_insert(w, name_or_id, "", &row);
    *out_id = row.id;
    return e;
}

enum err op_experiment_create(struct store_txn *txn, void *arg)
{
    struct op_experiment *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct raw_experiment raw = {.name = "", .description = ""};
    enum err e = json_spec_parse(a->body, create_fields, 2, JSON_REFUSE_UNKNOWN, "", w.arena, &raw, w.fault);
    if (!e)
        e = name_is_free(&w, raw.name, "");
    return e ? e : experiment_insert(&w, raw.name, raw.description, &a->out);
}

enum err op_experiment_patch(struct store_txn *txn, void *arg)
{
    struct op_experiment *a = arg;
    struct work w = work_begin(txn, &a->base);
    record_init(RECORD_EXPERIMENT, &a->out);
    a->out.id = a->id;
    enum err e = store_get(txn, RECORD_EXPERIMENT, w.arena, &a->out);
    if (e == ERR_NOT_FOUND)
        return fault_set(w.fault, e, NULL, "there is no experiment \"%.64s\"", a->id);
    struct raw_experiment raw = {.name = a->out.name, .description = a->out.description};
    if (!e)
        e = json_spec_parse(a->body, patch_fields, 2, JSON_REFUSE_UNKNOWN, "", w.arena, &raw, w.fault);
    if (!e)
        e = name_is_free(&w, raw.name, a->id);
    a->base.is_repeat =
        !e && strcmp(raw.name, a->out.name) == 0 && strcmp(raw.description, a->out.description) == 0;
    if (e || a->base.is_repeat)
        return e;
    a->out.name = raw.name;
    a->out.description = raw.description;
    a->out.updated_at = w.now_ms;
    return store_update(txn, RECORD_EXPERIMENT, &a->out);
}
