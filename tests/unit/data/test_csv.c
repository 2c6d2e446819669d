#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <string.h>

#define OWN_SPLIT "{'source':'csv','path':'%s','test_path':'%s','label':'y'%s}"

/* A file whose rows all train, and one row to test on. */
static struct dataset *load_text(const char *text, const char *more)
{
    text_write("t.csv", text);
    return load(1, OWN_SPLIT, file_path("t.csv"), file_path("t.csv"), more);
}

static void ck_text(const char *text, const char *more, size_t n, const float *x, const int32_t *y)
{
    struct dataset *d = load_text(text, more);
    ck_device(d, 0, SPLIT_TRAIN, n, x, y);
    ck_device(d, 0, SPLIT_TEST, n, x, y);
    dataset_free(d);
}

START_TEST(test_ways_to_write_a_table)
{
    static const float x[] = {1, -2.5f, 3e2f, 0};
    static const int32_t y[] = {1, 0};
    static const char *const texts[] = {"a,y,b\n1,1,-2.5\n3e2,0,0\n",
                                        "a,y,b\r\n1,1,-2.5\r\n3e2,0,0\r\n",
                                        "a,y,b\r1,1,-2.5\r3e2,0,0",
                                        ("\xef\xbb\xbf"
                                         "a,y,b\n1,1,-2.5\n3e2,0,0"),
                                        "\n\na,y,b\n\n1,1,-2.5\n\r\n3e2,0,0\n\n",
                                        "\"a\",\"y\",\"b\"\n\"1\",\"1\",\"-2.5\"\n\"3e2\",\"0\",\"0\"",
                                        "a,y,b\n 1 , 1,-2.5\t\n+300.0,0.0,-0\n"};
    files_create();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_text(texts[i], "", 2, x, y);
    ck_text("a;y;b\n1;1;-2.5\n3e2;0;0\n", ",'delimiter':';'", 2, x, y);
    ck_text("a\ty\tb\n1\t1\t-2.5\n3e2\t0\t0\n", ",'delimiter':'\\t'", 2, x, y);
    ck_text("id,b,note,a,y\nr1,-2.5,\"said \"\"no\"\",\nthen yes\",1,1\nr2,0,,300,0\n",
            ",'features':['a','b']", 2, x, y);
    files_remove();
}
END_TEST

START_TEST(test_labels)
{
    static const float x[] = {1, 2, 3};
    static const int32_t sorted[] = {1, 0, 2}, named[] = {0, 1, 2};
    struct dataset *d;
    files_create();
    ck_text("a,y\n1,dog\n2,cat\n3,yak\n", "", 3, x, sorted);
    ck_text("a,y\n1,dog\n2,cat\n3,yak\n", ",'classes':['dog','cat','yak','zebu']", 3, x, named);
    ck_text("a,y\n1,7\n2,5\n3,6\n", ",'classes':['7','5','6']", 3, x, named);
    ck_text("a,y\n1,1\n2,0\n3,2\n", ",'classes':9", 3, x, sorted);
    d = load_text("a,y\n1,1\n2,0\n", ",'classes':9");
    ck_assert_int_eq(dataset_num_classes(d), 9); /* some that no device has */
    dataset_free(d);
    d = load_text("a,y\n1,1\n2,5\n", "");
    ck_assert_int_eq(dataset_num_classes(d), 6);
    dataset_free(d);
    d = load_text("a,y\n1,dog\n", ",'classes':['cat','dog']");
    ck_assert_int_eq(dataset_num_classes(d), 2);
    dataset_free(d);
    files_remove();
}
END_TEST

