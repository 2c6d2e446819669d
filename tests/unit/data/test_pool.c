#include <check.h>
#include <math.h>
#include <stdlib.h>
#include "common/base/rng.h"
#include "common/data/pool.h"
#include "tests/support/unit.h"

/* An odd number of features, so that the tail behind the vectorised blocks is read too; more rows than one
 * block of sums. */
#define ROWS     70001
#define FEATURES 37

static struct pool pool;

/* Feature 0 is constant, feature 1 differs in one row, feature 2 is 0 or 255, the others are noise of growing
 * width. */
static uint8_t byte_at(size_t row, size_t j)
{
    const uint64_t noise = rng_u64(99, row * FEATURES + j);
    if (j == 0)
        return 200;
    if (j == 1)
        return row == 12345 ? 255 : 0;
    if (j == 2)
        return noise & 1 ? 255 : 0;
    return (uint8_t)(noise % (7 * j) % 256);
}

static void setup(void)
{
    pool = (struct pool){0};
    ck_assert_int_eq(pool_alloc_bytes(&pool, ROWS, FEATURES, "data", NULL), ERR_OK);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t j = 0; j < FEATURES; j++)
            pool.bytes[row * FEATURES + j] = byte_at(row, j);
}

static void teardown(void)
{
    pool_release(&pool);
}

/* Two passes in double: the definition. */
static void statistics_of(size_t j, double *out_mean, double *out_std)
{
    double sum = 0, squares = 0;
    for (size_t row = 0; row < ROWS; row++)
        sum += pool.bytes[row * FEATURES + j];
    *out_mean = sum / ROWS;
    for (size_t row = 0; row < ROWS; row++) {
        const double d = pool.bytes[row * FEATURES + j] - *out_mean;
        squares += d * d;
    }
    *out_std = sqrt(squares / ROWS);
}

START_TEST(test_statistics)
{
    double mean[FEATURES], std[FEATURES], expected_mean, expected_std;
    ck_assert_int_eq(pool_statistics(&pool, mean, std), ERR_OK);
    for (size_t j = 0; j < FEATURES; j++) {
        statistics_of(j, &expected_mean, &expected_std);
        ck_assert_double_eq_tol(mean[j], expected_mean, 1e-13 * (1 + expected_mean));
        ck_assert_double_eq_tol(std[j], expected_std, 1e-11 * (1 + expected_std));
    }
    ck_assert_double_eq(std[0], 0);
    ck_assert_double_eq(mean[0], 200);
}
END_TEST

/* The bound that docs/datasets.md states: three roundings to float, and that of the mean. */
START_TEST(test_standardised_to_float_precision)
{
    double mean[FEATURES], std[FEATURES];
    float x[FEATURES];
    ck_assert_int_eq(pool_statistics(&pool, mean, std), ERR_OK);
    ck_assert_int_eq(pool_scale(&pool, POOL_SCALING_PIXELS, NULL), ERR_OK);
    for (uint32_t row = 0; row < ROWS; row += 7) {
        pool_read(&pool, row, x);
        for (size_t j = 0; j < FEATURES; j++) {
            const double expected = (pool.bytes[row * FEATURES + j] - mean[j]) / (std[j] + 0.001);
            const double bound = ldexp(3.1 * fabs(expected) + mean[j] / (std[j] + 0.001), -24);
            ck_assert_double_eq_tol((double)x[j], expected, bound + 1e-12);
            /* Whatever the processor offers: these two roundings. */
            const volatile float centred = (float)pool.bytes[row * FEATURES + j] - pool.mean[j];
            const volatile float scaled = centred * pool.scale[j];
            ck_assert_float_eq(x[j], scaled);
        }
    }
}
END_TEST

START_TEST(test_unit_and_none)
{
    float x[FEATURES];
    ck_assert_int_eq(pool_scale(&pool, POOL_SCALING_UNIT, NULL), ERR_OK);
    pool_read(&pool, 77, x);
    for (size_t j = 0; j < FEATURES; j++)
        ck_assert_float_eq_tol(x[j], (float)byte_at(77, j) / 255, 1e-7f);
    free(pool.mean);
    free(pool.scale);
    ck_assert_int_eq(pool_scale(&pool, POOL_SCALING_NONE, NULL), ERR_OK);
    pool_read(&pool, ROWS - 1, x);
    for (size_t j = 0; j < FEATURES; j++)
        ck_assert_float_eq(x[j], (float)byte_at(ROWS - 1, j));
}
END_TEST

START_TEST(test_absurd_sizes)
{
    static const size_t sizes[][2] = {{SIZE_MAX, 1},
                                      {1, SIZE_MAX},
                                      {SIZE_MAX, SIZE_MAX},
                                      {(size_t)UINT32_MAX + 1, 1},
                                      {UINT32_MAX, 1000000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct pool p = {0};
        struct fault fault = FAULT_NONE;
        ck_assert_int_eq(pool_alloc_bytes(&p, sizes[i][0], sizes[i][1], "data.x", &fault), ERR_INVALID_FIELD);
        ck_assert_int_eq(pool_alloc_floats(&p, sizes[i][0], sizes[i][1], "data.x", &fault),
                         ERR_INVALID_FIELD);
        ck_assert_str_eq(fault.field, "data.x");
        pool_release(&p);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tc = unit_case("pool");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_statistics);
    tcase_add_test(tc, test_standardised_to_float_precision);
    tcase_add_test(tc, test_unit_and_none);
    tcase_add_test(tc, test_absurd_sizes);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
