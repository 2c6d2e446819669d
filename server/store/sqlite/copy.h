/* Copying a database page by page, while its connection may go on writing: what it writes to pages that are
 * copied already goes into the copy, too. */
#ifndef FEDLANE_STORE_SQLITE_COPY_H
#define FEDLANE_STORE_SQLITE_COPY_H

#include "server/store/sqlite/db.h"

struct db_copy;

/* `to` must not exist; it is made with mode 0600. Whoever uses `from` must wait for each of these calls. */
enum err db_copy_begin(sqlite3 *from, const char *to, struct db_copy **out, struct fault *fault) MUST_CHECK;
/* At most n pages more. *out_is_done: the copy is complete, and follows `from` no longer. */
enum err db_copy_step(struct db_copy *c, int n, bool *out_is_done) MUST_CHECK;
void db_copy_bytes(const struct db_copy *c, int64_t *out_done, int64_t *out_total); /* at the last step */
void db_copy_end(struct db_copy *c);                                                /* NULL is legal */

/* Writes out what lies in memory of the copy. Nobody needs to wait for it. */
enum err db_copy_sync(const struct db_copy *c) MUST_CHECK;

#endif
