#include "server/store/sqlite/conn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum err conn_new(const char *path, const char *pragmas, struct conn **out, struct fault *fault)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "no memory to open %s", path);
    enum err e = db_open(path, pragmas, &c->db, fault);
    if (e) {
        free(c);
        return e;
    }
    *out = c;
    return ERR_OK;
}

void conn_free(struct conn *c)
{
    if (!c)
        return;
    sqlite3_stmt *stmt;
    while ((stmt = sqlite3_next_stmt(c->db, NULL)))
        (void)sqlite3_finalize(stmt);
    db_close(c->db);
    free(c);
}

static enum err prepare(struct conn *c, enum err made, struct buf *sql, sqlite3_stmt **out)
{
    enum err e = made ? made : db_prepare(c->db, sql->data, out);
    buf_release(sql);
    return e;
}

static enum err row_statement(struct conn *c, enum record_kind kind, enum sql_row what, sqlite3_stmt **out)
{
    enum err e = ERR_OK;
    if (!c->rows[kind][what]) {
        struct buf sql = BUF_INIT(SQL_MAX);
        e = prepare(c, sql_row(kind, what, &sql), &sql, &c->rows[kind][what]);
    }
    *out = c->rows[kind][what];
    return e;
}

static enum err query_statement(struct conn *c, enum query q, unsigned mask, bool is_counting,
                                sqlite3_stmt **out)
{
    sqlite3_stmt **stmt = is_counting ? &c->counts[q][mask] : &c->finds[q][mask];
    enum err e = ERR_OK;
    if (!*stmt) {
        struct buf sql = BUF_INIT(SQL_MAX);
        e = prepare(c, sql_query(schema_query(q), mask, is_counting, &sql), &sql, stmt);
    }
    *out = *stmt;
    return e;
}

enum err conn_prepare_all(struct conn *c, struct fault *fault)
{
    sqlite3_stmt *stmt;
    enum err e = ERR_OK;
    for (int kind = 0; !e && kind < RECORD_COUNT; kind++)
        for (int what = 0; !e && what < SQL_ROW_COUNT; what++)
            e = row_statement(c, (enum record_kind)kind, (enum sql_row)what, &stmt);
    for (int q = 0; !e && q < QUERY_COUNT; q++) {
        unsigned masks = 1u << sql_num_optional(schema_query((enum query)q));
        for (unsigned mask = 0; !e && mask < masks; mask++) {
            e = query_statement(c, (enum query)q, mask, false, &stmt);
            if (!e)
                e = query_statement(c, (enum query)q, mask, true, &stmt);
        }
    }
    if (e)
        return fault_set(fault, e, NULL, "the database does not fit this program: %s", sqlite3_errmsg(c->db));
    return ERR_OK;
}

static enum err finish(struct conn *c, sqlite3_stmt *stmt, int rc)
{
    enum err e = db_error(c->db, rc, "running a statement");
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
    if (e && e != ERR_CONFLICT)
        c->last_error = e;
    return e;
}

static int bind_columns(sqlite3_stmt *stmt, const struct record_type *t, size_t num_columns, const void *row)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; !rc && i < num_columns; i++) {
        const struct record_column *c = &t->columns[i];
        int place = (int)i + 1;
        if (c->type == COLUMN_TEXT)
            rc = sqlite3_bind_text(stmt, place, row_text(c, row), -1, SQLITE_STATIC);
        else if (c->type == COLUMN_INT)
            rc = sqlite3_bind_int64(stmt, place, row_int(c, row));
        else
            rc = sqlite3_bind_double(stmt, place, row_real(c, row)); /* NaN becomes NULL */
    }
    return rc;
}

/* Runs a statement that changes rows. */
static enum err change(struct conn *c, enum record_kind kind, enum sql_row what, const void *row,
                       bool needs_number)
{
    const struct record_type *t = &record_types[kind];
    sqlite3_stmt *stmt;
    enum err e = row_statement(c, kind, what, &stmt);
    if (e)
        return c->last_error = e;
    /* The keys, or all columns but fixed ones at the end. */
    int rc = bind_columns(stmt, t, (size_t)sqlite3_bind_parameter_count(stmt), row);
    if (!rc && needs_number)
        rc = sqlite3_bind_null(stmt, 1);
    if (!rc)
        rc = sqlite3_step(stmt);
    return finish(c, stmt, rc);
}

enum err conn_insert(struct conn *c, enum record_kind kind, void *row)
{
    const struct record_column *key = &record_types[kind].columns[0];
    bool needs_number = schema_numbers_rows(kind) && row_int(key, row) == 0;
    enum err e = change(c, kind, SQL_INSERT, row, needs_number);
    if (!e && needs_number)
        row_set_int(key, row, sqlite3_last_insert_rowid(c->db));
    return e;
}

static enum err found_one(struct conn *c, enum err e)
{
    return e ? e : sqlite3_changes(c->db) ? ERR_OK : ERR_NOT_FOUND;
}

