/* What is SQLite's own: the schema, migrations, who may open a file and where it may lie. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/limits.h"
#include "server/store/sqlite/location.h"
#include "server/store/sqlite/migrate.h"
#include "server/store/sqlite/sql.h"
#include "tests/store/support.h"

#define APP      0x1234
#define NO_LINES ((size_t)64 << 10)

static const char *path_in(const char *dir, const char *name)
{
    static char paths[4][700];
    static int next;
    next = (next + 1) % 4;
    (void)snprintf(paths[next], sizeof paths[next], "%s/%s", dir, name);
    return paths[next];
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

/* --- migrations --- */

static const char first_sql[] = "CREATE TABLE a (x INTEGER PRIMARY KEY) STRICT;"
                                "INSERT INTO a VALUES (1);";
static const char second_sql[] = "ALTER TABLE a ADD COLUMN y TEXT NOT NULL DEFAULT '';"
                                 "CREATE INDEX a_y ON a (y);";
static const char third_sql[] = "CREATE TABLE b (z REAL) STRICT; UPDATE a SET y = 'z' WHERE x = 1;";

#define FILE_OF(name, text)                                                                                  \
    {                                                                                                        \
        name, (const unsigned char *)(text), sizeof(text) - 1                                                \
    }
static const struct embedded_file three[] = {FILE_OF("0001-first.sql", first_sql),
                                             FILE_OF("0002-second.sql", second_sql),
                                             FILE_OF("0003-third.sql", third_sql)};

static enum err migrate_file(const char *path, const struct embedded_file *files, size_t num_files,
                             struct fault *fault)
{
    sqlite3 *db = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    enum err e = db_open(path, "PRAGMA foreign_keys = ON;", &db, fault);
    if (!e)
        e = migrate(db, path, APP, files, num_files, fault);
    db_close(db);
    return e;
}

/* All that makes a schema, and the rows that migrations made, as one text. */
static const char *contents(const char *path)
{
    static char texts[2][8192];
    static int next;
    char *out = texts[next ^= 1];
    size_t n = 0;
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_prepare_v2(
            db,
            "SELECT type || name || ifnull(sql, '') FROM sqlite_schema UNION ALL"
            " SELECT version || name || sha256 FROM schema_migration UNION ALL"
            " SELECT x || (SELECT group_concat(name) FROM pragma_table_info('a')) FROM a ORDER BY 1",
            -1, &stmt, NULL),
        SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        n += (size_t)snprintf(out + n, sizeof texts[0] - n, "%s\n",
                              (const char *)sqlite3_column_text(stmt, 0));
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    ck_assert_uint_gt(n, 0);
    ck_assert_uint_lt(n, sizeof texts[0]);
    return out;
}

START_TEST(an_upgraded_database_is_as_a_fresh_one)
{
    const char *dir = make_dir(), *fresh = path_in(dir, "fresh"), *upgraded = path_in(dir, "upgraded");
    struct fault fault = FAULT_NONE;
    ck_err(migrate_file(fresh, three, 3, &fault), ERR_OK);
    for (size_t n = 0; n <= 3; n++)
        ck_err(migrate_file(upgraded, three, n, &fault), ERR_OK);
    ck_assert_str_eq(contents(fresh), contents(upgraded));
    ck_err(migrate_file(upgraded, three, 3, &fault), ERR_OK);
    ck_assert_str_eq(contents(fresh), contents(upgraded));
    remove_dir(dir);
}
END_TEST

START_TEST(a_migration_that_fails_leaves_nothing)
{
    static const char broken_sql[] = "CREATE TABLE b (z REAL) STRICT; INSERT INTO nowhere VALUES (1);";
    static const struct embedded_file broken[] = {FILE_OF("0001-first.sql", first_sql),
                                                  FILE_OF("0002-broken.sql", broken_sql)};
    const char *dir = make_dir(), *path = path_in(dir, "db"), *other = path_in(dir, "other");
    struct fault fault = FAULT_NONE;
    ck_assert(migrate_file(path, broken, 2, &fault) != ERR_OK);
    ck_assert_ptr_nonnull(strstr(fault.detail, path));
    ck_assert_ptr_nonnull(strstr(fault.detail, "0002-broken.sql"));
    ck_assert_ptr_nonnull(strstr(fault.detail, "nowhere"));
    ck_err(migrate_file(other, broken, 1, &fault), ERR_OK);
    ck_assert_str_eq(contents(path), contents(other));
    ck_err(migrate_file(path, three, 3, &fault), ERR_OK);
    remove_dir(dir);
}
END_TEST

