#include "server/store/memory/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct memory_row *index_row(const struct memory_index *index, const struct tree_node *node)
{
    const struct tree_node *first = node - index->place;
    return (struct memory_row *)((char *)(uintptr_t)first - offsetof(struct memory_row, nodes));
}

int column_compare(const struct record_column *c, const void *a, const void *b)
{
    if (c->type == COLUMN_TEXT)
        return strcmp(row_text(c, a), row_text(c, b));
    if (c->type == COLUMN_INT) {
        int64_t x = row_int(c, a), y = row_int(c, b);
        return (x > y) - (x < y);
    }
    double x = row_real(c, a), y = row_real(c, b);
    if (isnan(x) || isnan(y))
        return isnan(y) - isnan(x);
    return (x > y) - (x < y);
}

static int compare_nodes(const void *ctx, const struct tree_node *a, const struct tree_node *b)
{
    const struct memory_index *index = ctx;
    const void *x = index_row(index, a)->row, *y = index_row(index, b)->row;
    for (size_t i = 0; i < index->num_columns; i++) {
        int c = column_compare(index->columns[i], x, y);
        if (c)
            return c;
    }
    return 0;
}

/* Rows that agree with `row` in the index's first columns. */
struct same {
    const struct memory_index *index;
    size_t num_columns;
    const void *row;
};

static int place_same(const void *ctx, const struct tree_node *node)
{
    const struct same *s = ctx;
    const void *row = index_row(s->index, node)->row;
    for (size_t i = 0; i < s->num_columns; i++) {
        int c = column_compare(s->index->columns[i], row, s->row);
        if (c)
            return c;
    }
    return 0;
}

static struct memory_row *find_by_key(struct memory_table *t, const void *row)
{
    struct same s = {.index = &t->indexes[0], .num_columns = record_types[t->kind].num_keys, .row = row};
    struct tree_node *node = tree_find(&t->indexes[0].tree, place_same, &s);
    return node ? index_row(&t->indexes[0], node) : NULL;
}

const void *table_get(struct memory_table *t, const void *row)
{
    struct memory_row *r = find_by_key(t, row);
    return r ? r->row : NULL;
}

/* Whether a row other than `except` has the unique columns of `row`. */
static bool is_taken(struct memory_table *t, const void *row, const struct memory_row *except)
{
    size_t count;
    const struct unique_type *uniques = schema_uniques(t->kind, &count);
    for (size_t i = 0; i < count; i++) {
        const struct unique_type *u = &uniques[i];
        if (u->where_zero && row_int(u->where_zero, row) != 0)
            continue;
        /* The condition's column follows in the index, and is 0 in `row` too. */
        struct same same = {&t->indexes[1 + i], u->num_columns + (u->where_zero ? 1 : 0), row};
        struct tree_node *node = tree_find(&t->indexes[1 + i].tree, place_same, &same);
        if (node && index_row(&t->indexes[1 + i], node) != except)
            return true;
    }
    return false;
}

static void *row_copy(enum record_kind kind, const void *row)
{
    const struct record_type *type = &record_types[kind];
    size_t size = type->row_size;
    for (size_t i = 0; i < type->num_columns; i++)
        if (type->columns[i].type == COLUMN_TEXT)
            size += strlen(row_text(&type->columns[i], row)) + 1;
    char *copy = malloc(size);
    if (!copy)
        return NULL;
    memcpy(copy, row, type->row_size);
    char *text = copy + type->row_size;
    for (size_t i = 0; i < type->num_columns; i++) {
        const struct record_column *c = &type->columns[i];
        if (c->type == COLUMN_REAL)
            row_set_real(c, copy, row_real(c, row));
        if (c->type != COLUMN_TEXT)
            continue;
        size_t n = strlen(row_text(c, row)) + 1;
        memcpy(text, row_text(c, row), n);
        row_set_text(c, copy, text);
        text += n;
    }
    return copy;
}

static struct memory_row *place_new(struct memory_table *t)
{
    struct memory_row *r = malloc(sizeof *r + t->num_indexes * sizeof r->nodes[0]);
    for (size_t i = 0; r && i < t->num_indexes; i++) {
        uint64_t x = (++t->num_made) * 0x9e3779b97f4a7c15U;
        x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
        r->nodes[i].priority = (uint32_t)(x >> 32);
    }
    return r;
}

static bool is_same_place(const struct memory_index *index, const void *a, const void *b)
{
    for (size_t i = 0; i < index->num_columns; i++)
        if (column_compare(index->columns[i], a, b))
            return false;
    return true;
}

/* From one struct to another, either of which may be NULL. Only in indexes where they differ does anything
 * move. */
