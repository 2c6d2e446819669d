/* The schema against records.h, schema.h and queries.h, and the settings of a new file. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include "server/store/sqlite/sql.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

#define NO_LINES ((size_t)64 << 10)

static sqlite3 *fresh_database(const char *dir)
{
    struct fault fault = FAULT_NONE;
    sqlite3 *db = NULL;
    ck_err(try_store(path_in(dir, "meta"), &fault), ERR_OK);
    ck_assert_int_eq(sqlite3_open(path_in(dir, "meta"), &db), SQLITE_OK);
    return db;
}

/* Rows of a statement, each as "a|b|c" and a newline; NULL as nothing. */
static void rows_as_text(sqlite3 *db, struct buf *out, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s", sql,
                  sqlite3_errmsg(db));
    buf_clear(out);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);
            ck_err(buf_printf(out, "%s%s", i ? "|" : "", text ? text : ""), ERR_OK);
        }
        ck_err(buf_puts(out, "\n"), ERR_OK);
    }
    (void)sqlite3_finalize(stmt);
}

START_TEST(tables_have_the_columns_of_the_records)
{
    static const char *const names[] = {"TEXT", "INTEGER", "REAL"};
    const char *dir = make_dir();
    sqlite3 *db = fresh_database(dir);
    struct buf got = BUF_INIT(NO_LINES), wanted = BUF_INIT(NO_LINES);
    for (int kind = 0; kind < RECORD_COUNT; kind++) {
        const struct record_type *t = &record_types[kind];
        buf_clear(&wanted);
        for (size_t i = 0; i < t->num_columns; i++) {
            const struct record_column *c = &t->columns[i];
            bool is_rowid = schema_numbers_rows((enum record_kind)kind) && i == 0;
            ck_err(buf_printf(&wanted, "%s|%s|%d|%zu\n", c->name, names[c->type],
                              c->type != COLUMN_REAL && !is_rowid, i < t->num_keys ? i + 1 : 0),
                   ERR_OK);
        }
        char sql[256];
        (void)snprintf(sql, sizeof sql,
                       "SELECT name, type, \"notnull\", pk FROM pragma_table_info('%s') ORDER BY cid",
                       t->table);
        rows_as_text(db, &got, sql);
        ck_assert_str_eq(got.data, wanted.data);
        (void)snprintf(sql, sizeof sql, "SELECT strict FROM pragma_table_list('%s')", t->table);
        rows_as_text(db, &got, sql);
        ck_assert_str_eq(got.data, "1\n");
    }
    buf_release(&got);
    buf_release(&wanted);
    (void)sqlite3_close(db);
    remove_dir(dir);
}
END_TEST

START_TEST(unique_indexes_are_those_of_the_schema)
{
    const char *dir = make_dir();
    sqlite3 *db = fresh_database(dir);
    struct buf got = BUF_INIT(NO_LINES), wanted = BUF_INIT(NO_LINES);
    for (int kind = 0; kind < RECORD_COUNT; kind++) {
        size_t count;
        const struct unique_type *u = schema_uniques((enum record_kind)kind, &count);
        ck_err(buf_puts(&wanted, ""), ERR_OK);
        buf_clear(&wanted);
        for (size_t i = 0; i < count; i++) {
            for (size_t c = 0; c < u[i].num_columns; c++)
                ck_err(buf_printf(&wanted, "%s%s", c ? "," : "", u[i].columns[c]->name), ERR_OK);
            ck_err(buf_printf(&wanted, "|%s%s\n", u[i].where_zero ? u[i].where_zero->name : "",
                              u[i].where_zero ? " = 0" : ""),
                   ERR_OK);
        }
        char sql[600];
        (void)snprintf(sql, sizeof sql,
                       "SELECT (SELECT group_concat(name, ',') FROM (SELECT name FROM "
                       "pragma_index_info(l.name) ORDER BY "
                       "seqno)), iif(instr(s.sql, 'WHERE'), substr(s.sql, instr(s.sql, 'WHERE') + 6), '')"
                       " FROM pragma_index_list('%s') l JOIN sqlite_schema s ON s.name = l.name"
                       " WHERE l.\"unique\" AND l.origin = 'c' ORDER BY s.rowid",
                       record_types[kind].table);
        rows_as_text(db, &got, sql);
        ck_assert_str_eq(got.data ? got.data : "", wanted.data);
    }
    buf_release(&got);
    buf_release(&wanted);
    (void)sqlite3_close(db);
    remove_dir(dir);
}
END_TEST

/* No query may read a whole table to find few rows, and none but those with a bound on another column may
 * sort. */
START_TEST(every_query_has_its_index)
{
    const char *dir = make_dir();
    sqlite3 *db = fresh_database(dir);
    struct buf sql = BUF_INIT(SQL_MAX), plan = BUF_INIT(NO_LINES);
    for (int i = 0; i < QUERY_COUNT; i++) {
        const struct query_type *q = schema_query((enum query)i);
        bool fixes = false, may_sort = false;
        for (size_t c = 0; c < q->num_conditions; c++) {
            const struct query_condition *condition = &q->conditions[c];
            fixes = fixes || !condition->is_optional;
            may_sort = may_sort || (!condition->is_optional && condition->op != QUERY_EQ &&
                                    condition->column != q->order[0]);
        }
        for (unsigned mask = 0; mask < 1u << sql_num_optional(q); mask++) {
            buf_clear(&sql);
            ck_err(buf_puts(&sql, "EXPLAIN QUERY PLAN "), ERR_OK);
            ck_err(sql_query(q, mask, false, &sql), ERR_OK);
            rows_as_text(db, &plan, sql.data);
            ck_assert_msg(!fixes || !strstr(plan.data, "SCAN"), "%s reads a whole table:\n%s%s", q->name,
                          sql.data, plan.data);
            ck_assert_msg(may_sort || !strstr(plan.data, "TEMP B-TREE FOR ORDER BY"), "%s sorts:\n%s\n%s",
                          q->name, sql.data, plan.data);
        }
    }
    buf_release(&sql);
    buf_release(&plan);
    (void)sqlite3_close(db);
    remove_dir(dir);
}
END_TEST

