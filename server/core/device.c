#include "server/core/device.h"

#include <string.h>
#include "server/core/events.h"
#include "server/core/task_access.h"
#include "server/core/token.h"

#define GAP_FIRST_LOOK 1000 /* devices */
#define GAP_LAST_LOOK  100000

enum err device_at(struct work *w, const char *dataset, int64_t ordinal, struct device_row *out,
                   bool *out_found)
{
    struct device_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_DEVICE_BY_ORDINAL, w->arena, 1, &rows, &count, store_text(dataset),
                            store_int(ordinal), store_int(0));
    *out_found = !e && count > 0;
    if (*out_found)
        *out = rows[0];
    return e;
}

/* The lowest ordinal that nobody has: for when someone took the highest one there is. */
static enum err ordinal_gap(struct work *w, const char *dataset, int64_t *out)
{
    struct device_row *rows;
    size_t count = 0, at = 0;
    for (int64_t most = GAP_FIRST_LOOK; most <= GAP_LAST_LOOK; most *= 10) {
        enum err e = store_find(w->txn, QUERY_DEVICES_OF_DATASET, w->arena, most, &rows, &count,
                                store_text(dataset), store_int(0), store_any);
        if (e)
            return e;
        while (at < count && rows[at].ordinal == (int64_t)at)
            at++;
        if (at < count || (int64_t)count < most) {
            *out = (int64_t)at;
            return ERR_OK;
        }
    }
    return fault_set(w->fault, ERR_CONFLICT, "ordinal",
                     "no ordinal of dataset \"%s\" below %d is free: choose one yourself", dataset,
                     GAP_LAST_LOOK);
}

static enum err ordinal_give(struct work *w, const char *dataset, int64_t *out)
{
    struct device_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_DEVICES_OF_DATASET_DOWN, w->arena, 1, &rows, &count,
                            store_text(dataset), store_int(0));
    if (e)
        return e;
    *out = count > 0 ? rows[0].ordinal + 1 : 0;
    return *out <= LIMIT_ORDINAL ? ERR_OK : ordinal_gap(w, dataset, out);
}

static enum err ordinal_take(struct work *w, const struct device_spec *spec)
{
    struct device_row other;
    bool is_taken;
    enum err e = device_at(w, spec->dataset, spec->ordinal, &other, &is_taken);
    if (e || !is_taken)
        return e;
    return fault_set(w->fault, ERR_CONFLICT, "ordinal",
                     "ordinal %lld of dataset \"%.60s\" belongs to device %s (\"%.60s\") of %s%s: use "
                     "another, or revoke that one",
                     (long long)spec->ordinal, spec->dataset, other.id, other.name,
                     *other.worker_id ? "worker " : "no worker", other.worker_id);
}

static enum err describe(struct work *w, const struct device_spec *spec, struct device_row *out)
{
    out->input = "[]";
    enum err e = labels_read(w, spec->labels, "labels", &out->labels);
    if (!e && spec->input)
        e = json_to_arena(w->arena, json_incref(spec->input), &out->input);
    if (!e)
        e = capabilities_read(w, spec->capabilities, &out->capabilities);
    out->classes = spec->classes;
    out->name =
        *spec->name ? spec->name : arena_printf(w->arena, "%s-%lld", spec->dataset, (long long)out->ordinal);
    return e || out->name ? e : ERR_NO_MEMORY;
}

enum err device_insert(struct work *w, const char *worker_id, const struct device_spec *spec,
                       struct device_row *out)
{
    record_init(RECORD_DEVICE, out);
    out->ordinal = spec->ordinal;
    enum err e = spec->ordinal < 0 ? ordinal_give(w, spec->dataset, &out->ordinal) : ordinal_take(w, spec);
    if (!e)
        e = work_id(w, &out->id);
    if (!e)
        e = describe(w, spec, out);
    out->worker_id = worker_id;
    out->dataset = spec->dataset;
    out->num_examples = spec->num_examples;
    out->num_test_examples = spec->num_test_examples;
    out->created_at = out->last_seen_at = w->now_ms;
    if (!e)
        e = store_insert(w->txn, RECORD_DEVICE, out);
    return e ? e : device_labels_set(w, out, "{}");
}

