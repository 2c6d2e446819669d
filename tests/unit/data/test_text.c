#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <stdio.h>
#include <string.h>
#include "common/base/log.h"

#define TEXT "{'source':'text','path':'%s'"

/* What the tokens of one window spell, and its label behind it. */
static const char *window(const struct dataset *d, size_t k, enum data_split split, size_t i)
{
    static char spelled[256];
    const char *vocabulary = dataset_vocabulary(d);
    const size_t steps = dataset_num_features(d);
    real x[200];
    int32_t y;
    ck_assert_uint_le(steps, 200);
    dataset_gather(d, dataset_device(d, k), split, i, NULL, 1, x, &y);
    for (size_t j = 0; j < steps; j++) {
        ck_assert(x[j] >= 0 && (size_t)x[j] < dataset_num_tokens(d) && x[j] == (real)(int)x[j]);
        spelled[j] = vocabulary[(int)x[j]];
    }
    spelled[steps] = '|';
    spelled[steps + 1] = vocabulary[y];
    spelled[steps + 2] = '\0';
    return spelled;
}

START_TEST(test_windows_of_one_file)
{
    int64_t shape[LIMIT_TENSOR_DIMS];
    files_create();
    text_write("a", "abcdefghijklmnopqrst"); /* 18 train, then a gap of 3: nothing tests */
    struct dataset *d = load(1, TEXT ",'window':3}", file_path("a"));
    ck_assert_int_eq(dataset_input(d, shape), 1);
    ck_assert_int_eq(shape[0], 3);
    ck_assert_uint_eq(dataset_num_devices(d), 1);
    ck_assert_int_eq(dataset_num_classes(d), 80);
    ck_assert_uint_eq(dataset_num_tokens(d), 80);
    ck_assert_str_eq(dataset_device(d, 0)->name, "");
    ck_assert_uint_eq(dataset_device(d, 0)->num_train, 15);
    ck_assert_uint_eq(dataset_device(d, 0)->num_test, 0);
    ck_assert_str_eq(window(d, 0, SPLIT_TRAIN, 0), "abc|d");
    ck_assert_str_eq(window(d, 0, SPLIT_TRAIN, 14), "opq|r");
    dataset_free(d);
    d = load(1, TEXT ",'window':3,'stride':4,'train_fraction':0.5}", file_path("a"));
    ck_assert_uint_eq(dataset_device(d, 0)->num_train, 2);
    ck_assert_uint_eq(dataset_device(d, 0)->num_test, 1);
    ck_assert_str_eq(window(d, 0, SPLIT_TRAIN, 1), "efg|h");
    ck_assert_str_eq(window(d, 0, SPLIT_TEST, 0), "nop|q");
    dataset_free(d);
    files_remove();
}
END_TEST

/* A text in which every character is another one: none that tests is one that trains, and between the two a
 * window is left out. */
START_TEST(test_no_character_of_the_test_was_seen)
{
    char text[3 * 1000 + 1];
    size_t len = 0;
    files_create();
    for (unsigned i = 0; i < 1000; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%c%c%c", 0xe4 + i / 4096, 0x80 + i / 64,
                                0x80 + i % 64);
    text_write("a", text);
    for (int stride = 1; stride < 8; stride += 3) {
        struct dataset *d =
            load(1, TEXT ",'window':30,'stride':%d,'vocabulary':'data'}", file_path("a"), stride);
        const struct device_data *device = dataset_device(d, 0);
        int32_t most_trained = 0, least_tested = 1000, y;
        real x[30];
        for (size_t i = 0; i < device->num_train; i++) {
            dataset_gather(d, device, SPLIT_TRAIN, i, NULL, 1, x, &y);
            most_trained = y > most_trained ? y : most_trained;
            ck_assert_int_eq(y, (int)i * stride + 30);
        }
        for (size_t i = 0; i < device->num_test; i++) {
            dataset_gather(d, device, SPLIT_TEST, i, NULL, 1, x, &y);
            least_tested = x[0] < (real)least_tested ? (int32_t)x[0] : least_tested;
            ck_assert_int_le(y, 999);
        }
        ck_assert_uint_eq(device->num_train, (900 - 31) / (unsigned)stride + 1);
        ck_assert_uint_eq(device->num_test, (70 - 31) / (unsigned)stride + 1);
        ck_assert_int_eq(least_tested, 930);
        ck_assert_int_le(most_trained, 899);
        dataset_free(d);
    }
    files_remove();
}
END_TEST

