#include "common/data/npy_table.h"
#include "common/data/path.h"
#include "common/data/table_source.h"

static const struct json_field fields[] = {
    TABLE_COMMON_FIELDS,
    TABLE_PATH_FIELD(path, .is_required = false),
    TABLE_PATH_FIELD(x, .is_required = false),
    TABLE_PATH_FIELD(y, .is_required = false),
    TABLE_PATH_FIELD(test_x, .is_required = false),
    TABLE_PATH_FIELD(test_y, .is_required = false),
    TABLE_FIELD(partition, "partition", JSON_FIELD_OBJECT, .min = 0),
};

static enum err check(const struct table_fields *f, struct fault *fault)
{
    const bool has_arrays = f->x || f->y || f->test_x || f->test_y;
    if (f->path && has_arrays)
        return fault_set(fault, ERR_INVALID_FIELD, "data.path",
                         "an .npz archive has all arrays in it; give path, or x and y");
    if (!f->path && !has_arrays)
        return fault_set(fault, ERR_MISSING_FIELD, "data.x",
                         "give x and y, two .npy files, or path, an .npz archive with x and y");
    if (!f->path && (!f->x || !f->y))
        return fault_set(fault, ERR_MISSING_FIELD, f->x ? "data.y" : "data.x",
                         "x and y go together: the examples and their labels");
    if (!f->test_x != !f->test_y)
        return fault_set(fault, ERR_MISSING_FIELD, f->test_x ? "data.test_y" : "data.test_x",
                         "test_x and test_y go together: give both or neither");
    return ERR_OK;
}

static enum err read_pair(struct table *t, const char *x_path, const char *x_field, const char *y_path,
                          const char *y_field, const struct npy_target *target)
{
    struct npy x = {0}, y = {0};
    enum err err = npy_open(x_path, x_field, &x, t->fault);
    if (err == ERR_OK)
        err = npy_open(y_path, y_field, &y, t->fault);
    if (err == ERR_OK)
        err = npy_rows(&x, &y, target, &t->classes, &t->rows, t->fault);
    npy_close(&x);
    npy_close(&y);
    return err;
}

static enum err read_archive(struct table *t, const struct npy_target *train, const struct npy_target *test,
                             bool *out_has_test)
{
    struct npz z;
    enum err err = npz_open(t->fields.path, "data.path", &z, t->fault);
    if (err != ERR_OK)
        return err;
    *out_has_test = npz_has(&z, "test_x") || npz_has(&z, "test_y");
    err = npz_rows(&z, "x", "y", train, &t->classes, &t->rows, t->fault);
    if (err == ERR_OK && *out_has_test)
        err = npz_rows(&z, "test_x", "test_y", test, &t->classes, &t->rows, t->fault);
    npz_close(&z);
    return err;
}

static enum err read_table(struct table *t, uint64_t seed)
{
    const struct table_fields *f = &t->fields;
    const char *first_file = NULL;
    const struct npy_target train = {0, SPLIT_TRAIN, &first_file}, test = {0, SPLIT_TEST, &first_file};
    bool has_test = f->test_x != NULL;
    enum err err = check(f, t->fault);
    if (err == ERR_OK)
        err = collector_one_device(&t->rows, t->fault);
    if (err == ERR_OK)
        err = f->path ? read_archive(t, &train, &test, &has_test)
                      : read_pair(t, f->x, "data.x", f->y, "data.y", &train);
    if (err == ERR_OK && f->test_x)
        err = read_pair(t, f->test_x, "data.test_x", f->test_y, "data.test_y", &test);
    return err == ERR_OK ? table_finish_one(t, has_test, seed) : err;
}

enum err source_npy(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    return table_load(data, fields, sizeof fields / sizeof *fields, read_table, seed, out, fault);
}
