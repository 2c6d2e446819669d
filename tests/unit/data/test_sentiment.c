#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <stdio.h>
#include <string.h>
#include "common/crypto/sha256.h"

#define SENTIMENT "{'source':'sentiment','path':'%s','vectors':'%s'"

static const char texts[] = "user,label,text\n"
                            "ann,4,\"Good, good day!\"\n"
                            "bob,0,it's BAD\n"
                            "ann,0,\"He said \"\"bad\"\"\n day\"\n"
                            "bob,1,caf\xc3\xa9 ... ##good##\n";
static const char vectors[] = "the 0 0\n"
                              "good 1 2\n"
                              "Good 1.5 -2.5e0\n"
                              ", 0.25 0.5\n"
                              "bad -1 -2\n"
                              "it's 3 3\n"
                              "good 9 9\n"
                              "caf\xc3\xa9 7 8\n"
                              ". 5 6\n";

/* The texts as the words' vectors, whoever owns them: rows are in the file's order. */
static void ck_text(const struct dataset *d, size_t device, enum data_split split, size_t i, const real *x,
                    size_t n, int32_t y)
{
    real got[16];
    int32_t label;
    ck_assert_uint_eq(dataset_num_features(d), n);
    dataset_gather(d, dataset_device(d, device), split, i, NULL, 1, got, &label);
    for (size_t j = 0; j < n; j++)
        ck_assert_msg(got[j] == x[j], "number %zu is %g instead of %g", j, (double)got[j], (double)x[j]);
    ck_assert_int_eq(label, y);
}

/* Words as they stand, then in lower case; marks are words; quotation marks and what else there is are not;
 * what is unknown, and what is behind the last word, is zeros; what is beyond the tokens is left out. */
START_TEST(test_words_are_looked_up)
{
    static const real first[] = {1.5f, -2.5f, 0.25f, 0.5f, 1, 2, 0, 0}, second[] = {3, 3, -1, -2, 0, 0, 0, 0},
                      third[] = {0, 0, 0, 0, -1, -2, 0, 0}, fourth[] = {7, 8, 5, 6, 5, 6, 5, 6};
    int64_t shape[LIMIT_TENSOR_DIMS];
    files_create();
    text_write("t.csv", texts);
    text_write("v", vectors);
    text_write("z.csv", "user,label,text\nbob,0,\n");
    struct dataset *d = load(1, SENTIMENT ",'tokens':4,'device':'user','test_path':'%s'}", file_path("t.csv"),
                             file_path("v"), file_path("z.csv"));
    ck_assert_int_eq(dataset_input(d, shape), 2);
    ck_assert(shape[0] == 4 && shape[1] == 2);
    ck_assert_int_eq(dataset_num_classes(d), 2);
    ck_assert_uint_eq(dataset_num_tokens(d), 0);
    ck_assert_ptr_null(dataset_vocabulary(d));
    ck_assert_str_eq(dataset_device(d, 0)->name, "ann");
    ck_text(d, 0, SPLIT_TRAIN, 0, first, 8, 1);
    ck_text(d, 0, SPLIT_TRAIN, 1, third, 8, 0);
    ck_text(d, 1, SPLIT_TRAIN, 0, second, 8, 0);
    ck_text(d, 1, SPLIT_TRAIN, 1, fourth, 8, 1);
    ck_text(d, 1, SPLIT_TEST, 0, (const real[8]){0}, 8, 0); /* a text without words */
    dataset_free(d);
    files_remove();
}
END_TEST

/* word2vec's first line, tabs, CRLF, blanks at the end, empty lines, no last line's end, words with blanks,
 * compressed. */
