/* Needs the Debian package dataset-fashion-mnist; without it the program says so and counts as skipped. */
#include "tests/unit/data/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/data/dataset_impl.h"
#include "tests/support/unit.h"

#define DIRECTORY "/usr/share/datasets/fashion-mnist"
#define SKIPPED   77 /* automake's number */

/* The same sum in double, from the bytes: how far the recipe itself agrees. */
static double exact_sum_x_train(const struct dataset *d)
{
    const struct pool *pool = &d->loaded.pool;
    double mean[784], std[784], total = 0;
    static int64_t sum[784];
    int64_t examples = 0;
    ck_assert_uint_eq(pool->num_features, 784);
    ck_assert_int_eq(pool_statistics(pool, mean, std), ERR_OK);
    for (size_t j = 0; j < 784; j++)
        sum[j] = 0;
    for (size_t k = 0; k < dataset_num_devices(d); k++) {
        const struct device_data *device = dataset_device(d, k);
        for (size_t i = 0; i < device->num_train; i++)
            for (size_t j = 0; j < 784; j++)
                sum[j] += pool->bytes[(size_t)device->rows[i] * 784 + j];
        examples += (int64_t)device->num_train;
    }
    for (size_t j = 0; j < 784; j++)
        total += ((double)sum[j] - (double)examples * mean[j]) / (std[j] + 0.001);
    return total;
}

START_TEST(test_golden)
{
    json_t *root = golden("fmnist_golden.json");
    const json_t *seeds = json_object_get(root, "seeds"), *expected = json_object_get(root, "data");
    const json_t *one = json_array_get(expected, (size_t)_i);
    const double sum = json_real_value(json_object_get(one, "sum_x_train"));
    struct dataset *d =
        load((uint64_t)json_integer_value(json_array_get(seeds, (size_t)_i)), "{'source':'fashion_mnist'}");
    ck_assert_str_eq(dataset_name(d), "fashion_mnist");
    ck_golden_counts(d, one);
    ck_assert_double_eq_tol(exact_sum_x_train(d), sum, 1e-6 * fabs(sum));
    /* 48 million values whose sum nearly cancels: in float the roundings of one pixel's background add up. */
    ck_assert_double_eq_tol(sum_x_train(d), sum, 1e-4 * fabs(sum));
    dataset_free(d);
    json_decref(root);
}
END_TEST

/* The demo's devices. */
START_TEST(test_a_hundred_devices_with_two_classes)
{
    struct dataset *d = load(1, "{'source':'fashion_mnist','partition':"
                                "{'name':'label_shards','devices':100,'shards_per_device':2}}");
    ck_assert_uint_eq(dataset_num_devices(d), 100);
    for (size_t k = 0; k < 100; k++) {
        const struct device_data *device = dataset_device(d, k);
        int64_t counts[10];
        int classes = 0;
        ck_assert_uint_eq(device->num_train, 630);
        ck_assert_uint_eq(device->num_test, 70);
        dataset_label_counts(d, device, SPLIT_TRAIN, counts);
        for (int c = 0; c < 10; c++)
            classes += counts[c] > 0;
        ck_assert_int_le(classes, 2);
    }
    dataset_free(d);
}
END_TEST

START_TEST(test_iid)
{
    struct dataset *d = load(1, "{'source':'fashion_mnist','partition':{'name':'iid','devices':7}}");
    ck_assert_uint_eq(dataset_num_devices(d), 7);
    for (size_t k = 0; k < 7; k++) {
        int64_t counts[10];
        ck_assert_uint_eq(dataset_device(d, k)->num_train, 9000);
        dataset_label_counts(d, dataset_device(d, k), SPLIT_TRAIN, counts);
        for (int c = 0; c < 10; c++) {
            ck_assert_int_gt(counts[c], 750);
            ck_assert_int_lt(counts[c], 1050);
        }
    }
    dataset_free(d);
}
END_TEST

START_TEST(test_too_many_devices)
{
    ck_refused(ERR_INVALID_FIELD, "data.partition.devices", "at most 35000 devices",
               "{'source':'fashion_mnist','partition':{'name':'iid','devices':70001}}");
    ck_refused(ERR_INVALID_FIELD, "data.partition.devices", "give 1000",
               "{'source':'fashion_mnist','partition':{'devices':999}}");
    ck_refused(ERR_INVALID_FIELD, "data.partition.devices", "fewer devices",
               "{'source':'fashion_mnist','partition':{'devices':7010}}");
}
END_TEST

int main(void)
{
    if (access(DIRECTORY "/train-images-idx3-ubyte.gz", R_OK) != 0) {
        puts("skipped: " DIRECTORY " is not there; apt install dataset-fashion-mnist");
        return SKIPPED;
    }
    Suite *suite = suite_create("fashion_mnist");
    TCase *tc = unit_case("fashion_mnist");
    tcase_add_loop_test(tc, test_golden, 0, 2);
    tcase_add_test(tc, test_a_hundred_devices_with_two_classes);
    tcase_add_test(tc, test_iid);
    tcase_add_test(tc, test_too_many_devices);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
