#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <string.h>
#include <unistd.h>
#include "common/data/npz.h"

#define CSV "{'source':'directory','path':'%s','label':'y'}"
#define NPZ "{'source':'directory','path':'%s'}"

static void npz_file(const char *name, size_t rows, size_t features, const float *x, const int32_t *y)
{
    const struct npz_array arrays[] = {{"x", NPY_F32, 2, {rows, features}, x}, {"y", NPY_I32, 1, {rows}, y}};
    ck_assert_int_eq(npz_write(file_path(name), arrays, 2, NULL), ERR_OK);
}

START_TEST(test_a_file_is_a_device)
{
    files_create();
    text_write("b.csv", "x,y\n1,0\n2,1\n3,1\n");
    text_write("a-10.csv", "x,y\n4,0\n5,1\n");
    file_write("c.csv.gz", "x,y\n6,2\n7,0\n", 12, true);
    text_write(".hidden.csv", "nonsense");
    text_write("notes.txt", "nonsense");
    folder_create("d.csv");
    struct dataset *d = load(1, CSV, file_path("."));
    ck_assert_uint_eq(dataset_num_devices(d), 3);
    ck_assert_str_eq(dataset_device(d, 0)->name, "a-10");
    ck_assert_str_eq(dataset_device(d, 1)->name, "b");
    ck_assert_str_eq(dataset_device(d, 2)->name, "c");
    ck_assert_int_eq(dataset_num_classes(d), 3);
    ck_assert_uint_eq(dataset_device(d, 1)->num_train, 2);
    ck_assert_uint_eq(dataset_device(d, 1)->num_test, 1);
    dataset_free(d);
    files_remove();
}
END_TEST

static void own_split(void)
{
    static const float x0[] = {1, 2, 3, 4}, x1[] = {5, 6, 7, 8};
    static const int32_t y0[] = {0, 1}, y1[] = {1, 1};
    files_create();
    folder_create("train");
    folder_create("test");
    npz_file("train/00.npz", 2, 2, x0, y0);
    npz_file("train/01.npz", 1, 2, x1, y1);
    npz_file("test/01.npz", 2, 2, x1, y1);
}

START_TEST(test_own_split)
{
    static const float x0[] = {1, 2, 3, 4}, x1[] = {5, 6, 7, 8};
    static const int32_t y0[] = {0, 1}, y1[] = {1, 1};
    own_split();
    struct dataset *d = load(1, "{'source':'directory','path':'%s','first_ordinal':7}", file_path("."));
    ck_assert_uint_eq(dataset_num_devices(d), 2);
    ck_assert_str_eq(dataset_device(d, 0)->name, "00");
    ck_assert_int_eq(dataset_device(d, 1)->ordinal, 8);
    ck_device(d, 0, SPLIT_TRAIN, 2, x0, y0);
    ck_device(d, 0, SPLIT_TEST, 0, NULL, NULL);
    ck_device(d, 1, SPLIT_TRAIN, 1, x1, y1);
    ck_device(d, 1, SPLIT_TEST, 2, x1, y1);
    dataset_free(d);
    text_write("beside.csv", "x,y\nis,not read\n");
    dataset_free(load(1, NPZ, file_path(".")));
    files_remove();
}
END_TEST

START_TEST(test_bad_splits)
{
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const int32_t y[] = {0, 1, 9};
    own_split();
    npz_file("test/02.npz", 1, 2, x, y);
    ck_refused(ERR_BAD_FILE, "data.path", "test/02.npz: there is no file of that device in train/", NPZ,
               file_path("."));
    ck_assert_int_eq(unlink(file_path("test/02.npz")), 0);
    npz_file("test/00.npz", 2, 3, x, y);
    ck_refused(ERR_BAD_FILE, "data.path", "test/00.npz, member x, byte 0: examples of 3 features", NPZ,
               file_path("."));
    npz_file("test/00.npz", 3, 2, x, y);
    ck_refused(ERR_BAD_FILE, "data.path", "label 9, but", "{'source':'directory','path':'%s','classes':9}",
               file_path("."));
    text_write("test/00.npz", "no archive");
    ck_refused(ERR_BAD_FILE, "data.path", "test/00.npz: no whole .npz file", NPZ, file_path("."));
    ck_assert_int_eq(unlink(file_path("test/00.npz")), 0);
    ck_refused(ERR_INVALID_FIELD, "data.label", "CSV", CSV, file_path("."));
    ck_refused(ERR_INVALID_FIELD, "data.delimiter", "CSV",
               "{'source':'directory','path':'%s','delimiter':','}", file_path("."));
    files_remove();
    files_create();
    folder_create("train");
    ck_refused(ERR_BAD_FILE, "data.path", "has train/ but no test/", CSV, file_path("."));
    files_remove();
}
END_TEST