START_TEST(test_forms_of_vectors)
{
    static const char *const forms[] = {
        "good 1 2\nbad 3 4\n",
        "good\t1\t2\r\n\r\nbad\t3\t4\r\n",
        "2 2\ngood 1 2 \nbad 3 4",
        "good  1  2\n. . 9 9\nat x@y.org 9 9\nbad 3 4\n",
    };
    files_create();
    text_write("t.csv", "label,text\n0,good\n1,bad\n");
    for (size_t i = 0; i < 2 * (sizeof forms / sizeof *forms); i++) {
        file_write("v", forms[i / 2], strlen(forms[i / 2]), i % 2 == 1);
        struct dataset *d = load(1, SENTIMENT ",'tokens':1}", file_path("t.csv"), file_path("v"));
        real x[2];
        int32_t y;
        char sha256[SHA256_HEX_SIZE]; /* as sha256sum prints it of the file, unpacked */
        ck_assert_int_eq(sha256_hex(forms[i / 2], strlen(forms[i / 2]), sha256), ERR_OK);
        ck_assert_str_eq(dataset_vocabulary_sha256(d), sha256);
        dataset_gather(d, dataset_device(d, 0), SPLIT_TRAIN, 0, NULL, 1, x, &y);
        ck_assert(x[0] == (y ? 3 : 1) && x[1] == (y ? 4 : 2));
        dataset_free(d);
    }
    files_remove();
}
END_TEST

START_TEST(test_bad_vectors)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"good 1 2\nbad 1 2 3\n", "v, line 2: has 3 numbers behind its word, not 2"},
        {"good 1 2\nbad 1\n", "v, line 2: has 1 numbers behind its word, not 2"},
        {"the 1 2\nan 1 2\nof 1\n", "v, line 3: has 1 numbers"}, /* of no word of the data */
        {"good 1 2\n\nbad nan 2\n", "v, line 3: number 1 of \"bad\" is \"nan\", which is no finite number"},
        {"good 1 inf\nbad 1 2\n", "v, line 1: number 2 of \"good\" is \"inf\""},
        {"good 1 1e39\nbad 1 2\n", "v, line 1: number 2 of \"good\" is \"1e39\""},
        {"good x 2\nbad 1 2\n", "v, line 1: number 1 of \"good\" is \"x\""},
        {"good 1 2\nmark 5 1 2\n",
         "v, line 2: has 3 numbers behind its word, not 2"}, /* a blank in a word, or one too many? */
        {"good\n", "v, line 1: has 0 numbers behind its word"},
        {"2 3\ngood 1 2\n", "v, line 2: has 2 numbers behind its word, not 3"},
        {"3 2\ngood 1 2\nbad 3 4\n", "v: its first line promises 3 words, but there are 2"},
        {"", "v: has none of the 2 different words"},
        {"gut 1 2\n", "v: has none of the 2 different words"},
    };
    files_create();
    text_write("t.csv", "label,text\n0,good\n1,bad\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text_write("v", bad[i].text);
        ck_refused(ERR_BAD_FILE, "data.vectors", bad[i].words, SENTIMENT "}", file_path("t.csv"),
                   file_path("v"));
    }
    ck_refused(ERR_BAD_FILE, "data.vectors", "No such file", SENTIMENT "}", file_path("t.csv"),
               file_path("absent"));
    files_remove();
}
END_TEST

