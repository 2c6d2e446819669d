/* The one thread that writes. It takes what is queued, runs it in one transaction, commits once, and then
 * tells everyone: the slower the disk, the larger the groups. */
#ifndef FEDLANE_STORE_SQLITE_WRITER_H
#define FEDLANE_STORE_SQLITE_WRITER_H

#include "server/store/sqlite/checkpointer.h"
#include "server/store/sqlite/conn.h"
#include "server/store/sqlite/readers.h"

struct writer;

/* The connection moves to the writer, which closes it; on an error too. `store` is what functions see. The
 * readers and the checkpointer outlive the writer's thread. */
enum err writer_new(struct store *store, struct conn *conn, struct readers *readers,
                    struct checkpointer *checkpointer, struct writer **out) MUST_CHECK;
/* As in store.h. */
enum err writer_queue(struct writer *w, store_fn fn, void *arg, store_done_fn done,
                      void *done_ctx) MUST_CHECK;
void writer_listen(struct writer *w, store_listener listener, void *ctx);
void writer_before_commit(struct writer *w, void (*begin)(void *ctx), enum err (*end)(void *ctx), void *ctx);
void writer_stats(struct writer *w, struct store_stats *out); /* all but the size */
/* Takes no more, runs what is queued, ends the thread. Reads go on until writer_free. */
void writer_stop(struct writer *w);
/* After writer_stop: empties the write-ahead log into the database and closes the connection. */
void writer_free(struct writer *w);

#endif