START_TEST(test_devices_by_column)
{
    static const float x0[] = {1, 3, 5}, x1[] = {2, 4}, t1[] = {6};
    static const int32_t y0[] = {0, 0, 1}, y1[] = {1, 1}, z1[] = {0};
    files_create();
    text_write("train.csv", "x,who,y\n1,north,0\n2,south,1\n3,north,0\n4,south,1\n5,north,1\n");
    text_write("test.csv", "x,who,y\n6,south,0\n");
    struct dataset *d = load(1, "{'source':'csv','path':'%s','test_path':'%s','label':'y','device':'who'}",
                             file_path("train.csv"), file_path("test.csv"));
    ck_assert_uint_eq(dataset_num_devices(d), 2);
    ck_assert_uint_eq(dataset_num_features(d), 1);
    ck_assert_str_eq(dataset_device(d, 0)->name, "north");
    ck_assert_str_eq(dataset_device(d, 1)->name, "south");
    ck_device(d, 0, SPLIT_TRAIN, 3, x0, y0);
    ck_device(d, 0, SPLIT_TEST, 0, NULL, NULL); /* nothing to test on */
    ck_device(d, 1, SPLIT_TRAIN, 2, x1, y1);
    ck_device(d, 1, SPLIT_TEST, 1, t1, z1);
    dataset_free(d);
    d = load(1, "{'source':'csv','path':'%s','label':'y','device':'who'}", file_path("train.csv"));
    ck_assert_uint_eq(dataset_device(d, 0)->num_train, 2);
    ck_assert_uint_eq(dataset_device(d, 0)->num_test, 1);
    dataset_free(d);
    text_write("train.csv", "x,who,y\n1,north,0\n2,south,1\n3,north,0\n");
    ck_refused(ERR_BAD_FILE, "data.path", "\"south\" has 1 example",
               "{'source':'csv','path':'%s','label':'y','device':'who'}", file_path("train.csv"));
    text_write("test.csv", "x,who,y\n6,east,0\n");
    ck_refused(ERR_BAD_FILE, "data.test_path",
               "line 2, column \"who\": device \"east\" has nothing to train on",
               "{'source':'csv','path':'%s','test_path':'%s','label':'y','device':'who'}",
               file_path("train.csv"), file_path("test.csv"));
    files_remove();
}
END_TEST

START_TEST(test_one_device_or_a_partition)
{
    char text[600] = "x,y\n";
    files_create();
    for (int i = 0; i < 40; i++)
        (void)snprintf(text + strlen(text), 16, "%d,%d\n", i, i % 2);
    text_write("t.csv", text);
    struct dataset *d = load(1, "{'source':'csv','path':'%s','label':'y'}", file_path("t.csv"));
    ck_assert_uint_eq(dataset_num_devices(d), 1);
    ck_assert_str_eq(dataset_device(d, 0)->name, "");
    ck_assert_uint_eq(dataset_device(d, 0)->num_train, 36);
    dataset_free(d);
    d = load(1, OWN_SPLIT, file_path("t.csv"), file_path("t.csv"), ",'partition':{'name':'iid','devices':8}");
    ck_assert_uint_eq(dataset_num_devices(d), 8);
    ck_assert_uint_eq(dataset_device(d, 0)->num_train, 9);
    ck_assert_uint_eq(dataset_device(d, 0)->num_test, 1);
    dataset_free(d);
    ck_refused(ERR_INVALID_FIELD, "data.partition.devices", "at most 20",
               "{'source':'csv','path':'%s','label':'y','partition':{'devices':21}}", file_path("t.csv"));
    ck_refused(ERR_INVALID_FIELD, "data.partition", "data.device",
               "{'source':'csv','path':'%s','label':'y','device':'x','partition':{}}", file_path("t.csv"));
    files_remove();
}
END_TEST

