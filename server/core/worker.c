#include <string.h>
#include "server/core/device.h"
#include "server/core/events.h"
#include "server/core/token.h"

struct worker_spec {
    const char *name, *instance_id, *version, *token_sha256;
    json_t *capabilities, *devices;
};
static const struct json_field worker_fields[] = {
    JSON_FIELD(struct worker_spec, name, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME, .is_required = true),
    JSON_FIELD(struct worker_spec, instance_id, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME,
               .is_required = true),
    JSON_FIELD(struct worker_spec, version, JSON_FIELD_TEXT, .max = LIMIT_NAME),
    JSON_FIELD(struct worker_spec, capabilities, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct worker_spec, devices, JSON_FIELD_ARRAY, .min = 1, .max = LIMIT_DEVICES_PER_WORKER,
               .is_required = true),
    JSON_FIELD(struct worker_spec, token_sha256, JSON_FIELD_TEXT, .max = LIMIT_NAME, .allow_null = true),
};

/* A registration in progress. */
struct enrolment {
    struct work *w;
    struct op_worker_register *a;
    struct worker_spec spec;
    struct device_row *former; /* what this worker had before, ascending ordinal */
    bool *is_taken;            /* of former: it is there again */
    bool *is_new;              /* of the body's */
    size_t num_former;
    bool is_return, is_same_secret, is_another_fleet; /* another: a device is new, or gone */
};

static enum err worker_row_set(struct enrolment *en)
{
    struct work *w = en->w;
    struct worker_row *row = &en->a->out, *known;
    size_t count;
    enum err e = store_find(w->txn, QUERY_WORKER_BY_INSTANCE, w->arena, 1, &known, &count,
                            store_text(en->spec.instance_id));
    if (e)
        return e;
    en->is_return = count > 0;
    record_init(RECORD_WORKER, row);
    if (en->is_return)
        *row = known[0];
    if (row->revoked_at)
        return fault_set(
            w->fault, ERR_FORBIDDEN, "instance_id",
            "this worker was revoked: to enrol it as a new one, start it with an empty state directory");
    if (!en->is_return) {
        e = work_id(w, &row->id);
        row->created_at = w->now_ms;
        row->resources = "{}";
    }
    row->name = en->spec.name;
    row->instance_id = en->spec.instance_id;
    row->version = en->spec.version;
    row->last_seen_at = w->now_ms;
    if (!e)
        e = capabilities_read(w, en->spec.capabilities, &row->capabilities);
    return e ? e : store_put(w->txn, RECORD_WORKER, row);
}

static enum err token_set(struct enrolment *en)
{
    struct token_row token;
    bool is_there;
    enum err e = token_find(en->w, en->a->token_sha256, &token, &is_there);
    /* The answer to this registration was lost, so it is sent again: the secret stays. */
    en->is_same_secret =
        !e && is_there && !token.revoked_at && en->is_return && strcmp(token.worker_id, en->a->out.id) == 0;
    if (en->is_same_secret)
        return ERR_OK;
    if (!e && en->is_return)
        e = tokens_end_of_worker(en->w, en->a->out.id, TOKEN_REASON_REPLACED);
    record_init(RECORD_TOKEN, &token);
    token.name = en->spec.name;
    token.role = ROLE_WORKER;
    token.sha256 = en->a->token_sha256;
    token.worker_id = en->a->out.id;
    return e ? e : token_insert(en->w, &token);
}

/* How a device that comes back is known again. Who names an ordinal or a name comes before those that take
 * what is left, in their order. */
enum known_by { KNOWN_BY_ORDINAL, KNOWN_BY_NAME, KNOWN_BY_ORDER };

static enum known_by known_by(const struct device_spec *spec)
{
    return spec->ordinal >= 0 ? KNOWN_BY_ORDINAL : *spec->name ? KNOWN_BY_NAME : KNOWN_BY_ORDER;
}

static bool is_known(const struct device_spec *spec, const struct device_row *former)
{
    switch (known_by(spec)) {
    case KNOWN_BY_ORDINAL:
        return former->ordinal == spec->ordinal;
    case KNOWN_BY_NAME:
        return strcmp(former->name, spec->name) == 0;
    case KNOWN_BY_ORDER:
        break;
    }
    return true;
}

/* The former device that this one is, or NULL. */
static struct device_row *former_of(struct enrolment *en, const struct device_spec *spec)
{
    for (size_t i = 0; i < en->num_former; i++) {
        struct device_row *d = &en->former[i];
        if (en->is_taken[i] || strcmp(d->dataset, spec->dataset) != 0)
            continue;
        if (is_known(spec, d)) {
            en->is_taken[i] = true;
            return d;
        }
    }
    return NULL;
}

/* A device of the body, and the former one that it is. */
struct enrolled {
    struct device_spec spec;
    struct device_row *former; /* NULL: it is new */
};

static enum err device_failed(struct enrolment *en, size_t i, enum err e)
{
    if (e && en->w->fault->err)
        (void)fault_within(en->w->fault, "devices[%zu]", i);
    return e;
}

static enum err devices_read(struct enrolment *en, struct enrolled *devices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum err e = device_spec_parse(en->w, json_array_get(en->spec.devices, i), "", &devices[i].spec);
        if (e)
            return device_failed(en, i, e);
    }
    return ERR_OK;
}

static void devices_recognise(struct enrolment *en, struct enrolled *devices, size_t count)
{
    for (enum known_by by = KNOWN_BY_ORDINAL; by <= KNOWN_BY_ORDER; by++)
        for (size_t i = 0; i < count; i++)
            if (known_by(&devices[i].spec) == by)
                devices[i].former = former_of(en, &devices[i].spec);
}