static void ck_refused(const char *path, const struct embedded_file *files, size_t n, enum err wanted,
                       const char *words)
{
    struct fault fault = FAULT_NONE;
    ck_err(migrate_file(path, files, n, &fault), wanted);
    ck_assert_msg(strstr(fault.detail, path) && strstr(fault.detail, words), "\"%s\" lacks \"%s\"",
                  fault.detail, words);
}

START_TEST(a_database_that_does_not_fit_is_refused)
{
    const char *dir = make_dir(), *path = path_in(dir, "db");
    struct fault fault = FAULT_NONE;
    ck_err(migrate_file(path, three, 3, &fault), ERR_OK);
    char before[8192];
    (void)snprintf(before, sizeof before, "%s", contents(path));
    ck_refused(path, three, 2, ERR_USAGE,
               "schema version 3, newer than this program, which knows up to version 2");
    struct embedded_file changed[3];
    memcpy(changed, three, sizeof three);
    changed[1].size--;
    ck_refused(path, changed, 3, ERR_USAGE, "0002-second.sql");
    ck_assert_str_eq(contents(path), before);
    ck_err(migrate_file(path, three, 3, &fault), ERR_OK);
    remove_dir(dir);
}
END_TEST

static void make_foreign(const char *path)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

typedef enum err (*try_open)(const char *path, struct fault *fault);

static enum err try_store(const char *path, struct fault *fault)
{
    struct store *s = NULL;
    enum err e = store_sqlite_open(path, &s, fault);
    if (!e)
        s->ops->close(s);
    return e;
}

static enum err try_blobs(const char *path, struct fault *fault)
{
    struct blobs *b = NULL;
    enum err e = blobs_sqlite_open(path, &b, fault);
    if (!e)
        b->ops->close(b);
    return e;
}

static const try_open openers[] = {try_store, try_blobs};

static void ck_not_opened(int opener, const char *path, enum err wanted, const char *words)
{
    struct fault fault = FAULT_NONE;
    ck_err(openers[opener](path, &fault), wanted);
    ck_assert_msg(strstr(fault.detail, path) && strstr(fault.detail, words), "\"%s\" lacks \"%s\"",
                  fault.detail, words);
}

START_TEST(other_files_are_refused_and_left_alone)
{
    const char *dir = make_dir(), *text = path_in(dir, "text"), *foreign = path_in(dir, "foreign"),
               *swapped = path_in(dir, "swapped");
    static const char words[] =
        "This is no database at all, though it is longer than the header of one would be.....";
    write_file(text, words);
    ck_not_opened(_i, text, ERR_BAD_FILE, "is not an SQLite database");
    struct stat st;
    ck_assert_int_eq(stat(text, &st), 0);
    ck_assert_int_eq(st.st_size, (off_t)strlen(words));
    make_foreign(foreign);
    ck_not_opened(_i, foreign, ERR_BAD_FILE, "of another kind");
    struct fault fault = FAULT_NONE;
    ck_err(openers[!_i](swapped, &fault), ERR_OK);
    ck_not_opened(_i, swapped, ERR_BAD_FILE, "of another kind");
    ck_err(openers[!_i](swapped, &fault), ERR_OK);
    remove_dir(dir);
}
END_TEST

/* --- where the file lies --- */