static void ck_found_by(sqlite3 *db, enum query query, unsigned mask, const char *columns)
{
    struct buf sql = BUF_INIT(SQL_MAX), plan = BUF_INIT(NO_LINES);
    ck_err(buf_puts(&sql, "EXPLAIN QUERY PLAN "), ERR_OK);
    ck_err(sql_query(schema_query(query), mask, false, &sql), ERR_OK);
    rows_as_text(db, &plan, sql.data);
    ck_assert_msg(strstr(plan.data, columns) != NULL, "%s", plan.data);
    buf_release(&sql);
    buf_release(&plan);
}

/* Where all devices evaluate, the few that train must not be looked for among them; nor a device among all of
 * its run's. */
START_TEST(few_are_not_looked_for_among_many)
{
    const char *dir = make_dir();
    sqlite3 *db = fresh_database(dir);
    const struct store_value args[] = {store_text("run"), store_int(0), store_any, store_int(TASK_TRAIN)};
    ck_found_by(db, QUERY_TASKS_BY_ROUND, sql_mask(schema_query(QUERY_TASKS_BY_ROUND), args),
                "(run_id=? AND round=? AND type=?)");
    ck_found_by(db, QUERY_RUN_DEVICE_AT, 0, "(run_id=? AND position=?)");
    (void)sqlite3_close(db);
    remove_dir(dir);
}
END_TEST

static int num_written_indexes(sqlite3 *db, enum record_kind kind)
{
    struct buf sql = BUF_INIT(SQL_MAX), program = BUF_INIT(NO_LINES);
    int n = 0;
    ck_err(buf_puts(&sql, "EXPLAIN "), ERR_OK);
    ck_err(sql_row(kind, SQL_UPDATE, &sql), ERR_OK);
    rows_as_text(db, &program, sql.data);
    for (const char *p = program.data; (p = strstr(p, "|IdxInsert|")); p++)
        n++;
    buf_release(&sql);
    buf_release(&program);
    return n;
}

/* A claim, an update and a report of presence write these rows thousands of times a second; of the indexes
 * only those by the status of a task or a run need be written. */
START_TEST(an_update_writes_no_index_of_what_never_changes)
{
    static const struct {
        enum record_kind kind;
        int num_indexes;
    } wanted[] = {
        {RECORD_TASK, 2}, {RECORD_RUN, 1}, {RECORD_ROUND, 0}, {RECORD_DEVICE, 0}, {RECORD_WORKER, 0}};
    const char *dir = make_dir();
    sqlite3 *db = fresh_database(dir);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ck_assert_int_eq(num_written_indexes(db, wanted[i].kind), wanted[i].num_indexes);
    (void)sqlite3_close(db);
    remove_dir(dir);
}
END_TEST

START_TEST(a_schema_that_lacks_a_column_is_found_at_the_start)
{
    const char *dir = make_dir();
    sqlite3 *db = fresh_database(dir);
    ck_assert_int_eq(sqlite3_exec(db, "ALTER TABLE run RENAME COLUMN seed TO grain", NULL, NULL, NULL),
                     SQLITE_OK);
    (void)sqlite3_close(db);
    struct fault fault = FAULT_NONE;
    ck_assert(try_store(path_in(dir, "meta"), &fault) != ERR_OK);
    ck_assert_ptr_nonnull(strstr(fault.detail, "seed"));
    remove_dir(dir);
}
END_TEST

START_TEST(settings_are_in_force)
{
    const char *dir = make_dir();
    sqlite3 *db = fresh_database(dir);
    struct buf got = BUF_INIT(NO_LINES);
    rows_as_text(db, &got, "PRAGMA journal_mode");
    ck_assert_str_eq(got.data, "wal\n");
    (void)sqlite3_close(db);
    struct fault fault = FAULT_NONE;
    ck_err(try_blobs(path_in(dir, "weights"), &fault), ERR_OK);
    ck_assert_int_eq(sqlite3_open(path_in(dir, "weights"), &db), SQLITE_OK);
    rows_as_text(db, &got, "PRAGMA page_size");
    ck_assert_str_eq(got.data, "32768\n");
    (void)sqlite3_close(db);
    buf_release(&got);
    remove_dir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store schema");
    TCase *tc = unit_case("sqlite");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, tables_have_the_columns_of_the_records);
    tcase_add_test(tc, unique_indexes_are_those_of_the_schema);
    tcase_add_test(tc, every_query_has_its_index);
    tcase_add_test(tc, few_are_not_looked_for_among_many);
    tcase_add_test(tc, an_update_writes_no_index_of_what_never_changes);
    tcase_add_test(tc, a_schema_that_lacks_a_column_is_found_at_the_start);
    tcase_add_test(tc, settings_are_in_force);
    return run_suite(s);
}