static enum err device_enrol(struct enrolment *en, struct enrolled *device, struct device_row *out)
{
    en->is_another_fleet = en->is_another_fleet || !device->former;
    if (!device->former)
        return device_insert(en->w, en->a->out.id, &device->spec, out);
    enum err e = device_renew(en->w, &device->spec, device->former);
    *out = *device->former;
    return e;
}

static enum err devices_enrol(struct enrolment *en)
{
    struct work *w = en->w;
    enum err e = store_find(w->txn, QUERY_DEVICES_OF_WORKER, w->arena, 0, &en->former, &en->num_former,
                            store_text(en->a->out.id), store_int(0));
    if (e)
        return e;
    size_t count = en->a->out_num_devices = json_array_size(en->spec.devices);
    struct enrolled *devices = arena_calloc(w->arena, count, sizeof *devices);
    en->is_taken = arena_calloc(w->arena, en->num_former, sizeof *en->is_taken);
    en->is_new = arena_calloc(w->arena, count, sizeof *en->is_new);
    en->a->out_devices = arena_calloc(w->arena, count, sizeof *en->a->out_devices);
    if (!devices || !en->is_taken || !en->is_new || !en->a->out_devices)
        return ERR_NO_MEMORY;
    e = devices_read(en, devices, count);
    if (!e)
        devices_recognise(en, devices, count);
    for (size_t i = 0; i < count && !e; i++) {
        en->is_new[i] = !devices[i].former;
        e = device_failed(en, i, device_enrol(en, &devices[i], &en->a->out_devices[i]));
    }
    /* What it no longer holds is free for another. */
    for (size_t i = 0; i < en->num_former && !e; i++) {
        if (en->is_taken[i])
            continue;
        en->is_another_fleet = true;
        e = device_end(w, &en->former[i], "its worker came back without it");
    }
    return e;
}

static enum err devices_enlist(const struct enrolment *en)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < en->a->out_num_devices && !e; i++)
        if (en->is_new[i])
            e = presence_enlist(en->w->core, &en->a->out_devices[i]);
    return e;
}

/* A restarted worker starts its tasks anew, with the next attempt. */
static enum err tasks_free(struct work *w, const char *worker_id)
{
    struct task_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_TASKS_OPEN_BY_WORKER, w->arena, 0, &rows, &count,
                            store_text(worker_id), store_int(TASK_CLAIMED));
    for (size_t i = 0; i < count && !e; i++) {
        if (rows[i].status != TASK_CLAIMED)
            continue;
        rows[i].status = TASK_READY;
        progress_forget(&w->core->progress, rows[i].id);
        e = store_update(w->txn, RECORD_TASK, &rows[i]);
    }
    return e || count == 0 ? e : notify_topic(w, "worker", worker_id);
}

enum err op_worker_register(struct store_txn *txn, void *arg)
{
    struct op_worker_register *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct enrolment en = {
        .w = &w, .a = a, .spec = {.name = "", .instance_id = "", .version = "", .token_sha256 = ""}};
    enum err e = json_spec_parse(a->body, worker_fields, sizeof worker_fields / sizeof *worker_fields,
                                 JSON_REFUSE_UNKNOWN, "", w.arena, &en.spec, w.fault);
    if (!e)
        e = worker_row_set(&en);
    if (!e && !en.is_return)
        e = token_use(&w);
    if (!e)
        e = token_set(&en);
    if (!e)
        e = devices_enrol(&en);
    /* A restarted worker has a new secret. With the same one it is the same process, which may have claimed
     * tasks since: a copy of its registration that comes late takes none of them away. */
    a->base.is_repeat = !e && en.is_same_secret && !en.is_another_fleet;
    if (!e)
        core_seen(w.core, a->out.id, "");
    if (e || a->base.is_repeat)
        return e;
    if (en.is_return)
        e = tasks_free(&w, a->out.id);
    if (!e)
        e = event_add_global(&w, "worker_registered",
                             json_pack("{s:s, s:s, s:b, s:I}", "worker_id", a->out.id, "name", a->out.name,
                                       "returned", (int)en.is_return, "devices",
                                       (json_int_t)a->out_num_devices));
    if (!e)
        e = store_notify(txn, "advance");
    return e ? e : devices_enlist(&en);
}

enum err op_worker_revoke(struct store_txn *txn, void *arg)
{
    struct op_revoke *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct worker_row worker;
    struct device_row *devices;
    size_t count;
    enum err e = worker_load(&w, a->id, &worker);
    a->base.is_repeat = !e && worker.revoked_at;
    if (e || a->base.is_repeat)
        return e;
    worker.revoked_at = w.now_ms;
    e = store_update(txn, RECORD_WORKER, &worker);
    if (!e)
        e = tokens_end_of_worker(&w, worker.id, "the worker was revoked");
    if (!e)
        e = store_find(txn, QUERY_DEVICES_OF_WORKER, w.arena, 0, &devices, &count, store_text(worker.id),
                       store_int(0));
    for (size_t i = 0; !e && i < count; i++)
        e = device_end(&w, &devices[i], "its worker was revoked");
    return e ? e
             : event_add_global(&w, "worker_revoked",
                                json_pack("{s:s, s:s}", "worker_id", worker.id, "name", worker.name));
}

enum err op_worker_resources(struct store_txn *txn, void *arg)
{
    struct op_worker_resources *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct worker_row worker;
    enum err e = worker_load(&w, a->worker_id, &worker);
    if (e || worker.revoked_at)
        return e;
    worker.resources = a->resources;
    return store_update(txn, RECORD_WORKER, &worker);
}
