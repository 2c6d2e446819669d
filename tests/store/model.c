#include "tests/store/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const struct record_column *c, const void *a, const void *b)
{
    if (c->type == COLUMN_TEXT)
        return strcmp(row_text(c, a), row_text(c, b));
    if (c->type == COLUMN_INT)
        return (row_int(c, a) > row_int(c, b)) - (row_int(c, a) < row_int(c, b));
    double x = row_real(c, a), y = row_real(c, b);
    return isnan(x) || isnan(y) ? isnan(y) - isnan(x) : (x > y) - (x < y);
}

static union any_row *with_key(struct model *m, const union any_row *row)
{
    const struct record_type *t = &record_types[m->kind];
    for (size_t r = 0; r < m->count; r++) {
        size_t i = 0;
        while (i < t->num_keys && compare(&t->columns[i], &m->rows[r], row) == 0)
            i++;
        if (i == t->num_keys)
            return &m->rows[r];
    }
    return NULL;
}

static bool clashes(struct model *m, const union any_row *row, const union any_row *except)
{
    size_t count;
    const struct unique_type *u = schema_uniques(m->kind, &count);
    for (; count; count--, u++) {
        if (u->where_zero && row_int(u->where_zero, row))
            continue;
        for (size_t r = 0; r < m->count; r++) {
            size_t i = 0;
            while (i < u->num_columns && compare(u->columns[i], &m->rows[r], row) == 0)
                i++;
            bool counts = !u->where_zero || !row_int(u->where_zero, &m->rows[r]);
            if (i == u->num_columns && counts && &m->rows[r] != except)
                return true;
        }
    }
    return false;
}

static void note_number(struct model *m, const union any_row *row)
{
    if (schema_numbers_rows(m->kind) && row_int(&record_types[m->kind].columns[0], row) > m->last_number)
        m->last_number = row_int(&record_types[m->kind].columns[0], row);
}

enum err model_insert(struct model *m, union any_row *row)
{
    const struct record_column *key = &record_types[m->kind].columns[0];
    union any_row numbered = *row;
    if (schema_numbers_rows(m->kind) && row_int(key, row) == 0)
        row_set_int(key, &numbered, m->last_number + 1);
    if (with_key(m, &numbered) || clashes(m, &numbered, NULL))
        return ERR_CONFLICT;
    ck_assert_uint_lt(m->count, MODEL_MAX);
    *row = m->rows[m->count++] = numbered;
    note_number(m, row);
    return ERR_OK;
}

void model_fix(struct model *m, union any_row *row)
{
    const struct record_type *t = &record_types[m->kind];
    const union any_row *old = with_key(m, row);
    for (size_t i = 0; old && i < t->num_columns; i++) {
        const struct record_column *c = &t->columns[i];
        if (!schema_is_fixed(m->kind, i))
            continue;
        if (c->type == COLUMN_TEXT)
            row_set_text(c, row, row_text(c, old));
        else
            row_set_int(c, row, row_int(c, old));
    }
}

enum err model_update(struct model *m, const union any_row *row)
{
    union any_row *old = with_key(m, row);
    if (!old)
        return ERR_NOT_FOUND;
    if (clashes(m, row, old))
        return ERR_CONFLICT;
    *old = *row;
    return ERR_OK;
}

enum err model_put(struct model *m, const union any_row *row)
{
    union any_row *old = with_key(m, row);
    if (clashes(m, row, old))
        return ERR_CONFLICT;
    ck_assert_uint_lt(m->count, MODEL_MAX);
    *(old ? old : &m->rows[m->count++]) = *row;
    note_number(m, row);
    return ERR_OK;
}

enum err model_remove(struct model *m, const union any_row *row)
{
    union any_row *old = with_key(m, row);
    if (!old)
        return ERR_NOT_FOUND;
    *old = m->rows[--m->count];
    return ERR_OK;
}

static bool meets(const struct query_condition *c, const union any_row *row, const struct store_value *v)
{
    if (v->type == VALUE_ANY)
        return true;
    int order = c->column->type == COLUMN_TEXT
                    ? strcmp(row_text(c->column, row), v->text)
                    : (row_int(c->column, row) > v->integer) - (row_int(c->column, row) < v->integer);
    return (c->op == QUERY_EQ && order == 0) || (c->op == QUERY_LT && order < 0) ||
           (c->op == QUERY_LE && order <= 0) || (c->op == QUERY_GT && order > 0) ||
           (c->op == QUERY_GE && order >= 0);
}

static int in_order(const void *a, const void *b, void *ctx)
{
    const struct query_type *q = ctx;
    for (size_t i = 0; i < q->num_order; i++) {
        int c = compare(q->order[i], a, b);
        if (c)
            return q->is_descending ? -c : c;
    }
    ck_abort_msg("two rows of %s have no order", q->name);
}

size_t model_find(const struct model *m, const struct query_type *q, const struct store_value *args,
                  int64_t limit, union any_row *out)
{
    size_t n = 0;
    for (size_t r = 0; r < m->count; r++) {
        size_t i = 0;
        while (i < q->num_conditions && meets(&q->conditions[i], &m->rows[r], &args[i]))
            i++;
        if (i == q->num_conditions)
            out[n++] = m->rows[r];
    }
    qsort_r(out, n, sizeof *out, in_order, (void *)(uintptr_t)q);
    return limit && n > (size_t)limit ? (size_t)limit : n;
}