enum err conn_update(struct conn *c, enum record_kind kind, const void *row)
{
    return found_one(c, change(c, kind, SQL_UPDATE, row, false));
}

enum err conn_put(struct conn *c, enum record_kind kind, const void *row)
{
    return change(c, kind, SQL_PUT, row, false);
}

enum err conn_remove(struct conn *c, enum record_kind kind, const void *row)
{
    return found_one(c, change(c, kind, SQL_REMOVE, row, false));
}

static enum err read_row(sqlite3_stmt *stmt, const struct record_type *t, struct arena *arena, void *row)
{
    for (size_t i = 0; i < t->num_columns; i++) {
        const struct record_column *c = &t->columns[i];
        int place = (int)i;
        if (c->type == COLUMN_INT) {
            row_set_int(c, row, sqlite3_column_int64(stmt, place));
        } else if (c->type == COLUMN_REAL) {
            bool is_none = sqlite3_column_type(stmt, place) == SQLITE_NULL;
            row_set_real(c, row, is_none ? NAN : sqlite3_column_double(stmt, place));
        } else {
            const char *text = (const char *)sqlite3_column_text(stmt, place);
            char *copy = text ? arena_strdup(arena, text) : NULL;
            if (!copy)
                return ERR_NO_MEMORY;
            row_set_text(c, row, copy);
        }
    }
    return ERR_OK;
}

enum err conn_get(struct conn *c, enum record_kind kind, struct arena *arena, void *row)
{
    union {
#define X(name, row, table, columns, keys) struct row row;
        RECORD_TABLE(X)
#undef X
    } found;
    const struct record_type *t = &record_types[kind];
    sqlite3_stmt *stmt;
    enum err e = row_statement(c, kind, SQL_GET, &stmt);
    if (e)
        return c->last_error = e;
    int rc = bind_columns(stmt, t, t->num_keys, row);
    if (!rc)
        rc = sqlite3_step(stmt);
    enum err copied = rc == SQLITE_ROW ? read_row(stmt, t, arena, &found) : ERR_NOT_FOUND;
    e = finish(c, stmt, rc);
    if (!e)
        e = copied;
    if (!e)
        memcpy(row, &found, t->row_size);
    return e;
}

static int bind_args(sqlite3_stmt *stmt, const struct query_type *q, const struct store_value *args)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; !rc && i < q->num_conditions; i++) {
        int place = (int)i + 1;
        if (args[i].type == VALUE_TEXT)
            rc = sqlite3_bind_text(stmt, place, args[i].text, -1, SQLITE_STATIC);
        else if (args[i].type == VALUE_INT)
            rc = sqlite3_bind_int64(stmt, place, args[i].integer);
        else if (args[i].type == VALUE_REAL)
            rc = sqlite3_bind_double(stmt, place, args[i].real);
    }
    return rc;
}

/* Rows grow on the heap and move to the arena at the end, so that the arena holds them once. */
struct row_list {
    char *bytes;
    size_t count, capacity;
};

static enum err append_row(struct row_list *list, sqlite3_stmt *stmt, const struct record_type *t,
                           struct arena *arena)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 16;
        char *grown = realloc(list->bytes, capacity * t->row_size);
        if (!grown)
            return ERR_NO_MEMORY;
        list->bytes = grown;
        list->capacity = capacity;
    }
    return read_row(stmt, t, arena, list->bytes + t->row_size * list->count++);
}

enum err conn_find(struct conn *c, enum query q, const struct store_value *args, int64_t limit,
                   struct arena *arena, void **out_rows, size_t *out_count)
{
    const struct query_type *type = schema_query(q);
    const struct record_type *t = &record_types[type->kind];
    sqlite3_stmt *stmt;
    enum err e = query_statement(c, q, sql_mask(type, args), false, &stmt);
    if (e)
        return c->last_error = e;
    struct row_list list = {0};
    int rc = bind_args(stmt, type, args);
    if (!rc)
        rc = sqlite3_bind_int64(stmt, (int)type->num_conditions + 1, limit > 0 ? limit : -1);
    enum err copied = ERR_OK;
    while (!rc && !copied && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        copied = append_row(&list, stmt, t, arena);
        rc = SQLITE_OK;
    }
    e = finish(c, stmt, rc);
    if (!e)
        e = copied;
    void *rows = e ? NULL : arena_memdup(arena, list.bytes, list.count * t->row_size);
    if (!e && !rows)
        e = ERR_NO_MEMORY;
    if (!e) {
        *out_rows = rows;
        *out_count = list.count;
    }
    free(list.bytes);
    return e;
}

enum err conn_count(struct conn *c, enum query q, const struct store_value *args, int64_t *out_count)
{
    const struct query_type *type = schema_query(q);
    sqlite3_stmt *stmt;
    enum err e = query_statement(c, q, sql_mask(type, args), true, &stmt);
    if (e)
        return c->last_error = e;
    int rc = bind_args(stmt, type, args);
    if (!rc)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *out_count = sqlite3_column_int64(stmt, 0);
    return finish(c, stmt, rc);
}
