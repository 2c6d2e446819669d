#include <math.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include "common/base/rng.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

static uint64_t decimal(const json_t *text)
{
    return strtoull(json_string_value(text), NULL, 10);
}

START_TEST(test_check_values)
{
    json_t *root = unit_golden("tiny_golden.json");
    const json_t *prng = json_object_get(root, "prng"), *raw = json_object_get(prng, "raw");
    const json_t *uniform = json_object_get(prng, "uniform"), *normal = json_object_get(prng, "normal");
    uint64_t key = rng_key(1, 2, 3, 4, 5);
    ck_assert_uint_eq(key, decimal(json_object_get(prng, "key_1_2_3_4_5")));
    ck_assert_uint_ge(json_array_size(raw), 4);
    for (size_t i = 0; i < json_array_size(raw); i++)
        ck_assert_uint_eq(rng_u64(key, i), decimal(json_array_get(raw, i)));
    for (size_t i = 0; i < json_array_size(uniform); i++)
        ck_assert_double_eq(rng_uniform(key, i), json_real_value(json_array_get(uniform, i)));
    ck_assert_uint_ge(json_array_size(normal), 5);
    for (size_t i = 0; i < json_array_size(normal); i++)
        ck_assert_double_eq_tol(rng_normal(key, i), json_real_value(json_array_get(normal, i)), 1e-14);
    json_decref(root);
}
END_TEST

static void ck_permutation(uint64_t key, const json_t *expected, size_t n)
{
    uint32_t got[64];
    ck_assert_uint_le(n, 64);
    ck_assert_int_eq(rng_permutation(key, got, n), ERR_OK);
    for (size_t i = 0; i < json_array_size(expected); i++)
        ck_assert_int_eq(got[i], json_integer_value(json_array_get(expected, i)));
}

START_TEST(test_permutation_check_values)
{
    json_t *tiny = unit_golden("tiny_golden.json"), *schedule = unit_golden("schedule_golden.json");
    ck_permutation(rng_key(1, 2, 3, 4, 5), json_object_get(json_object_get(tiny, "prng"), "permutation_10"),
                   10);
    ck_permutation(rng_key(1, RNG_BATCHES, 0, 0, 0), json_object_get(schedule, "batch_permutation"), 20);
    json_decref(tiny);
    json_decref(schedule);
}
END_TEST

static void ck_round(uint64_t seed, uint64_t t, const json_t *round)
{
    const json_t *rank = json_object_get(round, "rank"), *epochs = json_object_get(round, "straggler_epochs");
    const json_t *selected = json_object_get(round, "selected");
    uint32_t order[10];
    ck_permutation(rng_key(seed, RNG_SELECT, t, 0, 0), selected, 30);
    ck_assert_int_eq(rng_permutation(rng_key(seed, RNG_STRAGGLER_ORDER, t, 0, 0), order, 10), ERR_OK);
    for (uint32_t r = 0; r < 10; r++)
        ck_assert_int_eq(json_integer_value(json_array_get(rank, order[r])), r);
    for (size_t i = 0; i < 10; i++) {
        uint64_t device = (uint64_t)json_integer_value(json_array_get(selected, i));
        ck_assert_int_eq(rng_one_to(rng_key(seed, RNG_STRAGGLER_EPOCHS, t, device, 0), 0, 20),
                         json_integer_value(json_array_get(epochs, i)));
    }
}

START_TEST(test_schedule_check_values)
{
    json_t *root = unit_golden("schedule_golden.json");
    static const uint64_t seeds[] = {1, 3, 6};
    for (size_t s = 0; s < 3; s++) {
        char name[16];
        (void)snprintf(name, sizeof name, "seed_%d", (int)seeds[s]);
        const json_t *rounds = json_object_get(root, name);
        ck_assert_uint_eq(json_array_size(rounds), 5);
        for (size_t t = 0; t < 5; t++)
            ck_round(seeds[s], t, json_array_get(rounds, t));
    }
    json_decref(root);
}
END_TEST

START_TEST(test_normals_equal_single_normals)
{
    double many[8] = {0};
    for (size_t n = 0; n < 8; n++) {
        many[n] = -1e9;
        rng_normals(77, many, n);
        ck_assert_double_eq(many[n], -1e9); /* nothing behind the n-th */
        for (size_t i = 0; i < n; i++)
            ck_assert_double_eq(many[i], rng_normal(77, i));
    }
}
END_TEST

