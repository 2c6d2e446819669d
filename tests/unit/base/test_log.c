#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/support/unit.h"

/* stderr becomes a pipe that keeps writes apart, so that one read gives what one write(2) wrote. */
static int reader;

static void setup(void)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_DIRECT | O_NONBLOCK), 0);
    ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
    reader = ends[0];
}

static size_t read_line(char *out, size_t size)
{
    ssize_t n = read(reader, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

START_TEST(test_text_line)
{
    char line[4096], time[32] = "";
    int64_t ms;
    log_warning("httpd", "took %d ms", 5);
    ck_assert_uint_gt(read_line(line, sizeof line), 25);
    memcpy(time, line, TIME_TEXT_SIZE - 1);
    ck_assert_int_eq(time_parse(time, &ms), ERR_OK);
    ck_assert_str_eq(line + TIME_TEXT_SIZE - 1, " warning httpd took 5 ms\n");
    log_request_id_set("r-1");
    log_error("store", "x");
    (void)read_line(line, sizeof line);
    ck_assert_str_eq(line + TIME_TEXT_SIZE - 1, " error store [r-1] x\n");
    log_request_id_set(NULL);
    log_info("store", "y");
    (void)read_line(line, sizeof line);
    ck_assert_str_eq(line + TIME_TEXT_SIZE - 1, " info store y\n");
}
END_TEST

START_TEST(test_levels)
{
    char line[4096];
    log_debug("a", "not by default");
    ck_assert_uint_eq(read_line(line, sizeof line), 0);
    log_init(LOG_ERROR, LOG_TEXT);
    log_warning("a", "not now");
    ck_assert_uint_eq(read_line(line, sizeof line), 0);
    log_init(LOG_DEBUG, LOG_TEXT);
    log_debug("a", "now");
    ck_assert_uint_gt(read_line(line, sizeof line), 0);
    enum log_level level = LOG_INFO;
    enum log_format format = LOG_TEXT;
    ck_assert_int_eq(log_level_parse("warning", &level), ERR_OK);
    ck_assert_int_eq(level, LOG_WARNING);
    ck_assert_int_eq(log_level_parse("loud", &level), ERR_INVALID_FIELD);
    ck_assert_int_eq(log_level_parse(NULL, &level), ERR_INVALID_FIELD);
    ck_assert_int_eq(log_format_parse("json", &format), ERR_OK);
    ck_assert_int_eq(format, LOG_JSON);
    ck_assert_int_eq(log_format_parse("xml", &format), ERR_INVALID_FIELD);
}
END_TEST

START_TEST(test_text_escapes)
{
    char line[4096];
    log_info("a", "two\nlines\r\t\x1b[31m \xc3\xa4 \xff\x7f \"q\" \\");
    (void)read_line(line, sizeof line);
    ck_assert_str_eq(line + TIME_TEXT_SIZE - 1,
                     " info a two\\nlines\\x0d\\x09\\x1b[31m \xc3\xa4 \\xff\\x7f \"q\" \\\n");
}
END_TEST

static json_t *read_json(size_t least_len)
{
    char line[16384];
    size_t n = read_line(line, sizeof line);
    json_error_t error;
    ck_assert_uint_gt(n, least_len);
    ck_assert_int_eq(line[n - 1], '\n');
    ck_assert_ptr_eq(strchr(line, '\n'), line + n - 1);
    json_t *root = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s: %s", error.text, line);
    return root;
}

static const char *text_of(const json_t *root, const char *name)
{
    return json_string_value(json_object_get(root, name));
}

START_TEST(test_tokens_are_hidden)
{
    char line[4096];
    log_info("httpd", "DELETE /tokens/fl_%064d and, cut, fl_%020d: fl_ and fl_12 stay", 1, 2);
    (void)read_line(line, sizeof line);
    ck_assert_str_eq(line + TIME_TEXT_SIZE - 1,
                     " info httpd DELETE /tokens/fl_... and, cut, fl_...: fl_ and fl_12 stay\n");
}
END_TEST

START_TEST(test_json_line)
{
    int64_t ms;
    log_init(LOG_INFO, LOG_JSON);
    log_request_id_set("r\"1");
    log_info("core", "a \"quoted\" \\ \n\t\x01 \xc3\xa4 \xff.");
    json_t *root = read_json(0);
    ck_assert_uint_eq(json_object_size(root), 5);
    ck_assert_int_eq(time_parse(text_of(root, "time"), &ms), ERR_OK);
    ck_assert_str_eq(text_of(root, "level"), "info");
    ck_assert_str_eq(text_of(root, "component"), "core");
    ck_assert_str_eq(text_of(root, "request_id"), "r\"1");
    ck_assert_str_eq(text_of(root, "message"), "a \"quoted\" \\ \n\t\x01 \xc3\xa4 \xef\xbf\xbd.");
    json_decref(root);
}
END_TEST

START_TEST(test_long_messages_are_cut)
{
    char message[9000], line[16384];
    log_init(LOG_INFO, LOG_JSON);
    memset(message, 1, sizeof message); /* each byte takes six in JSON */
    message[sizeof message - 1] = '\0';
    log_info("core", "%s", message);
    json_t *root = read_json(4080);
    ck_assert_uint_gt(strlen(text_of(root, "message")), 600);
    json_decref(root);
    memset(message, 'x', sizeof message - 1);
    log_info("core", "%s", message);
    json_decref(read_json(4080));
    log_init(LOG_INFO, LOG_TEXT);
    log_info("core", "%s", message);
    size_t n = read_line(line, sizeof line);
    ck_assert_uint_gt(n, 4080);
    ck_assert_int_eq(line[n - 1], '\n');
}
END_TEST

static void *log_elsewhere(void *arg)
{
    (void)arg;
    log_info("other", "no id here");
    log_request_id_set("r-2");
    log_info("other", "own id");
    return NULL;
}

START_TEST(test_request_id_is_the_threads_own)
{
    pthread_t thread;
    char line[4096];
    log_request_id_set("r-1");
    ck_assert_int_eq(pthread_create(&thread, NULL, log_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    log_info("main", "still mine");
    (void)read_line(line, sizeof line);
    ck_assert_str_eq(line + TIME_TEXT_SIZE - 1, " info other no id here\n");
    (void)read_line(line, sizeof line);
    ck_assert_str_eq(line + TIME_TEXT_SIZE - 1, " info other [r-2] own id\n");
    (void)read_line(line, sizeof line);
    ck_assert_str_eq(line + TIME_TEXT_SIZE - 1, " info main [r-1] still mine\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tc = unit_case("log");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, test_text_line);
    tcase_add_test(tc, test_levels);
    tcase_add_test(tc, test_text_escapes);
    tcase_add_test(tc, test_tokens_are_hidden);
    tcase_add_test(tc, test_json_line);
    tcase_add_test(tc, test_long_messages_are_cut);
    tcase_add_test(tc, test_request_id_is_the_threads_own);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