START_TEST(a_folder_that_cannot_be_written_is_named)
{
    const char *dir = make_dir(), *missing = path_in(dir, "nowhere/db"), *closed = path_in(dir, "closed/db");
    ck_not_opened(_i, missing, ERR_IO, "No such file or directory");
    ck_assert_int_eq(mkdir(path_in(dir, "closed"), 0500), 0);
    /* Root may write everywhere, so the test becomes somebody else. */
    if (geteuid() == 0) {
        ck_assert_int_eq(chmod(dir, 0755), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    ck_not_opened(_i, closed, ERR_IO, "Permission denied");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    remove_dir(dir);
}
END_TEST

static int open_in_child(try_open opener, const char *path)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct fault fault = FAULT_NONE;
        _exit((int)opener(path, &fault));
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_second_user_of_the_file_is_refused)
{
    const char *dir = make_dir(), *meta = path_in(dir, "meta"), *weights = path_in(dir, "weights");
    struct store *s = NULL;
    struct blobs *b = NULL;
    struct fault fault = FAULT_NONE;
    ck_err(store_sqlite_open(meta, &s, &fault), ERR_OK);
    ck_err(blobs_sqlite_open(weights, &b, &fault), ERR_OK);
    char number[32];
    (void)snprintf(number, sizeof number, "number %ld:", (long)getpid());
    ck_not_opened(0, meta, ERR_CONFLICT, number);
    ck_not_opened(1, weights, ERR_CONFLICT, number);
    ck_assert_int_eq(open_in_child(try_store, meta), ERR_CONFLICT);
    ck_assert_int_eq(open_in_child(try_blobs, weights), ERR_CONFLICT);
    s->ops->close(s);
    b->ops->close(b);
    ck_assert_int_eq(open_in_child(try_store, meta), ERR_OK);
    ck_assert_int_eq(open_in_child(try_blobs, weights), ERR_OK);
    remove_dir(dir);
}
END_TEST

START_TEST(nobody_else_can_read_the_file)
{
    const char *dir = make_dir(), *meta = path_in(dir, "meta");
    struct store *s = NULL;
    struct fault fault = FAULT_NONE;
    (void)umask(0);
    ck_err(store_sqlite_open(meta, &s, &fault), ERR_OK);
    static const char *const names[] = {"meta", "meta-wal", "meta-shm", "meta.lock"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct stat st;
        ck_assert_int_eq(stat(path_in(dir, names[i]), &st), 0);
        ck_assert_uint_eq(st.st_mode & 077, 0);
    }
    s->ops->close(s);
    remove_dir(dir);
}
END_TEST

START_TEST(close_leaves_one_file_and_its_lock)
{
    const char *dir = make_dir();
    struct fault fault = FAULT_NONE;
    ck_err(try_store(path_in(dir, "meta"), &fault), ERR_OK);
    ck_assert_int_eq(access(path_in(dir, "meta"), F_OK), 0);
    ck_assert_int_ne(access(path_in(dir, "meta-wal"), F_OK), 0);
    ck_assert_int_ne(access(path_in(dir, "meta-shm"), F_OK), 0);
    remove_dir(dir);
}
END_TEST

START_TEST(network_file_systems_are_told_from_local_ones)
{
    ck_assert(filesystem_is_remote(0x6969UL, "nfs4"));
    ck_assert(filesystem_is_remote(0xff534d42UL, "cifs"));
    ck_assert(filesystem_is_remote(0xfe534d42UL, "smb3"));
    ck_assert(filesystem_is_remote(0x65735546UL, "fuse.sshfs"));
    ck_assert(filesystem_is_remote(0x65735546UL, "fuse.s3fs"));
    ck_assert(filesystem_is_remote(0x65735546UL, "fuse.glusterfs"));
    ck_assert(!filesystem_is_remote(0x65735546UL, "fuseblk"));
    ck_assert(!filesystem_is_remote(0x65735546UL, "fuse.fuse-overlayfs"));
    ck_assert(!filesystem_is_remote(0xef53UL, "ext4"));
    ck_assert(!filesystem_is_remote(0x58465342UL, "xfs"));
    ck_assert(!filesystem_is_remote(0x01021994UL, "tmpfs"));
    ck_assert(!filesystem_is_remote(0x794c7630UL, "overlay"));
    ck_assert(!filesystem_is_remote(0x9123683eUL, "btrfs"));
}
END_TEST

/* --- the schema against records.h, schema.h and queries.h --- */

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

/* A blob of several chunks, closed. */
static int64_t put_large(const char *dir, size_t size)
{
    struct fault fault = FAULT_NONE;
    struct blobs *blobs;
    struct blob_put *put;
    int64_t id;
    char *bytes = malloc(size);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 'x', size);
    ck_err(blobs_sqlite_open(path_in(dir, "weights"), &blobs, &fault), ERR_OK);
    ck_err(blobs->ops->put_begin(blobs, &put), ERR_OK);
    ck_err(blobs->ops->put_write(put, bytes, size), ERR_OK);
    ck_err(blobs->ops->put_end(put, &id), ERR_OK);
    ck_err(blobs->ops->commit(blobs), ERR_OK);
    blobs->ops->close(blobs);
    free(bytes);
    return id;
}

