#include <string.h>
#include <unistd.h>
#include "common/base/config.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

struct options {
    bool is_verbose, is_quiet;
    const char *dir;
    int64_t port, any;
    double rate;
    struct option_list labels;
};

static const struct option_row rows[] = {
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct options, is_verbose),
     .help = "say more",
     .env = "TEST_VERBOSE"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct options, is_quiet),
     .help = "say less"},
    {.name = "data-dir",
     .letter = 'd',
     .kind = OPTION_STRING,
     .offset = offsetof(struct options, dir),
     .value = "DIR",
     .help = "where it lies",
     .env = "TEST_DIR"},
    {.name = "port",
     .letter = 'p',
     .kind = OPTION_INT,
     .offset = offsetof(struct options, port),
     .help = "TCP port",
     .env = "TEST_PORT",
     .min = 1,
     .max = 65535},
    {.name = "any", .kind = OPTION_INT, .offset = offsetof(struct options, any), .help = "any number"},
    {.name = "learning-rate",
     .kind = OPTION_DOUBLE,
     .offset = offsetof(struct options, rate),
     .value = "RATE",
     .help = "how far a step goes, which is a long story that does not fit into a single line of the help "
             "text at all",
     .min = 0,
     .max = 10},
    {.name = "label-with-a-very-long-name-indeed",
     .letter = 'l',
     .kind = OPTION_LIST,
     .offset = offsetof(struct options, labels),
     .value = "KEY=VALUE",
     .help = "a label",
     .env = "TEST_LABEL"},
};
#define NUM_ROWS (sizeof rows / sizeof *rows)

struct parsed {
    struct options options;
    const char *words[3];
    size_t num_words;
    struct fault fault;
    enum err err;
};

/* The arguments, NULL-ended; at most 80. */
static struct parsed parse(const char *const *args)
{
    struct parsed p = {.options = {.dir = "default", .port = 80}};
    static char texts[80][64];
    char *argv[82] = {texts[0]};
    int argc = 1;
    for (; args[argc - 1]; argc++) {
        (void)snprintf(texts[argc], sizeof texts[argc], "%s", args[argc - 1]);
        argv[argc] = texts[argc];
    }
    p.err = config_parse(rows, NUM_ROWS, argc, argv, &p.options, p.words, 3, &p.num_words, &p.fault);
    return p;
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

START_TEST(test_all_kinds)
{
    struct parsed p = PARSE("one", "--verbose", "--data-dir", "/tmp", "two", "--port=8080", "--learning-rate",
                            "0.5", "--any=-7", "-l", "a=b", "-lc=d", "--", "--three");
    ck_assert_msg(p.err == ERR_OK, "%s", p.fault.detail);
    ck_assert(p.options.is_verbose && !p.options.is_quiet);
    ck_assert_str_eq(p.options.dir, "/tmp");
    ck_assert_int_eq(p.options.port, 8080);
    ck_assert_int_eq(p.options.any, -7);
    ck_assert_double_eq(p.options.rate, 0.5);
    ck_assert_uint_eq(p.options.labels.count, 2);
    ck_assert_str_eq(p.options.labels.items[0], "a=b");
    ck_assert_str_eq(p.options.labels.items[1], "c=d");
    ck_assert_uint_eq(p.num_words, 3);
    ck_assert_str_eq(p.words[0], "one");
    ck_assert_str_eq(p.words[1], "two");
    ck_assert_str_eq(p.words[2], "--three");
}
END_TEST

START_TEST(test_defaults_stay)
{
    struct parsed p = parse((const char *const[]){NULL});
    ck_assert_int_eq(p.err, ERR_OK);
    ck_assert_str_eq(p.options.dir, "default");
    ck_assert_int_eq(p.options.port, 80);
    ck_assert_uint_eq(p.num_words, 0);
}
END_TEST

START_TEST(test_letters)
{
    struct parsed p = PARSE("-vqp", "81", "-d/x", "-");
    ck_assert_msg(p.err == ERR_OK, "%s", p.fault.detail);
    ck_assert(p.options.is_verbose && p.options.is_quiet);
    ck_assert_int_eq(p.options.port, 81);
    ck_assert_str_eq(p.options.dir, "/x");
    ck_assert_str_eq(p.words[0], "-");
}
END_TEST

START_TEST(test_flags_with_values)
{
    struct parsed p = PARSE("--verbose=yes", "--quiet=no");
    ck_assert_int_eq(p.err, ERR_OK);
    ck_assert(p.options.is_verbose && !p.options.is_quiet);
    p = PARSE("--data-dir=", "--any=5");
    ck_assert_int_eq(p.err, ERR_OK);
    ck_assert_str_eq(p.options.dir, "");
}
END_TEST

START_TEST(test_environment)
{
    ck_assert_int_eq(setenv("TEST_DIR", "/env", 1), 0);
    ck_assert_int_eq(setenv("TEST_PORT", "99", 1), 0);
    ck_assert_int_eq(setenv("TEST_VERBOSE", "1", 1), 0);
    ck_assert_int_eq(setenv("TEST_LABEL", "from=env", 1), 0);
    struct parsed p = PARSE("x");
    ck_assert_int_eq(p.err, ERR_OK);
    ck_assert_str_eq(p.options.dir, "/env");
    ck_assert_int_eq(p.options.port, 99);
    ck_assert(p.options.is_verbose);
    ck_assert_uint_eq(p.options.labels.count, 1);
    ck_assert_str_eq(p.options.labels.items[0], "from=env");
    /* The command line wins, even over a bad value that nobody needs. */
    ck_assert_int_eq(setenv("TEST_PORT", "many", 1), 0);
    p = PARSE("--port", "5", "--verbose=no", "-l", "x=y");
    ck_assert_int_eq(p.err, ERR_OK);
    ck_assert_int_eq(p.options.port, 5);
    ck_assert(!p.options.is_verbose);
    ck_assert_uint_eq(p.options.labels.count, 1);
    ck_assert_str_eq(p.options.labels.items[0], "x=y");
    p = PARSE("x");
    ck_assert_int_eq(p.err, ERR_USAGE);
    ck_assert_ptr_nonnull(
        strstr(p.fault.detail, "TEST_PORT wants an integer between 1 and 65535, not \"many\""));
}
END_TEST

static const struct {
    const char *args[5];
    const char *detail;
} errors[] = {
    {{"--prot", "5"}, "no option --prot; did you mean --port?"},
    {{"--zzzzzzzz"}, "no option --zzzzzzzz; --help lists them"},
    {{"--zzzzzzzz=5"}, "no option --zzzzzzzz;"},
    {{"-x"}, "no option -x"},
    {{"--port"}, "--port wants a value"},
    {{"-p"}, "-p wants a value"},
    {{"--data-dir", "--port", "5"}, "--data-dir wants a value: --data-dir DIR (or --data-dir=DIR)"},
    {{"--port", "0"}, "--port wants an integer between 1 and 65535, not \"0\""},
    {{"--port", "65536"}, "between 1 and 65535"},
    {{"--port", "5.5"}, "wants an integer"},
    {{"--any", "x"}, "--any wants an integer, not \"x\""},
    {{"--learning-rate", "nan"}, "--learning-rate wants a number between 0 and 10, not \"nan\""},
    {{"--learning-rate", "11"}, "between 0 and 10"},
    {{"--verbose=maybe"}, "--verbose wants yes or no, not \"maybe\""},
    {{"a", "b", "c", "d"}, "\"d\" is one word too many"},
};

START_TEST(test_errors)
{
    struct parsed p = parse(errors[_i].args);
    ck_assert_int_eq(p.err, ERR_USAGE);
    ck_assert_int_eq(p.fault.err, ERR_USAGE);
    ck_assert_msg(strstr(p.fault.detail, errors[_i].detail) != NULL, "%s", p.fault.detail);
}
END_TEST

START_TEST(test_given_twice)
{
    const struct parsed flags = PARSE("-v", "--verbose"), lists = PARSE("-l", "a", "-l", "a");
    ck_assert_int_eq(flags.err, ERR_OK);
    ck_assert_int_eq(lists.err, ERR_OK);
    static const char *const twice[][5] = {{"--port", "1", "--port", "1"},
                                           {"--data-dir=a", "-d", "b"},
                                           {"--learning-rate", "1", "--learning-rate=2"}};
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        const struct parsed p = parse(twice[i]);
        ck_assert_int_eq(p.err, ERR_USAGE);
        ck_assert_ptr_nonnull(strstr(p.fault.detail, "given twice"));
    }
}
END_TEST

