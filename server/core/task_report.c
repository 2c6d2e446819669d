/* What a device says with an update or a failure, from key/value texts. */
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "common/api/update_meta.h"
#include "common/base/str.h"
#include "common/json/json_num.h"
#include "common/json/json_spec.h"
#include "server/core/task_report.h"

enum meta_kind { META_INT, META_NUM, META_TEXT, META_U64 };
struct meta_field {
    const char *name;
    enum meta_kind kind;
    size_t offset;
};
static const struct meta_field meta_fields[] = {
#define X(kind, name) {#name, META_##kind, offsetof(struct task_report, name)},
    UPDATE_META_TABLE(X)
#undef X
};
#define NUM_META_FIELDS (sizeof meta_fields / sizeof *meta_fields)

void task_report_init(struct task_report *r)
{
    *r = (struct task_report){0};
    for (size_t i = 0; i < NUM_META_FIELDS; i++) {
        char *member = (char *)r + meta_fields[i].offset;
        const int64_t unset = -1;
        const double none = NAN;
        const char *text = "";
        switch (meta_fields[i].kind) {
        case META_INT:
            memcpy(member, &unset, sizeof unset);
            break;
        case META_NUM:
            memcpy(member, &none, sizeof none);
            break;
        case META_TEXT:
        case META_U64:
            memcpy(member, &text, sizeof text);
            break;
        }
    }
    r->content = UPDATE_CONTENT_WEIGHTS;
}

static enum err number_parse(const char *text, double *out)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].text) == 0) {
            *out = words[i].value;
            return ERR_OK;
        }
    return str_to_double(text, out);
}

/* Each double of the report has a bit in said_nan: its place among them. */
static uint32_t nan_bit(size_t offset)
{
    uint32_t bit = 1;
    for (size_t i = 0; i < NUM_META_FIELDS; i++) {
        if (meta_fields[i].kind == META_NUM && meta_fields[i].offset == offset)
            return bit;
        if (meta_fields[i].kind == META_NUM)
            bit <<= 1;
    }
    bug("a task report has no number at %zu", offset);
}

bool task_report_has(const struct task_report *r, const double *number)
{
    return !isnan(*number) || (r->said_nan & nan_bit((size_t)((const char *)number - (const char *)r)));
}

/* A time that is NaN is as good as none. */
static bool is_time(const struct meta_field *f)
{
    return f->offset == offsetof(struct task_report, compute_ms) ||
           f->offset == offsetof(struct task_report, download_ms);
}

#define SHORT_TEXT 40

static enum err field_parse(const struct meta_field *f, const char *text, struct arena *arena,
                            struct task_report *out, struct fault *fault)
{
    char *member = (char *)out + f->offset;
    int64_t i;
    uint64_t u;
    double d;
    const char *copy;
    switch (f->kind) {
    case META_INT:
        if (str_to_i64(text, &i))
            return fault_set(fault, ERR_INVALID_FIELD, f->name, "must be a decimal integer, but is \"%.40s\"",
                             text);
        memcpy(member, &i, sizeof i);
        return ERR_OK;
    case META_NUM:
        if (number_parse(text, &d))
            return fault_set(fault, ERR_INVALID_FIELD, f->name, "must be a number, but is \"%.40s\"", text);
        memcpy(member, &d, sizeof d);
        if (isnan(d) && !is_time(f))
            out->said_nan |= nan_bit(f->offset);
        return ERR_OK;
    case META_U64:
        if (str_to_u64(text, &u))
            return fault_set(fault, ERR_INVALID_FIELD, f->name,
                             "must be a decimal number without sign, but is \"%.40s\"", text);
        break;
    case META_TEXT:
        if (strlen(text) > SHORT_TEXT)
            return fault_set(fault, ERR_INVALID_FIELD, f->name, "must have at most %d bytes", SHORT_TEXT);
        break;
    }
    copy = arena_strdup(arena, text);
    if (!copy)
        return ERR_NO_MEMORY;
    memcpy(member, &copy, sizeof copy);
    return ERR_OK;
}

