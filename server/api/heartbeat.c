/* Heartbeats and progress: kept in memory, answered from a read, so they wait for no commit. Only where their
 * own httpd thread is just writing out a large upload do they wait for the disk. */
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/json/json_num.h"
#include "common/json/json_spec.h"
#include "server/api/alone.h"
#include "server/api/beat_scan.h"
#include "server/api/caller.h"
#include "server/api/device_json.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/task_json.h"

struct task_progress {
    const char *task_id;
    int64_t steps_done;
    json_t *train_loss;
    double loss;
    bool has_loss;
};

/* One report being answered; the head is what reads take. */
struct beat {
    struct reading r;
    const char *worker_id, *device_id; /* who reports: one of them */
    const char *resources;             /* JSON text; NULL: not reported */
    bool resources_changed;
    struct task_progress *tasks;
    size_t num_tasks;
    json_t *directives;
    const struct beat_scan *scanned; /* the body, where it was so plain that nothing had to be parsed */
    bool must_parse;                 /* its resources are others than those that are known */
};

struct beat_body {
    json_t *resources, *tasks;
};

static const struct json_field worker_fields[] = {
    JSON_FIELD(struct beat_body, tasks, JSON_FIELD_ARRAY, .max = LIMIT_CLAIM, .allow_null = true),
    JSON_FIELD(struct beat_body, resources, JSON_FIELD_OBJECT, .allow_null = true),
};

#define PROGRESS_FIELDS                                                                                      \
    JSON_FIELD(struct task_progress, steps_done, JSON_FIELD_INT, .min = 0, .max = (double)LIMIT_STEPS),      \
        JSON_FIELD(struct task_progress, train_loss, JSON_FIELD_ANY, .allow_null = true)

static const struct json_field task_fields[] = {
    JSON_FIELD(struct task_progress, task_id, JSON_FIELD_TEXT, .is_required = true, .min = 32, .max = 32),
    PROGRESS_FIELDS,
};
static const struct json_field progress_fields[] = {PROGRESS_FIELDS};

static enum err read_progress(const json_t *json, const struct json_field *fields, size_t n,
                              const char *prefix, struct arena *arena, struct task_progress *out,
                              struct fault *fault)
{
    enum err e = json_spec_parse(json, fields, n, JSON_REFUSE_UNKNOWN, prefix, arena, out, fault);
    if (e != ERR_OK)
        return e;
    out->has_loss = out->train_loss != NULL;
    if (out->has_loss && json_num_read(out->train_loss, &out->loss) != ERR_OK) {
        char field[60];
        (void)snprintf(field, sizeof field, "%strain_loss", prefix);
        return fault_set(fault, ERR_INVALID_FIELD, field, "It must be a number, or \"NaN\" or \"Infinity\".");
    }
    return ERR_OK;
}