START_TEST(test_a_file_per_device)
{
    files_create();
    text_write("b.txt", "To be, or not to be.\n");
    file_write("a b.txt.gz", "\xef\xbb\xbfWhat\r\nnow", 12,
               true); /* a mark and carriage returns do not count */
    text_write("notes.md", "no text of a device");
    struct dataset *d =
        load(1, TEXT ",'window':4,'train_fraction':1,'first_ordinal':7,'name':'plays'}", file_path("."));
    ck_assert_str_eq(dataset_name(d), "plays");
    ck_assert_uint_eq(dataset_num_devices(d), 2);
    ck_assert_str_eq(dataset_device(d, 0)->name, "a b");
    ck_assert_str_eq(dataset_device(d, 1)->name, "b");
    ck_assert_int_eq(dataset_device(d, 1)->ordinal, 8);
    ck_assert_uint_eq(dataset_device(d, 0)->num_train, 4);
    ck_assert_str_eq(window(d, 0, SPLIT_TRAIN, 0), "What|\n");
    ck_assert_str_eq(window(d, 0, SPLIT_TRAIN, 3), "t\nno|w");
    ck_assert_str_eq(window(d, 1, SPLIT_TRAIN, 0), "To b|e");
    ck_assert_str_eq(window(d, 1, SPLIT_TRAIN, 16), " be.|\n"); /* the last: windows end with their file */
    int64_t counts[80], n = 0;
    dataset_label_counts(d, dataset_device(d, 1), SPLIT_TRAIN, counts);
    for (int c = 0; c < 80; c++)
        n += counts[c];
    ck_assert_int_eq(n, 17);
    ck_assert_int_eq(counts[0], 1);
    dataset_free(d);
    files_remove();
}
END_TEST

START_TEST(test_vocabularies)
{
    files_create();
    text_write("a", "\xe2\x82\xac"
                    "a b\xc3\xa9 a\xf0\x9f\x98\x80"
                    "b aab");
    struct dataset *d = load(1, TEXT ",'window':2,'vocabulary':'data'}", file_path("a"));
    ck_assert_str_eq(dataset_vocabulary(d), " ab\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    ck_assert_int_eq(dataset_num_classes(d), 6);
    static const real first[] = {4, 1};
    real x[2];
    int32_t y;
    dataset_gather(d, dataset_device(d, 0), SPLIT_TRAIN, 0, NULL, 1, x, &y);
    ck_assert(memcmp(x, first, sizeof x) == 0);
    ck_assert_int_eq(y, 0);
    dataset_free(d);
    /* The same by name; in another order; what is missing is read as a blank, or as what stands for it. */
    d = load(1, TEXT ",'window':2,'vocabulary':'ba \xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9'}", file_path("a"));
    ck_assert_uint_eq(dataset_num_tokens(d), 6);
    dataset_gather(d, dataset_device(d, 0), SPLIT_TRAIN, 0, NULL, 1, x, &y);
    ck_assert(x[0] == 4 && x[1] == 1 && y == 2);
    dataset_free(d);
    d = load(1, TEXT ",'window':2}", file_path("a"));
    ck_assert_str_eq(window(d, 0, SPLIT_TRAIN, 0), " a| ");
    dataset_free(d);
    d = load(1, TEXT ",'window':2,'vocabulary':['a','b','?',' '],'unknown':'?'}", file_path("a"));
    ck_assert_str_eq(window(d, 0, SPLIT_TRAIN, 0), "?a| ");
    dataset_free(d);
    files_remove();
}
END_TEST

/* The table of LEAF's Shakespeare, whole. */
START_TEST(test_the_papers_vocabulary)
{
    files_create();
    text_write("a", "0123456789");
    struct dataset *d = load(1, TEXT ",'window':1,'vocabulary':'paper'}", file_path("a"));
    ck_assert_str_eq(dataset_vocabulary(d),
                     "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}");
    ck_assert_uint_eq(strlen(dataset_vocabulary(d)), 80);
    dataset_free(d);
    files_remove();
}
END_TEST

START_TEST(test_bad_fields)
{
    static const struct {
        const char *more, *field, *words;
    } bad[] = {
        {",'window':0", "data.window", "between 1 and"},
        {",'stride':0", "data.stride", "between 1 and"},
        {",'train_fraction':1.5", "data.train_fraction", "between 0 and 1"},
        {",'partition':{}", "data.partition", "unknown"},
        {",'classes':80", "data.classes", "unknown"},
        {",'vocabulary':80", "data.vocabulary", "must be \"paper\", \"data\""},
        {",'vocabulary':'abca'", "data.vocabulary", "has \"a\" (U+0061) twice"},
        {",'vocabulary':'papers'", "data.vocabulary", "has \"p\" (U+0070) twice"},
        {",'vocabulary':''", "data.vocabulary", "at least two"},
        {",'vocabulary':['a','bc']", "data.vocabulary", "entry 1 must be a text of one character"},
        {",'vocabulary':['a',3]", "data.vocabulary", "entry 1 must be a text of one character"},
        {",'vocabulary':'ab\\r'", "data.vocabulary", "U+000D cannot be in it"},
        {",'unknown':'xy'", "data.unknown", "must be the character"},
        {",'unknown':'~'", "data.unknown", "\"~\" (U+007E) is not in the vocabulary itself"},
        {",'vocabulary':'data','unknown':' '", "data.unknown", "has all characters"},
    };
    files_create();
    text_write("a", "some text");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const enum err err = strcmp(bad[i].words, "unknown") == 0 ? ERR_UNKNOWN_FIELD : ERR_INVALID_FIELD;
        ck_refused(err, bad[i].field, err == ERR_UNKNOWN_FIELD ? "" : bad[i].words, TEXT "%s}",
                   file_path("a"), bad[i].more);
    }
    ck_refused(ERR_MISSING_FIELD, "data.path", "", "{'source':'text'}");
    files_remove();
}
END_TEST

