/* One file per device. */
#include <string.h>
#include "common/data/npy_table.h"
#include "common/data/path.h"
#include "common/data/table_source.h"

static const struct json_field fields[] = {
    TABLE_COMMON_FIELDS,
    TABLE_PATH_FIELD(path, .is_required = true),
    TABLE_CSV_FIELDS(false),
};

static const char *const endings[] = {".csv", ".csv.gz", ".npz", NULL};

struct reading {
    struct table *table;
    const char *first_name; /* of the first file, for the format of all */
    const char *first_npz;
};

static size_t stem_length(const char *name)
{
    for (size_t i = 0; endings[i]; i++)
        if (path_ends_in(name, endings[i]))
            return strlen(name) - strlen(endings[i]);
    return strlen(name);
}

static enum err find_device(struct table *t, const char *path, const char *name, enum data_split split,
                            size_t *out)
{
    const size_t len = stem_length(name), before = t->rows.devices.count;
    if (split == SPLIT_TEST) {
        *out = name_find(&t->rows.devices, name, len);
        if (*out != NAME_NONE)
            return ERR_OK;
        return fault_set(t->fault, ERR_BAD_FILE, "data.path",
                         "%s: there is no file of that device in train/; a device needs data to train on",
                         path_shown(path));
    }
    const enum err err = collector_device(&t->rows, name, len, out, t->fault);
    if (err == ERR_BAD_FILE)
        return fault_set(t->fault, err, "data.path",
                         "%s: the name is no device's: it must have 1 to %d bytes of UTF-8 in one line",
                         path_shown(path), LIMIT_NAME);
    if (err == ERR_OK && *out < before)
        return fault_set(t->fault, ERR_BAD_FILE, "data.path", "%s: there is another file of device \"%.*s\"",
                         path_shown(path), (int)len, name);
    return err;
}

static enum err check_format(struct reading *r, const char *path, const char *name)
{
    struct table *t = r->table;
    const bool is_npz = path_ends_in(name, ".npz");
    if (r->first_name && path_ends_in(r->first_name, ".npz") != is_npz)
        return fault_set(t->fault, ERR_BAD_FILE, "data.path",
                         "%s: is no %s file as %s is; put files of one format into the directory",
                         path_shown(path), is_npz ? "CSV" : ".npz", r->first_name);
    if (r->first_name)
        return ERR_OK;
    r->first_name = name;
    if (!is_npz && !t->fields.csv.label)
        return fault_set(t->fault, ERR_MISSING_FIELD, "data.label",
                         "name the column of the labels in the CSV files");
    if (is_npz && (t->fields.csv.label || t->fields.csv.features || t->fields.csv.delimiter))
        return fault_set(t->fault, ERR_INVALID_FIELD,
                         t->fields.csv.label      ? "data.label"
                         : t->fields.csv.features ? "data.features"
                                                  : "data.delimiter",
                         "is for CSV files; the files of %s are .npz", path_shown(t->fields.path));
    return is_npz ? ERR_OK : csv_layout_init(&t->fields.csv, &t->layout, t->fault);
}

static enum err read_npz(struct reading *r, const char *path, size_t device, enum data_split split)
{
    struct table *t = r->table;
    struct npz z;
    const struct npy_target target = {device, split, &r->first_npz};
    enum err err = npz_open(path, "data.path", &z, t->fault);
    if (err != ERR_OK)
        return err;
    err = npz_rows(&z, "x", "y", &target, &t->classes, &t->rows, t->fault);
    npz_close(&z);
    return err;
}

static enum err read_file(struct reading *r, const char *dir, const char *name, enum data_split split)
{
    struct table *t = r->table;
    struct csv_target target = {.split = split};
    const char *path = arena_printf(&t->arena, "%s/%s", dir, name);
    if (!path)
        return fault_set(t->fault, ERR_NO_MEMORY, "data.path", "no memory for the names of the files");
    enum err err = check_format(r, path, name);
    if (err == ERR_OK)
        err = find_device(t, path, name, split, &target.device);
    if (err != ERR_OK)
        return err;
    if (path_ends_in(name, ".npz"))
        return read_npz(r, path, target.device, split);
    return csv_read(path, "data.path", &target, &t->layout, &t->classes, &t->rows, t->fault);
}

/* Devices without test data may be all there are; files of other endings are a mistake. */
static enum err check_empty(struct table *t, const char *dir, enum data_split split)
{
    static const char *const any_ending[] = {"", NULL};
    const char **names = NULL;
    size_t count = 0;
    const enum err err = path_list(dir, any_ending, "data.path", &t->arena, &names, &count, t->fault);
    if (err != ERR_OK || (count == 0 && split == SPLIT_TEST))
        return err;
    return fault_set(t->fault, ERR_BAD_FILE, "data.path", "%s: has no *.csv, *.csv.gz or *.npz",
                     path_shown(dir));
}

static enum err read_directory(struct reading *r, const char *dir, enum data_split split)
{
    struct table *t = r->table;
    const char **names = NULL;
    size_t count = 0;
    enum err err = path_list(dir, endings, "data.path", &t->arena, &names, &count, t->fault);
    if (err == ERR_OK && count == 0)
        err = check_empty(t, dir, split);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        err = read_file(r, dir, names[i], split);
    return err;
}

static enum err read_table(struct table *t, uint64_t seed)
{
    struct reading r = {.table = t};
    struct path_splits splits;
    (void)seed;
    enum err err = path_splits(t->fields.path, "data.path", &t->arena, &splits, t->fault);
    if (err == ERR_OK && !splits.train)
        return fault_set(t->fault, ERR_BAD_FILE, "data.path",
                         "%s: is no directory; for a single file choose the source \"csv\" or \"npy\"",
                         path_shown(t->fields.path));
    if (err == ERR_OK)
        err = read_directory(&r, splits.train, SPLIT_TRAIN);
    if (err == ERR_OK && splits.test)
        err = read_directory(&r, splits.test, SPLIT_TEST);
    return err == ERR_OK ? table_finish_devices(t, splits.test ? COLLECTOR_OWN : COLLECTOR_SHUFFLE, NULL)
                         : err;
}

enum err source_directory(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    return table_load(data, fields, sizeof fields / sizeof *fields, read_table, seed, out, fault);
}