START_TEST(test_list_is_bounded)
{
    const char *args[80] = {0};
    for (int i = 0; i < 65; i++)
        args[i] = "-lx";
    struct parsed p = parse(args);
    ck_assert_int_eq(p.err, ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(p.fault.detail, "at most 64 times"));
    args[64] = NULL;
    ck_assert_int_eq(parse(args).err, ERR_OK);
}
END_TEST

START_TEST(test_help)
{
    char text[8192] = "";
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(dup2(fileno(file), STDOUT_FILENO), 0);
    config_print_help(rows, NUM_ROWS);
    ck_assert_int_eq(fflush(stdout), 0);
    rewind(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_ptr_nonnull(
        strstr(text, "  -v, --verbose               say more [environment: TEST_VERBOSE]\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "  -d, --data-dir DIR          where it lies [environment: TEST_DIR]\n"));
    ck_assert_ptr_nonnull(strstr(text, "      --any VALUE             any number\n"));
    ck_assert_ptr_nonnull(strstr(
        text,
        "  -l, --label-with-a-very-long-name-indeed KEY=VALUE\n"
        "                              a label (may be given several times) [environment: TEST_LABEL]\n"));
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        ck_assert_msg(n <= 100, "%.*s", (int)n, line);
        line += n + 1;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tc = unit_case("config");
    tcase_add_test(tc, test_all_kinds);
    tcase_add_test(tc, test_defaults_stay);
    tcase_add_test(tc, test_letters);
    tcase_add_test(tc, test_flags_with_values);
    tcase_add_test(tc, test_environment);
    tcase_add_loop_test(tc, test_errors, 0, (int)(sizeof errors / sizeof *errors));
    tcase_add_test(tc, test_given_twice);
    tcase_add_test(tc, test_list_is_bounded);
    tcase_add_test(tc, test_help);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
