/* Migrations: all of one or nothing, and a file that they do not fit stays as it was. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "server/store/sqlite/migrate.h"
#include "server/store/sqlite/sql.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/support.h"
#include "tests/support/unit.h"

#define APP 0x1234

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

/* What a database of each version holds. */
static char whole[4][8192];

static void note_versions(const char *dir)
{
    struct fault fault = FAULT_NONE;
    for (size_t n = 1; n <= 3; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "version%zu", n);
        const char *path = path_in(dir, name);
        ck_err(migrate_file(path, three, n, &fault), ERR_OK);
        (void)snprintf(whole[n], sizeof whole[n], "%s", contents(path));
    }
}

static size_t version_of(const char *path)
{
    const char *found = contents(path);
    for (size_t n = 1; n <= 3; n++)
        if (strcmp(found, whole[n]) == 0)
            return n;
    ck_abort_msg("a migration was half applied:\n%s", found);
}

START_TEST(a_disk_that_fails_leaves_a_whole_version)
{
    fault_vfs_install();
    const char *dir = make_dir(), *path = path_in(dir, "db");
    bool was_hit = true, was_refused = false;
    note_versions(dir);
    for (int n = 0; was_hit; n++) {
        struct fault fault = FAULT_NONE;
        (void)unlink(path);
        ck_err(migrate_file(path, three, 1, &fault), ERR_OK);
        fault_vfs_arm(n % 2 ? DISK_FULL : DISK_BROKEN, n / 2, n % 3 ? 1 : 1000000);
        enum err e = migrate_file(path, three, 3, &fault);
        was_hit = fault_vfs_disarm();
        ck_assert_msg(!e || strstr(fault.detail, path), "%s", fault.detail);
        was_refused = was_refused || e;
        ck_assert(e || version_of(path) == 3);
        (void)version_of(path);
        ck_err(migrate_file(path, three, 3, &fault), ERR_OK);
        ck_assert_uint_eq(version_of(path), 3);
    }
    ck_assert(was_refused);
    remove_dir(dir);
}
END_TEST

static int steps_left;
static int die_at_step(void *ctx)
{
    (void)ctx;
    return steps_left-- > 0 ? 0 : raise(SIGKILL);
}

/* Ends with SIGKILL after so many steps of SQLite's machine. */
static void upgrade_and_die(const char *path, int steps)
{
    struct fault fault = FAULT_NONE;
    sqlite3 *db = NULL;
    if (db_open(path, "PRAGMA foreign_keys = ON;", &db, &fault) != ERR_OK)
        _exit(1);
    steps_left = steps;
    sqlite3_progress_handler(db, 1, die_at_step, NULL);
    if (migrate(db, path, APP, three, 3, &fault) != ERR_OK)
        _exit(1);
    _exit(0);
}

START_TEST(a_kill_leaves_a_whole_version)
{
    const char *dir = make_dir(), *path = path_in(dir, "db");
    size_t num_killed = 0;
    note_versions(dir);
    for (int steps = 0, status = -1; status != 0; steps += 23) {
        struct fault fault = FAULT_NONE;
        (void)unlink(path);
        ck_err(migrate_file(path, three, 1, &fault), ERR_OK);
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            upgrade_and_die(path, steps);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        num_killed += status != 0;
        (void)version_of(path);
        ck_err(migrate_file(path, three, 3, &fault), ERR_OK);
        ck_assert_uint_eq(version_of(path), 3);
    }
    ck_assert_uint_gt(num_killed, 5);
    remove_dir(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store migrate");
    TCase *tc = unit_case("sqlite");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, an_upgraded_database_is_as_a_fresh_one);
    tcase_add_test(tc, a_migration_that_fails_leaves_nothing);
    tcase_add_test(tc, a_database_that_does_not_fit_is_refused);
    tcase_add_test(tc, a_disk_that_fails_leaves_a_whole_version);
    tcase_add_test(tc, a_kill_leaves_a_whole_version);
    return run_suite(s);
}
