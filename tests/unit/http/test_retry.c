#include "common/base/rng.h"
#include "common/http/retry.h"
#include "tests/support/unit.h"

START_TEST(test_what_is_worth_it)
{
    static const int again[] = {408, 429, 500, 502, 503, 504, 507},
                     final[] = {200, 304, 400, 401, 404, 409, 413, 501, 505};
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        ck_assert(retry_is_worth_it(ERR_INTERNAL, again[i]));
    for (size_t i = 0; i < sizeof final / sizeof *final; i++)
        ck_assert(!retry_is_worth_it(ERR_NETWORK, final[i]));
    ck_assert(retry_is_worth_it(ERR_NETWORK, 0));
    ck_assert(retry_is_worth_it(ERR_TIMEOUT, 0));
    ck_assert(!retry_is_worth_it(ERR_NO_MEMORY, 0));
    ck_assert(!retry_is_worth_it(ERR_CANCELLED, 0));
}
END_TEST

START_TEST(test_waits_grow_to_the_cap)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        int64_t most = attempt < 7 ? (int64_t)RETRY_BASE_MS << attempt : RETRY_CAP_MS, largest = 0,
                smallest = most;
        for (uint64_t nonce = 0; nonce < 200; nonce++) {
            int64_t wait = retry_wait_ms(3, nonce, attempt, 0);
            ck_assert(wait >= 0 && wait <= most);
            largest = wait > largest ? wait : largest;
            smallest = wait < smallest ? wait : smallest;
        }
        /* Full jitter: the waits fill the whole range. */
        ck_assert_int_gt(largest, most * 9 / 10);
        ck_assert_int_lt(smallest, most / 10);
    }
}
END_TEST

START_TEST(test_waits_are_a_function_of_their_key)
{
    int64_t wait = retry_wait_ms(3, 4, 2, 0);
    ck_assert_int_eq(wait, retry_wait_ms(3, 4, 2, 0));
    ck_assert_int_eq(wait, (int64_t)(1001 * rng_uniform(rng_key(3, RNG_RETRY_JITTER, 2, 4, 0), 0)));
    ck_assert_int_ne(wait, retry_wait_ms(4, 4, 2, 0));
    ck_assert_int_ne(wait, retry_wait_ms(3, 5, 2, 0));
}
END_TEST

START_TEST(test_retry_after_is_the_least)
{
    for (uint64_t nonce = 0; nonce < 100; nonce++) {
        int64_t wait = retry_wait_ms(3, nonce, 0, 5000);
        ck_assert(wait >= 5000 && wait <= 5000 + RETRY_BASE_MS);
        wait = retry_wait_ms(3, nonce, 0, INT64_MAX);
        ck_assert(wait >= RETRY_AFTER_CAP_MS && wait <= RETRY_AFTER_CAP_MS + RETRY_BASE_MS);
        ck_assert_int_le(retry_wait_ms(3, nonce, 0, -5), RETRY_BASE_MS);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_what_is_worth_it, test_waits_grow_to_the_cap,
                                  test_waits_are_a_function_of_their_key, test_retry_after_is_the_least};
    return unit_run("retry", tests, sizeof tests / sizeof *tests);
}
