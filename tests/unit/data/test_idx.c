#include "tests/unit/data/support.h"

#include <stdio.h>
#include <stdlib.h>
#include "tests/support/unit.h"

/* 40 images of 3 x 2 and their labels 0..3 in turn. */
#define IMAGES 40
#define BYTES  6
static uint8_t pixels[IMAGES * BYTES], labels[IMAGES];
static const uint32_t image_dims[3] = {IMAGES, 3, 2}, label_dims[1] = {IMAGES};

static void setup(void)
{
    files_create();
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37 % 251);
    for (size_t i = 0; i < IMAGES; i++)
        labels[i] = (uint8_t)(i % 4);
    idx_write("images", 3, image_dims, pixels, sizeof pixels, false);
    idx_write("labels", 1, label_dims, labels, sizeof labels, false);
    idx_write("images.gz", 3, image_dims, pixels, sizeof pixels, true);
    idx_write("labels.gz", 1, label_dims, labels, sizeof labels, true);
}

#define DATA "{'source':'idx','train_images':'%s','train_labels':'%s','partition':{'name':'iid','devices':4}}"

static void ck_bad_images(const char *name, const char *words)
{
    ck_refused(ERR_BAD_FILE, "data.train_images", words, DATA, file_path(name), file_path("labels"));
    ck_refused(ERR_BAD_FILE, "data.train_images", name, DATA, file_path(name), file_path("labels"));
}

static void ck_bad_labels(const char *name, const char *words)
{
    ck_refused(ERR_BAD_FILE, "data.train_labels", words, DATA, file_path("images"), file_path(name));
    ck_refused(ERR_BAD_FILE, "data.train_labels", name, DATA, file_path("images"), file_path(name));
}

static void ck_same_examples(const struct dataset *a, const struct dataset *b)
{
    ck_assert_uint_eq(dataset_num_devices(a), dataset_num_devices(b));
    for (size_t k = 0; k < dataset_num_devices(a); k++) {
        const struct device_data *da = dataset_device(a, k), *db = dataset_device(b, k);
        float xa[IMAGES * BYTES], xb[IMAGES * BYTES];
        int32_t ya[IMAGES], yb[IMAGES];
        ck_assert_uint_eq(da->num_train, db->num_train);
        dataset_gather(a, da, SPLIT_TRAIN, 0, NULL, da->num_train, xa, ya);
        dataset_gather(b, db, SPLIT_TRAIN, 0, NULL, db->num_train, xb, yb);
        ck_assert_mem_eq(xa, xb, da->num_train * BYTES * sizeof *xa);
        ck_assert_mem_eq(ya, yb, da->num_train * sizeof *ya);
    }
}

START_TEST(test_plain_and_compressed_are_equal)
{
    struct dataset *plain = load(1, DATA, file_path("images"), file_path("labels"));
    struct dataset *compressed = load(1, DATA, file_path("images.gz"), file_path("labels.gz"));
    ck_assert_uint_eq(dataset_num_features(plain), BYTES);
    ck_assert_int_eq(dataset_num_classes(plain), 4);
    ck_same_examples(plain, compressed);
    dataset_free(plain);
    dataset_free(compressed);
}
END_TEST

START_TEST(test_values_are_the_bytes_of_the_file)
{
    struct dataset *d = load(1,
                             "{'source':'idx','train_images':'%s','train_labels':'%s','standardise':'none',"
                             "'partition':{'name':'iid','devices':1}}",
                             file_path("images.gz"), file_path("labels"));
    const struct device_data *device = dataset_device(d, 0);
    ck_assert_uint_eq(device->num_train + device->num_test, IMAGES);
    for (size_t i = 0; i < device->num_train; i++) {
        float x[BYTES];
        int32_t y;
        dataset_gather(d, device, SPLIT_TRAIN, i, NULL, 1, x, &y);
        ck_assert_int_eq(y, labels[device->rows[i]]);
        for (size_t j = 0; j < BYTES; j++)
            ck_assert_float_eq(x[j], (float)pixels[device->rows[i] * BYTES + j]);
    }
    dataset_free(d);
}
END_TEST

