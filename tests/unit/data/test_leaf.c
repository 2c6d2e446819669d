#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <string.h>
#include <unistd.h>

#define LEAF "{'source':'leaf','path':'%s'}"

static const char two_users[] = "{\"users\": [\"ann\", \"bob\"], \"num_samples\": [2, 3], \"user_data\": {"
                                "\"ann\": {\"x\": [[1, 2.5], [-3e1, 0]], \"y\": [0, 1]},"
                                "\"bob\": {\"x\": [[4, 5], [6, 7], [8, 9]], \"y\": [1.0, 2, 0]}}}";

START_TEST(test_one_file)
{
    files_create();
    text_write("a.json", two_users);
    struct dataset *d = load(1, LEAF, file_path("a.json"));
    ck_assert_uint_eq(dataset_num_devices(d), 2);
    ck_assert_uint_eq(dataset_num_features(d), 2);
    ck_assert_int_eq(dataset_num_classes(d), 3);
    ck_assert_str_eq(dataset_device(d, 0)->name, "ann");
    ck_assert_str_eq(dataset_device(d, 1)->name, "bob");
    ck_assert_uint_eq(dataset_device(d, 0)->num_train, 1);
    ck_assert_uint_eq(dataset_device(d, 1)->num_train, 2);
    ck_assert_uint_eq(dataset_device(d, 1)->num_test, 1);
    dataset_free(d);
    files_remove();
}
END_TEST

/* Every order of the fields, numbers nested or alone, other fields, escapes; and devices as `users` lists
 * them. */
static void ck_split(const char *train, const char *test)
{
    static const float ann[] = {1, 2.5f, -30, 0}, bob[] = {4, 5, 6, 7, 8, 9}, bob_test[] = {1, 1};
    static const int32_t ann_y[] = {0, 1}, bob_y[] = {1, 2, 0}, bob_z[] = {2};
    files_create();
    folder_create("train");
    folder_create("test");
    text_write("train/a.json", train);
    text_write("test/z.json", test);
    struct dataset *d = load(1, LEAF, file_path("."));
    ck_assert_uint_eq(dataset_num_devices(d), 2);
    ck_assert_str_eq(dataset_device(d, 0)->name, "ann");
    ck_device(d, 0, SPLIT_TRAIN, 2, ann, ann_y);
    ck_device(d, 0, SPLIT_TEST, 0, NULL, NULL);
    ck_device(d, 1, SPLIT_TRAIN, 3, bob, bob_y);
    ck_device(d, 1, SPLIT_TEST, 1, bob_test, bob_z);
    dataset_free(d);
    files_remove();
}

START_TEST(test_train_and_test)
{
    static const char test[] = "{\"users\":[\"bob\"],\"num_samples\":[1],"
                               "\"user_data\":{\"bob\":{\"y\":[2],\"x\":[[1,1]]}}}";
    ck_split(two_users, test);
    ck_split("{\"user_data\":{\"b\\u006fb\":{\"y\":[1,2,0],\"x\":[[[4],[5]],[[6],[7]],[8,9]]},\n"
             "\t\"ann\":{\"z\":{\"x\":[\"q\",{}]},\"x\":[[1,2.5],[-3e1,0.0]],\"y\":[0,1e0]}},\r\n"
             "\"hierarchies\":[null,true,{\"a\":[]}],\"num_samples\":[2,3],\"users\":[\"ann\",\"bob\"]} ",
             test);
    ck_split("\xef\xbb\xbf{\"users\":[\"ann\",\"bob\"],\"note\":\"\\\"\\\\\\/"
             "\\b\\f\\n\\r\\t\\u20AC\\ud83d\\ude00\",\"num_samples\":[2,3],"
             "\"user_data\":{\"ann\":{\"x\":[[1,2.5],[-30,0]],\"y\":[0,1]},\"bob\":{\"x\":[[4,5],[6,7],[8,9]]"
             ",\"y\":[1,2,0]}}}",
             test);
}
END_TEST