struct raw_metric {
    const char *name;
    json_t *value, *weight;
};
static const struct json_field metric_fields[] = {
    JSON_FIELD(struct raw_metric, name, JSON_FIELD_TEXT, .min = 1, .max = LIMIT_METRIC_NAME,
               .is_required = true),
    JSON_FIELD(struct raw_metric, value, JSON_FIELD_ANY, .is_required = true),
    JSON_FIELD(struct raw_metric, weight, JSON_FIELD_ANY),
};

static enum err metric_parse(const json_t *item, size_t index, struct arena *arena, struct report_metric *out,
                             struct fault *fault)
{
    struct raw_metric raw = {0};
    enum err e = json_spec_parse(item, metric_fields, sizeof metric_fields / sizeof *metric_fields,
                                 JSON_REFUSE_UNKNOWN, "", arena, &raw, fault);
    out->name = raw.name;
    out->weight = 1;
    if (!e && json_num_read(raw.value, &out->value))
        e = fault_set(fault, ERR_INVALID_FIELD, "value",
                      "must be a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
    if (!e && raw.weight &&
        (json_num_read(raw.weight, &out->weight) || !(out->weight >= 0 && isfinite(out->weight))))
        e = fault_set(fault, ERR_INVALID_FIELD, "weight", "must be a number of at least 0");
    return e ? fault_within(fault, "metrics[%zu]", index) : ERR_OK;
}

static enum err metrics_read(const json_t *list, struct arena *arena, struct task_report *out,
                             struct fault *fault)
{
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > LIMIT_METRICS_PER_REPORT)
        return fault_set(fault, ERR_INVALID_FIELD, "metrics",
                         "must be an array of at most %d {\"name\", \"value\", \"weight\"}",
                         LIMIT_METRICS_PER_REPORT);
    struct report_metric *metrics = arena_calloc(arena, n, sizeof *metrics);
    if (!metrics)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        enum err e = metric_parse(json_array_get(list, i), i, arena, &metrics[i], fault);
        for (size_t k = 0; k < i && !e; k++)
            if (strcmp(metrics[k].name, metrics[i].name) == 0)
                e = fault_set(fault, ERR_INVALID_FIELD, "metrics", "\"%.60s\" is there twice",
                              metrics[i].name);
        if (e)
            return e;
    }
    out->metrics = metrics;
    out->num_metrics = n;
    return ERR_OK;
}

static enum err metrics_parse(const char *text, struct arena *arena, struct task_report *out,
                              struct fault *fault)
{
    json_t *list = NULL;
    struct fault inner = FAULT_NONE;
    if (json_text_parse(text, strlen(text), &list, &inner))
        return fault_set(fault, ERR_INVALID_FIELD, "metrics", "must be JSON: %s", inner.detail);
    enum err e = metrics_read(list, arena, out, fault);
    json_decref(list);
    return e;
}

/* A device that diverged has norms past all bounds, or none that is a number; nothing has one below 0. A time
 * is finite, too. */
static enum err numbers_check(const struct task_report *r, struct fault *fault)
{
    const struct {
        const char *name;
        double value;
        bool is_time;
    } numbers[] = {{"grad_norm_start", r->grad_norm_start, false},
                   {"grad_norm_end", r->grad_norm_end, false},
                   {"gamma", r->gamma, false},
                   {"update_norm", r->update_norm, false},
                   {"compute_ms", r->compute_ms, true},
                   {"download_ms", r->download_ms, true}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value < 0 || (numbers[i].is_time && isinf(numbers[i].value)))
            return fault_set(fault, ERR_INVALID_FIELD, numbers[i].name, "must be %sat least 0, but is %.17g",
                             numbers[i].is_time ? "finite and " : "", numbers[i].value);
    return ERR_OK;
}

