#include "server/store/sqlite/db.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "common/base/log.h"

static bool is_taken(int rc)
{
    return rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
           rc == SQLITE_CONSTRAINT_ROWID;
}

/* What the system said last about the database file or its journal; 0 when unknown. */
static int system_error(sqlite3 *db)
{
    int e = sqlite3_system_errno(db);
    if (!e)
        (void)sqlite3_file_control(db, NULL, SQLITE_FCNTL_LAST_ERRNO, &e);
    sqlite3_file *journal = NULL;
    if (!e)
        (void)sqlite3_file_control(db, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &journal);
    if (journal && journal->pMethods)
        (void)journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &e);
    return e;
}

static enum err io_error(sqlite3 *db)
{
    int e = db ? system_error(db) : 0;
    return e == ENOSPC || e == EDQUOT || e == EFBIG ? ERR_STORAGE_FULL : ERR_UNAVAILABLE;
}

static enum err meaning(sqlite3 *db, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return ERR_NO_MEMORY;
    case SQLITE_FULL:
        return ERR_STORAGE_FULL;
    case SQLITE_IOERR:
        return io_error(db);
    case SQLITE_TOOBIG:
        return ERR_PAYLOAD_TOO_LARGE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ERR_CORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_INTERRUPT:
        return ERR_UNAVAILABLE;
    default:
        return ERR_INTERNAL;
    }
}

enum err db_error(sqlite3 *db, int rc, const char *doing)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
        return ERR_OK;
    int extended = db && sqlite3_errcode(db) == rc ? sqlite3_extended_errcode(db) : rc;
    if (is_taken(extended))
        return ERR_CONFLICT;
    int os = db && (rc & 0xff) == SQLITE_IOERR ? system_error(db) : 0;
    log_error("store", "%s: %s (%d)%s%s", doing, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc), extended,
              os ? ": " : "", os ? strerror(os) : "");
    return meaning(db, rc);
}

static enum err open_fault(sqlite3 *db, int rc, const char *path, struct fault *fault)
{
    int kind = rc & 0xff;
    if (kind == SQLITE_NOTADB)
        return fault_set(fault, ERR_BAD_FILE, NULL,
                         "%s is not an SQLite database: move it away, or name another file", path);
    if (kind == SQLITE_CORRUPT)
        return fault_set(fault, ERR_CORRUPT, NULL, "%s is damaged (%s): restore it from a backup", path,
                         sqlite3_errmsg(db));
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
        return fault_set(fault, ERR_CONFLICT, NULL,
                         "%s is in use by another program: stop that program first", path);
    int os = db ? sqlite3_system_errno(db) : 0;
    return fault_set(fault, meaning(db, rc), NULL, "cannot open the database %s: %s%s%s", path,
                     db ? sqlite3_errmsg(db) : sqlite3_errstr(rc), os ? ": " : "", os ? strerror(os) : "");
}

/* Memory for the pages that connections keep, of 4 KiB and what SQLite notes of each; pages of blobs do not
 * fit and come from the heap. It is there from the start, so that memory does not grow with the history until
 * all caches are full. */
#define PAGE_SLOT  (4096 + 256)
#define PAGE_SLOTS 2560

/* SQLite's settings for the whole process, which must come before its first use. Where somebody used it
 * before (some tests do), it stays as it is: nothing but speed depends on them. Statistics of memory, which
 * nobody reads, would cost a mutex for each piece of it. */
static void configure(void)
{
    static _Alignas(8) char pages[PAGE_SLOTS][PAGE_SLOT];
    for (size_t i = 0; i < PAGE_SLOTS; i++)
        pages[i][0] = pages[i][PAGE_SLOT - 1] = 1;
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, pages, PAGE_SLOT, PAGE_SLOTS);
}

enum err db_open_at(enum pace pace, const char *path, const char *pragmas, sqlite3 **out, struct fault *fault)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, configure);
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, pace_vfs(pace));
    if (!rc)
        rc = sqlite3_extended_result_codes(db, 1);
    if (!rc)
        rc = sqlite3_busy_timeout(db, DB_BUSY_MS);
    /* A name in double quotes is never silently a text. */
    if (!rc)
        rc = sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    if (!rc)
        rc = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (!rc)
        rc = sqlite3_exec(db, pragmas, NULL, NULL, NULL);
    if (rc) {
        enum err e = open_fault(db, rc, path, fault);
        (void)sqlite3_close(db);
        return e;
    }
    *out = db;
    return ERR_OK;
}

enum err db_open(const char *path, const char *pragmas, sqlite3 **out, struct fault *fault)
{
    return db_open_at(PACE_NONE, path, pragmas, out, fault);
}

void db_close(sqlite3 *db)
{
    if (db && sqlite3_close(db) != SQLITE_OK)
        bug("a database was closed with statements open: %s", sqlite3_errmsg(db));
}

enum err db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out)
{
    return db_error(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL), sql);
}

enum err db_run(sqlite3_stmt *stmt, const char *doing)
{
    int rc = sqlite3_step(stmt);
    enum err e = db_error(sqlite3_db_handle(stmt), rc, doing);
    (void)sqlite3_reset(stmt);
    return e;
}

enum err db_int(sqlite3 *db, const char *sql, int64_t *out)
{
    sqlite3_stmt *stmt = NULL;
    enum err e = db_prepare(db, sql, &stmt);
    if (e)
        return e;
    int rc = sqlite3_step(stmt);
    e = db_error(db, rc, sql);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    (void)sqlite3_finalize(stmt);
    return e;
}

void db_rollback(sqlite3 *db)
{
    /* What went wrong is known and logged; a rollback that fails leaves the same: nothing of it in the file.
     */
    if (!sqlite3_get_autocommit(db))
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}
