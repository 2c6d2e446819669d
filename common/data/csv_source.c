#include "common/data/path.h"
#include "common/data/table_source.h"

static const struct json_field fields[] = {
    TABLE_COMMON_FIELDS,
    TABLE_PATH_FIELD(path, .is_required = true),
    TABLE_PATH_FIELD(test_path, .is_required = false),
    TABLE_CSV_FIELDS(true),
    TABLE_FIELD(csv.device, "device", JSON_FIELD_TEXT, .max = LIMIT_TEXT),
    TABLE_FIELD(partition, "partition", JSON_FIELD_OBJECT, .min = 0),
};

static enum err read_files(struct table *t, size_t device)
{
    const struct csv_target train = {device, SPLIT_TRAIN}, test = {device, SPLIT_TEST};
    enum err err = csv_read(t->fields.path, "data.path", &train, &t->layout, &t->classes, &t->rows, t->fault);
    if (err == ERR_OK && t->fields.test_path)
        err = csv_read(t->fields.test_path, "data.test_path", &test, &t->layout, &t->classes, &t->rows,
                       t->fault);
    return err;
}

enum err table_read_csv(struct table *t, uint64_t seed)
{
    const bool by_column = t->fields.csv.device != NULL;
    if (by_column && t->fields.partition)
        return fault_set(t->fault, ERR_INVALID_FIELD, "data.partition",
                         "data.device says which device owns a row; leave one of the two out");
    if (path_is_directory(t->fields.path))
        return fault_set(t->fault, ERR_BAD_FILE, "data.path",
                         "%s: is a directory; for one file per device choose the source \"directory\"",
                         path_shown(t->fields.path));
    enum err err = csv_layout_init(&t->fields.csv, &t->layout, t->fault);
    if (err == ERR_OK)
        err = by_column ? ERR_OK : collector_one_device(&t->rows, t->fault);
    if (err == ERR_OK)
        err = read_files(t, by_column ? CSV_BY_COLUMN : 0);
    if (err != ERR_OK)
        return err;
    if (by_column)
        return table_finish_devices(t, t->fields.test_path ? COLLECTOR_OWN : COLLECTOR_SHUFFLE, NULL);
    return table_finish_one(t, t->fields.test_path != NULL, seed);
}

enum err source_csv(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    return table_load(data, fields, sizeof fields / sizeof *fields, table_read_csv, seed, out, fault);
}
