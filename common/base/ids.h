/* UUIDv7 (RFC 9562) as 32 lower-case hex digits: sorts by time. */
#ifndef FEDLANE_BASE_IDS_H
#define FEDLANE_BASE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

#define ID_SIZE 33

/* Where random bytes come from: libcrypto in a server, a keyed stream in `simulate` and tests. */
struct entropy {
    enum err (*fill)(void *ctx, void *out, size_t n);
    void *ctx;
};

/* Two ids made in one millisecond sort in the order they were made only by chance. */
enum err id_new(const struct entropy *e, int64_t now_ms, char out[ID_SIZE]) MUST_CHECK;

/* Ids that ascend also within a millisecond (RFC 9562, section 6.2, method 2), so that rows that are made
 * together lie together in every index by their ids. For one thread; begins as zeros. */
struct id_sequence {
    int64_t ms; /* of `last`; 0: there is none */
    uint8_t last[16];
};
enum err id_next(struct id_sequence *s, const struct entropy *e, int64_t now_ms,
                 char out[ID_SIZE]) MUST_CHECK;

bool id_is_valid(const char *text); /* 32 lower-case hex digits; any version */

#endif
