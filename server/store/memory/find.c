/* Queries: a walk over the part of an index that the conditions allow. */
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "server/store/memory/table.h"

struct scan {
    const struct query_type *q;
    const struct memory_plan *plan;
    const struct memory_index *index;
    const struct store_value *args;
    size_t stop_at; /* 0: never */
    size_t count;
    bool is_counting;
    const void **rows;
    size_t capacity;
    enum err err;
};

static int compare_value(const struct record_column *c, const void *row, const struct store_value *v)
{
    if (c->type == COLUMN_TEXT)
        return strcmp(row_text(c, row), v->text);
    if (c->type == COLUMN_INT) {
        int64_t x = row_int(c, row);
        return (x > v->integer) - (x < v->integer);
    }
    double x = row_real(c, row);
    return isnan(x) ? -1 : (x > v->real) - (x < v->real);
}

static bool meets(const struct query_condition *c, const void *row, const struct store_value *v)
{
    if (v->type == VALUE_ANY)
        return true;
    /* As in SQL: nothing compares with none. */
    if (c->column->type == COLUMN_REAL && (isnan(row_real(c->column, row)) || isnan(v->real)))
        return false;
    int order = compare_value(c->column, row, v);
    switch (c->op) {
    case QUERY_EQ:
        return order == 0;
    case QUERY_LT:
        return order < 0;
    case QUERY_LE:
        return order <= 0;
    case QUERY_GT:
        return order > 0;
    case QUERY_GE:
        return order >= 0;
    }
    return false;
}

/* The fixed columns, then the bounds on the column that follows them. */
static int place_in_scan(const void *ctx, const struct tree_node *node)
{
    const struct scan *s = ctx;
    const void *row = index_row(s->index, node)->row;
    for (size_t k = 0; k < s->plan->num_fixed; k++) {
        int c = compare_value(s->index->columns[k], row, &s->args[s->plan->fixed_by[k]]);
        if (c)
            return c;
    }
    if (s->plan->num_fixed == s->index->num_columns)
        return 0;
    for (size_t i = 0; i < s->q->num_conditions; i++) {
        const struct query_condition *c = &s->q->conditions[i];
        if (c->column == s->index->columns[s->plan->num_fixed] && !meets(c, row, &s->args[i]) &&
            c->op != QUERY_EQ)
            return c->op == QUERY_GT || c->op == QUERY_GE ? -1 : 1;
    }
    return 0;
}

static bool visit_row(void *ctx, struct tree_node *node)
{
    struct scan *s = ctx;
    const void *row = index_row(s->index, node)->row;
    for (size_t i = 0; i < s->q->num_conditions; i++)
        if (!meets(&s->q->conditions[i], row, &s->args[i]))
            return true;
    if (!s->is_counting && s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 64;
        const void **grown = realloc(s->rows, capacity * sizeof *grown);
        if (!grown) {
            s->err = ERR_NO_MEMORY;
            return false;
        }
        s->rows = grown;
        s->capacity = capacity;
    }
    if (!s->is_counting)
        s->rows[s->count] = row;
    s->count++;
    return s->count != s->stop_at;
}

static void scan_run(struct scan *s, struct memory_table *t, enum query q)
{
    s->q = schema_query(q);
    s->plan = &t->plans[q];
    s->index = &t->indexes[s->plan->index];
    (void)tree_walk(s->index->tree.root, s->q->is_descending, place_in_scan, s, visit_row, s);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct query_type *q = ctx;
    const void *x = *(const void *const *)a, *y = *(const void *const *)b;
    for (size_t i = 0; i < q->num_order; i++) {
        int c = column_compare(q->order[i], x, y);
        if (c)
            return q->is_descending ? -c : c;
    }
    return 0;
}

enum err row_copy_out(enum record_kind kind, const void *from, struct arena *arena, void *to)
{
    const struct record_type *type = &record_types[kind];
    size_t size = 0;
    for (size_t i = 0; i < type->num_columns; i++)
        if (type->columns[i].type == COLUMN_TEXT)
            size += strlen(row_text(&type->columns[i], from)) + 1;
    char *text = arena_alloc(arena, size);
    if (!text)
        return ERR_NO_MEMORY;
    memcpy(to, from, type->row_size);
    for (size_t i = 0; i < type->num_columns; i++) {
        const struct record_column *c = &type->columns[i];
        if (c->type != COLUMN_TEXT)
            continue;
        size_t n = strlen(row_text(c, from)) + 1;
        memcpy(text, row_text(c, from), n);
        row_set_text(c, to, text);
        text += n;
    }
    return ERR_OK;
}

enum err table_find(struct memory_table *t, enum query q, const struct store_value *args, int64_t limit,
                    struct arena *arena, void **out_rows, size_t *out_count)
{
    struct scan s = {.args = args};
    if (t->plans[q].is_sorted && limit > 0)
        s.stop_at = (size_t)limit;
    scan_run(&s, t, q);
    enum err err = s.err;
    if (err)
        goto out;
    if (!t->plans[q].is_sorted && s.count)
        qsort_r(s.rows, s.count, sizeof *s.rows, compare_rows, (void *)(uintptr_t)s.q);
    if (limit > 0 && s.count > (size_t)limit)
        s.count = (size_t)limit;
    size_t row_size = record_types[t->kind].row_size;
    char *rows = arena_calloc(arena, s.count, row_size);
    if (!rows)
        err = ERR_NO_MEMORY;
    for (size_t i = 0; !err && i < s.count; i++)
        err = row_copy_out(t->kind, s.rows[i], arena, rows + i * row_size);
    if (!err) {
        *out_rows = rows;
        *out_count = s.count;
    }
out:
    free(s.rows);
    return err;
}

int64_t table_count(struct memory_table *t, enum query q, const struct store_value *args)
{
    struct scan s = {.args = args, .is_counting = true};
    scan_run(&s, t, q);
    return (int64_t)s.count;
}
