/* Connections that read, opened when they are needed: as many as threads ever read at once. */
#ifndef FEDLANE_STORE_SQLITE_READERS_H
#define FEDLANE_STORE_SQLITE_READERS_H

#include <pthread.h>
#include "server/store/sqlite/conn.h"

struct reader {
    struct reader *next;
    struct conn *conn;
    sqlite3_stmt *begin, *end;
};
struct readers {
    const char *path; /* borrowed */
    pthread_mutex_t mutex;
    struct reader *idle;
};

enum err readers_init(struct readers *r, const char *path) MUST_CHECK;
void readers_release(struct readers *r); /* when no read runs */
/* fn in a transaction of its own, which sees one state of the database. */
enum err readers_run(struct readers *r, struct store *store, store_fn fn, void *arg) MUST_CHECK;

#endif