START_TEST(test_directories)
{
    files_create();
    text_write("b.json",
               "{\"users\":[\"cy\"],\"num_samples\":[2],\"user_data\":{\"cy\":{\"x\":[3,4],\"y\":[0,1]}}}");
    text_write(
        "a.json",
        "{\"users\":[\"dee\"],\"num_samples\":[3],\"user_data\":{\"dee\":{\"x\":[3,4,5],\"y\":[0,1,5]}}}");
    text_write("c.json", "{\"users\":[],\"num_samples\":[],\"user_data\":{}}");
    struct dataset *d =
        load(1, "{'source':'leaf','path':'%s','classes':10,'first_ordinal':5}", file_path("."));
    ck_assert_uint_eq(dataset_num_devices(d), 2);
    ck_assert_uint_eq(dataset_num_features(d), 1);
    ck_assert_int_eq(dataset_num_classes(d), 10);
    ck_assert_str_eq(dataset_device(d, 0)->name, "dee");
    ck_assert_int_eq(dataset_device(d, 1)->ordinal, 6);
    dataset_free(d);
    text_write("d.json",
               "{\"users\":[\"cy\"],\"num_samples\":[2],\"user_data\":{\"cy\":{\"x\":[3,4],\"y\":[0,1]}}}");
    ck_refused(ERR_BAD_FILE, "data.path", "user \"cy\" is also in", LEAF, file_path("."));
    ck_assert_int_eq(unlink(file_path("d.json")), 0);
    text_write(
        "d.json",
        "{\"users\":[\"e\"],\"num_samples\":[2],\"user_data\":{\"e\":{\"x\":[[3,4],[5,6]],\"y\":[0,1]}}}");
    ck_refused(ERR_BAD_FILE, "data.path", "more than the 1 features", LEAF, file_path("."));
    files_remove();
}
END_TEST

START_TEST(test_users_that_only_test)
{
    files_create();
    folder_create("train");
    folder_create("test");
    text_write("train/a.json", two_users);
    text_write("test/a.json",
               "{\"users\":[\"cy\"],\"num_samples\":[1],\"user_data\":{\"cy\":{\"x\":[[3,4]],\"y\":[0]}}}");
    ck_refused(ERR_BAD_FILE, "data.path", "user \"cy\" is in no file of train/", LEAF, file_path("."));
    text_write("test/a.json", two_users);
    text_write("test/b.json", two_users);
    ck_refused(ERR_BAD_FILE, "data.path", "user \"ann\" is also in", LEAF, file_path("."));
    ck_assert_int_eq(unlink(file_path("test/b.json")), 0);
    text_write("train/a.json", "{\"users\":[\"ann\",\"bob\"],\"num_samples\":[1,0],\"user_data\":{"
                               "\"ann\":{\"x\":[[3,4]],\"y\":[0]},\"bob\":{\"x\":[],\"y\":[]}}}");
    ck_refused(ERR_BAD_FILE, "data.path", "device \"bob\" has no example to train on", LEAF, file_path("."));
    files_remove();
}
END_TEST

struct bad_file {
    const char *text, *words;
};

static void ck_bad(const struct bad_file *bad, size_t n)
{
    files_create();
    for (size_t i = 0; i < n; i++) {
        text_write("a.json", bad[i].text);
        ck_refused(ERR_BAD_FILE, "data.path", bad[i].words, LEAF, file_path("a.json"));
    }
    files_remove();
}

#define HEAD                                                                                                 \
    "{\"users\":[\"a\",\"b\"],\"num_samples\":[2,2],\"user_data\":{\"a\":{\"x\":[[1],[2]],\"y\":[0,1]},"     \
    "\"b\":"

