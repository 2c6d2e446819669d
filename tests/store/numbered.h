/* Events and blobs whose content depends on their number: what is found must be whole. */
#ifndef FEDLANE_TESTS_STORE_NUMBERED_H
#define FEDLANE_TESTS_STORE_NUMBERED_H

#include "server/store/blobs.h"
#include "server/store/store.h"

struct event {
    const char *run_id;
    int64_t seq, blob_id;
};
/* A write, of a struct event. */
enum err add_event(struct store_txn *txn, void *arg);

struct found {
    const char *run_id;
    int64_t count, first_missing; /* of seq 1, 2, ... */
    int64_t *blob_ids;            /* by seq; NULL: not wanted */
    size_t max;
    bool has[4096];
};
/* A read, into a struct found: the events of its run. Fails the test if one is not whole. */
enum err find_events(struct store_txn *txn, void *arg);

/* The blob of that number, not yet committed. */
enum err put_blob(struct blobs *b, int64_t seed, size_t size, int64_t *out_id);
/* It is there, with the bytes of its number. */
bool blob_is_whole(struct blobs *b, int64_t id, int64_t seed, size_t size) MUST_CHECK;
/* Fails the test unless it is whole. */
void check_blob(struct blobs *b, int64_t id, int64_t seed, size_t size);
/* For before_commit; ctx is the blobs. */
void begin_blobs(void *ctx);
enum err commit_blobs(void *ctx);

#endif
