#include "tests/unit/data/support.h"

#include <signal.h>
#include <stdlib.h>
#include "common/base/rng.h"
#include "common/data/dataset_impl.h"
#include "tests/support/unit.h"

#define FEATURES 60

START_TEST(test_names_and_shapes)
{
    int64_t shape[LIMIT_TENSOR_DIMS];
    struct dataset *d = load(1, "{'source':'synthetic','devices':3}");
    struct dataset *named = load(1, "{'source':'synthetic','devices':1,'name':'mine'}");
    ck_assert_str_eq(dataset_name(d), "synthetic");
    ck_assert_str_eq(dataset_name(named), "mine");
    ck_assert_int_eq(dataset_input(d, shape), 1);
    ck_assert_int_eq(shape[0], FEATURES);
    ck_assert_uint_eq(dataset_num_features(d), FEATURES);
    ck_assert_int_eq(dataset_num_classes(d), 10);
    ck_assert_uint_eq(dataset_num_devices(d), 3);
    dataset_free(d);
    dataset_free(named);
    dataset_free(NULL);
}
END_TEST

START_TEST(test_find)
{
    struct dataset *d = load(1, "{'source':'synthetic','devices':3}");
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(dataset_device(d, i)->ordinal, (int64_t)i);
        ck_assert_ptr_eq(dataset_find(d, (int64_t)i), dataset_device(d, i));
    }
    ck_assert_ptr_null(dataset_find(d, 3));
    ck_assert_ptr_null(dataset_find(d, -1));
    ck_assert_ptr_null(dataset_find(d, INT64_MAX));
    dataset_free(d);
}
END_TEST

START_TEST(test_first_ordinal)
{
    struct dataset *d = load(1, "{'source':'synthetic','devices':3,'first_ordinal':40}");
    struct dataset *last = load(1, "{'source':'synthetic','devices':2,'first_ordinal':99999999}");
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(dataset_device(d, i)->ordinal, 40 + (int64_t)i);
        ck_assert_str_eq(dataset_device(d, i)->name, "");
        ck_assert_ptr_eq(dataset_find(d, 40 + (int64_t)i), dataset_device(d, i));
    }
    ck_assert_ptr_null(dataset_find(d, 39));
    ck_assert_ptr_null(dataset_find(d, 43));
    ck_assert_ptr_null(dataset_find(d, 0));
    ck_assert_int_eq(dataset_device(last, 1)->ordinal, LIMIT_ORDINAL);
    dataset_free(d);
    dataset_free(last);
    ck_refused(ERR_INVALID_FIELD, "data.first_ordinal", "100000000",
               "{'source':'synthetic','devices':3,'first_ordinal':99999999}");
    ck_refused(ERR_INVALID_FIELD, "data.first_ordinal", "", "{'source':'synthetic','first_ordinal':-1}");
    ck_refused(ERR_INVALID_FIELD, "data.first_ordinal", "", "{'source':'synthetic','first_ordinal':'0'}");
}
END_TEST

/* Whoever holds device 3 alone splits it as one does who holds them all. */
START_TEST(test_the_split_goes_by_ordinal)
{
    static const char iid[] = "{'source':'synthetic','iid':true,'devices':%d,'first_ordinal':%d}";
    struct dataset *moved = load(1, iid, 2, 3);
    struct dataset *plain = load(1, iid, 2, 0);
    const struct device_data *a = dataset_device(moved, 1), *b = dataset_device(plain, 1);
    const size_t n = a->num_train + a->num_test;
    ck_assert_uint_eq(b->num_train + b->num_test, n);
    uint32_t *order = calloc(n, sizeof *order);
    ck_assert_ptr_nonnull(order);
    for (uint64_t k = 1; k <= 4; k += 3) {
        const struct device_data *device = k == 1 ? b : a;
        const size_t first = moved->loaded.shares.first[1];
        ck_assert_int_eq(rng_permutation(rng_key(1, RNG_SPLIT, k, 0, 0), order, n), ERR_OK);
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(device->rows[i], first + order[i]);
    }
    free(order);
    dataset_free(moved);
    dataset_free(plain);
}
END_TEST

