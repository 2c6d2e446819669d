/* One connection with its prepared statements, and what store.h offers within a transaction. For one thread
 * at a time. */
#ifndef FEDLANE_STORE_SQLITE_CONN_H
#define FEDLANE_STORE_SQLITE_CONN_H

#include "server/store/sqlite/db.h"
#include "server/store/sqlite/sql.h"
#include "server/store/topics.h"

struct conn {
    sqlite3 *db;
    sqlite3_stmt *rows[RECORD_COUNT][SQL_ROW_COUNT]; /* each prepared at its first use */
    sqlite3_stmt *finds[QUERY_COUNT][SQL_MASKS];
    sqlite3_stmt *counts[QUERY_COUNT][SQL_MASKS];
    enum err last_error; /* of a statement, other than a conflict */
};

/* A transaction of store.h on a connection. */
struct sqlite_txn {
    struct store_txn base;
    struct conn *conn;
    struct topics *topics; /* NULL in a read */
};

enum err conn_new(const char *path, const char *pragmas, struct conn **out, struct fault *fault) MUST_CHECK;
void conn_free(struct conn *c); /* NULL is legal */
/* Prepares every statement there is, so that a schema that does not fit is found when the store is opened. */
enum err conn_prepare_all(struct conn *c, struct fault *fault) MUST_CHECK;

/* As in store.h. */
enum err conn_insert(struct conn *c, enum record_kind kind, void *row) MUST_CHECK;
enum err conn_update(struct conn *c, enum record_kind kind, const void *row) MUST_CHECK;
enum err conn_put(struct conn *c, enum record_kind kind, const void *row) MUST_CHECK;
enum err conn_remove(struct conn *c, enum record_kind kind, const void *row) MUST_CHECK;
enum err conn_get(struct conn *c, enum record_kind kind, struct arena *arena, void *row) MUST_CHECK;
enum err conn_find(struct conn *c, enum query q, const struct store_value *args, int64_t limit,
                   struct arena *arena, void **out_rows, size_t *out_count) MUST_CHECK;
enum err conn_count(struct conn *c, enum query q, const struct store_value *args,
                    int64_t *out_count) MUST_CHECK;

#endif
