#include <math.h>
#include <signal.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/fl/average.h"
#include "tests/support/unit.h"

START_TEST(test_weights_are_examples)
{
    const int64_t examples[] = {1, 3};
    const float a[] = {0, 4}, b[] = {4, 0}, *values[] = {a, b};
    const int64_t ordinals[] = {0, 1};
    double weights[2];
    float out[2];
    ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, 1, examples, 2, weights, NULL), ERR_OK);
    ck_assert(weights[0] == 1 && weights[1] == 3);
    ck_assert_int_eq(average_blocks(ordinals, weights, values, 2, 2, out), ERR_OK);
    ck_assert(out[0] == 3 && out[1] == 1); /* 0.25 and 0.75 */
    ck_assert_int_eq(average_weights(WEIGHTING_UNIFORM, 1, examples, 2, weights, NULL), ERR_OK);
    ck_assert_int_eq(average_blocks(ordinals, weights, values, 2, 2, out), ERR_OK);
    ck_assert(out[0] == 2 && out[1] == 2);
}
END_TEST

START_TEST(test_nothing_to_average)
{
    const int64_t ordinal = 4;
    const double zero = 0;
    const int64_t none[] = {0, 0}, negative[] = {3, -1};
    double weights[2];
    struct fault fault = FAULT_NONE;
    struct average a;
    float values[3] = {1, 2, 3}, out[3] = {7, 7, 7};
    const float *const blocks[] = {values};
    ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, 1, none, 2, weights, &fault),
                     ERR_INVALID_UPDATE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "none of the 2 updates"));
    ck_assert_int_eq(average_weights(WEIGHTING_UNIFORM, 1, none, 2, weights, NULL), ERR_INVALID_UPDATE);
    ck_assert_int_eq(average_weights(WEIGHTING_UNIFORM, 1, none, 0, weights, NULL), ERR_INVALID_UPDATE);
    ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, 1, negative, 2, weights, NULL),
                     ERR_INVALID_FIELD);
    ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, 0, none, 2, weights, NULL), ERR_INVALID_FIELD);
    ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, 1.5, none, 2, weights, NULL), ERR_INVALID_FIELD);
    ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, (double)NAN, none, 2, weights, NULL),
                     ERR_INVALID_FIELD);
    ck_assert_int_eq(average_init(&a, 3), ERR_OK);
    average_begin(&a, 3);
    ck_assert_int_eq(average_finish(&a, out), ERR_INVALID_UPDATE);
    average_add(&a, 1, &ordinal, &zero, blocks, 0);
    ck_assert_int_eq(average_finish(&a, out), ERR_INVALID_UPDATE);
    ck_assert(out[0] == 7);
    average_release(&a);
}
END_TEST

static void ck_bounded(double fraction, const int64_t *examples, const double *expected, size_t n)
{
    double weights[8];
    ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, fraction, examples, n, weights, NULL), ERR_OK);
    for (size_t k = 0; k < n; k++)
        ck_assert_msg(fabs(weights[k] - expected[k]) <= 1e-12 * expected[k], "weight %zu is %.17g", k,
                      weights[k]);
}

START_TEST(test_share_is_bounded)
{
    ck_bounded(0.5, (const int64_t[]){1000, 100, 1}, (const double[]){101, 100, 1}, 3);
    ck_bounded(0.5, (const int64_t[]){100, 50, 1}, (const double[]){51, 50, 1}, 3);
    /* holding the first lowers the bound below the second */
    ck_bounded(0.3, (const int64_t[]){1000, 30, 20, 10, 5}, (const double[]){26.25, 26.25, 20, 10, 5}, 5);
    ck_bounded(0.9, (const int64_t[]){10, 20, 30}, (const double[]){10, 20, 30}, 3);
    ck_bounded(0.25, (const int64_t[]){10, 20, 0, 30}, (const double[]){1, 1, 0, 1}, 4);
    ck_bounded(0.3, (const int64_t[]){10}, (const double[]){1}, 1);
}
END_TEST

