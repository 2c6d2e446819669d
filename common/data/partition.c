#include "common/data/partition.h"

#include <stdbool.h>
#include <stdlib.h>
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"

struct partition_row {
    const char *name;
    enum err (*run)(const struct labelled *in, const struct partition_params *params, uint64_t seed,
                    struct shares *out, struct fault *fault);
    struct partition_params defaults;
    const struct json_field *fields;
    size_t num_fields;
    /* What the table of fields cannot say; NULL: nothing. */
    enum err (*check)(const struct partition_params *params, struct fault *fault);
};

struct partition_fields {
    const char *name;
    struct partition_params params;
};

#define FIELD_NAME JSON_FIELD(struct partition_fields, name, JSON_FIELD_TEXT, .max = LIMIT_NAME)
#define FIELD_NUMBER(member, field_kind, ...)                                                                \
    {                                                                                                        \
        .name = #member, .kind = (field_kind), .offset = offsetof(struct partition_fields, params.member),   \
        .is_set_offset = -1, __VA_ARGS__                                                                     \
    }
#define FIELD_COUNT(member, least, most) FIELD_NUMBER(member, JSON_FIELD_INT, .min = (least), .max = (most))

#define FIELD_DEVICES FIELD_COUNT(devices, 1, LIMIT_DEVICES_PER_RUN)
static const struct json_field even_fields[] = {FIELD_NAME, FIELD_DEVICES};
static const struct json_field shard_fields[] = {FIELD_NAME, FIELD_DEVICES,
                                                 FIELD_COUNT(shards_per_device, 1, 1000000)};
static const struct json_field dirichlet_fields[] = {FIELD_NAME, FIELD_DEVICES,
                                                     FIELD_NUMBER(alpha, JSON_FIELD_DOUBLE, .min = 0),
                                                     FIELD_COUNT(min_examples, 2, 1000000000)};

static enum err check_dirichlet(const struct partition_params *params, struct fault *fault)
{
    if (params->alpha > 0)
        return ERR_OK;
    return fault_set(fault, ERR_INVALID_FIELD, "data.partition.alpha",
                     "must be above 0, but is %g: 0.1 gives each device few classes, 100 all classes alike",
                     params->alpha);
}

#define FIELDS(table) .fields = (table), .num_fields = sizeof(table) / sizeof *(table)
static const struct partition_row rows[] = {
    {"paper_label_shards", partition_paper_label_shards, {.devices = 1000}, FIELDS(even_fields)},
    {"label_shards", partition_label_shards, {.devices = 100, .shards_per_device = 2}, FIELDS(shard_fields)},
    {"iid", partition_iid, {.devices = 100}, FIELDS(even_fields)},
    {"dirichlet",
     partition_dirichlet,
     {.devices = 100, .alpha = 0.5, .min_examples = 10},
     FIELDS(dirichlet_fields),
     .check = check_dirichlet},
};

static const struct partition_row *find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(rows[i].name, name))
            return &rows[i];
    return NULL;
}

enum err partition_parse(const json_t *obj, const char *default_name, struct partition *out,
                         struct fault *fault)
{
    const char *name = default_name;
    if (obj && !json_is_object(obj))
        return fault_set(fault, ERR_INVALID_FIELD, "data.partition",
                         "must be an object, such as {\"name\": \"iid\", \"devices\": 100}");
    if (obj && json_object_get(obj, "name"))
        name = json_string_value(json_object_get(obj, "name"));
    out->row = find(name);
    if (!out->row)
        return fault_set(fault, ERR_INVALID_FIELD, "data.partition.name",
                         "%s; the partitions are paper_label_shards, label_shards, iid and dirichlet",
                         name ? "no such partition" : "must be a text");
    struct partition_fields fields = {.params = out->row->defaults};
    struct arena arena = ARENA_INIT(64 * KIB);
    enum err err = ERR_OK;
    if (obj)
        err = json_spec_parse(obj, out->row->fields, out->row->num_fields, JSON_REFUSE_UNKNOWN,
                              "data.partition.", &arena, &fields, fault);
    arena_release(&arena);
    if (err == ERR_OK && out->row->check)
        err = out->row->check(&fields.params, fault);
    out->params = fields.params;
    return err;
}

enum err partition_run(const struct partition *p, const struct labelled *in, uint64_t seed,
                       struct shares *out, struct fault *fault)
{
    const size_t devices = (size_t)p->params.devices;
    if (devices > in->num_rows / 2)
        return fault_set(
            fault, ERR_INVALID_FIELD, "data.partition.devices",
            "%zu devices need at least two examples each, one to train and one to test, but there are "
            "%zu examples: give at most %zu devices",
            devices, in->num_rows, in->num_rows / 2);
    return p->row->run(in, &p->params, seed, out, fault);
}

void rows_by_label(const struct labelled *in, uint32_t *out_rows, size_t *out_first)
{
    const size_t classes = (size_t)in->num_classes;
    for (size_t l = 0; l <= classes; l++)
        out_first[l] = 0;
    for (size_t i = 0; i < in->num_rows; i++)
        out_first[in->labels[i] + 1]++;
    for (size_t l = 0; l < classes; l++)
        out_first[l + 1] += out_first[l];
    /* first[l] runs through the rows of l and ends where l + 1 began, so one shift puts it back. */
    for (size_t i = 0; i < in->num_rows; i++)
        out_rows[out_first[in->labels[i]]++] = (uint32_t)i;
    for (size_t l = classes; l > 0; l--)
        out_first[l] = out_first[l - 1];
    out_first[0] = 0;
}
