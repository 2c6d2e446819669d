/* SQLite connections: opening, settings, and what an error of theirs means to the rest of the program. */
#ifndef FEDLANE_STORE_SQLITE_DB_H
#define FEDLANE_STORE_SQLITE_DB_H

#include <sqlite3.h>
#include <stdint.h>
#include "common/base/err.h"
#include "server/store/sqlite/pace.h"

/* How long a statement waits for another connection's lock. */
#define DB_BUSY_MS 10000

/* What a result code means; ERR_OK for SQLITE_OK, SQLITE_ROW and SQLITE_DONE. Logs what is no plain conflict,
 * with what was being done ("committing"). db may be NULL. A taken key is ERR_CONFLICT, a full disk
 * ERR_STORAGE_FULL, a failing one ERR_UNAVAILABLE, a damaged file ERR_CORRUPT. */
enum err db_error(sqlite3 *db, int rc, const char *doing) MUST_CHECK;

/* Opens the file (it must exist, it may be empty) and runs the pragmas, statements separated by semicolons.
 * The fault says what is wrong with the file at `path`. */
enum err db_open(const char *path, const char *pragmas, sqlite3 **out, struct fault *fault) MUST_CHECK;
/* The same for a connection that writes as pace.h says. */
enum err db_open_at(enum pace pace, const char *path, const char *pragmas, sqlite3 **out,
                    struct fault *fault) MUST_CHECK;
void db_close(sqlite3 *db); /* NULL is legal */

enum err db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out) MUST_CHECK;
/* Runs a statement that gives no rows, and resets it. */
enum err db_run(sqlite3_stmt *stmt, const char *doing) MUST_CHECK;
/* The first column of the first row as an integer; 0 when there is none. */
enum err db_int(sqlite3 *db, const char *sql, int64_t *out) MUST_CHECK;
/* Rolls back if a transaction is open. */
void db_rollback(sqlite3 *db);

#endif