START_TEST(test_test_files_follow_the_train_files)
{
    const uint32_t one_image[4] = {1, 1, 3, 2}, one_label[1] = {1};
    const uint8_t image[BYTES] = {9, 9, 9, 9, 9, 9}, label[1] = {2};
    idx_write("more-images", 4, one_image, image, sizeof image, false);
    idx_write("more-labels", 1, one_label, label, sizeof label, false);
    struct dataset *d =
        load(1,
             "{'source':'idx','train_images':'%s','train_labels':'%s','test_images':'%s',"
             "'test_labels':'%s','standardise':'unit','partition':{'name':'iid','devices':1}}",
             file_path("images"), file_path("labels"), file_path("more-images"), file_path("more-labels"));
    const struct device_data *device = dataset_device(d, 0);
    size_t seen = 0;
    ck_assert_uint_eq(device->num_train, 36);
    ck_assert_uint_eq(device->num_test, 5);
    for (size_t i = 0; i < IMAGES + 1; i++) {
        float x[BYTES];
        int32_t y;
        if (device->rows[i] != IMAGES)
            continue;
        const bool is_train = i < device->num_train;
        dataset_gather(d, device, is_train ? SPLIT_TRAIN : SPLIT_TEST, is_train ? i : i - device->num_train,
                       NULL, 1, x, &y);
        ck_assert_int_eq(y, 2);
        ck_assert_float_eq_tol(x[0], 9.0f / 255, 1e-7f);
        seen++;
    }
    ck_assert_uint_eq(seen, 1);
    dataset_free(d);
}
END_TEST

START_TEST(test_missing_file)
{
    ck_bad_images("absent", "No such file");
    ck_bad_labels("absent", "No such file");
    ck_refused(ERR_BAD_FILE, "data.train_images", "not a regular file", DATA, file_path(""),
               file_path("labels"));
}
END_TEST

START_TEST(test_wrong_magic)
{
    uint8_t bytes[16 + sizeof pixels];
    size_t n;
    file_read("images", bytes, sizeof bytes, &n);
    bytes[1] = 'x';
    file_write("bad", bytes, n, false);
    ck_bad_images("bad", "byte 0: no IDX file");
    bytes[1] = 0;
    bytes[2] = 0x0d;
    file_write("bad", bytes, n, false);
    ck_bad_images("bad", "byte 2: element type 0x0d");
    bytes[2] = 0x08;
    bytes[3] = 200;
    file_write("bad", bytes, n, true);
    ck_bad_images("bad", "byte 3 of the uncompressed content: 200 dimensions");
    ck_bad_images("labels", "byte 3: 1 dimensions");
    ck_bad_labels("images", "byte 3: 3 dimensions");
}
END_TEST

/* A file that ends within its header is named at the number that is cut, behind it at its end. */
START_TEST(test_truncated_plain)
{
    uint8_t bytes[16 + sizeof pixels];
    size_t n;
    file_read("images", bytes, sizeof bytes, &n);
    ck_assert_uint_eq(n, sizeof bytes);
    for (size_t length = 0; length < n; length++) {
        char words[64];
        (void)snprintf(words, sizeof words, "byte %zu: the file is truncated", length);
        file_write("bad", bytes, length, false);
        ck_bad_images("bad", length < 4 || length >= 16 ? words : "truncated");
    }
}
END_TEST

START_TEST(test_truncated_compressed)
{
    uint8_t bytes[1024];
    size_t n;
    file_read("images.gz", bytes, sizeof bytes, &n);
    for (size_t length = 0; length < n; length++) {
        file_write("bad", bytes, length, false);
        ck_bad_images("bad", "byte ");
    }
    file_write("bad", bytes, n - 5, false);
    ck_bad_images("bad", "byte 256 of the uncompressed content: the end of the compressed file is damaged");
}
END_TEST

START_TEST(test_damaged_compressed)
{
    uint8_t bytes[1024];
    size_t n;
    file_read("images.gz", bytes, sizeof bytes, &n);
    bytes[n - 8] ^= 1; /* the checksum */
    file_write("bad", bytes, n, false);
    ck_bad_images("bad", "damaged");
}
END_TEST

START_TEST(test_too_long)
{
    uint8_t more[sizeof pixels + 1] = {0};
    idx_write("bad", 3, image_dims, more, sizeof more, false);
    ck_bad_images("bad", "byte 256: the file goes on");
    idx_write("bad", 3, image_dims, more, sizeof more, true);
    ck_bad_images("bad", "byte 256 of the uncompressed content: the file goes on");
}
END_TEST