START_TEST(test_bad_directories)
{
    static const float x[] = {1, 2};
    static const int32_t y[] = {0, 1};
    char long_name[260];
    files_create();
    ck_refused(ERR_BAD_FILE, "data.path", "has no *.csv", CSV, file_path("."));
    ck_refused(ERR_BAD_FILE, "data.path", "No such file", CSV, file_path("absent"));
    ck_refused(ERR_MISSING_FIELD, "data.path", "", "{'source':'directory'}");
    text_write("a.csv", "x,y\n1,0\n2,1\n");
    ck_refused(ERR_BAD_FILE, "data.path", "is no directory", CSV, file_path("a.csv"));
    ck_refused(ERR_MISSING_FIELD, "data.label", "column", NPZ, file_path("."));
    text_write("b.csv", "y,x\n1,0\n2,1\n");
    ck_refused(ERR_BAD_FILE, "data.path", "b.csv, line 1: column 1 is \"y\"", CSV, file_path("."));
    text_write("b.csv", "x,y\n1,0\n");
    ck_refused(ERR_BAD_FILE, "data.path", "device 1 \"b\" has 1 example", CSV, file_path("."));
    text_write("b.csv", "x,y\n1,0\n,1\n");
    ck_refused(ERR_BAD_FILE, "data.path", "b.csv, line 3, column \"x\"", CSV, file_path("."));
    ck_assert_int_eq(unlink(file_path("b.csv")), 0);
    file_write("a.csv.gz", "x,y\n6,2\n7,0\n", 12, true);
    ck_refused(ERR_BAD_FILE, "data.path", "another file of device \"a\"", CSV, file_path("."));
    ck_assert_int_eq(unlink(file_path("a.csv.gz")), 0);
    npz_file("n.npz", 2, 1, x, y);
    ck_refused(ERR_BAD_FILE, "data.path", "n.npz: is no CSV file as a.csv is", CSV, file_path("."));
    ck_assert_int_eq(unlink(file_path("n.npz")), 0);
    memset(long_name, 'n', sizeof long_name);
    (void)snprintf(long_name + 201, 20, ".csv");
    text_write(long_name, "x,y\n1,0\n2,1\n");
    ck_refused(ERR_BAD_FILE, "data.path", "the name is no device's", CSV, file_path("."));
    files_remove();
}
END_TEST

/* Texts of all files make the classes, in the order of their bytes. */
START_TEST(test_classes_of_all_files)
{
    static const float x[] = {1};
    static const int32_t first[] = {2}, second[] = {0};
    files_create();
    folder_create("train");
    folder_create("test");
    text_write("train/a.csv", "x,y\n1,yak\n");
    text_write("train/b.csv", "x,y\n1,cat\n");
    text_write("test/a.csv", "x,y\n1,dog\n");
    struct dataset *d = load(1, CSV, file_path("."));
    ck_assert_int_eq(dataset_num_classes(d), 3);
    ck_device(d, 0, SPLIT_TRAIN, 1, x, first);
    ck_device(d, 1, SPLIT_TRAIN, 1, x, second);
    dataset_free(d);
    files_remove();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_a_file_is_a_device, test_own_split, test_bad_splits,
                                  test_bad_directories, test_classes_of_all_files};
    return unit_run("directory", tests, sizeof tests / sizeof *tests);
}
