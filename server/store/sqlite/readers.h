/* Connections that read, opened when they are needed: as many as threads ever read at once.
 *
 * A read's transaction stays open behind it, and the next read goes on in it where nothing was committed
 * since: beginning and ending one costs two locks on the file and more than many a read itself. An open one
 * holds up the write-ahead log, so the writer ends those that nobody uses before it begins and before it
 * copies the log. */
#ifndef FEDLANE_STORE_SQLITE_READERS_H
#define FEDLANE_STORE_SQLITE_READERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "server/store/sqlite/conn.h"

struct reader {
    struct reader *next;
    struct conn *conn;
    sqlite3_stmt *begin, *end;
    bool is_open;     /* its transaction, */
    uint64_t commits; /* which sees at least as many of them */
};
struct readers {
    const char *path; /* borrowed */
    pthread_mutex_t mutex;
    struct reader *idle;
    atomic_uint_fast64_t commits;
};

enum err readers_init(struct readers *r, const char *path) MUST_CHECK;
void readers_release(struct readers *r); /* when no read runs */
/* The writer committed: reads that begin from here on see it. Before anybody is told. */
void readers_note_commit(struct readers *r);
/* Ends the transactions that nobody uses. */
void readers_let_go(struct readers *r);
/* fn in a transaction, which sees one state of the database: the newest that anybody was told of, or newer.
 */
enum err readers_run(struct readers *r, struct store *store, store_fn fn, void *arg) MUST_CHECK;

#endif
