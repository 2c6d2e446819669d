/* Copies the write-ahead log into the database, so that the log begins anew and stays small. A thread with a
 * connection of its own copies while the writer goes on; what the writer adds meanwhile is little, and that
 * the writer copies itself. So no batch waits for the bulk of it. */
#ifndef FEDLANE_STORE_SQLITE_CHECKPOINTER_H
#define FEDLANE_STORE_SQLITE_CHECKPOINTER_H

#include "server/store/sqlite/db.h"
#include "server/store/sqlite/readers.h"

struct checkpointer {
    struct readers *readers;
    sqlite3 *db; /* the thread's own connection */
    pthread_t thread;

    pthread_mutex_t mutex; /* over all that follows */
    pthread_cond_t changed;
    bool is_busy, is_ending;
    bool is_level; /* all that was in the log when it was last copied is in the database */
    int tried;     /* pages in the log when it was last copied, or was to be */
};

/* The database is there, with its schema. The path and the readers stay the caller's, who keeps them until
 * checkpointer_stop. */
enum err checkpointer_start(struct checkpointer *c, const char *path, struct readers *readers,
                            struct fault *fault) MUST_CHECK;
void checkpointer_stop(struct checkpointer *c);

/* These two on the writer's thread, between its transactions; `db` is the writer's connection. */
/* After each batch; `pages` are in the log. */
void checkpointer_tend(struct checkpointer *c, sqlite3 *db, int pages);
/* Copies everything and gives the log's space back. False: it cannot now. */
bool checkpointer_empty_log(struct checkpointer *c, sqlite3 *db);

/* The same by whoever is alone with the database. */
bool checkpoint(sqlite3 *db, int mode);

#endif