START_TEST(test_bound_holds_for_many)
{
    uint64_t key = rng_key(3, RNG_MISC, 0, 0, 0);
    for (uint64_t trial = 0; trial < 500; trial++) {
        int64_t examples[8];
        double weights[8], total = 0, fraction = 0.15 + 0.85 * rng_uniform(key, 100 * trial + 99);
        for (size_t k = 0; k < 8; k++)
            examples[k] = (int64_t)exp(9 * rng_uniform(key, 100 * trial + k));
        ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, fraction, examples, 8, weights, NULL),
                         ERR_OK);
        for (size_t k = 0; k < 8; k++)
            total += weights[k];
        for (size_t k = 0; k < 8; k++) {
            ck_assert_double_le(weights[k], fraction * total * (1 + 1e-12));
            ck_assert_double_le(weights[k], (double)examples[k]);
            if (weights[k] < (double)examples[k])
                ck_assert_double_ge(weights[k], fraction * total * (1 - 1e-12));
        }
    }
}
END_TEST

enum { PARAMS = 10007, DEVICES = 13 };

START_TEST(test_ranges_do_not_change_the_bits)
{
    static float values[DEVICES][PARAMS], whole[PARAMS], parts[PARAMS];
    const float *blocks[DEVICES];
    const int64_t ordinals[DEVICES] = {0, 3, 4, 9, 10, 55, 56, 57, 60, 61, 99, 500, 1000000};
    const double weights[DEVICES] = {51, 7, 1234, 3, 99, 1, 17.1, 2, 8, 5, 0.3, 77, 4};
    const size_t ranges[] = {1, 3, 17, 4096, 10006, 10007};
    double total = 0;
    for (size_t k = 0; k < DEVICES; k++) {
        blocks[k] = values[k];
        total += weights[k];
        for (size_t i = 0; i < PARAMS; i++)
            values[k][i] = (float)rng_normal(rng_key(1, RNG_MISC, k, 0, 0), i);
    }
    ck_assert_int_eq(average_blocks(ordinals, weights, blocks, DEVICES, PARAMS, whole), ERR_OK);
    for (size_t i = 0; i < PARAMS; i++) {
        double acc = 0;
        for (size_t k = 0; k < DEVICES; k++)
            acc += weights[k] * (double)values[k][i];
        ck_assert(whole[i] == (float)(acc / total));
    }
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        struct average a;
        ck_assert_int_eq(average_init(&a, ranges[r]), ERR_OK);
        for (size_t from = 0; from < PARAMS; from += ranges[r]) {
            average_begin(&a, PARAMS - from < ranges[r] ? PARAMS - from : ranges[r]);
            for (size_t k = 0; k < DEVICES; k += r + 1) { /* the group does not matter either */
                size_t some = DEVICES - k < r + 1 ? DEVICES - k : r + 1;
                average_add(&a, some, ordinals + k, weights + k, blocks + k, from);
            }
            ck_assert_int_eq(average_finish(&a, parts + from), ERR_OK);
        }
        ck_assert_mem_eq(parts, whole, sizeof whole);
        average_release(&a);
    }
}
END_TEST

START_TEST(test_equal_blocks_average_to_themselves)
{
    float values[100], out[100];
    const float *blocks[] = {values, values, values};
    const int64_t ordinals[] = {1, 2, 3};
    const double weights[] = {10, 20, 70};
    for (size_t i = 0; i < 100; i++)
        values[i] = (float)rng_normal(rng_key(2, RNG_MISC, 0, 0, 0), i);
    ck_assert_int_eq(average_blocks(ordinals, weights, blocks, 3, 100, out), ERR_OK);
    ck_assert_mem_eq(out, values, sizeof values);
}
END_TEST

START_TEST(test_wrong_order_is_a_bug)
{
    struct average a;
    const float value = 1, *values[] = {&value, &value};
    const int64_t ordinals[] = {5, 5};
    const double weights[] = {1, 1};
    ck_assert_int_eq(average_init(&a, 1), ERR_OK);
    average_begin(&a, 1);
    average_add(&a, 2, ordinals, weights, values, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("average");
    TCase *tc = unit_case("average");
    tcase_add_test(tc, test_weights_are_examples);
    tcase_add_test(tc, test_nothing_to_average);
    tcase_add_test(tc, test_share_is_bounded);
    tcase_add_test(tc, test_bound_holds_for_many);
    tcase_add_test(tc, test_ranges_do_not_change_the_bits);
    tcase_add_test(tc, test_equal_blocks_average_to_themselves);
    tcase_add_test_raise_signal(tc, test_wrong_order_is_a_bug, SIGABRT);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