enum err device_renew(struct work *w, const struct device_spec *spec, struct device_row *device)
{
    const struct {
        const char *field;
        int64_t before, now;
    } sizes[] = {{"num_examples", device->num_examples, spec->num_examples},
                 {"num_test_examples", device->num_test_examples, spec->num_test_examples}};
    for (size_t i = 0; i < 2; i++)
        if (sizes[i].before != sizes[i].now)
            return fault_set(w->fault, ERR_CONFLICT, sizes[i].field,
                             "device %s (ordinal %lld of \"%.60s\") was registered with %lld, now it says "
                             "%lld: give it its former "
                             "data, or PATCH the device",
                             device->id, (long long)device->ordinal, device->dataset,
                             (long long)sizes[i].before, (long long)sizes[i].now);
    const char *former_labels = device->labels;
    enum err e = describe(w, spec, device);
    device->last_seen_at = w->now_ms;
    if (!e)
        e = store_update(w->txn, RECORD_DEVICE, device);
    return e ? e : device_labels_set(w, device, former_labels);
}

static enum err fail_open_tasks(struct work *w, const char *device_id)
{
    struct task_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_TASKS_OPEN_BY_DEVICE, w->arena, 0, &rows, &count,
                            store_text(device_id), store_int(TASK_CLAIMED));
    for (size_t i = 0; i < count && !e; i++) {
        struct task_context c = {.task = rows[i]};
        /* Ending one may end the round and with it the next. */
        e = task_load(w, rows[i].id, &c.task);
        if (e || c.task.status > TASK_CLAIMED)
            continue;
        e = task_context_load(w, &c);
        if (e == ERR_STALE_ROUND || e == ERR_RUN_NOT_RUNNING) {
            *w->fault = FAULT_NONE;
            e = ERR_OK;
            continue;
        }
        c.task.code = "device_revoked";
        c.task.detail = "the device was revoked";
        if (!e)
            e = task_give_up(w, &c, TASK_FAILED);
    }
    return e;
}

enum err device_end(struct work *w, struct device_row *device, const char *reason)
{
    if (device->revoked_at)
        return ERR_OK;
    device->revoked_at = w->now_ms;
    presence_revoking(w->core, device->id);
    enum err e = store_put(w->txn, RECORD_DEVICE, device);
    if (!e)
        e = tokens_end_of_device(w, device->id, reason);
    if (!e)
        e = fail_open_tasks(w, device->id);
    if (!e)
        e = event_add_global(w, "device_revoked",
                             json_pack("{s:s, s:s, s:s, s:I, s:s}", "device_id", device->id, "name",
                                       device->name, "dataset", device->dataset, "ordinal", device->ordinal,
                                       "reason", reason));
    return e;
}

/* Whether a registration says of the device just what its row says. */
static enum err is_described(struct work *w, const struct device_spec *spec, const struct device_row *device,
                             bool *out)
{
    struct device_row said = *device;
    enum err e = describe(w, spec, &said);
    *out = !e && strcmp(spec->dataset, device->dataset) == 0 &&
           (spec->ordinal < 0 || spec->ordinal == device->ordinal) &&
           spec->num_examples == device->num_examples &&
           spec->num_test_examples == device->num_test_examples && said.classes == device->classes &&
           strcmp(said.name, device->name) == 0 && strcmp(said.input, device->input) == 0 &&
           strcmp(said.labels, device->labels) == 0 && strcmp(said.capabilities, device->capabilities) == 0;
    return e;
}

/* The answer to a registration may be lost; who sends it again, with the same secret, gets the same device.
 * out_is_repeat: a->out is that. */
static enum err register_again(struct work *w, struct op_device_register *a, const struct device_spec *spec,
                               bool *out_is_repeat)
{
    struct token_row token;
    enum err e = token_find(w, a->token_sha256, &token, out_is_repeat);
    *out_is_repeat = *out_is_repeat && *token.device_id && !token.revoked_at;
    if (*out_is_repeat)
        e = device_load(w, token.device_id, &a->out);
    return e || !*out_is_repeat ? e : is_described(w, spec, &a->out, out_is_repeat);
}

