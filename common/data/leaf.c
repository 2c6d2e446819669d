/* LEAF (arXiv 1812.01097): JSON files of users and their examples. */
#include "common/data/leaf_file.h"
#include "common/data/path.h"

static const struct json_field fields[] = {
    TABLE_COMMON_FIELDS,
    TABLE_PATH_FIELD(path, .is_required = true),
    TABLE_FIELD(unknown, "unknown", JSON_FIELD_ANY, .min = 0),
    TABLE_WORD_FIELDS(false),
    TABLE_FIELD(text_index, "text_index", JSON_FIELD_INT, .min = 0, .max = 1000),
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

/* A field that is for texts of another kind, or for no texts at all; NULL: none. */
static const char *idle_field(const struct table_fields *f, enum leaf_kind kind)
{
    if (kind == LEAF_WORDS && f->vocabulary)
        return "data.vocabulary";
    if (kind != LEAF_CHARACTERS && f->unknown)
        return "data.unknown";
    if (kind != LEAF_WORDS && f->tokens > 0)
        return "data.tokens";
    if (kind != LEAF_WORDS && f->text_index >= 0)
        return "data.text_index";
    return kind == LEAF_CHARACTERS && f->classes ? "data.classes" : NULL;
}

static enum err check_kind(const struct leaf *l)
{
    static const char *const names[] = {"numbers", "numbers", "characters", "words"};
    const char *field = idle_field(&l->table->fields, l->kind);
    if (!field)
        return ERR_OK;
    return fault_set(l->table->fault, ERR_INVALID_FIELD, field, "has no meaning here: the examples are %s",
                     names[l->kind]);
}

static enum err finish_characters(struct leaf *l)
{
    struct loaded *out = l->table->out;
    struct pool *pool = &out->pool;
    enum err err =
        vocabulary_finish(&l->vocabulary, &l->tokens, pool->labels, pool->num_rows, l->table->fault);
    if (err == ERR_OK)
        err = vocabulary_tell(&l->vocabulary, out, l->table->fault);
    if (err != ERR_OK)
        return err;
    token_list_shrink(&l->tokens);
    pool->num_classes = (int)out->num_tokens;
    pool->text =
        (struct pool_text){.tokens = l->tokens, .steps = pool->num_features, .apart = pool->num_features};
    l->tokens = (struct token_list){0};
    return ERR_OK;
}

static enum err finish(struct leaf *l, bool has_test)
{
    struct table *t = l->table;
    enum err err = check_kind(l);
    if (err == ERR_OK)
        err = table_finish_devices(t, has_test ? COLLECTOR_OWN : COLLECTOR_SHUFFLE, l->order);
    if (err == ERR_OK && l->kind == LEAF_CHARACTERS)
        err = finish_characters(l);
    if (err == ERR_OK && l->kind == LEAF_WORDS)
        err = words_finish(&t->words, t->fields.vectors, t->out, t->fault);
    return err;
}

static enum err read_table(struct table *t, uint64_t seed)
{
    struct leaf leaf = {.table = t};
    struct path_splits splits;
    (void)seed;
    if (t->fields.vectors) {
        leaf.kind = LEAF_WORDS;
        leaf.text_index = t->fields.text_index >= 0 ? t->fields.text_index : TABLE_TEXT_INDEX_DEFAULT;
        t->rows.are_texts = true;
        classes_of_sentiment(&t->classes);
    }
    enum err err = vocabulary_init(t->fields.vocabulary, t->fields.unknown, &leaf.vocabulary, t->fault);
    if (err == ERR_OK)
        err = path_splits(t->fields.path, "data.path", &t->arena, &splits, t->fault);
    if (err == ERR_OK)
        err = read_files(&leaf, &splits);
    if (err == ERR_OK && t->rows.pool.num_rows == 0)
        err =
            fault_set(t->fault, ERR_BAD_FILE, "data.path", "%s: has no example", path_shown(t->fields.path));
    if (err == ERR_OK)
        err = finish(&leaf, splits.test != NULL);
    leaf_release(&leaf);
    return err;
}

enum err source_leaf(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    return table_load(data, fields, sizeof fields / sizeof *fields, read_table, seed, out, fault);
}
