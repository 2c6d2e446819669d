/* When to try a request again, and after how long: exponential back-off with full jitter, never sooner than
 * the server's Retry-After. Pure functions; common/http applies them by itself where a request has max_tries.
 */
#ifndef FEDLANE_HTTP_RETRY_H
#define FEDLANE_HTTP_RETRY_H

#include <stdbool.h>
#include <stdint.h>
#include "common/base/err.h"

#define RETRY_BASE_MS      250
#define RETRY_CAP_MS       30000
#define RETRY_AFTER_CAP_MS 600000 /* a longer Retry-After is taken as this */

/* status 0: there was no reply, and `e` tells: network errors and timeouts. Else 408, 429 and 5xx but 501 and
 * 505; and ERR_UNAVAILABLE whatever the status. */
bool retry_is_worth_it(enum err e, int status);
/* Before try number `attempt` + 2, attempt = 0, 1, ...: uniform in [0, min(cap, base 2^attempt)], drawn from
 * the stream (seed, RNG_RETRY_JITTER, attempt, nonce), plus retry_after_ms. The nonce sets requests apart. */
int64_t retry_wait_ms(uint64_t seed, uint64_t nonce, int attempt, int64_t retry_after_ms);

#endif