enum err op_device_register(struct store_txn *txn, void *arg)
{
    struct op_device_register *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct device_spec spec;
    struct token_row token;
    bool is_repeat = false;
    enum err e = device_spec_parse(&w, a->body, "", &spec);
    if (!e)
        e = register_again(&w, a, &spec, &is_repeat);
    if (!e && !is_repeat)
        e = token_use(&w);
    if (!e && !is_repeat)
        e = device_insert(&w, "", &spec, &a->out);
    a->base.is_repeat = is_repeat;
    if (e || is_repeat)
        return e;
    record_init(RECORD_TOKEN, &token);
    token.name = a->out.name;
    token.role = ROLE_WORKER;
    token.sha256 = a->token_sha256;
    token.device_id = a->out.id;
    e = token_insert(&w, &token);
    if (!e)
        e = event_add_global(&w, "device_registered",
                             json_pack("{s:s, s:s, s:s, s:I, s:I}", "device_id", a->out.id, "name",
                                       a->out.name, "dataset", a->out.dataset, "ordinal", a->out.ordinal,
                                       "num_examples", a->out.num_examples));
    if (!e)
        e = store_notify(txn, "advance");
    return e ? e : presence_enlist(w.core, &a->out);
}

struct device_patch {
    const char *name;
    json_t *labels, *capabilities;
    int64_t num_examples, num_test_examples;
};
static const struct json_field patch_fields[] = {
    JSON_FIELD(struct device_patch, name, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME),
    JSON_FIELD(struct device_patch, labels, JSON_FIELD_OBJECT),
    JSON_FIELD(struct device_patch, capabilities, JSON_FIELD_OBJECT),
    JSON_FIELD(struct device_patch, num_examples, JSON_FIELD_INT, .min = 0, .max = (double)LIMIT_EXAMPLES),
    JSON_FIELD(struct device_patch, num_test_examples, JSON_FIELD_INT, .min = 0,
               .max = (double)LIMIT_EXAMPLES),
};

static bool is_unchanged(const struct device_row *a, const struct device_row *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->labels, b->labels) == 0 &&
           strcmp(a->capabilities, b->capabilities) == 0 && a->num_examples == b->num_examples &&
           a->num_test_examples == b->num_test_examples;
}

enum err op_device_patch(struct store_txn *txn, void *arg)
{
    struct op_device_patch *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct device_row *d = &a->out, former;
    enum err e = device_load(&w, a->device_id, d);
    former = *d;
    if (!e && d->revoked_at)
        return fault_set(w.fault, ERR_CONFLICT, NULL, "the device is revoked: register it anew");
    struct device_patch patch = {
        .name = d->name, .num_examples = d->num_examples, .num_test_examples = d->num_test_examples};
    if (!e)
        e = json_spec_parse(a->body, patch_fields, sizeof patch_fields / sizeof *patch_fields,
                            JSON_REFUSE_UNKNOWN, "", w.arena, &patch, w.fault);
    if (!e && patch.labels)
        e = labels_read(&w, patch.labels, "labels", &d->labels);
    if (!e && patch.capabilities)
        e = capabilities_read(&w, patch.capabilities, &d->capabilities);
    if (e)
        return e;
    d->name = patch.name;
    d->num_examples = patch.num_examples;
    d->num_test_examples = patch.num_test_examples;
    a->base.is_repeat = is_unchanged(d, &former);
    if (a->base.is_repeat)
        return ERR_OK;
    e = store_update(txn, RECORD_DEVICE, d);
    if (!e)
        e = device_labels_set(&w, d, former.labels);
    if (!e)
        e = event_add_global(
            &w, "device_changed",
            json_pack("{s:s, s:O, s:s}", "device_id", d->id, "patch", a->body, "by", w.caller));
    return e ? e : store_notify(txn, "advance");
}

enum err op_device_revoke(struct store_txn *txn, void *arg)
{
    struct op_revoke *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct device_row device;
    enum err e = device_load(&w, a->id, &device);
    a->base.is_repeat = !e && device.revoked_at;
    return e ? e : device_end(&w, &device, "the device was revoked");
}