static void move(struct memory_table *t, struct memory_row *r, const void *from, void *to)
{
    bool moves[TABLE_MAX_INDEXES] = {false};
    for (size_t i = 0; i < t->num_indexes; i++) {
        moves[i] = !from || !to || !is_same_place(&t->indexes[i], from, to);
        if (moves[i] && from)
            tree_remove(&t->indexes[i].tree, &r->nodes[i]);
    }
    if (!to)
        return;
    r->row = to;
    for (size_t i = 0; i < t->num_indexes; i++)
        if (moves[i])
            tree_insert(&t->indexes[i].tree, &r->nodes[i], compare_nodes, &t->indexes[i]);
}

static enum err reserve(struct memory_undo *undo)
{
    if (undo->count < undo->capacity)
        return ERR_OK;
    size_t capacity = undo->capacity ? 2 * undo->capacity : 64;
    struct memory_change *grown = realloc(undo->changes, capacity * sizeof *grown);
    if (!grown)
        return ERR_NO_MEMORY;
    undo->changes = grown;
    undo->capacity = capacity;
    return ERR_OK;
}

/* old NULL: a new row; row NULL: `old` goes. */
static enum err change(struct memory_table *t, struct memory_row *old, const void *row,
                       struct memory_undo *undo)
{
    enum err e = reserve(undo);
    if (e)
        return e;
    void *after = row ? row_copy(t->kind, row) : NULL;
    struct memory_row *place = old ? old : place_new(t);
    if ((row && !after) || !place) {
        free(after);
        if (!old)
            free(place);
        return ERR_NO_MEMORY;
    }
    void *before = old ? old->row : NULL;
    move(t, place, before, after);
    undo->changes[undo->count++] = (struct memory_change){t, place, before, after};
    return ERR_OK;
}

static void note_number(struct memory_table *t, const void *row)
{
    if (!schema_numbers_rows(t->kind))
        return;
    int64_t number = row_int(&record_types[t->kind].columns[0], row);
    if (number > t->last_number)
        t->last_number = number;
}

enum err table_insert(struct memory_table *t, void *row, struct memory_undo *undo)
{
    const struct record_column *key = &record_types[t->kind].columns[0];
    bool needs_number = schema_numbers_rows(t->kind) && row_int(key, row) == 0;
    if (needs_number && t->last_number == INT64_MAX)
        return ERR_STORAGE_FULL;
    if (needs_number)
        row_set_int(key, row, t->last_number + 1);
    enum err e = find_by_key(t, row) || is_taken(t, row, NULL) ? ERR_CONFLICT : change(t, NULL, row, undo);
    if (!e)
        note_number(t, row);
    else if (needs_number)
        row_set_int(key, row, 0);
    return e;
}

static void check_fixed(const struct memory_table *t, const void *old, const void *row)
{
    const struct record_type *type = &record_types[t->kind];
    for (size_t i = 0; i < type->num_columns; i++) {
        const struct record_column *c = &type->columns[i];
        if (!schema_is_fixed(t->kind, i))
            continue;
        bool is_same = c->type == COLUMN_TEXT ? strcmp(row_text(c, old), row_text(c, row)) == 0
                                              : row_int(c, old) == row_int(c, row);
        if (!is_same)
            bug("an update changes %s.%s, which only a put may", type->table, c->name);
    }
}

enum err table_update(struct memory_table *t, const void *row, struct memory_undo *undo)
{
    struct memory_row *old = find_by_key(t, row);
    if (!old)
        return ERR_NOT_FOUND;
    check_fixed(t, old->row, row);
    return is_taken(t, row, old) ? ERR_CONFLICT : change(t, old, row, undo);
}

enum err table_put(struct memory_table *t, const void *row, struct memory_undo *undo)
{
    struct memory_row *old = find_by_key(t, row);
    enum err e = is_taken(t, row, old) ? ERR_CONFLICT : change(t, old, row, undo);
    if (!e)
        note_number(t, row);
    return e;
}

enum err table_remove(struct memory_table *t, const void *row, struct memory_undo *undo)
{
    struct memory_row *old = find_by_key(t, row);
    return old ? change(t, old, NULL, undo) : ERR_NOT_FOUND;
}

void undo_commit(struct memory_undo *undo)
{
    for (size_t i = 0; i < undo->count; i++) {
        const struct memory_change *c = &undo->changes[i];
        free(c->before);
        if (!c->after)
            free(c->place);
    }
    undo->count = 0;
}

void undo_rollback(struct memory_undo *undo)
{
    while (undo->count) {
        const struct memory_change *c = &undo->changes[--undo->count];
        move(c->table, c->place, c->after, c->before);
        free(c->after);
        if (!c->before)
            free(c->place);
    }
}

void undo_release(struct memory_undo *undo)
{
    free(undo->changes);
    *undo = (struct memory_undo){0};
}

static void free_rows(const struct memory_index *key, struct tree_node *node)
{
    while (node) {
        struct tree_node *right = node->right;
        free_rows(key, node->left);
        struct memory_row *r = index_row(key, node);
        free(r->row);
        free(r);
        node = right;
    }
}

void table_release(struct memory_table *t)
{
    free_rows(&t->indexes[0], t->indexes[0].tree.root);
    *t = (struct memory_table){0};
}
