#include "server/store/sqlite/migrate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/sha256.h"

struct migration {
    sqlite3 *db;
    const char *path;
    const struct embedded_file *files;
    size_t num_files;
    struct fault *fault;
};

static enum err failed(const struct migration *m, int rc, const char *doing)
{
    if ((rc & 0xff) == SQLITE_NOTADB)
        return fault_set(m->fault, ERR_BAD_FILE, NULL,
                         "%s is not an SQLite database: move it away, or name another file", m->path);
    char text[256];
    (void)snprintf(text, sizeof text, "%s", sqlite3_errmsg(m->db));
    enum err e = db_error(m->db, rc, doing);
    db_rollback(m->db);
    return fault_set(m->fault, e, NULL, "%s: %s failed: %s", m->path, doing, text);
}

static enum err read_int(const struct migration *m, const char *sql, int64_t *out)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(m->db, sql, -1, &stmt, NULL);
    if (!rc)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    enum err e = rc == SQLITE_ROW ? ERR_OK : failed(m, rc, "reading the schema");
    (void)sqlite3_finalize(stmt);
    return e;
}

/* An empty file becomes ours; any other must be. */
static enum err claim(const struct migration *m, int32_t application_id)
{
    int64_t found = 0, tables = 0;
    enum err e = read_int(m, "PRAGMA application_id", &found);
    if (!e)
        e = read_int(m, "SELECT count(*) FROM sqlite_schema", &tables);
    if (e || found == application_id)
        return e;
    if (found || tables)
        return fault_set(m->fault, ERR_BAD_FILE, NULL,
                         "%s is a database of another kind: move it away, or name another file", m->path);
    char sql[512];
    (void)snprintf(sql, sizeof sql,
                   "BEGIN IMMEDIATE;"
                   "PRAGMA application_id = %d;"
                   "CREATE TABLE schema_migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                   " sha256 TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;"
                   "COMMIT",
                   (int)application_id);
    int rc = sqlite3_exec(m->db, sql, NULL, NULL, NULL);
    return rc ? failed(m, rc, "making the database") : ERR_OK;
}

static enum err digest(const struct migration *m, size_t i, char out[SHA256_HEX_SIZE])
{
    const struct embedded_file *file = &m->files[i];
    if (strtoul(file->name, NULL, 10) != i + 1)
        bug("the migration %s stands at place %zu", file->name, i + 1);
    enum err e = sha256_hex(file->data, file->size, out);
    return e ? fault_set(m->fault, e, NULL, "cannot take the digest of the migration %s", file->name)
             : ERR_OK;
}

static enum err check_recorded(const struct migration *m, sqlite3_stmt *stmt, size_t i)
{
    char now[SHA256_HEX_SIZE];
    enum err e = digest(m, i, now);
    if (e)
        return e;
    const char *name = (const char *)sqlite3_column_text(stmt, 1);
    const char *recorded = (const char *)sqlite3_column_text(stmt, 2);
    if (sqlite3_column_int64(stmt, 0) == (int64_t)i + 1 && str_eq(recorded, now))
        return ERR_OK;
    return fault_set(
        m->fault, ERR_USAGE, NULL,
        "%s was made with another version of the migration %s than this program has (recorded SHA-256 "
        "%.16s..., here %.16s...): use the released program that made it",
        m->path, name ? name : "?", recorded ? recorded : "?", now);
}

/* How many of the files the database has had. */
static enum err check_history(const struct migration *m, size_t *out_applied)
{
    int64_t newest = 0;
    enum err e = read_int(m, "SELECT coalesce(max(version), 0) FROM schema_migration", &newest);
    if (e)
        return e;
    if (newest > (int64_t)m->num_files)
        return fault_set(
            m->fault, ERR_USAGE, NULL,
            "%s has schema version %lld, newer than this program, which knows up to version %zu: use a "
            "newer program, or restore the backup made before the upgrade",
            m->path, (long long)newest, m->num_files);
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(m->db, "SELECT version, name, sha256 FROM schema_migration ORDER BY version",
                                -1, &stmt, NULL);
    size_t applied = 0;
    while (!rc && !e && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        e = check_recorded(m, stmt, applied++);
        rc = SQLITE_OK;
    }
    if (!e && rc != SQLITE_DONE)
        e = failed(m, rc, "reading the schema's history");
    (void)sqlite3_finalize(stmt);
    *out_applied = applied;
    return e;
}

static int record(const struct migration *m, size_t i, const char *sha256)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(m->db, "INSERT INTO schema_migration VALUES (?1, ?2, ?3, unixepoch() * 1000)",
                                -1, &stmt, NULL);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)i + 1);
    (void)sqlite3_bind_text(stmt, 2, m->files[i].name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(stmt, 3, sha256, -1, SQLITE_STATIC);
    rc = sqlite3_step(stmt);
    (void)sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static enum err apply(const struct migration *m, size_t i)
{
    char sha256[SHA256_HEX_SIZE], doing[160];
    enum err e = digest(m, i, sha256);
    if (e)
        return e;
    (void)snprintf(doing, sizeof doing, "the migration %s", m->files[i].name);
    int rc = sqlite3_exec(m->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (!rc)
        rc = sqlite3_exec(m->db, (const char *)m->files[i].data, NULL, NULL, NULL);
    if (!rc)
        rc = record(m, i, sha256);
    if (!rc)
        rc = sqlite3_exec(m->db, "COMMIT", NULL, NULL, NULL);
    if (rc)
        return failed(m, rc, doing);
    log_info("store", "%s: applied %s", m->path, m->files[i].name);
    return ERR_OK;
}

enum err migrate(sqlite3 *db, const char *path, int32_t application_id, const struct embedded_file *files,
                 size_t num_files, struct fault *fault)
{
    struct migration m = {db, path, files, num_files, fault};
    size_t applied = 0;
    enum err e = claim(&m, application_id);
    if (!e)
        e = check_history(&m, &applied);
    for (size_t i = applied; !e && i < num_files; i++)
        e = apply(&m, i);
    return e;
}
