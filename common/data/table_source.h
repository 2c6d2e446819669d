/* What the sources csv, directory, leaf, npy and sentiment share: fields, and what is made of the rows that
 * were read. */
#ifndef FEDLANE_DATA_TABLE_SOURCE_H
#define FEDLANE_DATA_TABLE_SOURCE_H

#include "common/data/classes.h"
#include "common/data/collector.h"
#include "common/data/csv_table.h"
#include "common/data/source.h"
#include "common/data/words.h"

struct table_fields {
    const char *path;
    json_t *classes, *standardise, *partition;
    struct csv_fields csv;
    const char *x, *y, *test_x, *test_y, *test_path;
    /* Of texts. */
    const char *vectors;
    int64_t tokens, text_index; /* 0, -1: not given */
    json_t *vocabulary, *unknown;
};

/* What reading works on. */
struct table {
    struct table_fields fields;
    struct classes classes;
    struct csv_layout layout;
    struct words words;
    struct collector rows;
    struct loaded *out;
    struct arena arena; /* of names of files */
    struct fault *fault;
};

/* The struct of a source's fields has source_common and table_fields as its members `common` and `table`. */
struct table_params {
    struct source_common common;
    struct table_fields table;
};
#define TABLE_FIELD(member_path, field_name, field_kind, ...)                                                \
    SOURCE_FIELD(struct table_params, table.member_path, field_name, field_kind, __VA_ARGS__)
#define TABLE_TOKENS_MAX         65536
#define TABLE_TOKENS_DEFAULT     25 /* words of a tweet: arXiv 1812.06127 */
#define TABLE_TEXT_INDEX_DEFAULT 4  /* of a tweet in LEAF: id, date, query, user, text */
#define TABLE_WORD_FIELDS(is_vectors_required)                                                               \
    TABLE_PATH_FIELD(vectors, .is_required = (is_vectors_required)),                                         \
        TABLE_FIELD(tokens, "tokens", JSON_FIELD_INT, .min = 1, .max = TABLE_TOKENS_MAX)
#define TABLE_PATH_FIELD(member, ...)                                                                        \
    TABLE_FIELD(member, #member, JSON_FIELD_TEXT, .min = 1, .max = 4000, __VA_ARGS__)
#define TABLE_COMMON_FIELDS                                                                                  \
    SOURCE_COMMON_FIELDS(struct table_params), TABLE_FIELD(classes, "classes", JSON_FIELD_ANY, .min = 0),    \
        TABLE_FIELD(vocabulary, "vocabulary", JSON_FIELD_ANY, .min = 0),                                     \
        TABLE_FIELD(standardise, "standardise", JSON_FIELD_ANY, .min = 0)
#define TABLE_CSV_FIELDS(is_label_required)                                                                  \
    TABLE_FIELD(csv.label, "label", JSON_FIELD_TEXT, .max = LIMIT_TEXT, .is_required = (is_label_required)), \
        TABLE_FIELD(csv.delimiter, "delimiter", JSON_FIELD_TEXT, .max = LIMIT_TEXT),                         \
        TABLE_FIELD(csv.features, "features", JSON_FIELD_ARRAY, .min = 0)

/* Parses the fields, calls `read` and releases what is not in *out. */
typedef enum err table_read(struct table *t, uint64_t seed);
enum err table_load(const json_t *data, const struct json_field *fields, size_t num_fields, table_read *read,
                    uint64_t seed, struct loaded *out, struct fault *fault) MUST_CHECK;

/* All of what the source csv does with its fields, which then has made the rows into t->out. */
enum err table_read_csv(struct table *t, uint64_t seed) MUST_CHECK;

/* The rows as the devices' that the collector knows. */
enum err table_finish_devices(struct table *t, enum collector_split split, const uint32_t *order) MUST_CHECK;
/* The rows of one device: shared out by data.partition, if that is there, whatever the split; else that
 * device's, and has_test says whether they have a split of their own. */
enum err table_finish_one(struct table *t, bool has_test, uint64_t seed) MUST_CHECK;

#endif
