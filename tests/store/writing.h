/* What the tests about writes share: a store, and operations on experiments with a number in created_at. */
#ifndef FEDLANE_TESTS_STORE_WRITING_H
#define FEDLANE_TESTS_STORE_WRITING_H

#include "tests/store/support.h"

/* Of the test that runs, between these two; a test that closes it sets it to NULL. */
extern struct store *store;
void open_writing(int backend);
void reopen_writing(int backend); /* in the same folder */
void close_writing(void);

enum err set_number(struct store_txn *txn, const char *id, int64_t number);
int64_t get_number(struct store_txn *txn, const char *id); /* -1: there is none */
int64_t number_now(const char *id);                        /* by a read of its own */

/* What hear(&heard), a listener, was told. */
#define MAX_HEARD 64
extern struct heard {
    char topics[MAX_HEARD][64];
    int count;
    int64_t number; /* of the row "x" when the last topic came */
} heard;
void hear(void *ctx, const char *topic);

/* Changes x and y, removes "kept", notifies, then fails with ERR_STALE_ROUND. */
enum err change_and_fail(struct store_txn *txn, void *arg);
/* x = *(int64_t *)arg; notifies four topics, some of them more than once. */
enum err change_and_tell(struct store_txn *txn, void *arg);
enum err add_kept(struct store_txn *txn, void *arg); /* kept = 7 */

#endif
