/* Texts with a label each, in a CSV file; word vectors stand for their words. */
#include "common/data/path.h"
#include "common/data/table_source.h"

static const struct json_field fields[] = {
    SOURCE_COMMON_FIELDS(struct table_params),
    TABLE_FIELD(classes, "classes", JSON_FIELD_ANY, .min = 0),
    TABLE_PATH_FIELD(path, .is_required = true),
    TABLE_PATH_FIELD(test_path, .is_required = false),
    TABLE_FIELD(csv.label, "label", JSON_FIELD_TEXT, .max = LIMIT_TEXT),
    TABLE_FIELD(csv.text, "text", JSON_FIELD_TEXT, .max = LIMIT_TEXT),
    TABLE_FIELD(csv.device, "device", JSON_FIELD_TEXT, .max = LIMIT_TEXT),
    TABLE_FIELD(csv.delimiter, "delimiter", JSON_FIELD_TEXT, .max = LIMIT_TEXT),
    TABLE_FIELD(partition, "partition", JSON_FIELD_OBJECT, .min = 0),
    TABLE_WORD_FIELDS(true),
};

static enum err read_table(struct table *t, uint64_t seed)
{
    struct csv_fields *csv = &t->fields.csv;
    csv->label = csv->label ? csv->label : "label";
    csv->text = csv->text ? csv->text : "text";
    classes_of_sentiment(&t->classes);
    csv->words = &t->words;
    t->rows.are_texts = true;
    if (path_is_directory(t->fields.path))
        return fault_set(
            t->fault, ERR_BAD_FILE, "data.path",
            "%s: is a directory; all texts must be in one file, whose column data.device says whose "
            "they are",
            path_shown(t->fields.path));
    const enum err err = table_read_csv(t, seed);
    return err == ERR_OK ? words_finish(&t->words, t->fields.vectors, t->out, t->fault) : err;
}

enum err source_sentiment(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    return table_load(data, fields, sizeof fields / sizeof *fields, read_table, seed, out, fault);
}
