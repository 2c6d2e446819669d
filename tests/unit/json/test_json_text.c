#include <string.h>
#include <unistd.h>
#include "common/base/limits.h"
#include "common/json/json_spec.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

static json_t *parse(const char *text)
{
    json_t *root = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(json_text_parse(text, strlen(text), &root, &fault) == ERR_OK, "%s: %s", text, fault.detail);
    return root;
}

START_TEST(test_good)
{
    static const char *const good[] = {
        "{}", " [1, 2] \n", "5", "\xef\xbb\xbf{}", "\"text\"", "null", "{\"a\": {\"b\": \"[[[[{{{\\\"[\"}}"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        json_decref(parse(good[i]));
}
END_TEST

static const struct {
    const char *text, *detail;
} errors[] = {
    {"", "line 1, column 0"},
    {"{", "line 1, column 1"},
    {"{}\n{}", "line 2, column 1"},
    {"{\"a\": 1, \"a\": 2}", "duplicate"},
    {"[1,]", "column 4"},
    {"{\"a\": 01}", "column"},
    {"[NaN]", "column"},
    {"[\"\xff\"]", "unable to decode byte 0xff"},
    {"[\"\\u0000\"]", "\\u0000"},
    {"[1e999]", "real number overflow"},
    {"[99999999999999999999]", "too big integer"},
    {"[\"a\nb\"]", "line"},
};

START_TEST(test_malformed)
{
    json_t *root = NULL;
    struct fault fault = FAULT_NONE;
    const char *text = errors[_i].text;
    ck_assert_int_eq(json_text_parse(text, strlen(text), &root, &fault), ERR_MALFORMED_JSON);
    ck_assert_msg(strstr(fault.detail, errors[_i].detail) != NULL, "%s: %s", text, fault.detail);
    ck_assert_ptr_null(root);
    ck_assert_int_eq(json_text_parse(text, strlen(text), &root, NULL), ERR_MALFORMED_JSON);
}
END_TEST

START_TEST(test_bytes_behind_a_nul)
{
    json_t *root = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(json_text_parse("{}\0{}", 5, &root, NULL), ERR_MALFORMED_JSON);
    ck_assert_int_eq(json_text_parse("[1\0]", 4, &root, &fault), ERR_MALFORMED_JSON);
    ck_assert_str_eq(fault.detail, "line 1, column 3: a NUL byte");
    ck_assert_int_eq(json_text_parse("\0", 1, &root, NULL), ERR_MALFORMED_JSON);
    ck_assert_int_eq(json_text_parse("[\"\0\"]", 5, &root, NULL), ERR_MALFORMED_JSON);
}
END_TEST

/* depth times '[', then as many ']'. */
static enum err parse_nested(size_t depth, struct fault *fault)
{
    char *text = malloc(2 * depth);
    json_t *root = NULL;
    ck_assert_ptr_nonnull(text);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    enum err e = json_text_parse(text, 2 * depth, &root, fault);
    json_decref(root);
    free(text);
    return e;
}

START_TEST(test_depth)
{
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(parse_nested(LIMIT_JSON_DEPTH, &fault), ERR_OK);
    ck_assert_int_eq(parse_nested(LIMIT_JSON_DEPTH + 1, &fault), ERR_MALFORMED_JSON);
    ck_assert_str_eq(fault.detail, "line 1, column 33: nested deeper than 32 levels");
    ck_assert_int_eq(parse_nested(1000000, &fault), ERR_MALFORMED_JSON);
}
END_TEST

START_TEST(test_file)
{
    char path[] = "/tmp/fedlane-test-json-XXXXXX";
    int fd = mkstemp(path);
    json_t *root = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "{\"a\": 5}\n", 9), 9);
    ck_assert_msg(json_file_parse(path, &root, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "a")), 5);
    json_decref(root);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    ck_assert_int_eq(json_file_parse(path, &root, &fault), ERR_MALFORMED_JSON);
    ck_assert_ptr_nonnull(strstr(fault.detail, path));
    ck_assert_ptr_nonnull(strstr(fault.detail, "line 2"));
    ck_assert_int_eq(ftruncate(fd, (off_t)LIMIT_JSON_FILE + 1), 0); /* a hole, so it costs nothing */
    ck_assert_int_eq(json_file_parse(path, &root, &fault), ERR_PAYLOAD_TOO_LARGE);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(json_file_parse(path, &root, &fault), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(fault.detail, path));
}
END_TEST

