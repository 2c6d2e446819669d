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

/* Two ids made in one millisecond by the same process sort in the order they were made only by chance. */
enum err id_new(const struct entropy *e, int64_t now_ms, char out[ID_SIZE]) MUST_CHECK;
bool id_is_valid(const char *text); /* 32 lower-case hex digits; any version */

#endif