START_TEST(test_bad_files)
{
    static const struct bad_file bad[] = {
        {"[]", "a LEAF file must be an object, not a list"},
        {"{}", "has no field \"users\""},
        {"{\"users\":[],\"num_samples\":[]}", "has no field \"user_data\""},
        {"{\"users\":[],\"user_data\":{}}", "has no field \"num_samples\""},
        {"{\"users\":[],\"users\":[]}", "byte 12: there are two fields users"},
        {"{\"users\":[],\"num_samples\":[],\"user_data\":{}}", "has no example"},
        {"{\"users\":{}}", "users must be a list, not an object"},
        {"{\"users\":[\"a\",\"a\"]}", "byte 14: user \"a\" stands twice in users"},
        {"{\"users\":[\"\"]}", "byte 10: a user's name must be"},
        {"{\"users\":[3]}", "a user's name must be"},
        {"{\"num_samples\":[1.5]}", "whole numbers"},
        {HEAD "{\"x\":[[3],[4]],\"y\":[0,1]},\"a\":{}}}", "user \"a\" stands twice in user_data"},
        {HEAD "{\"x\":[[3],[4]],\"y\":[0,1]},\"c\":{\"x\":[],\"y\":[]}}}",
         "user \"c\": is in user_data, but not in users"},
        {"{\"users\":[\"a\"],\"num_samples\":[2],\"user_data\":{}}",
         "user \"a\": is in users, but not in user_data"},
        {"{\"users\":[\"a\"],\"num_samples\":[],\"user_data\":{}}", "1 users, but 0 num_samples"},
        {HEAD "{\"x\":[[3]],\"y\":[0]}}}", "user \"b\": num_samples says 2, but there are 1 examples"},
        {HEAD "{\"x\":[[3],[4]],\"y\":[0]}}}", "user \"b\": has 2 examples in x, but 1 labels in y"},
        {HEAD "{\"x\":[[3],[4]]}}}", "user \"b\": has no y"},
        {HEAD "{\"x\":[[3],[4]],\"x\":[[3],[4]]}}}", "two fields x"},
        {HEAD "[]}}", "a user's data must be an object"},
        {HEAD "{\"x\":3}}}", "x must be a list"},
        {HEAD "{\"x\":[[3],[4,5]]}}}", "example 1 of user \"b\" has more than the 1 features"},
        {HEAD "{\"x\":[[3],[]]}}}", "example 1 of user \"b\" is empty"},
        {HEAD "{\"x\":[\"to be\"]}}}", "text needs an embedding model"},
        {HEAD "{\"x\":[[[\"id\"]]]}}}", "text needs an embedding model"},
        {HEAD "{\"y\":[\"q\"]}}}", "text needs an embedding model"},
        {HEAD "{\"x\":[[null]]}}}", "has true, false or null in x"},
        {HEAD "{\"x\":[{}]}}}", "has an object in x"},
        {HEAD "{\"x\":[[1e39]]}}}", "byte 93: 1e39 is too large for a float"},
        {HEAD "{\"y\":[-1]}}}", "user \"b\": label -1; labels count from 0"},
        {HEAD "{\"y\":[0.5]}}}", "label 0.5 of user \"b\" is no whole number"},
        {HEAD "{\"y\":[70000]}}}", "label 70000"},
    };
    ck_bad(bad, sizeof bad / sizeof *bad);
    files_create();
    ck_refused(ERR_BAD_FILE, "data.path", "No such file", LEAF, file_path("absent"));
    files_remove();
}
END_TEST