START_TEST(test_bad_texts)
{
    static const struct {
        const char *text, *more, *field, *words;
    } bad[] = {
        {"label,text\n0,good\n2,bad\n", "", "data.path",
         "line 3, column \"label\": label 2; without data.classes"},
        {"label,text\n0,good\n3,bad\n", ",'classes':3", "data.path",
         "label 3, but data.classes allows only 0 to 2"},
        {"label,text\n0,good\nsad,bad\n", "", "data.path",
         "line 3, column \"label\": label \"sad\" is no whole"},
        {"label,text\n0,good\n1,b\xe4"
         "d\n",
         "", "data.path", "line 3, column \"text\": a text that is no UTF-8"},
        {"label,words\n0,good\n", "", "data.text", "has no column \"text\""},
        {"label,text\n0,good\n", ",'label':'text'", "data.text", "is the column of the labels"},
        {"label,text\n0,good\n", "", "data.path", "has 1 example, but needs two"},
        {"label,text\n", "", "data.path", "no row behind the names"},
        {"label,text\n0,good\n1,bad\n", ",'tokens':0", "data.tokens", "between 1 and"},
        {"label,text\n0,good\n1,bad\n", ",'device':'label','partition':{}", "data.partition", "leave one"},
        {"u,label,text\na,0,good\nb,1,bad\n", ",'device':'u'", "data.path", "device 0 \"a\" has 1 example"},
    };
    files_create();
    text_write("v", "good 1 2\nbad 3 4\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text_write("t.csv", bad[i].text);
        const enum err err = strcmp(bad[i].field, "data.path") == 0 ? ERR_BAD_FILE : ERR_INVALID_FIELD;
        ck_refused(err, bad[i].field, bad[i].words, SENTIMENT "%s}", file_path("t.csv"), file_path("v"),
                   bad[i].more);
    }
    ck_refused(ERR_BAD_FILE, "data.path", "is a directory; all texts must be in one file", SENTIMENT "}",
               file_path("."), file_path("v"));
    ck_refused(ERR_MISSING_FIELD, "data.vectors", "", "{'source':'sentiment','path':'%s'}",
               file_path("t.csv"));
    ck_refused(ERR_UNKNOWN_FIELD, "data.standardise", "", SENTIMENT ",'standardise':'device'}",
               file_path("t.csv"), file_path("v"));
    files_remove();
}
END_TEST

/* More different words than a byte counts, and more texts than the first room: tokens grow wider as they
 * come. */
START_TEST(test_many_words)
{
    const size_t words = 70000;
    char *csv = malloc(words * 40), *v = malloc(words * 20);
    size_t csv_len = 0, v_len = 0, good = 0;
    ck_assert(csv && v);
    csv_len += (size_t)snprintf(csv, words * 40, "text,label\n");
    for (size_t i = 0; i < words; i++) {
        csv_len += (size_t)snprintf(csv + csv_len, words * 40 - csv_len, "W%zu w%zu,%zu\n", i, i / 2, i % 2);
        v_len += (size_t)snprintf(v + v_len, words * 20 - v_len, "w%zu %zu\n", words - 1 - i, words - i);
    }
    files_create();
    file_write("t.csv", csv, csv_len, false);
    file_write("v", v, v_len, false);
    struct dataset *d =
        load(1, SENTIMENT ",'tokens':3,'partition':{'devices':10}}", file_path("t.csv"), file_path("v"));
    for (size_t k = 0; k < 10; k++)
        for (size_t i = 0; i < dataset_device(d, k)->num_train; i++) {
            real x[3];
            int32_t y;
            dataset_gather(d, dataset_device(d, k), SPLIT_TRAIN, i, NULL, 1, x, &y);
            const size_t word = (size_t)x[0] - 1;
            good += (size_t)x[1] == word / 2 + 1 && x[2] == 0 && (size_t)y == word % 2;
        }
    ck_assert_uint_eq(good, 63000);
    dataset_free(d);
    files_remove();
    free(csv);
    free(v);
}
END_TEST

START_TEST(test_damaged_files)
{
    files_create();
    text_write("t.csv", texts);
    text_write("v", vectors);
    abuse("t.csv", texts, 1000, SENTIMENT ",'tokens':4}", file_path("t.csv"), file_path("v"));
    text_write("t.csv", texts);
    abuse("v", vectors, 2000, SENTIMENT ",'tokens':4}", file_path("t.csv"), file_path("v"));
    files_remove();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_words_are_looked_up, test_forms_of_vectors, test_bad_vectors,
                                  test_bad_texts,           test_many_words,       test_damaged_files};
    return unit_run("sentiment", tests, sizeof tests / sizeof *tests);
}
