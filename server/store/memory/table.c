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
    struct tree_node *node = tree_find(t->indexes[0].root, place_same, &s);
    return node ? index_row(&t->indexes[0], node) : NULL;
}

const void *table_get(struct memory_table *t, const void *row)
{
    struct memory_row *r = find_by_key(t, row);
    return r ? r->row : NULL;
}

struct clash {
    const struct same *same;
    const struct memory_row *except;
    bool is_found;
};

static bool visit_same(void *ctx, struct tree_node *node)
{
    struct clash *clash = ctx;
    const struct memory_row *r = index_row(clash->same->index, node);
    clash->is_found = r != clash->except;
    return !clash->is_found;
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
        struct clash clash = {.same = &same, .except = except};
        (void)tree_walk(t->indexes[1 + i].root, false, place_same, &same, visit_same, &clash);
        if (clash.is_found)
            return true;
    }
    return false;
}

static struct memory_row *row_new(struct memory_table *t, const void *row)
{
    const struct record_type *type = &record_types[t->kind];
    size_t head = sizeof(struct memory_row) + t->num_indexes * sizeof(struct tree_node);
    size_t size = head + type->row_size;
    for (size_t i = 0; i < type->num_columns; i++)
        if (type->columns[i].type == COLUMN_TEXT)
            size += strlen(row_text(&type->columns[i], row)) + 1;
    struct memory_row *r = malloc(size);
    if (!r)
        return NULL;
    r->row = (char *)r + head;
    memcpy(r->row, row, type->row_size);
    char *text = (char *)r->row + type->row_size;
    for (size_t i = 0; i < type->num_columns; i++) {
        const struct record_column *c = &type->columns[i];
        if (c->type == COLUMN_REAL)
            row_set_real(c, r->row, row_real(c, row));
        if (c->type != COLUMN_TEXT)
            continue;
        size_t n = strlen(row_text(c, row)) + 1;
        memcpy(text, row_text(c, row), n);
        row_set_text(c, r->row, text);
        text += n;
    }
    for (size_t i = 0; i < t->num_indexes; i++) {
        uint64_t x = (++t->num_made) * 0x9e3779b97f4a7c15U;
        x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
        r->nodes[i].priority = (uint32_t)(x >> 32);
    }
    return r;
}

static void link_row(struct memory_table *t, struct memory_row *r)
{
    for (size_t i = 0; r && i < t->num_indexes; i++)
        tree_insert(&t->indexes[i].root, &r->nodes[i], compare_nodes, &t->indexes[i]);
}

static void unlink_row(struct memory_table *t, struct memory_row *r)
{
    for (size_t i = 0; r && i < t->num_indexes; i++)
        tree_remove(&t->indexes[i].root, &r->nodes[i], compare_nodes, &t->indexes[i]);
}

static enum err change(struct memory_table *t, struct memory_row *removed, const void *row,
                       struct memory_undo *undo)
{
    if (undo->count == undo->capacity) {
        size_t capacity = undo->capacity ? 2 * undo->capacity : 64;
        struct memory_change *grown = realloc(undo->changes, capacity * sizeof *grown);
        if (!grown)
            return ERR_NO_MEMORY;
        undo->changes = grown;
        undo->capacity = capacity;
    }
    struct memory_row *added = NULL;
    if (row) {
        added = row_new(t, row);
        if (!added)
            return ERR_NO_MEMORY;
    }
    unlink_row(t, removed);
    link_row(t, added);
    undo->changes[undo->count++] = (struct memory_change){t, removed, added};
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

enum err table_update(struct memory_table *t, const void *row, struct memory_undo *undo)
{
    struct memory_row *old = find_by_key(t, row);
    if (!old)
        return ERR_NOT_FOUND;
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
    for (size_t i = 0; i < undo->count; i++)
        free(undo->changes[i].removed);
    undo->count = 0;
}

void undo_rollback(struct memory_undo *undo)
{
    while (undo->count) {
        struct memory_change *c = &undo->changes[--undo->count];
        unlink_row(c->table, c->added);
        link_row(c->table, c->removed);
        free(c->added);
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
        free(index_row(key, node));
        node = right;
    }
}

void table_release(struct memory_table *t)
{
    free_rows(&t->indexes[0], t->indexes[0].root);
    *t = (struct memory_table){0};
}
