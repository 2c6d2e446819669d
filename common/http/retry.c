#include "common/http/retry.h"
#include "common/base/rng.h"

bool retry_is_worth_it(enum err e, int status)
{
    if (status == 0)
        return e == ERR_NETWORK || e == ERR_TIMEOUT;
    if (e == ERR_UNAVAILABLE)
        return true;
    return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

int64_t retry_wait_ms(uint64_t seed, uint64_t nonce, int attempt, int64_t retry_after_ms)
{
    int64_t most = RETRY_BASE_MS;
    for (int i = 0; i < attempt && most < RETRY_CAP_MS; i++)
        most *= 2;
    if (most > RETRY_CAP_MS)
        most = RETRY_CAP_MS;
    uint64_t key = rng_key(seed, RNG_RETRY_JITTER, (uint64_t)attempt, nonce, 0);
    int64_t least = retry_after_ms < RETRY_AFTER_CAP_MS ? retry_after_ms : RETRY_AFTER_CAP_MS;
    return (least > 0 ? least : 0) + rng_one_to(key, 0, most + 1) - 1;
}