START_TEST(test_bad_tables)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "line 1: the file is empty"},
        {"x,y\n", "no row"},
        {"x,y\n1,0\n2\n", "line 3: the row has 1 fields, but there are 2 columns"},
        {"x,y\n1,0\n2,0,5\n", "line 3: the row has more than 2 fields"},
        {"x,y\n1,0\n,0\n", "line 3, column \"x\": the cell is empty"},
        {"x,y\n1,0\n2,\n", "line 3, column \"y\": an empty label"},
        {"x,y\n\"1\n\",0\n", "line 2, column \"x\": \"1"},
        {"x,n,y\n1,\"a\nb\r\nc\",0\n\n2,d,0\noops,e,0\n", "line 2, column \"n\": \"a"},
        {"x,y\n1,0\nNaN,0\n", "line 3, column \"x\": NaN is no finite number"},
        {"x,y\n1,0\n-inf,0\n", "line 3, column \"x\": inf is no finite number"},
        {"x,y\n1,0\n1e39,0\n", "line 3, column \"x\": 1e39 is too large"},
        {"x,y\n1,0\n0x10,0\n", "\"0x10\" is no number"},
        {"x,y\n1,0\n\"1,5\",0\n", "\"1,5\" is no number"},
        {"x,y\n1,-1\n", "label -1"},
        {"x,y\n1,0.5\n", "label \"0.5\" is no whole number"},
        {"x,y\n1,1e30\n", "label \"1e30\"; labels are classes, 0 to 65535"},
        {"x,y\n1,99999999\n", "label 99999999"},
        {"x,y\n1,0\n1,cat\n", "line 3, column \"y\": label \"cat\" is no whole number"},
        {"x,y\n1,cat\n1,0\n", "label \"0\" is a number"},
        {"x,y,x\n1,0,1\n", "line 1: two columns have the name \"x\""},
        {",x,y\n0,1,0\n", "index=False"},
        {"y\n1\n", "no column for a feature"},
        {"x,y\n\"1,0\n", "line 2: the quotation mark that opens here is never closed"},
        {"x,y\n\"1\"2,0\n", "line 2: something follows"},
        {"x,y\n1\"2,0\n", "line 2: a quotation mark within"},
        {"\xff\xfex,y\n1,0\n", "no UTF-8"},
    };
    files_create();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text_write("t.csv", bad[i].text);
        ck_refused(ERR_BAD_FILE, "data.path", bad[i].words, "{'source':'csv','path':'%s','label':'y'}",
                   file_path("t.csv"));
    }
    files_remove();
}
END_TEST

/* A cell over several lines counts them all. */
START_TEST(test_lines_are_those_of_the_file)
{
    files_create();
    text_write("t.csv", "n,x,y\n\"a\nb\r\nc\rd\",1,0\n\ne,2,0\nf,g,0\n");
    ck_refused(ERR_BAD_FILE, "data.path", "line 8, column \"x\"",
               "{'source':'csv','path':'%s','label':'y','features':['x']}", file_path("t.csv"));
    files_remove();
}
END_TEST