static enum err report_check(const struct task_report *r, struct fault *fault)
{
    static const char *const reasons[] = {"", STOP_REASON_COMPLETED, STOP_REASON_BUDGET, STOP_REASON_DEADLINE,
                                          STOP_REASON_ASKED};
    if (strcmp(r->content, UPDATE_CONTENT_WEIGHTS) != 0 && strcmp(r->content, UPDATE_CONTENT_DELTA) != 0)
        return fault_set(fault, ERR_INVALID_FIELD, "content",
                         "must be \"weights\" or \"delta\", but is \"%s\"", r->content);
    if (*r->encoding && strcmp(r->encoding, "none") != 0)
        return fault_set(fault, ERR_INVALID_FIELD, "encoding", "must be \"none\", but is \"%s\"",
                         r->encoding);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(r->stop_reason, reasons[i]) == 0)
            return numbers_check(r, fault);
    return fault_set(fault, ERR_INVALID_FIELD, "stop_reason",
                     "must be \"completed\", \"budget\", \"deadline\" or \"asked\", but is \"%s\"",
                     r->stop_reason);
}

enum err task_report_parse(const struct safetensors_pair *pairs, size_t n, bool strict, struct arena *arena,
                           struct task_report *out, struct fault *fault)
{
    task_report_init(out);
    for (size_t i = 0; i < n; i++) {
        const struct meta_field *field = NULL;
        for (size_t k = 0; k < NUM_META_FIELDS && !field; k++)
            if (strcmp(meta_fields[k].name, pairs[i].key) == 0)
                field = &meta_fields[k];
        enum err e = ERR_OK;
        if (field)
            e = field_parse(field, pairs[i].value, arena, out, fault);
        else if (strcmp(pairs[i].key, "metrics") == 0)
            e = metrics_parse(pairs[i].value, arena, out, fault);
        else if (strict)
            e = fault_set(fault, ERR_UNKNOWN_FIELD, pairs[i].key,
                          "is no known field; remove it or correct its name");
        if (e)
            return e;
    }
    return report_check(out, fault);
}

static enum err add_field(json_t *obj, const struct meta_field *f, const struct task_report *r)
{
    const char *member = (const char *)r + f->offset;
    int64_t i;
    double d;
    const char *text;
    json_t *value = NULL;
    switch (f->kind) {
    case META_INT:
        memcpy(&i, member, sizeof i);
        if (i < 0)
            return ERR_OK;
        value = json_num_int(i);
        break;
    case META_NUM:
        memcpy(&d, member, sizeof d);
        if (!task_report_has(r, (const double *)(const void *)member))
            return ERR_OK;
        value = json_num(d);
        break;
    case META_TEXT:
    case META_U64:
        memcpy(&text, member, sizeof text);
        if (!*text)
            return ERR_OK;
        value = json_string(text);
        break;
    }
    return json_object_set_new(obj, f->name, value) ? ERR_NO_MEMORY : ERR_OK;
}

json_t *task_report_json(const struct task_report *r)
{
    json_t *obj = json_object(), *list = r->num_metrics > 0 ? json_array() : NULL;
    bool ok = obj != NULL && (list || r->num_metrics == 0);
    for (size_t i = 0; i < NUM_META_FIELDS && ok; i++)
        ok = add_field(obj, &meta_fields[i], r) == ERR_OK;
    for (size_t i = 0; i < r->num_metrics && ok; i++)
        ok = !json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "name", r->metrics[i].name, "value",
                                                    json_num(r->metrics[i].value), "weight",
                                                    json_num(r->metrics[i].weight)));
    if (ok && list)
        ok = !json_object_set(obj, "metrics", list);
    json_decref(list);
    if (ok)
        return obj;
    json_decref(obj);
    return NULL;
}

enum err task_report_text(struct work *w, const struct task_report *r, const char **out)
{
    *out = "";
    return w->core->is_simulated ? ERR_OK : json_to_arena(w->arena, task_report_json(r), out);
}