START_TEST(test_absurd_sizes)
{
    const uint32_t none[3] = {0, 3, 2}, flat[3] = {IMAGES, 0, 2};
    const uint32_t huge[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, many[3] = {UINT32_MAX, 3, 2};
    const uint32_t eight[8] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
                               UINT32_MAX, UINT32_MAX, UINT32_MAX, 1};
    for (int compressed = 0; compressed < 2; compressed++) {
        idx_write("bad", 3, none, pixels, sizeof pixels, compressed);
        ck_bad_images("bad", "dimension 0 is 0");
        idx_write("bad", 3, flat, pixels, sizeof pixels, compressed);
        ck_bad_images("bad", "dimension 1 is 0");
        idx_write("bad", 3, huge, pixels, sizeof pixels, compressed);
        ck_bad_images("bad", "dimension 1 is 4294967295");
        idx_write("bad", 3, many, pixels, sizeof pixels, compressed);
        ck_bad_images("bad", "promises 4294967295 items of 6 bytes");
        idx_write("bad", 8, eight, pixels, sizeof pixels, compressed);
        ck_bad_images("bad", "dimension 1 is 4294967295");
    }
}
END_TEST

START_TEST(test_label_out_of_range)
{
    labels[17] = 4;
    idx_write("bad", 1, label_dims, labels, sizeof labels, false);
    ck_refused(ERR_BAD_FILE, "data.train_labels",
               "bad, byte 25: label 4, but there are only the classes 0 to 3",
               "{'source':'idx','train_images':'%s','train_labels':'%s','classes':4}", file_path("images"),
               file_path("bad"));
}
END_TEST

START_TEST(test_counts_differ)
{
    const uint32_t fewer[1] = {IMAGES - 1};
    idx_write("bad", 1, fewer, labels, IMAGES - 1, false);
    ck_bad_labels("bad", "byte 4: 39 labels for the 40 images");
}
END_TEST

START_TEST(test_image_sizes_differ)
{
    const uint32_t other[3] = {IMAGES, 3, 1};
    idx_write("bad", 3, other, pixels, sizeof pixels / 2, false);
    ck_refused(
        ERR_BAD_FILE, "data.test_images", "bad, byte 8: images of 3 bytes",
        "{'source':'idx','train_images':'%s','train_labels':'%s','test_images':'%s','test_labels':'%s'}",
        file_path("images"), file_path("labels"), file_path("bad"), file_path("labels"));
}
END_TEST

START_TEST(test_bad_fields)
{
    const char *images = file_path("images"), *names = file_path("labels");
    ck_refused(ERR_MISSING_FIELD, "data.train_images", "", "{'source':'idx','train_labels':'%s'}", names);
    ck_refused(ERR_MISSING_FIELD, "data.train_labels", "", "{'source':'idx','train_images':'%s'}", images);
    ck_refused(ERR_MISSING_FIELD, "data.test_labels", "both or neither",
               "{'source':'idx','train_images':'%s','train_labels':'%s','test_images':'%s'}", images, names,
               images);
    ck_refused(ERR_MISSING_FIELD, "data.test_images", "both or neither",
               "{'source':'idx','train_images':'%s','train_labels':'%s','test_labels':'%s'}", images, names,
               names);
    ck_refused(ERR_INVALID_FIELD, "data.classes", "",
               "{'source':'idx','train_images':'%s','train_labels':'%s','classes':257}", images, names);
    ck_refused(ERR_INVALID_FIELD, "data.standardise", "pixels",
               "{'source':'idx','train_images':'%s','train_labels':'%s','standardise':'mean'}", images,
               names);
    ck_refused(ERR_UNKNOWN_FIELD, "data.path", "",
               "{'source':'idx','train_images':'%s','train_labels':'%s','path':'x'}", images, names);
    ck_refused(ERR_INVALID_FIELD, "data.partition.devices", "at most 20 devices",
               "{'source':'idx','train_images':'%s','train_labels':'%s'}", images, names);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("idx");
    TCase *tc = unit_case("idx");
    tcase_add_checked_fixture(tc, setup, files_remove);
    tcase_add_test(tc, test_plain_and_compressed_are_equal);
    tcase_add_test(tc, test_values_are_the_bytes_of_the_file);
    tcase_add_test(tc, test_test_files_follow_the_train_files);
    tcase_add_test(tc, test_missing_file);
    tcase_add_test(tc, test_wrong_magic);
    tcase_add_test(tc, test_truncated_plain);
    tcase_add_test(tc, test_truncated_compressed);
    tcase_add_test(tc, test_damaged_compressed);
    tcase_add_test(tc, test_too_long);
    tcase_add_test(tc, test_absurd_sizes);
    tcase_add_test(tc, test_label_out_of_range);
    tcase_add_test(tc, test_counts_differ);
    tcase_add_test(tc, test_image_sizes_differ);
    tcase_add_test(tc, test_bad_fields);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
