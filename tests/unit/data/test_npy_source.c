#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <string.h>
#include "common/data/npz.h"

static const char *fixture(const char *name)
{
    static char paths[4][600];
    static size_t next;
    char *path = paths[next++ % 4];
    const char *srcdir = getenv("srcdir");
    (void)snprintf(path, sizeof paths[0], "%s/tests/data/numpy/%s", srcdir ? srcdir : ".", name);
    return path;
}

static const int32_t labels[] = {3, 0, 2, 1};

START_TEST(test_pairs_and_archives)
{
    float x[24], bytes[24];
    for (int i = 0; i < 24; i++) {
        x[i] = (float)i - 2.5f;
        bytes[i] = (float)i;
    }
    struct dataset *d =
        load(1, "{'source':'npy','x':'%s','y':'%s','test_x':'%s','test_y':'%s'}", fixture("f4.npy"),
             fixture("i8.npy"), fixture("f8_fortran.npy"), fixture("i8.npy"));
    ck_assert_uint_eq(dataset_num_devices(d), 1);
    ck_assert_int_eq(dataset_num_classes(d), 4);
    ck_device(d, 0, SPLIT_TRAIN, 4, x, labels);
    ck_device(d, 0, SPLIT_TEST, 4, x, labels);
    dataset_free(d);
    d = load(1, "{'source':'npy','x':'%s','y':'%s','test_x':'%s','test_y':'%s'}", fixture("u1_3d.npy"),
             fixture("i8.npy"), fixture("u1_3d_fortran.npy"), fixture("i8.npy"));
    ck_assert_uint_eq(dataset_num_features(d), 6);
    ck_device(d, 0, SPLIT_TRAIN, 4, bytes, labels);
    ck_device(d, 0, SPLIT_TEST, 4, bytes, labels);
    dataset_free(d);
    d = load(1, "{'source':'npy','path':'%s'}", fixture("plain.npz"));
    ck_assert_uint_eq(dataset_device(d, 0)->num_train, 3);
    ck_assert_uint_eq(dataset_device(d, 0)->num_test, 1);
    dataset_free(d);
    d = load(1, "{'source':'npy','path':'%s','partition':{'devices':2},'standardise':'unit','classes':7}",
             fixture("deflated.npz"));
    ck_assert_uint_eq(dataset_num_devices(d), 2);
    ck_assert_int_eq(dataset_num_classes(d), 7);
    dataset_free(d);
}
END_TEST

START_TEST(test_an_archive_with_a_test_pair)
{
    static const float x[] = {1, 2}, t[] = {3};
    static const int64_t y[] = {1, 0}, u[] = {1};
    static const int32_t y32[] = {1, 0}, u32[] = {1};
    const struct npz_array arrays[] = {{"x", NPY_F32, 1, {2}, x},
                                       {"y", NPY_I64, 1, {2}, y},
                                       {"test_x", NPY_F32, 2, {1, 1}, t},
                                       {"test_y", NPY_I64, 2, {1, 1}, u}};
    files_create();
    ck_assert_int_eq(npz_write(file_path("a.npz"), arrays, 4, NULL), ERR_OK);
    struct dataset *d = load(1, "{'source':'npy','path':'%s'}", file_path("a.npz"));
    ck_device(d, 0, SPLIT_TRAIN, 2, x, y32);
    ck_device(d, 0, SPLIT_TEST, 1, t, u32);
    dataset_free(d);
    ck_assert_int_eq(npz_write(file_path("a.npz"), arrays, 3, NULL), ERR_OK);
    ck_refused(ERR_BAD_FILE, "data.path", "has no array \"test_y\"", "{'source':'npy','path':'%s'}",
               file_path("a.npz"));
    ck_assert_int_eq(npz_write(file_path("a.npz"), arrays + 1, 1, NULL), ERR_OK);
    ck_refused(ERR_BAD_FILE, "data.path", "has no array \"x\"", "{'source':'npy','path':'%s'}",
               file_path("a.npz"));
    files_remove();
}
END_TEST

START_TEST(test_bad_fields)
{
    ck_refused(ERR_MISSING_FIELD, "data.x", "two .npy files", "{'source':'npy'}");
    ck_refused(ERR_MISSING_FIELD, "data.y", "together", "{'source':'npy','x':'x.npy'}");
    ck_refused(ERR_MISSING_FIELD, "data.x", "together", "{'source':'npy','test_x':'x.npy','test_y':'y.npy'}");
    ck_refused(ERR_MISSING_FIELD, "data.test_y", "together",
               "{'source':'npy','x':'x.npy','y':'y','test_x':'x.npy'}");
    ck_refused(ERR_INVALID_FIELD, "data.path", "archive", "{'source':'npy','x':'x.npy','path':'a.npz'}");
    ck_refused(ERR_BAD_FILE, "data.x", "absent.npy: No such file", "{'source':'npy','x':'%s','y':'y'}",
               fixture("absent.npy"));
    ck_refused(ERR_UNKNOWN_FIELD, "data.label", "", "{'source':'npy','label':'y'}");
}
END_TEST

START_TEST(test_arrays_that_do_not_fit)
{
    static const struct {
        const char *x, *y, *field, *words;
    } bad[] = {
        {"f4.npy", "f4.npy", "data.y", "labels of type <f4"},
        {"f4.npy", "u1_3d.npy", "data.y", "24 labels for the 4 examples"},
        {"f2.npy", "i8.npy", "data.y", "4 labels for the 3 examples"},
        {"f4.npy", "i1.npy", "data.y", "i1.npy, byte 128: label -3; labels count from 0 (example 0)"},
        {"f4.npy", "u8.npy", "data.y", "byte 152: label 9223372036854775807"},
        {"object.npy", "i8.npy", "data.x", "Python objects"},
        {"nan.npy", "b1.npy", "data.y", "4 labels for the 2 examples"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_refused(ERR_BAD_FILE, bad[i].field, bad[i].words, "{'source':'npy','x':'%s','y':'%s'}",
                   fixture(bad[i].x), fixture(bad[i].y));
    ck_refused(ERR_BAD_FILE, "data.test_x", "examples of 3 features, but those of",
               "{'source':'npy','x':'%s','y':'%s','test_x':'%s','test_y':'%s'}", fixture("u1_3d.npy"),
               fixture("i8.npy"), fixture("f4.npy"), fixture("i8.npy"));
    ck_refused(ERR_BAD_FILE, "data.test_x", "numbers of another type; save all as one type",
               "{'source':'npy','x':'%s','y':'%s','test_x':'%s','test_y':'%s'}", fixture("i2.npy"),
               fixture("i8.npy"), fixture("bytes.npy"), fixture("i8.npy"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_pairs_and_archives, test_an_archive_with_a_test_pair, test_bad_fields,
                                  test_arrays_that_do_not_fit};
    return unit_run("npy_source", tests, sizeof tests / sizeof *tests);
}
