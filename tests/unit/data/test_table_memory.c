/* Each allocation of a source fails once: it is told, and nothing is left. */
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <string.h>
#include "common/base/log.h"
#include "common/data/npz.h"

static void torture(const char *text)
{
    json_t *data = json_loads(text, 0, NULL);
    bool has_failed = true;
    long failures = 0;
    ck_assert_ptr_nonnull(data);
    log_init(LOG_ERROR, LOG_TEXT);
    for (long n = 0; has_failed; n++) {
        struct dataset *d = NULL;
        struct fault fault = FAULT_NONE;
        alloc_fail_at(n);
        const enum err err = dataset_load(data, 1, &d, &fault);
        has_failed = alloc_fail_end();
        /* Giving memory back may fail without harm. */
        ck_assert_msg(err == ERR_NO_MEMORY || err == ERR_OK, "%s at %ld: %s: %s", text, n, err_name(err),
                      fault.detail);
        ck_assert(err == ERR_OK || fault.detail[0]);
        ck_assert(err == ERR_OK || !d);
        failures += err != ERR_OK;
        dataset_free(d);
    }
    ck_assert_int_gt(failures, 10);
    json_decref(data);
}

START_TEST(test_csv)
{
    char data[800];
    files_create();
    text_write("t.csv", "x,w,y\n1,p,cat\n2,q,dog\n3,p,cat\n4,q,eel\n");
    (void)snprintf(
        data, sizeof data,
        "{\"source\":\"csv\",\"path\":\"%s\",\"label\":\"y\",\"device\":\"w\",\"standardise\":\"device\"}",
        file_path("t.csv"));
    torture(data);
    (void)snprintf(data, sizeof data,
                   "{\"source\":\"csv\",\"path\":\"%s\",\"label\":\"y\",\"features\":[\"x\"],\"classes\":["
                   "\"cat\",\"dog\","
                   "\"eel\"],\"partition\":{\"devices\":2},\"standardise\":{\"mean\":1,\"std\":2}}",
                   file_path("t.csv"));
    torture(data);
    files_remove();
}
END_TEST

START_TEST(test_leaf)
{
    char data[700];
    files_create();
    folder_create("train");
    folder_create("test");
    text_write("train/a.json",
               "{\"user_data\":{\"a\":{\"x\":[[1],[2]],\"y\":[0,1]},\"b\":{\"y\":[0],\"x\":[[3]]}},"
               "\"num_samples\":[1,2],\"users\":[\"b\",\"a\"]}");
    text_write("test/a.json",
               "{\"user_data\":{\"a\":{\"x\":[[1]],\"y\":[0]}},\"num_samples\":[1],\"users\":[\"a\"]}");
    (void)snprintf(data, sizeof data, "{\"source\":\"leaf\",\"path\":\"%s\"}", file_path("."));
    torture(data);
    files_remove();
}
END_TEST

START_TEST(test_numpy)
{
    static const uint8_t x[] = {1, 2, 3, 4};
    static const int32_t y[] = {0, 1};
    const struct npz_array arrays[] = {{"x", NPY_U8, 2, {2, 2}, x}, {"y", NPY_I32, 1, {2}, y}};
    char data[700];
    files_create();
    ck_assert_int_eq(npz_write(file_path("a.npz"), arrays, 2, NULL), ERR_OK);
    ck_assert_int_eq(npz_write(file_path("b.npz"), arrays, 2, NULL), ERR_OK);
    (void)snprintf(data, sizeof data, "{\"source\":\"npy\",\"path\":\"%s\",\"standardise\":\"device\"}",
                   file_path("a.npz"));
    torture(data);
    (void)snprintf(data, sizeof data, "{\"source\":\"directory\",\"path\":\"%s\",\"standardise\":\"unit\"}",
                   file_path("."));
    torture(data);
    files_remove();
}
END_TEST

START_TEST(test_texts)
{
    char data[900];
    files_create();
    folder_create("plays");
    text_write("plays/a.txt", "To be, or not to be");
    text_write("plays/b.txt", "That is the question");
    (void)snprintf(data, sizeof data,
                   "{\"source\":\"text\",\"path\":\"%s\",\"window\":3,\"vocabulary\":\"data\"}",
                   file_path("plays"));
    torture(data);
    text_write("t.csv", "who,label,text\na,0,so Bad\na,4,good!\nb,1,Good\nb,0,bad\n");
    text_write("v", "bad 1 2\ngood 3 4\n");
    (void)snprintf(data, sizeof data,
                   "{\"source\":\"sentiment\",\"path\":\"%s\",\"vectors\":\"%s\",\"device\":\"who\"}",
                   file_path("t.csv"), file_path("v"));
    torture(data);
    text_write("a.json",
               "{\"user_data\":{\"a\":{\"x\":[\"ab\",\"bc\"],\"y\":[\"c\",\"d\"]}},\"num_samples\":[2],"
               "\"users\":[\"a\"]}");
    (void)snprintf(data, sizeof data, "{\"source\":\"leaf\",\"path\":\"%s\",\"vocabulary\":\"data\"}",
                   file_path("a.json"));
    torture(data);
    files_remove();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_csv, test_leaf, test_numpy, test_texts};
    return unit_run("table_memory", tests, sizeof tests / sizeof *tests);
}