START_TEST(test_normals_are_normal)
{
    enum { N = 100000 };
    double *x = malloc(N * sizeof *x), sum = 0, squares = 0, fourth = 0;
    ck_assert_ptr_nonnull(x);
    rng_normals(rng_key(5, RNG_MISC, 0, 0, 0), x, N);
    for (size_t i = 0; i < N; i++) {
        ck_assert(isfinite(x[i]));
        sum += x[i];
        squares += x[i] * x[i];
        fourth += x[i] * x[i] * x[i] * x[i];
    }
    free(x);
    ck_assert_double_eq_tol(sum / N, 0, 0.02);
    ck_assert_double_eq_tol(squares / N, 1, 0.02);
    ck_assert_double_eq_tol(fourth / N, 3, 0.15);
}
END_TEST

START_TEST(test_permutations_are_sorted_by_output)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 100, 1000, 54321};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        uint64_t key = rng_key(9, RNG_MISC, s, 0, 0);
        uint32_t *out = calloc(n + 1, sizeof *out);
        char *is_there = calloc(n + 1, 1);
        ck_assert(out && is_there);
        out[n] = 4711;
        ck_assert_int_eq(rng_permutation(key, out, n), ERR_OK);
        ck_assert_uint_eq(out[n], 4711);
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_lt(out[i], n);
            ck_assert(!is_there[out[i]]);
            is_there[out[i]] = 1;
            if (i > 0)
                ck_assert_uint_lt(rng_u64(key, out[i - 1]), rng_u64(key, out[i]));
        }
        free(out);
        free(is_there);
    }
}
END_TEST

START_TEST(test_permutation_too_large)
{
    uint32_t one;
    ck_assert_int_eq(rng_permutation(1, &one, (size_t)UINT32_MAX + 1), ERR_INVALID_FIELD);
}
END_TEST

START_TEST(test_permutation_without_memory)
{
    uint32_t out[3];
    alloc_fail_at(0);
    ck_assert_int_eq(rng_permutation(1, out, 3), ERR_NO_MEMORY);
    ck_assert(alloc_fail_end());
}
END_TEST

START_TEST(test_one_to_covers_its_range)
{
    int seen[6] = {0};
    for (uint64_t i = 0; i < 600; i++) {
        int64_t x = rng_one_to(123, i, 5);
        ck_assert(x >= 1 && x <= 5);
        seen[x]++;
        ck_assert_int_eq(rng_one_to(123, i, 1), 1);
        ck_assert_int_ge(rng_one_to(123, i, INT64_MAX), 1);
    }
    for (int x = 1; x <= 5; x++)
        ck_assert_int_gt(seen[x], 80);
}
END_TEST

START_TEST(test_one_to_nothing_is_a_bug)
{
    (void)rng_one_to(1, 0, 0);
}
END_TEST

START_TEST(test_keys_depend_on_every_word)
{
    uint64_t key = rng_key(1, 2, 3, 4, 5);
    ck_assert_uint_ne(key, rng_key(2, 2, 3, 4, 5));
    ck_assert_uint_ne(key, rng_key(1, 3, 3, 4, 5));
    ck_assert_uint_ne(key, rng_key(1, 2, 4, 4, 5));
    ck_assert_uint_ne(key, rng_key(1, 2, 3, 5, 5));
    ck_assert_uint_ne(key, rng_key(1, 2, 3, 4, 6));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rng");
    TCase *tc = unit_case("rng");
    tcase_add_test(tc, test_check_values);
    tcase_add_test(tc, test_permutation_check_values);
    tcase_add_test(tc, test_schedule_check_values);
    tcase_add_test(tc, test_normals_equal_single_normals);
    tcase_add_test(tc, test_normals_are_normal);
    tcase_add_test(tc, test_permutations_are_sorted_by_output);
    tcase_add_test(tc, test_permutation_too_large);
    tcase_add_test(tc, test_permutation_without_memory);
    tcase_add_test(tc, test_one_to_covers_its_range);
    tcase_add_test_raise_signal(tc, test_one_to_nothing_is_a_bug, SIGABRT);
    tcase_add_test(tc, test_keys_depend_on_every_word);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
