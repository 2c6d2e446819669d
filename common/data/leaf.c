/* LEAF (arXiv 1812.01097): JSON files of users and their examples. */
#include "common/data/leaf_file.h"
#include "common/data/path.h"

static const struct json_field fields[] = {
    TABLE_COMMON_FIELDS,
    TABLE_PATH_FIELD(path, .is_required = true),
};

static const char *const endings[] = {".json", ".json.gz", NULL};

static enum err read_directory(struct leaf *l, const char *dir, enum data_split split)
{
    struct table *t = l->table;
    const char **names = NULL;
    size_t count = 0;
    enum err err = path_list(dir, endings, "data.path", &t->arena, &names, &count, t->fault);
    if (err == ERR_OK && count == 0 && split == SPLIT_TRAIN)
        err =
            fault_set(t->fault, ERR_BAD_FILE, "data.path", "%s: has no *.json or *.json.gz", path_shown(dir));
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        const char *path = arena_printf(&t->arena, "%s/%s", dir, names[i]);
        err = path ? leaf_read_file(l, path, split)
                   : fault_set(t->fault, ERR_NO_MEMORY, "data.path", "no memory for the names of the files");
    }
    return err;
}

static enum err read_files(struct leaf *l, const struct path_splits *splits)
{
    if (!splits->train)
        return leaf_read_file(l, l->table->fields.path, SPLIT_TRAIN);
    enum err err = read_directory(l, splits->train, SPLIT_TRAIN);
    if (err == ERR_OK && splits->test)
        err = read_directory(l, splits->test, SPLIT_TEST);
    return err;
}

static enum err read_table(struct table *t, uint64_t seed)
{
    struct leaf leaf = {.table = t};
    struct path_splits splits;
    (void)seed;
    enum err err = path_splits(t->fields.path, "data.path", &t->arena, &splits, t->fault);
    if (err == ERR_OK)
        err = read_files(&leaf, &splits);
    if (err == ERR_OK && t->rows.pool.num_rows == 0)
        err =
            fault_set(t->fault, ERR_BAD_FILE, "data.path", "%s: has no example", path_shown(t->fields.path));
    if (err == ERR_OK)
        err = table_finish_devices(t, splits.test ? COLLECTOR_OWN : COLLECTOR_SHUFFLE, leaf.order);
    leaf_release(&leaf);
    return err;
}

enum err source_leaf(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    return table_load(data, fields, sizeof fields / sizeof *fields, read_table, seed, out, fault);
}