static void ck_gather(const struct dataset *d, const struct device_data *device, enum data_split split,
                      size_t n)
{
    const uint32_t indices[3] = {(uint32_t)n - 1, 0, 1};
    float range[4 * FEATURES], picked[3 * FEATURES], one[FEATURES];
    int32_t range_y[4], picked_y[3], one_y;
    dataset_gather(d, device, split, n - 4, NULL, 4, range, range_y);
    dataset_gather(d, device, split, 99, indices, 3, picked, picked_y);
    for (size_t i = 0; i < 4; i++) {
        dataset_gather(d, device, split, n - 4 + i, NULL, 1, one, &one_y);
        ck_assert_mem_eq(one, range + i * FEATURES, sizeof one);
        ck_assert_int_eq(one_y, range_y[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        dataset_gather(d, device, split, indices[i], NULL, 1, one, &one_y);
        ck_assert_mem_eq(one, picked + i * FEATURES, sizeof one);
        ck_assert_int_eq(one_y, picked_y[i]);
    }
}

START_TEST(test_gather_by_range_and_by_indices)
{
    struct dataset *d = load(1, "{'source':'synthetic','devices':2}");
    const struct device_data *device = dataset_device(d, 1);
    ck_gather(d, device, SPLIT_TRAIN, device->num_train);
    ck_gather(d, device, SPLIT_TEST, device->num_test);
    dataset_gather(d, device, SPLIT_TEST, 0, NULL, 0, NULL, NULL);
    dataset_free(d);
}
END_TEST

START_TEST(test_train_and_test_share_no_row)
{
    struct dataset *d = load(1, "{'source':'synthetic','devices':5}");
    char seen[20000] = {0};
    for (size_t k = 0; k < 5; k++) {
        const struct device_data *device = dataset_device(d, k);
        const size_t n = device->num_train + device->num_test;
        ck_assert_uint_eq(device->num_train, 9 * n / 10);
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_lt(device->rows[i], sizeof seen);
            ck_assert_int_eq(seen[device->rows[i]]++, 0);
        }
    }
    dataset_free(d);
}
END_TEST

START_TEST(test_label_counts_per_split)
{
    struct dataset *d = load(1, "{'source':'synthetic','devices':2}");
    const struct device_data *device = dataset_device(d, 1);
    int64_t counts[10], expected[10] = {0};
    for (size_t i = 0; i < device->num_test; i++) {
        float x[FEATURES];
        int32_t y;
        dataset_gather(d, device, SPLIT_TEST, i, NULL, 1, x, &y);
        expected[y]++;
    }
    dataset_label_counts(d, device, SPLIT_TEST, counts);
    ck_assert_mem_eq(counts, expected, sizeof counts);
    dataset_free(d);
}
END_TEST

START_TEST(test_gather_past_the_end_is_a_bug)
{
    struct dataset *d = load(1, "{'source':'synthetic','devices':1}");
    const struct device_data *device = dataset_device(d, 0);
    float x[FEATURES];
    int32_t y;
    dataset_gather(d, device, SPLIT_TRAIN, device->num_train, NULL, 1, x, &y);
}
END_TEST

START_TEST(test_bad_objects)
{
    ck_refused(ERR_INVALID_FIELD, "data", "object", "[]");
    ck_refused(ERR_INVALID_FIELD, "data", "object", "'synthetic'");
    ck_refused(ERR_MISSING_FIELD, "data.source", "fashion_mnist", "{}");
    ck_refused(ERR_INVALID_FIELD, "data.source", "fashion_mnist", "{'source':'mnist'}");
    ck_refused(ERR_INVALID_FIELD, "data.source", "fashion_mnist", "{'source':1}");
    ck_refused(ERR_UNKNOWN_FIELD, "data.alpha", "", "{'source':'fashion_mnist','alpha':1}");
    ck_refused(ERR_INVALID_FIELD, "data.partition", "", "{'source':'fashion_mnist','partition':'iid'}");
    ck_refused(ERR_INVALID_FIELD, "data.partition.name", "iid",
               "{'source':'fashion_mnist','partition':{'name':'even'}}");
    ck_refused(ERR_UNKNOWN_FIELD, "data.partition.device", "devices",
               "{'source':'fashion_mnist','partition':{'name':'iid','device':4}}");
}
END_TEST

START_TEST(test_missing_fashion_mnist_names_the_package)
{
    files_create();
    ck_refused(ERR_BAD_FILE, "data.path", "apt install dataset-fashion-mnist",
               "{'source':'fashion_mnist','path':'%s'}", file_path("absent"));
    ck_refused(ERR_BAD_FILE, "data.path", "train-images-idx3-ubyte.gz",
               "{'source':'fashion_mnist','path':'%s'}", file_path("absent"));
    files_remove();
}
END_TEST

/* Images in the four files that the source looks for, two of them plain and two compressed. */
START_TEST(test_fashion_mnist_from_another_directory)
{
    const uint32_t images[3] = {30, 4, 4}, labels[1] = {30};
    uint8_t pixels[30 * 16], classes[30];
    files_create();
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i % 256);
    for (size_t i = 0; i < sizeof classes; i++)
        classes[i] = (uint8_t)(i % 10);
    idx_write("train-images-idx3-ubyte", 3, images, pixels, sizeof pixels, false);
    idx_write("train-labels-idx1-ubyte", 1, labels, classes, sizeof classes, false);
    idx_write("t10k-images-idx3-ubyte.gz", 3, images, pixels, sizeof pixels, true);
    idx_write("t10k-labels-idx1-ubyte.gz", 1, labels, classes, sizeof classes, true);
    struct dataset *d =
        load(1, "{'source':'fashion_mnist','path':'%s','partition':{'name':'label_shards','devices':5}}",
             file_path(""));
    ck_assert_uint_eq(dataset_num_devices(d), 5);
    ck_assert_uint_eq(dataset_num_features(d), 16);
    ck_assert_int_eq(dataset_num_classes(d), 10);
    dataset_free(d);
    ck_refused(ERR_INVALID_FIELD, "data.partition.devices", "at most 30 devices",
               "{'source':'fashion_mnist','path':'%s'}", file_path(""));
    classes[29] = 10;
    idx_write("t10k-labels-idx1-ubyte.gz", 1, labels, classes, sizeof classes, true);
    ck_refused(ERR_BAD_FILE, "data.path",
               "t10k-labels-idx1-ubyte.gz, byte 37 of the uncompressed content: label 10",
               "{'source':'fashion_mnist','path':'%s'}", file_path(""));
    files_remove();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dataset");
    TCase *tc = unit_case("dataset");
    tcase_add_test(tc, test_names_and_shapes);
    tcase_add_test(tc, test_find);
    tcase_add_test(tc, test_first_ordinal);
    tcase_add_test(tc, test_the_split_goes_by_ordinal);
    tcase_add_test(tc, test_gather_by_range_and_by_indices);
    tcase_add_test(tc, test_train_and_test_share_no_row);
    tcase_add_test(tc, test_label_counts_per_split);
    tcase_add_test_raise_signal(tc, test_gather_past_the_end_is_a_bug, SIGABRT);
    tcase_add_test(tc, test_bad_objects);
    tcase_add_test(tc, test_missing_fashion_mnist_names_the_package);
    tcase_add_test(tc, test_fashion_mnist_from_another_directory);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