START_TEST(test_bad_json)
{
    static const struct bad_file bad[] = {
        {"", "byte 0: the file ends here, where a value must come"},
        {HEAD "{\"x\":[[3],[4]],\"y\":[0,1]}},\"a\":1]", "a comma or } must come here, not ]"},
        {HEAD "{\"x\":[[3],[4]],\"y\":[0,1]}}} x", "nothing more must come here, not x"},
        {HEAD "{\"x\":[[NaN]]}}}", "byte 93: NaN and Infinity are no JSON"},
        {HEAD "{\"x\":[[-Infinity]]}}}", "byte 94: NaN and Infinity are no JSON"},
        {HEAD "{\"x\":[[+1]]}}}", "must come here, not +"},
        {HEAD "{\"x\":[[01]]}}}", "\"01\" is no number of JSON"},
        {HEAD "{\"x\":[[1.]]}}}", "\"1.\" is no number of JSON"},
        {HEAD "{\"x\":[[1e]]}}}", "\"1e\" is no number of JSON"},
        {HEAD "{\"x\":[[1,]]}}}", "a value must come here, not ]"},
        {HEAD "{\"x\":[[1 2]]}}}", "a comma or ] must come here, not 2"},
        {HEAD "{\"x\":[[nil]]}}}", "\"nil\" is no value of JSON"},
        {HEAD "{\"x\" [[1]]}}}", "a colon must come here, not ["},
        {HEAD "{\"\\q\":1}}}", "an escape that JSON does not have"},
        {HEAD "{\"\\ud800\":1}}}", "no character"},
        {HEAD "{\"a\tb\":1}}}", "a control character"},
        {HEAD "{\"\xb5\":1}}}", "a text that is no UTF-8"},
        {"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested more than 32 deep"},
    };
    ck_bad(bad, sizeof bad / sizeof *bad);
}
END_TEST

/* Numbers, names and escapes on both sides of every border between blocks. */
START_TEST(test_a_file_of_several_blocks)
{
    const size_t users = 1800, room = users * 1200;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
    files_create();
    for (int shift = 0; shift < 2; shift++) {
        size_t len = (size_t)snprintf(text, room, "%*s{\"user_data\":{", shift, "");
        for (size_t k = 0; k < users; k++) {
            len += (size_t)snprintf(text + len, room - len, "%s\"u\\u0041-%zu\" : {\"x\":[", k ? "," : "", k);
            for (size_t i = 0; i < 40; i++)
                len += (size_t)snprintf(text + len, room - len, "%s[%zu.25, -%zu]", i ? "," : "", k + i, i);
            len += (size_t)snprintf(text + len, room - len, "],\"y\":[0");
            for (size_t i = 1; i < 40; i++)
                len += (size_t)snprintf(text + len, room - len, ",%zu", i % 3);
            len += (size_t)snprintf(text + len, room - len, "]}");
        }
        len += (size_t)snprintf(text + len, room - len, "},\"users\":[");
        for (size_t k = 0; k < users; k++)
            len += (size_t)snprintf(text + len, room - len, "%s\"uA-%zu\"", k ? "," : "", k);
        len += (size_t)snprintf(text + len, room - len, "],\"num_samples\":[40");
        for (size_t k = 1; k < users; k++)
            len += (size_t)snprintf(text + len, room - len, ",40");
        len += (size_t)snprintf(text + len, room - len, "]}");
        ck_assert_uint_gt(len, 1 << 20);
        file_write("a.json", text, len, shift == 1);
        struct dataset *d = load(1, LEAF, file_path("a.json"));
        size_t good = 0;
        for (size_t k = 0; k < users; k++) {
            float x[80];
            int32_t y[40];
            const struct device_data *device = dataset_device(d, k);
            dataset_gather(d, device, SPLIT_TRAIN, 0, NULL, 36, x, y);
            for (size_t i = 0; i < 36; i++)
                good += x[2 * i] == (float)k + 0.25f - x[2 * i + 1] && y[i] == (int)-x[2 * i + 1] % 3;
        }
        ck_assert_uint_eq(good, users * 36);
        dataset_free(d);
    }
    free(text);
    files_remove();
}
END_TEST

START_TEST(test_damaged_files)
{
    files_create();
    abuse("a.json", two_users, 700, LEAF, file_path("a.json"));
    files_remove();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_one_file,
                                  test_train_and_test,
                                  test_directories,
                                  test_users_that_only_test,
                                  test_bad_files,
                                  test_bad_json,
                                  test_a_file_of_several_blocks,
                                  test_damaged_files};
    return unit_run("leaf", tests, sizeof tests / sizeof *tests);
}
