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
        {HEAD "{\"x\":[\"to be\"]}}}", "has a text in x, where numbers must be"},
        {HEAD "{\"x\":[[[\"id\"]]]}}}", "name word vectors in data.vectors"},
        {HEAD "{\"y\":[\"q\"]}}}", "has a text in y, where numbers must be"},
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

/* Shakespeare: windows that stand there one by one, and the next character. */
static const char plays[] =
    "{\"users\":[\"HAMLET\",\"YORICK\"],\"num_samples\":[3,2],\"user_data\":{"
    "\"YORICK\":{\"x\":[\"alas\",\"las,\"],\"y\":[\",\",\"\\n\"]},"
    "\"HAMLET\":{\"y\":[\"e\",\"\\u00e9\",\",\"],\"x\":[\"To b\",\"o be\",\"\\u00e9\\ud83d\\ude00be\"]}"
    "}}";

START_TEST(test_characters)
{
    static const float hamlet[] = {3, 8, 1, 5, 8, 1, 5, 6, 10, 11, 5, 6}, yorick[] = {4, 7, 4, 9, 7, 4, 9, 2};
    static const int32_t hamlet_y[] = {6, 10, 2}, yorick_y[] = {2, 0};
    int64_t shape[LIMIT_TENSOR_DIMS];
    files_create();
    folder_create("train");
    folder_create("test");
    text_write("train/a.json", plays);
    text_write("test/a.json", "{\"users\":[],\"num_samples\":[],\"user_data\":{}}");
    struct dataset *d = load(1, "{'source':'leaf','path':'%s','vocabulary':'data'}", file_path("."));
    ck_assert_int_eq(dataset_input(d, shape), 1);
    ck_assert_int_eq(shape[0], 4);
    ck_assert_str_eq(dataset_vocabulary(d), "\n ,Tabelos\xc3\xa9\xf0\x9f\x98\x80");
    ck_assert_int_eq(dataset_num_classes(d), 12);
    ck_assert_str_eq(dataset_device(d, 0)->name, "HAMLET");
    ck_device(d, 0, SPLIT_TRAIN, 3, hamlet, hamlet_y);
    ck_device(d, 1, SPLIT_TRAIN, 2, yorick, yorick_y);
    dataset_free(d);
    /* By the paper's vocabulary, what is not in it is a blank, in labels, too. */
    d = load(1, LEAF, file_path("train"));
    ck_assert_uint_eq(dataset_num_tokens(d), 80);
    int64_t train[80], test[80];
    dataset_label_counts(d, dataset_device(d, 0), SPLIT_TRAIN, train);
    dataset_label_counts(d, dataset_device(d, 0), SPLIT_TEST, test);
    ck_assert_int_eq(train[1] + test[1], 1);
    dataset_free(d);
    files_remove();
}
END_TEST

/* Sentiment140: what is known of a tweet, and its words. */
static const char tweets[] =
    "{\"users\":[\"ann\",\"bob\"],\"num_samples\":[2,2],\"user_data\":{"
    "\"ann\":{\"x\":[[1467,null,\"q\",\"ann\",\"So "
    "good!\",\"training\"],[\"\",\"\",\"\",\"\",\"\"]],\"y\":[4,0]},"
    "\"bob\":{\"y\":[1,\"4\"],\"x\":[\"bad bad Bad bad\",[\"\",\"\",\"\",\"\",\"good\"]]}}}";

START_TEST(test_words)
{
    static const float ann[] = {0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0},
                       bob[] = {3, 4, 3, 4, 3, 4, 1, 2, 0, 0, 0, 0};
    static const int32_t ann_y[] = {1, 0}, bob_y[] = {1, 1};
    int64_t shape[LIMIT_TENSOR_DIMS];
    files_create();
    folder_create("train");
    folder_create("test");
    text_write("train/a.json", tweets);
    text_write("test/a.json", "{\"users\":[],\"num_samples\":[],\"user_data\":{}}");
    text_write("v", "bad 3 4\ngood 1 2\n");
    struct dataset *d =
        load(1, "{'source':'leaf','path':'%s','vectors':'%s','tokens':3}", file_path("."), file_path("v"));
    ck_assert_int_eq(dataset_input(d, shape), 2);
    ck_assert(shape[0] == 3 && shape[1] == 2);
    ck_assert_int_eq(dataset_num_classes(d), 2);
    ck_device(d, 0, SPLIT_TRAIN, 2, ann, ann_y);
    ck_device(d, 1, SPLIT_TRAIN, 2, bob, bob_y);
    dataset_free(d);
    files_remove();
}
END_TEST

