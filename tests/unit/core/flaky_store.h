/* A store and a blob store whose n-th call fails, over real ones: whatever fails, nothing may be half done.
 */
#ifndef FEDLANE_TESTS_UNIT_CORE_FLAKY_STORE_H
#define FEDLANE_TESTS_UNIT_CORE_FLAKY_STORE_H

#include <stdbool.h>
#include "server/store/blobs.h"
#include "server/store/store.h"

/* Shared by both: calls are counted down, and the one that finds 0 left fails. Below 0: none fails. */
struct flaky {
    enum err
        err; /* what it fails with. ERR_OK: ERR_UNAVAILABLE for queueing a write, else ERR_STORAGE_FULL */
    int64_t left, calls;
    int64_t failures;
    int64_t bad_blob; /* every read of it fails with bad_err; 0: none */
    enum err bad_err;
};

/* Over a memory store, or over any, which it closes, too. Each call of it is done when it returns. */
enum err flaky_store_open(struct flaky *f, struct store **out) MUST_CHECK;
enum err flaky_store_over(struct flaky *f, struct store *real, struct store **out) MUST_CHECK;
enum err flaky_blobs_open(struct flaky *f, struct blobs **out) MUST_CHECK;
enum err flaky_blobs_over(struct flaky *f, struct blobs *real, struct blobs **out) MUST_CHECK;

#endif