START_TEST(test_text_is_canonical)
{
    char *a = NULL, *b = NULL;
    json_t *one = parse("{\"b\": [1, 2.5, null], \"a\": {\"y\": 0.1, \"x\": \"\\u00e9/\"}}");
    json_t *two = parse("{ \"a\":{\"x\":\"\xc3\xa9\\/\",\"y\":0.1}, \"b\":[1,2.5,null] }");
    ck_assert_int_eq(json_text(one, &a), ERR_OK);
    ck_assert_int_eq(json_text(two, &b), ERR_OK);
    ck_assert_str_eq(a, b);
    ck_assert_str_eq(a, "{\"a\":{\"x\":\"\xc3\xa9/\",\"y\":0.10000000000000001},\"b\":[1,2.5,null]}");
    free(a);
    free(b);
    json_decref(one);
    json_decref(two);
}
END_TEST

START_TEST(test_no_memory)
{
    static const char text[] = "{\"a\": [1, 2.5, \"x\", {\"b\": null}]}";
    json_t *root = NULL;
    enum err e = ERR_NO_MEMORY;
    long n = 0;
    for (; n < 1000 && e; n++) {
        struct fault fault = FAULT_NONE;
        alloc_fail_at(n);
        e = json_text_parse(text, sizeof text - 1, &root, &fault);
        (void)alloc_fail_end();
        ck_assert_msg(e == ERR_OK || e == ERR_NO_MEMORY, "%s", fault.detail);
    }
    ck_assert_int_eq(e, ERR_OK);
    ck_assert_int_gt(n, 8);
    json_t *copy = NULL;
    for (n = 0; n < 1000 && !copy; n++) {
        alloc_fail_at(n);
        copy = json_clone(root);
        (void)alloc_fail_end();
    }
    ck_assert_int_gt(n, 8);
    ck_assert(json_equal(copy, root));
    json_decref(copy);
    char *out = NULL;
    e = ERR_NO_MEMORY;
    for (n = 0; n < 1000 && e; n++) {
        alloc_fail_at(n);
        e = json_text(root, &out);
        (void)alloc_fail_end();
        ck_assert(e == ERR_OK || (e == ERR_NO_MEMORY && out == NULL));
    }
    ck_assert_str_eq(out, "{\"a\":[1,2.5,\"x\",{\"b\":null}]}");
    free(out);
    json_decref(root);
}
END_TEST

/* The scanner's buffer grows with a text: wherever that fails, nothing is written past it, and no letter is
 * lost. */
START_TEST(test_no_memory_for_a_long_text)
{
    char text[300];
    for (size_t len = 1; len < 260; len++) {
        bool is_done = false;
        memset(text, 'a', sizeof text);
        memcpy(text, "[\"", 2);
        memcpy(text + 2 + len, "\"]", 2);
        for (long n = 0; !is_done; n++) {
            json_t *root = NULL;
            alloc_fail_at(n);
            enum err e = json_text_parse(text, len + 4, &root, NULL);
            (void)alloc_fail_end();
            is_done = e == ERR_OK;
            if ((e != ERR_OK && e != ERR_NO_MEMORY) || n > 40)
                ck_abort_msg("%zu bytes, allocation %ld: %s", len, n, err_name(e));
            if (is_done && json_string_length(json_array_get(root, 0)) != len)
                ck_abort_msg("of %zu bytes %zu are there", len, json_string_length(json_array_get(root, 0)));
            json_decref(root);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_text");
    TCase *tc = unit_case("json_text");
    tcase_add_test(tc, test_good);
    tcase_add_loop_test(tc, test_malformed, 0, (int)(sizeof errors / sizeof *errors));
    tcase_add_test(tc, test_bytes_behind_a_nul);
    tcase_add_test(tc, test_depth);
    tcase_add_test(tc, test_file);
    tcase_add_test(tc, test_text_is_canonical);
    tcase_add_test(tc, test_no_memory);
    tcase_add_test(tc, test_no_memory_for_a_long_text);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
