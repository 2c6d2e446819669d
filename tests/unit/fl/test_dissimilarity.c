#include <math.h>
#include "common/base/rng.h"
#include "common/fl/dissimilarity.h"
#include "tests/support/unit.h"

static struct dissimilarity_result measure(const float *const *gradients, const int64_t *examples,
                                           size_t num_devices, size_t num_params, size_t range)
{
    struct dissimilarity d;
    struct dissimilarity_result r;
    ck_assert_int_eq(dissimilarity_init(&d, range), ERR_OK);
    for (size_t from = 0; from < num_params; from += range) {
        dissimilarity_begin(&d, num_params - from < range ? num_params - from : range);
        for (size_t k = 0; k < num_devices; k++)
            dissimilarity_add(&d, (int64_t)k, examples[k], gradients[k] + from);
        dissimilarity_end(&d);
    }
    ck_assert_int_eq(dissimilarity_finish(&d, &r), ERR_OK);
    dissimilarity_release(&d);
    return r;
}

START_TEST(test_by_hand)
{
    const float a[] = {1, 0}, b[] = {0, 1}, *gradients[] = {a, b};
    const int64_t examples[] = {1, 3};
    struct dissimilarity_result r = measure(gradients, examples, 2, 2, 2);
    /* g = (1/4, 3/4) */
    ck_assert_double_eq_tol(r.grad_norm, sqrt(0.625), 1e-15);
    ck_assert_double_eq_tol(r.b, sqrt(1 / 0.625), 1e-15);
    ck_assert_double_eq_tol(r.grad_variance_weighted, 0.25 * 1.125 + 0.75 * 0.125, 1e-15);
    ck_assert_double_eq_tol(r.grad_variance_uniform, (1.125 + 0.125) / 2, 1e-15);
}
END_TEST

START_TEST(test_limits)
{
    const float a[] = {3, 4}, minus[] = {-3, -4}, zero[] = {0, 0};
    const float *equal[] = {a, a}, *opposite[] = {a, minus}, *zeros[] = {zero, zero};
    const int64_t examples[] = {5, 5};
    struct dissimilarity d;
    struct dissimilarity_result r = measure(equal, examples, 2, 2, 2);
    ck_assert(r.b == 1 && r.grad_norm == 5 && r.grad_variance_weighted == 0 && r.grad_variance_uniform == 0);
    r = measure(opposite, examples, 2, 2, 1);
    ck_assert(isinf(r.b) && r.grad_norm == 0 && r.grad_variance_weighted == 25);
    r = measure(zeros, examples, 2, 2, 2);
    ck_assert(r.b == 1 && r.grad_norm == 0 && r.grad_variance_uniform == 0);
    ck_assert_int_eq(dissimilarity_init(&d, 4), ERR_OK);
    ck_assert_int_eq(dissimilarity_finish(&d, &r), ERR_INVALID_UPDATE);
    dissimilarity_release(&d);
}
END_TEST

START_TEST(test_ranges_agree_with_the_definition)
{
    enum { N = 501, K = 6 };
    static float values[K][N];
    const float *gradients[K];
    const int64_t examples[K] = {4, 100, 7, 31, 55, 2};
    double mean[N] = {0}, weighted = 0, uniform = 0;
    for (size_t k = 0; k < K; k++) {
        gradients[k] = values[k];
        for (size_t i = 0; i < N; i++) {
            values[k][i] = (float)(1 + rng_normal(rng_key(4, RNG_MISC, k, 0, 0), i));
            mean[i] += (double)examples[k] / 199 * (double)values[k][i];
        }
    }
    for (size_t k = 0; k < K; k++) {
        for (size_t i = 0; i < N; i++) {
            double difference = (double)values[k][i] - mean[i];
            weighted += (double)examples[k] / 199 * difference * difference;
            uniform += difference * difference / K;
        }
    }
    const size_t ranges[] = {1, 64, 500, 501};
    for (size_t r = 0; r < 4; r++) {
        struct dissimilarity_result got = measure(gradients, examples, K, N, ranges[r]);
        ck_assert_double_eq_tol(got.grad_variance_weighted / weighted, 1, 1e-12);
        ck_assert_double_eq_tol(got.grad_variance_uniform / uniform, 1, 1e-12);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_by_hand, test_limits, test_ranges_agree_with_the_definition};
    return unit_run("dissimilarity", tests, sizeof tests / sizeof *tests);
}