START_TEST(test_bad_texts)
{
    static const struct {
        const char *user, *more, *field, *words;
    } bad[] = {
        {"{'x':['ab','abc'],'y':['c','d']}", "", "data.path",
         "example 1 of user \"a\" has 3 characters, not the 2 of the examples before"},
        {"{'x':['',''],'y':['c','d']}", "", "data.path", "example 0 of user \"a\" has 0 characters"},
        {"{'x':['ab','bc'],'y':['cd','d']}", "", "data.path", "label 0 of user \"a\" must be one character"},
        {"{'x':['ab','bc'],'y':['','d']}", "", "data.path", "label 0 of user \"a\" must be one character"},
        {"{'x':['ab','bc'],'y':[1,2]}", "", "data.path",
         "user \"a\" has a number in y, where a text must be"},
        {"{'x':['ab',[1,2]],'y':['c','d']}", "", "data.path",
         "user \"a\" has a list in x, where a text must be"},
        {"{'x':['ab','b~'],'y':['c','d']}", ",'unknown':''", "data.path",
         "\"~\" (U+007E) is not in the vocabulary"},
        {"{'x':['ab','bc'],'y':['c','d']}", ",'standardise':'device'", "data.standardise", "these are texts"},
        {"{'x':['ab','bc'],'y':['c','d']}", ",'classes':80", "data.classes", "the examples are characters"},
        {"{'x':['ab','bc'],'y':['c','d']}", ",'tokens':3", "data.tokens", "the examples are characters"},
        {"{'x':[1,2],'y':[0,1]}", ",'vocabulary':'data'", "data.vocabulary",
         "the data are numbers, which do not say"},
        {"{'x':['good','bad'],'y':[0,2]}", ",'vectors':'V'", "data.path", "label 2; without data.classes"},
        {"{'x':['good','bad'],'y':[0,-1]}", ",'vectors':'V','classes':3", "data.path", "label -1"},
        {"{'x':[['good'],'bad'],'y':[0,1]}", ",'vectors':'V'", "data.path",
         "example 0 of user \"a\" has 1 entries, so none is entry 4"},
        {"{'x':[[7],'bad'],'y':[0,1]}", ",'vectors':'V','text_index':0", "data.path",
         "has a number in x, where a text"},
        {"{'x':[3,'bad'],'y':[0,1]}", ",'vectors':'V'", "data.path", "has a number in x, where a text"},
        {"{'x':['good',['a',['b']]],'y':[0,1]}", ",'vectors':'V','text_index':1", "data.path",
         "has a list in x"},
    };
    files_create();
    text_write("v", "good 1\nbad 2\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400], more[400] = "";
        (void)snprintf(text, sizeof text, "{'users':['a'],'num_samples':[2],'user_data':{'a':%s}}",
                       bad[i].user);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        text_write("a.json", text);
        const char *v = strchr(bad[i].more, 'V');
        (void)snprintf(more, sizeof more, "%.*s%s%s", v ? (int)(v - bad[i].more) : 100, bad[i].more,
                       v ? file_path("v") : "", v ? v + 1 : "");
        ck_refused(strcmp(bad[i].field, "data.path") == 0 ? ERR_BAD_FILE : ERR_INVALID_FIELD, bad[i].field,
                   bad[i].words, "{'source':'leaf','path':'%s'%s}", file_path("a.json"), more);
    }
    files_remove();
}
END_TEST

START_TEST(test_damaged_files)
{
    files_create();
    abuse("a.json", two_users, 700, LEAF, file_path("a.json"));
    text_write("v", "bad 3 4\ngood 1 2\n");
    abuse("a.json", plays, 700, LEAF, file_path("a.json"));
    abuse("a.json", tweets, 700, "{'source':'leaf','path':'%s','vectors':'%s','tokens':3}",
          file_path("a.json"), file_path("v"));
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
                                  test_characters,
                                  test_words,
                                  test_bad_texts,
                                  test_damaged_files};
    return unit_run("leaf", tests, sizeof tests / sizeof *tests);
}