START_TEST(test_bad_files)
{
    static const struct {
        const char *text, *more, *words;
    } bad[] = {
        {"", "", "a.txt: has 0 characters, of which 0 train, but a device needs 81"},
        {"12345678901", ",'window':9", "has 11 characters, of which 9 train, but a device needs 10"},
        {"123456789", ",'window':1,'train_fraction':0", "of which 0 train"},
        {"ab\xffgh", "", "a.txt, byte 2: no UTF-8"},
        {"ab\xc3", "", "a.txt, byte 2: no UTF-8"},
        {"abc\xed\xa0\x80", "", "a.txt, byte 3: no UTF-8"},
        {"ab\xc3\xa9", ",'unknown':''", "a.txt, byte 2: \"\xc3\xa9\" (U+00E9) is not in the vocabulary"},
        {"ab\tc", ",'vocabulary':'abc'", "a.txt, byte 2: U+0009 is not in the vocabulary"},
    };
    files_create();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text_write("a.txt", bad[i].text);
        ck_refused(ERR_BAD_FILE, "data.path", bad[i].words, TEXT "%s}", file_path("."), bad[i].more);
        ck_refused(ERR_BAD_FILE, "data.path", bad[i].words, TEXT "%s}", file_path("a.txt"), bad[i].more);
    }
    file_write("a.txt", "ab\0cd", 5, true);
    ck_refused(ERR_BAD_FILE, "data.path", "byte 2 of the uncompressed content: a zero byte", TEXT "}",
               file_path("a.txt"));
    text_write("a.txt", "abcdefgh");
    text_write("a.txt.gz", "abcdefgh");
    ck_refused(ERR_BAD_FILE, "data.path", "a.txt.gz: there is another file of device \"a\"",
               TEXT ",'window':2}", file_path("."));
    ck_refused(ERR_BAD_FILE, "data.path", "No such file", TEXT "}", file_path("absent"));
    folder_create("empty");
    ck_refused(ERR_BAD_FILE, "data.path", "empty: has no *.txt", TEXT "}", file_path("empty"));
    files_remove();
}
END_TEST

/* Characters of two bytes on both sides of every border between blocks; a vocabulary of more than 256. */
START_TEST(test_a_file_of_several_blocks)
{
    const size_t n = 1200001;
    char *text = malloc(2 * n + 2);
    ck_assert_ptr_nonnull(text);
    files_create();
    for (size_t shift = 0; shift < 2; shift++) {
        memset(text, 'x', shift);
        for (size_t i = 0; i < n; i++) {
            const unsigned character = 0x100 + (unsigned)(i % 300);
            text[shift + 2 * i] = (char)(0xc0 | character >> 6);
            text[shift + 2 * i + 1] = (char)(0x80 | (character & 0x3f));
        }
        file_write("a", text, shift + 2 * n, shift == 1);
        struct dataset *d = load(1, TEXT ",'window':10,'stride':7,'vocabulary':'data'}", file_path("a"));
        const struct device_data *device = dataset_device(d, 0);
        size_t good = 0;
        ck_assert_uint_eq(dataset_num_tokens(d), 300 + shift);
        for (size_t i = 1; i < device->num_train; i++) {
            real x[10];
            int32_t y;
            dataset_gather(d, device, SPLIT_TRAIN, i, NULL, 1, x, &y);
            good += (size_t)x[0] == (7 * i - shift) % 300 + shift &&
                    (size_t)y == (7 * i + 10 - shift) % 300 + shift;
        }
        ck_assert_uint_gt(device->num_train, 150000);
        ck_assert_uint_eq(good, device->num_train - 1);
        dataset_free(d);
    }
    free(text);
    files_remove();
}
END_TEST

START_TEST(test_damaged_files)
{
    files_create();
    abuse("a.txt", "To be, or n\xc3\xb6t to be: \xf0\x9f\x98\x80 that is the \xe2\x82\xacquestion.\r\n", 2000,
          TEXT ",'window':5,'vocabulary':'data'}", file_path("a.txt"));
    abuse("a.txt", "To be, or n\xc3\xb6t to be: \xf0\x9f\x98\x80 that is the \xe2\x82\xacquestion.\r\n", 2000,
          TEXT ",'window':5,'unknown':''}", file_path("a.txt"));
    files_remove();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_windows_of_one_file,
                                  test_no_character_of_the_test_was_seen,
                                  test_a_file_per_device,
                                  test_vocabularies,
                                  test_the_papers_vocabulary,
                                  test_bad_fields,
                                  test_bad_files,
                                  test_a_file_of_several_blocks,
                                  test_damaged_files};
    return unit_run("text", tests, sizeof tests / sizeof *tests);
}