static enum err read_large(const char *dir, int64_t id, int64_t offset, size_t n)
{
    struct fault fault = FAULT_NONE;
    struct blobs *blobs;
    char *bytes = malloc(n);
    ck_assert_ptr_nonnull(bytes);
    ck_err(blobs_sqlite_open(path_in(dir, "weights"), &blobs, &fault), ERR_OK);
    enum err e = blobs->ops->read(blobs, id, offset, bytes, n);
    blobs->ops->close(blobs);
    free(bytes);
    return e;
}

#define LARGE ((size_t)4 * LIMIT_BLOB_CHUNK)

/* Which cannot be made good by trying again, as a failing disk may be. */
START_TEST(weights_that_lack_a_part_are_corrupt)
{
    static const char *const damages[] = {
        "DELETE FROM chunk WHERE id = (SELECT min(id) FROM chunk)",
        "DELETE FROM chunk WHERE id = (SELECT id FROM chunk ORDER BY id LIMIT 1 OFFSET 2)",
        "DELETE FROM chunk WHERE id = (SELECT max(id) FROM chunk)",
        "UPDATE chunk SET data = substr(data, 1, 100) WHERE id = (SELECT max(id) FROM chunk)"};
    const char *dir = make_dir();
    int64_t id = put_large(dir, LARGE);
    ck_err(read_large(dir, id, 0, LARGE), ERR_OK);
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path_in(dir, "weights"), &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, damages[_i], NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_changes(db), 1);
    (void)sqlite3_close(db);
    ck_err(read_large(dir, id, 0, LARGE), ERR_CORRUPT);
    remove_dir(dir);
}
END_TEST

START_TEST(a_file_with_wrong_pages_is_corrupt)
{
    const char *dir = make_dir(), *path = path_in(dir, "weights");
    int64_t id = put_large(dir, LARGE);
    static const char noise[32768] = {0x55, 0x55, 0x55};
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    /* All but the first few pages, which hold the schema and the roots. */
    for (off_t at = 8 * (off_t)sizeof noise; at < st.st_size; at += (off_t)sizeof noise)
        ck_assert_int_eq(pwrite(fd, noise, sizeof noise, at), (ssize_t)sizeof noise);
    ck_assert_int_eq(close(fd), 0);
    ck_err(read_large(dir, id, 0, LARGE), ERR_CORRUPT);
    remove_dir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store sqlite");
    TCase *tc = tcase_create("sqlite");
    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, an_upgraded_database_is_as_a_fresh_one);
    tcase_add_test(tc, a_migration_that_fails_leaves_nothing);
    tcase_add_test(tc, a_database_that_does_not_fit_is_refused);
    tcase_add_loop_test(tc, other_files_are_refused_and_left_alone, 0, 2);
    tcase_add_loop_test(tc, a_folder_that_cannot_be_written_is_named, 0, 2);
    tcase_add_test(tc, a_second_user_of_the_file_is_refused);
    tcase_add_test(tc, nobody_else_can_read_the_file);
    tcase_add_test(tc, close_leaves_one_file_and_its_lock);
    tcase_add_test(tc, network_file_systems_are_told_from_local_ones);
    tcase_add_test(tc, tables_have_the_columns_of_the_records);
    tcase_add_test(tc, unique_indexes_are_those_of_the_schema);
    tcase_add_test(tc, every_query_has_its_index);
    tcase_add_test(tc, a_schema_that_lacks_a_column_is_found_at_the_start);
    tcase_add_test(tc, settings_are_in_force);
    tcase_add_loop_test(tc, weights_that_lack_a_part_are_corrupt, 0, 4);
    tcase_add_test(tc, a_file_with_wrong_pages_is_corrupt);
    return run_suite(s);
}