static enum err read_tasks(struct beat *b, const json_t *tasks, struct fault *fault)
{
    b->num_tasks = json_array_size(tasks);
    b->tasks = arena_calloc(b->r.arena, b->num_tasks, sizeof *b->tasks);
    if (!b->tasks)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < b->num_tasks; i++) {
        char prefix[32];
        (void)snprintf(prefix, sizeof prefix, "tasks[%zu].", i);
        enum err e =
            read_progress(json_array_get(tasks, i), task_fields, sizeof task_fields / sizeof task_fields[0],
                          prefix, b->r.arena, &b->tasks[i], fault);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err read_resources(struct beat *b, const json_t *resources, struct fault *fault)
{
    char *text = NULL;
    if (!resources)
        return ERR_OK;
    enum err e = json_text(resources, &text);
    if (e == ERR_OK && strlen(text) > LIMIT_RESOURCES)
        e = fault_set(fault, ERR_INVALID_FIELD, "resources", "It is larger than %zu bytes; report less.",
                      LIMIT_RESOURCES);
    if (e == ERR_OK && !(b->resources = arena_strdup(b->r.arena, text)))
        e = ERR_NO_MEMORY;
    free(text);
    return e;
}

static enum err read_body(struct beat *b, struct fault *fault)
{
    struct beat_body body = {0};
    b->scanned = NULL;
    enum err e = request_json_parse(b->r.rq, fault);
    const json_t *json = request_json(b->r.rq);
    if (e != ERR_OK || !json)
        return e;
    /* A device of its own reports no resources: its row has no place for them. */
    size_t n = b->worker_id[0] ? 2 : 1;
    e = json_spec_parse(json, worker_fields, n, JSON_REFUSE_UNKNOWN, "", b->r.arena, &body, fault);
    if (e != ERR_OK)
        return e;
    e = read_resources(b, body.resources, fault);
    return e == ERR_OK ? read_tasks(b, body.tasks, fault) : e;
}

/* ERR_INVALID_FIELD: it is for the parser. */
static enum err scan_body(struct beat *b)
{
    size_t n;
    const char *text = request_body(b->r.rq, &n);
    struct beat_scan *scan = arena_alloc(b->r.arena, sizeof *scan);
    if (!scan)
        return ERR_NO_MEMORY;
    if (!beat_scan(text, n, scan) || (scan->resources && !b->worker_id[0]))
        return ERR_INVALID_FIELD;
    b->scanned = scan;
    b->num_tasks = scan->num_tasks;
    b->tasks = arena_calloc(b->r.arena, b->num_tasks, sizeof *b->tasks);
    for (size_t i = 0; b->tasks && i < b->num_tasks; i++) {
        const struct beat_task *t = &scan->tasks[i];
        b->tasks[i] = (struct task_progress){
            .task_id = t->id, .steps_done = t->steps_done, .loss = t->train_loss, .has_loss = t->has_loss};
    }
    return b->tasks ? ERR_OK : ERR_NO_MEMORY;
}

static enum err take_body(struct beat *b, struct fault *fault)
{
    enum err e = scan_body(b);
    return e == ERR_INVALID_FIELD ? read_body(b, fault) : e;
}

static enum err add_directive(struct beat *b, enum directive directive, const char *task_id)
{
    const char *type = directive == DIRECTIVE_CANCEL ? "cancel" : "return_partial";
    json_t *json = json_pack("{s:s, s:s}", "type", type, "task_id", task_id);
    return json_array_append_new(b->directives, json) == 0 ? ERR_OK : ERR_NO_MEMORY;
}

static enum err answer_tasks(struct beat *b, struct store_txn *txn)
{
    for (size_t i = 0; i < b->num_tasks; i++) {
        const struct task_progress *t = &b->tasks[i];
        enum directive d = core_task_directive(b->r.api->core, txn, t->task_id, b->worker_id, b->device_id);
        if (d != DIRECTIVE_CANCEL)
            core_progress_set(b->r.api->core, t->task_id,
                              &(struct progress){.steps_done = t->steps_done,
                                                 .train_loss = t->loss,
                                                 .has_loss = t->has_loss});
        if (d != DIRECTIVE_NONE && add_directive(b, d, t->task_id) != ERR_OK)
            return ERR_NO_MEMORY;
    }
    return ERR_OK;
}

static enum err reply_beat(struct beat *b, enum err e, struct fault *fault)
{
    if (e != ERR_OK) {
        json_decref(b->directives);
        return api_failure(fault, e);
    }
    struct obj o = obj_new();
    obj_time(&o, "server_time", clock_now_ms(&b->r.api->clock));
    obj_num(&o, "next_heartbeat_s", (double)b->r.api->heartbeat_ms / 1000);
    obj_take(&o, "directives", b->directives);
    return reply_json(b->r.rq, 200, obj_end(&o));
}

static struct beat beat_new(struct api *api, struct request *rq, struct fault *fault)
{
    return (struct beat){.r = {.api = api, .rq = rq, .arena = request_arena(rq), .fault = fault},
                         .worker_id = "",
                         .device_id = "",
                         .directives = json_array()};
}

/* ---- a worker's resources: written when they changed, without anybody waiting ---- */

static void write_resources(const struct beat *b)
{
    struct op_worker_resources *op = alone_new(b->r.api, sizeof *op, api_caller(b->r.rq)->token_id);
    if (!op)
        return; /* the next heartbeat says it again */
    op->worker_id = arena_strdup(op->base.arena, b->worker_id);
    op->resources = arena_strdup(op->base.arena, b->resources);
    if (op->worker_id && op->resources)
        alone_start(b->r.api, op_worker_resources, op);
    else
        alone_drop(op);
}

/* ---- handlers ---- */

/* The text that is kept, letter by letter: what our workers send. */
static bool is_known(const struct beat_scan *scan, const char *resources)
{
    return strlen(resources) == scan->resources_size &&
           memcmp(resources, scan->resources, scan->resources_size) == 0;
}

static enum err read_worker_beat(struct store_txn *txn, void *arg)
{
    struct beat *b = arg;
    struct worker_row row;
    enum err e = worker_of_path(&b->r, txn, &row);
    if (e != ERR_OK)
        return e;
    if (b->scanned && b->scanned->resources && !is_known(b->scanned, row.resources)) {
        b->must_parse = true;
        return ERR_OK;
    }
    b->resources_changed = b->resources && strcmp(b->resources, row.resources) != 0;
    core_seen(b->r.api->core, b->worker_id, "");
    return answer_tasks(b, txn);
}

enum err api_worker_heartbeat(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct beat b = beat_new(api, rq, fault);
    enum err e = api_path_id(rq, "worker", &b.worker_id, fault);
    if (e == ERR_OK)
        e = take_body(&b, fault);
    if (e == ERR_OK)
        e = api->store->ops->read(api->store, read_worker_beat, &b);
    if (e == ERR_OK && b.must_parse && (e = read_body(&b, fault)) == ERR_OK)
        e = api->store->ops->read(api->store, read_worker_beat, &b);
    if (e == ERR_OK && b.resources_changed)
        write_resources(&b);
    return reply_beat(&b, e, fault);
}

static enum err read_device_beat(struct store_txn *txn, void *arg)
{
    struct beat *b = arg;
    struct device_row row;
    enum err e = device_of_path(&b->r, txn, &row);
    if (e != ERR_OK)
        return e;
    core_seen(b->r.api->core, "", b->device_id);
    return answer_tasks(b, txn);
}

enum err api_device_heartbeat(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct beat b = beat_new(api, rq, fault);
    enum err e = api_path_id(rq, "device", &b.device_id, fault);
    if (e == ERR_OK)
        e = take_body(&b, fault);
    if (e == ERR_OK)
        e = api->store->ops->read(api->store, read_device_beat, &b);
    return reply_beat(&b, e, fault);
}

static enum err read_task_progress(struct store_txn *txn, void *arg)
{
    struct beat *b = arg;
    struct task_row task;
    enum err e = task_of_path(b->r.rq, txn, b->r.arena, &task, b->r.fault);
    if (e != ERR_OK)
        return e;
    const struct caller *c = api_caller(b->r.rq);
    if (caller_is_worker(c))
        core_seen(b->r.api->core, c->worker_id, c->device_id);
    b->device_id = task.device_id;
    b->tasks[0].task_id = task.id;
    return answer_tasks(b, txn);
}

enum err api_task_progress(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct beat b = beat_new(api, rq, fault);
    struct task_progress progress = {0};
    enum err e =
        read_progress(request_json(rq), progress_fields, sizeof progress_fields / sizeof progress_fields[0],
                      "", b.r.arena, &progress, fault);
    b.tasks = &progress;
    b.num_tasks = 1;
    if (e == ERR_OK)
        e = api->store->ops->read(api->store, read_task_progress, &b);
    return reply_beat(&b, e, fault);
}
