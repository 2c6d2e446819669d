/* Failures of one address are counted and forgotten; others are not held up by them. */
#include "server/api/auth_limit.h"
#include <stdio.h>
#include "tests/support/unit.h"

#define MOST 60

static struct auth_limit *limit;

static void set_up(void)
{
    ck_assert_int_eq(auth_limit_new(MOST, &limit), ERR_OK);
}

/* How many of n failures at one time are answered as such. */
static int answered(const char *address, int n, int64_t now_ms)
{
    int fine = 0;
    for (int i = 0; i < n; i++)
        fine += auth_limit_failed(limit, address, now_ms);
    return fine;
}

START_TEST(test_there_are_so_many_and_one_more_each_second)
{
    set_up();
    ck_assert_int_eq(answered("192.0.2.1", 2 * MOST, 1000), MOST);
    ck_assert_int_eq(answered("192.0.2.1", 5, 1999), 0);
    ck_assert_int_eq(answered("192.0.2.1", 5, 2999), 1);
    ck_assert_int_eq(answered("192.0.2.1", 5, 12999), 5);
    ck_assert_int_eq(answered("192.0.2.1", 2 * MOST, 10000000), MOST);
    auth_limit_free(limit);
}
END_TEST

START_TEST(test_addresses_are_apart_and_networks_together)
{
    set_up();
    ck_assert_int_eq(answered("192.0.2.1", MOST + 1, 0), MOST);
    ck_assert_int_eq(answered("192.0.2.2", 1, 0), 1);
    ck_assert_int_eq(answered("2001:db8::1", MOST, 0), MOST);
    ck_assert_int_eq(answered("2001:db8::ffff:2", 1, 0), 0);
    ck_assert_int_eq(answered("2001:db8:0:1::1", 1, 0), 1);
    ck_assert_int_eq(answered("", 1, 0), 1);
    ck_assert_int_eq(answered("0.0.0.0", 1, 0), 1);
    auth_limit_free(limit);
}
END_TEST

/* A flood from many addresses takes the places of those that failed little, and never those of the worst. */
START_TEST(test_a_flood_of_addresses_frees_nobody)
{
    set_up();
    ck_assert_int_eq(answered("192.0.2.1", MOST, 0), MOST);
    for (int i = 0; i < 200000; i++) {
        char address[32];
        (void)snprintf(address, sizeof address, "10.%d.%d.%d", i >> 16, (i >> 8) & 255, i & 255);
        ck_assert(auth_limit_failed(limit, address, 0));
    }
    ck_assert_int_eq(answered("192.0.2.1", 1, 0), 0);
    auth_limit_free(limit);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_there_are_so_many_and_one_more_each_second,
                                  test_addresses_are_apart_and_networks_together,
                                  test_a_flood_of_addresses_frees_nobody};
    return unit_run("auth_limit", tests, sizeof tests / sizeof tests[0]);
}
