#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "lanes/trace/trace_reading.h"

static const char *const outcomes[] = {
    [LANES_FINISHED] = "finished", [LANES_CANCELLED] = "cancelled", [LANES_CLIENT_DIED] = "client_died",
    [LANES_STRUCK] = "struck",     [LANES_TOO_LARGE] = "too_large", NULL};

#define NS(seconds) ((seconds)*1e9)
#define MOST_BYTES  1e15

/* -- the head
 * ------------------------------------------------------------------------------------------------ */

struct head {
    const char *type;
    int64_t version;
    json_t *capacity_bytes;
};

static const struct json_field head_fields[] = {
    JSON_FIELD(struct head, type, JSON_FIELD_TEXT, .is_required = true, .max = LIMIT_NAME),
    JSON_FIELD(struct head, version, JSON_FIELD_INT, .is_required = true),
    JSON_FIELD(struct head, capacity_bytes, JSON_FIELD_ARRAY, .is_required = true, .min = 1,
               .max = LANES_MAX_DEVICES),
};

static enum err take_head(const struct head *head, struct lanes_trace *out, struct fault *fault)
{
    if (!str_eq(head->type, "lanes_trace"))
        return fault_set(fault, ERR_INVALID_FIELD, "type", "the first line's must be \"lanes_trace\"");
    if (head->version != 1)
        return fault_set(fault, ERR_INVALID_FIELD, "version", "is %lld; this program reads version 1",
                         (long long)head->version);
    out->num_devices = json_array_size(head->capacity_bytes);
    for (size_t i = 0; i < out->num_devices; i++) {
        const json_t *bytes = json_array_get(head->capacity_bytes, i);
        out->capacity_bytes[i] = json_integer_value(bytes);
        if (!json_is_integer(bytes) || out->capacity_bytes[i] < 1)
            return fault_set(fault, ERR_INVALID_FIELD, "capacity_bytes",
                             "must be whole numbers of bytes, at least 1");
    }
    return ERR_OK;
}

enum err lanes_trace_parse_head(const char *line, size_t len, struct arena *arena, struct lanes_trace *out,
                                struct fault *fault)
{
    struct head head = {0};
    json_t *doc = NULL;
    enum err e = json_text_parse(line, len, &doc, fault);
    if (!e)
        e = json_spec_parse(doc, head_fields, sizeof head_fields / sizeof *head_fields, JSON_REFUSE_UNKNOWN,
                            "", arena, &head, fault);
    if (!e)
        e = take_head(&head, out, fault);
    json_decref(doc);
    return e;
}

static enum err put(struct buf *out, json_t *doc)
{
    char *text = NULL;
    enum err e = doc ? json_text(doc, &text) : ERR_NO_MEMORY;
    if (!e)
        e = buf_puts(out, text);
    if (!e)
        e = buf_puts(out, "\n");
    free(text);
    json_decref(doc);
    return e;
}

enum err lanes_trace_write_head(struct buf *out, const int64_t *capacity_bytes, size_t num_devices)
{
    json_t *all = json_array();
    bool ok = all != NULL;
    for (size_t d = 0; ok && d < num_devices; d++)
        ok = json_array_append_new(all, json_integer(capacity_bytes[d])) == 0;
    json_t *doc =
        ok ? json_pack("{s:s, s:i, s:O}", "type", "lanes_trace", "version", 1, "capacity_bytes", all) : NULL;
    json_decref(all);
    return put(out, doc);
}

/* -- a job
 * --------------------------------------------------------------------------------------------------- */

struct line {
    const char *type, *name, *tenant;
    int outcome;
    int64_t arrival_ns, start_ns, end_ns, steps, told_steps, step_ns, persistent_bytes, ephemeral_bytes;
    int64_t priority, weight;
};

#define LINE_INT(member, min_, max_)                                                                         \
    JSON_FIELD(struct line, member, JSON_FIELD_INT, .is_required = true, .min = (min_), .max = (max_))

static const struct json_field job_fields[] = {
    JSON_FIELD(struct line, type, JSON_FIELD_TEXT, .is_required = true, .max = LIMIT_NAME),
    JSON_FIELD(struct line, name, JSON_FIELD_TEXT, .max = LIMIT_NAME),
    JSON_FIELD(struct line, tenant, JSON_FIELD_TEXT, .max = LIMIT_NAME),
    JSON_FIELD(struct line, outcome, JSON_FIELD_CHOICE, .choices = outcomes, .is_required = true),
    LINE_INT(arrival_ns, 0, NS(TRACE_MOST_S)),
    LINE_INT(start_ns, -1, NS(TRACE_MOST_S)),
    LINE_INT(end_ns, 0, NS(TRACE_MOST_S)),
    LINE_INT(steps, 0, LIMIT_LANES_TRACE_STEPS),
    LINE_INT(told_steps, 0, LIMIT_LANES_TRACE_STEPS),
    LINE_INT(step_ns, 0, NS(TRACE_MOST_STEP_S)),
    LINE_INT(persistent_bytes, 0, MOST_BYTES),
    LINE_INT(ephemeral_bytes, 0, MOST_BYTES),
    LINE_INT(priority, -1000, 1000),
    LINE_INT(weight, 1, LANES_MAX_WEIGHT),
};

static enum err take_job(const struct line *l, struct lanes_trace_job *out, struct fault *fault)
{
    if (!str_eq(l->type, "job"))
        return fault_set(fault, ERR_INVALID_FIELD, "type", "of all lines but the first must be \"job\"");
    *out = (struct lanes_trace_job){.name = l->name,
                                    .tenant = l->tenant,
                                    .job = {.arrival_ns = l->arrival_ns,
                                            .steps = l->steps,
                                            .step_ns = l->step_ns,
                                            .told_steps = l->told_steps,
                                            .persistent_bytes = l->persistent_bytes,
                                            .ephemeral_bytes = l->ephemeral_bytes,
                                            .priority = (int)l->priority,
                                            .weight = (int)l->weight},
                                    .start_ns = l->start_ns,
                                    .end_ns = l->end_ns,
                                    .outcome = l->outcome};
    return ERR_OK;
}

enum err lanes_trace_parse_job(const char *line, size_t len, struct arena *arena, struct lanes_trace_job *out,
                               struct fault *fault)
{
    struct line l = {.name = "", .tenant = ""};
    json_t *doc = NULL;
    enum err e = json_text_parse(line, len, &doc, fault);
    if (!e)
        e = json_spec_parse(doc, job_fields, sizeof job_fields / sizeof *job_fields, JSON_REFUSE_UNKNOWN, "",
                            arena, &l, fault);
    if (!e)
        e = take_job(&l, out, fault);
    json_decref(doc);
    return e;
}

enum err lanes_trace_write_job(struct buf *out, const struct lanes_trace_job *job)
{
    const struct virtual_job *j = &job->job;
    return put(out, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:i, s:i}",
                              "type", "job", "name", job->name, "tenant", job->tenant, "arrival_ns",
                              (json_int_t)j->arrival_ns, "start_ns", (json_int_t)job->start_ns, "end_ns",
                              (json_int_t)job->end_ns, "outcome", outcomes[job->outcome], "steps",
                              (json_int_t)j->steps, "told_steps", (json_int_t)j->told_steps, "step_ns",
                              (json_int_t)j->step_ns, "persistent_bytes", (json_int_t)j->persistent_bytes,
                              "ephemeral_bytes", (json_int_t)j->ephemeral_bytes, "priority", j->priority,
                              "weight", j->weight));
}
