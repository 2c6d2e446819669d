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

/* A required bound on a column that is not the first of the order: few rows meet it. */
static const struct record_column *bound_column(const struct query_type *q)
{
    for (size_t i = 0; i < q->num_conditions; i++) {
        const struct query_condition *c = &q->conditions[i];
        if (!c->is_optional && c->op != QUERY_EQ && c->column != q->order[0])
            return c->column;
    }
    return NULL;
}

/* Whether the index begins with the columns that the query fixes, in any order: which condition fixes each.
 */
static bool fixes(const struct memory_index *index, const struct query_type *q, struct memory_plan *plan)
{
    size_t wanted = 0;
    for (size_t i = 0; i < q->num_conditions; i++)
        wanted += is_fixing(&q->conditions[i]);
    for (plan->num_fixed = 0; plan->num_fixed < wanted; plan->num_fixed++) {
        const struct record_column *column = index->columns[plan->num_fixed];
        size_t i = 0;
        while (i < q->num_conditions && !(is_fixing(&q->conditions[i]) && q->conditions[i].column == column))
            i++;
        if (i == q->num_conditions)
            return false;
        plan->fixed_by[plan->num_fixed] = i;
    }
    return true;
}

static bool goes_on_with(const struct memory_index *index, size_t from,
                         const struct record_column *const *columns, size_t num_columns)
{
    for (size_t i = 0; i < num_columns && from + i < index->num_columns; i++)
        if (index->columns[from + i] != columns[i])
            return false;
    return true;
}

static bool has_plan(struct memory_table *t, const struct query_type *q, struct memory_plan *plan)
{
    const struct record_column *bound = bound_column(q);
    plan->is_sorted = true;
    for (plan->index = 0; plan->index < t->num_indexes; plan->index++) {
        const struct memory_index *index = &t->indexes[plan->index];
        if (fixes(index, q, plan) && goes_on_with(index, plan->num_fixed, q->order, q->num_order))
            return true;
    }
    plan->is_sorted = false;
    for (plan->index = 0; bound && plan->index < t->num_indexes; plan->index++) {
        const struct memory_index *index = &t->indexes[plan->index];
        if (fixes(index, q, plan) && goes_on_with(index, plan->num_fixed, &bound, 1))
            return true;
    }
    return false;
}

/* An index that others need anyway will do, if it gives the order. Only else the query gets one of its own:
 * by its bound column if it has one, so that an index of all tasks of a worker does not have to be read for
 * the few open ones. */
static void plan_query(struct memory_table *t, enum query which)
{
    const struct query_type *q = schema_query(which);
    struct memory_plan *plan = &t->plans[which];
    if (has_plan(t, q, plan))
        return;
    struct memory_index *index = add_index(t);
    for (size_t i = 0; i < q->num_conditions; i++)
        if (is_fixing(&q->conditions[i]))
            add_column(index, q->conditions[i].column);
    if (bound_column(q))
        add_column(index, bound_column(q));
    for (size_t i = 0; !bound_column(q) && i < q->num_order; i++)
        add_column(index, q->order[i]);
    end_with_key(t, index);
    if (!has_plan(t, q, plan))
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
