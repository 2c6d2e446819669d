#include "common/data/table_source.h"

#include "common/data/partition.h"
#include "common/data/vocabulary.h"

enum err table_load(const json_t *data, const struct json_field *fields, size_t num_fields, table_read *read,
                    uint64_t seed, struct loaded *out, struct fault *fault)
{
    struct table_params p = {.table = {.text_index = -1}};
    struct table t = {
        .rows = COLLECTOR_INIT("data.path"), .out = out, .arena = ARENA_INIT(GIB), .fault = fault};
    enum err err =
        json_spec_parse(data, fields, num_fields, JSON_REFUSE_UNKNOWN, "data.", &t.arena, &p, fault);
    t.fields = p.table;
    t.words.steps = t.fields.tokens > 0 ? (size_t)t.fields.tokens : TABLE_TOKENS_DEFAULT;
    if (err == ERR_OK)
        err = classes_parse(t.fields.classes, &t.classes, fault);
    if (err == ERR_OK)
        err = standardise_parse(t.fields.standardise, &out->standardise, fault);
    if (err == ERR_OK)
        err = read(&t, seed);
    if (err == ERR_OK && t.fields.vocabulary && !*out->vocabulary_sha256)
        err = vocabulary_of_numbers(t.fields.vocabulary, out, fault);
    classes_release(&t.classes);
    csv_layout_release(&t.layout);
    words_release(&t.words);
    collector_release(&t.rows);
    arena_release(&t.arena);
    return err;
}

enum err table_finish_devices(struct table *t, enum collector_split split, const uint32_t *order)
{
    const enum err err = classes_finish(&t->classes, &t->rows.pool, t->fault);
    return err == ERR_OK ? collector_finish(&t->rows, split, order, t->out, t->fault) : err;
}

static enum err share_out(struct table *t, uint64_t seed)
{
    struct partition partition;
    struct pool *pool = &t->out->pool;
    enum err err = partition_parse(t->fields.partition, "iid", &partition, t->fault);
    if (err == ERR_OK)
        err = classes_finish(&t->classes, &t->rows.pool, t->fault);
    if (err != ERR_OK)
        return err;
    collector_take_pool(&t->rows, pool);
    return partition_run(&partition, &(struct labelled){pool->labels, pool->num_rows, pool->num_classes},
                         seed, &t->out->shares, t->fault);
}

enum err table_finish_one(struct table *t, bool has_test, uint64_t seed)
{
    if (t->fields.partition)
        return share_out(t, seed);
    return table_finish_devices(t, has_test ? COLLECTOR_OWN : COLLECTOR_SHUFFLE, NULL);
}
