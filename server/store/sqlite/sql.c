#include "server/store/sqlite/sql.h"

static enum err put_columns(const struct record_type *t, struct buf *out)
{
    enum err e = ERR_OK;
    for (size_t i = 0; !e && i < t->num_columns; i++)
        e = buf_printf(out, "%s%s", i ? ", " : "", t->columns[i].name);
    return e;
}

static enum err put_key(const struct record_type *t, struct buf *out)
{
    enum err e = ERR_OK;
    for (size_t i = 0; !e && i < t->num_keys; i++)
        e = buf_printf(out, "%s%s = ?%zu", i ? " AND " : " WHERE ", t->columns[i].name, i + 1);
    return e;
}

static enum err sql_insert(const struct record_type *t, struct buf *out)
{
    enum err e = buf_printf(out, "INSERT INTO %s (", t->table);
    if (!e)
        e = put_columns(t, out);
    for (size_t i = 0; !e && i < t->num_columns; i++)
        e = buf_printf(out, "%s?%zu", i ? ", " : ") VALUES (", i + 1);
    return e ? e : buf_puts(out, ")");
}

static enum err put_changes(enum record_kind kind, bool with_fixed, struct buf *out)
{
    const struct record_type *t = &record_types[kind];
    const char *word = " SET ";
    enum err e = ERR_OK;
    for (size_t i = t->num_keys; !e && i < t->num_columns; i++) {
        if (!with_fixed && schema_is_fixed(kind, i))
            continue;
        e = buf_printf(out, "%s%s = ?%zu", word, t->columns[i].name, i + 1);
        word = ", ";
    }
    return e;
}

static enum err sql_put(enum record_kind kind, struct buf *out)
{
    const struct record_type *t = &record_types[kind];
    enum err e = sql_insert(t, out);
    for (size_t i = 0; !e && i < t->num_keys; i++)
        e = buf_printf(out, "%s%s", i ? ", " : " ON CONFLICT (", t->columns[i].name);
    if (!e)
        e = buf_puts(out, ") DO UPDATE");
    return e ? e : put_changes(kind, true, out);
}

static enum err sql_get(const struct record_type *t, struct buf *out)
{
    enum err e = buf_puts(out, "SELECT ");
    if (!e)
        e = put_columns(t, out);
    return e ? e : buf_printf(out, " FROM %s", t->table);
}

enum err sql_row(enum record_kind kind, enum sql_row what, struct buf *out)
{
    const struct record_type *t = &record_types[kind];
    enum err e = ERR_OK;
    if (what == SQL_INSERT)
        return sql_insert(t, out);
    if (what == SQL_PUT)
        return sql_put(kind, out);
    if (what == SQL_GET)
        e = sql_get(t, out);
    else
        e = buf_printf(out, what == SQL_REMOVE ? "DELETE FROM %s" : "UPDATE %s", t->table);
    if (!e && what == SQL_UPDATE)
        e = put_changes(kind, false, out);
    return e ? e : put_key(t, out);
}

size_t sql_num_optional(const struct query_type *q)
{
    size_t n = 0;
    for (size_t i = 0; i < q->num_conditions; i++)
        n += q->conditions[i].is_optional;
    if (n > SQL_MAX_OPTIONAL)
        bug("query %s has more than %d optional conditions", q->name, SQL_MAX_OPTIONAL);
    return n;
}

unsigned sql_mask(const struct query_type *q, const struct store_value *args)
{
    unsigned mask = 0, bit = 1;
    for (size_t i = 0; i < q->num_conditions; i++) {
        if (!q->conditions[i].is_optional)
            continue;
        if (args[i].type != VALUE_ANY)
            mask |= bit;
        bit <<= 1;
    }
    return mask;
}

static enum err put_conditions(const struct query_type *q, unsigned mask, struct buf *out)
{
    static const char *const ops[] = {
        [QUERY_EQ] = "=", [QUERY_LT] = "<", [QUERY_LE] = "<=", [QUERY_GT] = ">", [QUERY_GE] = ">="};
    const char *word = " WHERE ";
    enum err e = ERR_OK;
    unsigned bit = 1;
    for (size_t i = 0; !e && i < q->num_conditions; i++) {
        const struct query_condition *c = &q->conditions[i];
        bool is_left_out = c->is_optional && !(mask & bit);
        if (c->is_optional)
            bit <<= 1;
        if (is_left_out)
            continue;
        e = buf_printf(out, "%s%s %s ?%zu", word, c->column->name, ops[c->op], i + 1);
        word = " AND ";
    }
    return e;
}

enum err sql_query(const struct query_type *q, unsigned mask, bool is_counting, struct buf *out)
{
    const struct record_type *t = &record_types[q->kind];
    enum err e = is_counting ? buf_printf(out, "SELECT count(*) FROM %s", t->table) : sql_get(t, out);
    if (!e)
        e = put_conditions(q, mask, out);
    if (e || is_counting)
        return e;
    for (size_t i = 0; !e && i < q->num_order; i++)
        e = buf_printf(out, "%s%s%s", i ? ", " : " ORDER BY ", q->order[i]->name,
                       q->is_descending ? " DESC" : "");
    return e ? e : buf_printf(out, " LIMIT ?%zu", q->num_conditions + 1);
}