START_TEST(test_bad_fields)
{
    static const struct {
        enum err err;
        const char *field, *words, *more;
    } bad[] = {
        {ERR_INVALID_FIELD, "data.label", "has no column \"z\"; its columns are x, w, y", "'label':'z'"},
        {ERR_MISSING_FIELD, "data.label", "", "'device':'w'"},
        {ERR_INVALID_FIELD, "data.device", "has no column", "'label':'y','device':'who'"},
        {ERR_INVALID_FIELD, "data.device", "labels", "'label':'y','device':'y'"},
        {ERR_INVALID_FIELD, "data.features[1]", "has no column", "'label':'y','features':['x','q']"},
        {ERR_INVALID_FIELD, "data.features[1]", "twice", "'label':'y','features':['x','x']"},
        {ERR_INVALID_FIELD, "data.features[0]", "the label", "'label':'y','features':['y']"},
        {ERR_INVALID_FIELD, "data.features", "names no column", "'label':'y','features':[]"},
        {ERR_INVALID_FIELD, "data.features", "list", "'label':'y','features':[1]"},
        {ERR_INVALID_FIELD, "data.delimiter", "one character", "'label':'y','delimiter':''"},
        {ERR_INVALID_FIELD, "data.delimiter", "one character", "'label':'y','delimiter':',,'"},
        {ERR_INVALID_FIELD, "data.delimiter", "one character", "'label':'y','delimiter':'1'"},
        {ERR_INVALID_FIELD, "data.classes", "1 to 65536", "'label':'y','classes':0"},
        {ERR_INVALID_FIELD, "data.classes", "1 to 65536", "'label':'y','classes':'two'"},
        {ERR_INVALID_FIELD, "data.classes", "1 to 65536", "'label':'y','classes':[]"},
        {ERR_INVALID_FIELD, "data.classes[1]", "twice", "'label':'y','classes':['a','a']"},
        {ERR_INVALID_FIELD, "data.classes[0]", "text", "'label':'y','classes':[0]"},
        {ERR_BAD_FILE, "data.path", "label \"0\" is none of data.classes", "'label':'y','classes':['a']"},
        {ERR_BAD_FILE, "data.path", "label 1, but data.classes allows only 0 to 0",
         "'label':'y','classes':1"},
        {ERR_UNKNOWN_FIELD, "data.lable", "label", "'lable':'y'"},
    };
    files_create();
    text_write("t.csv", "x,w,y\n1,1,0\n2,1,1\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_refused(bad[i].err, bad[i].field, bad[i].words, "{'source':'csv','path':'%s',%s}",
                   file_path("t.csv"), bad[i].more);
    ck_refused(ERR_BAD_FILE, "data.path", "No such file", "{'source':'csv','path':'%s','label':'y'}",
               file_path("absent"));
    ck_refused(ERR_BAD_FILE, "data.path", "is a directory", "{'source':'csv','path':'%s','label':'y'}",
               file_path("."));
    text_write("u.csv", "w,x,y\n1,1,0\n");
    ck_refused(ERR_BAD_FILE, "data.test_path", "column 1 is \"w\"", OWN_SPLIT, file_path("t.csv"),
               file_path("u.csv"), "");
    text_write("u.csv", "x,w,y,z\n1,1,0\n");
    ck_refused(ERR_BAD_FILE, "data.test_path", "column 3 is \"y\"", OWN_SPLIT, file_path("t.csv"),
               file_path("u.csv"), "");
    files_remove();
}
END_TEST

/* Cells and line ends on both sides of every border between blocks. */
START_TEST(test_a_file_of_several_blocks)
{
    const size_t rows = 80000;
    char *text = malloc(rows * 20 + 100);
    ck_assert_ptr_nonnull(text);
    files_create();
    for (int shift = 0; shift < 3; shift++) {
        size_t len = (size_t)snprintf(text, 100, "%.*sa,b,y\n", shift, "\n\n\n\n");
        for (size_t i = 0; i < rows; i++)
            len += (size_t)snprintf(text + len, 24, "%zu,\"%zu\",%zu\r\n", i, i, i % 3);
        file_write("t.csv", text, len, shift % 2);
        struct dataset *d = load(1, OWN_SPLIT, file_path("t.csv"), file_path("t.csv"), "");
        const struct device_data *device = dataset_device(d, 0);
        ck_assert_uint_eq(device->num_train, rows);
        size_t good = 0;
        for (size_t i = 0; i < rows; i++) {
            float x[2];
            int32_t y;
            dataset_gather(d, device, SPLIT_TRAIN, i, NULL, 1, x, &y);
            good += x[0] == (float)i && x[1] == (float)i && y == (int32_t)(i % 3);
        }
        ck_assert_uint_eq(good, rows);
        dataset_free(d);
    }
    free(text);
    files_remove();
}
END_TEST

START_TEST(test_damaged_files)
{
    files_create();
    abuse("t.csv", "x,\"n\",w,y\r\n1.5,\"a \"\"b\"\"\r\n\",p,cat\n-2e3,,p,dog\n\"3\",c,q,dog\n4,d,q,cat\n",
          700, "{'source':'csv','path':'%s','label':'y','device':'w','features':['x']}", file_path("t.csv"));
    files_remove();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_ways_to_write_a_table,
                                  test_labels,
                                  test_devices_by_column,
                                  test_one_device_or_a_partition,
                                  test_bad_tables,
                                  test_lines_are_those_of_the_file,
                                  test_bad_fields,
                                  test_a_file_of_several_blocks,
                                  test_damaged_files};
    return unit_run("csv", tests, sizeof tests / sizeof *tests);
}
