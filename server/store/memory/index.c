/* Which indexes a table needs, and which of them each query uses. */
#include <string.h>
#include "server/store/memory/table.h"

static bool has_column(const struct memory_index *index, const struct record_column *c)
{
    for (size_t i = 0; i < index->num_columns; i++)
        if (index->columns[i] == c)
            return true;
    return false;
}

static void add_column(struct memory_index *index, const struct record_column *c)
{
    if (has_column(index, c))
        return;
    if (index->num_columns == INDEX_MAX_COLUMNS)
        bug("an index has too many columns");
    index->columns[index->num_columns++] = c;
}

static struct memory_index *add_index(struct memory_table *t)
{
    if (t->num_indexes == TABLE_MAX_INDEXES)
        bug("the queries of %s need too many indexes", record_types[t->kind].table);
    struct memory_index *index = &t->indexes[t->num_indexes];
    *index = (struct memory_index){.place = t->num_indexes++};
    return index;
}

static void end_with_key(struct memory_table *t, struct memory_index *index)
{
    const struct record_type *type = &record_types[t->kind];
    for (size_t i = 0; i < type->num_keys; i++)
        add_column(index, &type->columns[i]);
}

static bool is_fixing(const struct query_condition *c)
{
    return c->op == QUERY_EQ && !c->is_optional;
}

/* A required bound on a column that is not the first of the order: few rows meet it, so the index is by that
 * column and what is found is sorted. */
static const struct record_column *bound_column(const struct query_type *q)
{
    for (size_t i = 0; i < q->num_conditions; i++) {
        const struct query_condition *c = &q->conditions[i];
        if (!c->is_optional && c->op != QUERY_EQ && c->column != q->order[0])
            return c->column;
    }
    return NULL;
}

/* The index must begin with the fixed columns, in any order, and go on with the bound column or with the
 * query's order. */
static bool serves(const struct memory_index *index, const struct query_type *q, struct memory_plan *plan)
{
    plan->num_fixed = 0;
    for (size_t k = 0; k < index->num_columns && k < SCHEMA_MAX_COLUMNS; k++) {
        size_t i = 0;
        while (i < q->num_conditions &&
               !(is_fixing(&q->conditions[i]) && q->conditions[i].column == index->columns[k]))
            i++;
        if (i == q->num_conditions)
            break;
        plan->fixed_by[plan->num_fixed++] = i;
    }
    size_t wanted = 0;
    for (size_t i = 0; i < q->num_conditions; i++)
        wanted += is_fixing(&q->conditions[i]);
    if (plan->num_fixed != wanted)
        return false;
    const struct record_column *bound = bound_column(q);
    plan->is_sorted = !bound;
    if (bound)
        return wanted < index->num_columns && index->columns[wanted] == bound;
    for (size_t i = 0; i < q->num_order && wanted + i < index->num_columns; i++)
        if (index->columns[wanted + i] != q->order[i])
            return false;
    return true;
}

static void plan_query(struct memory_table *t, enum query which)
{
    const struct query_type *q = schema_query(which);
    struct memory_plan *plan = &t->plans[which];
    for (plan->index = 0; plan->index < t->num_indexes; plan->index++)
        if (serves(&t->indexes[plan->index], q, plan))
            return;
    struct memory_index *index = add_index(t);
    for (size_t i = 0; i < q->num_conditions; i++)
        if (is_fixing(&q->conditions[i]))
            add_column(index, q->conditions[i].column);
    if (bound_column(q))
        add_column(index, bound_column(q));
    else
        for (size_t i = 0; i < q->num_order; i++)
            add_column(index, q->order[i]);
    end_with_key(t, index);
    if (!serves(index, q, plan))
        bug("query %s has no index", q->name);
}

void table_init(struct memory_table *t, enum record_kind kind)
{
    *t = (struct memory_table){.kind = kind};
    end_with_key(t, add_index(t));
    size_t count;
    const struct unique_type *uniques = schema_uniques(kind, &count);
    for (size_t i = 0; i < count; i++) {
        struct memory_index *index = add_index(t);
        for (size_t k = 0; k < uniques[i].num_columns; k++)
            add_column(index, uniques[i].columns[k]);
        if (uniques[i].where_zero)
            add_column(index, uniques[i].where_zero);
        end_with_key(t, index);
    }
    for (size_t i = 0; i < QUERY_COUNT; i++)
        if (schema_query((enum query)i)->kind == kind)
            plan_query(t, (enum query)i);
}
