#include <math.h>
#include <string.h>
#include "cli/csv.h"
#include "common/base/limits.h"
#include "tests/support/unit.h"

static struct arena arena;

static enum err parse(const char *text, struct csv *out, struct fault *fault)
{
    char *copy = arena_strdup(&arena, text);
    ck_assert_ptr_nonnull(copy);
    return csv_parse(copy, &arena, out, fault);
}

static void begin(void)
{
    arena_init(&arena, 1 * MIB);
}

static void end(void)
{
    arena_release(&arena);
}

START_TEST(test_rows)
{
    struct csv c;
    begin();
    ck_assert_int_eq(parse("\xef\xbb\xbf"
                           "a,b,c\n1,,x\r\n\n\"q\"\"q\",\"l\n2\",\"p,q\"",
                           &c, NULL),
                     ERR_OK);
    ck_assert_uint_eq(c.num_columns, 3);
    ck_assert_uint_eq(c.num_rows, 2);
    ck_assert_str_eq(c.titles[0], "a");
    ck_assert_str_eq(csv_cell(&c, 0, 0), "1");
    ck_assert_str_eq(csv_cell(&c, 0, 1), "");
    ck_assert_str_eq(csv_cell(&c, 0, 2), "x");
    ck_assert_str_eq(csv_cell(&c, 1, 0), "q\"q");
    ck_assert_str_eq(csv_cell(&c, 1, 1), "l\n2");
    ck_assert_str_eq(csv_cell(&c, 1, 2), "p,q");
    ck_assert_int_eq(csv_column(&c, "c"), 2);
    ck_assert_int_eq(csv_column(&c, "d"), -1);
    ck_assert_int_eq(parse("only\n", &c, NULL), ERR_OK);
    ck_assert_uint_eq(c.num_rows, 0);
    ck_assert_int_eq(parse("a,b\r\n1,2\r\n", &c, NULL), ERR_OK);
    ck_assert_str_eq(csv_cell(&c, 0, 1), "2");
    end();
}
END_TEST

static void ck_bad(const char *text, const char *words)
{
    struct csv c;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(parse(text, &c, &fault), ERR_BAD_FILE);
    ck_assert_msg(strstr(fault.detail, words) != NULL, "%s", fault.detail);
}

START_TEST(test_bad_files)
{
    begin();
    ck_bad("", "no titles");
    ck_bad("a,b\n1\n", "line 2: 1 fields, but there are 2 titles");
    ck_bad("a,b\n1,2,3\n", "line 2: more fields");
    ck_bad("a,b\n\"x\ny\",2\n1\n", "line 4");
    ck_bad("a,b\n\"x,2\n", "quote");
    ck_bad("a,b\n\"x\"y,2\n", "quote");
    end();
}
END_TEST

START_TEST(test_written_is_read)
{
    struct buf text = BUF_INIT(1 * MIB);
    struct csv c;
    json_t *third = json_real(1.0 / 3), *big = json_integer(INT64_MAX), *name = json_string("a \"b\", c\n");
    begin();
    ck_assert_int_eq(csv_add_text(&text, "x", false), ERR_OK);
    ck_assert_int_eq(csv_add_text(&text, "y,z", false), ERR_OK);
    ck_assert_int_eq(csv_add_text(&text, "w", false), ERR_OK);
    ck_assert_int_eq(csv_add_text(&text, "v", true), ERR_OK);
    ck_assert_int_eq(csv_add(&text, third, false), ERR_OK);
    ck_assert_int_eq(csv_add(&text, big, false), ERR_OK);
    ck_assert_int_eq(csv_add(&text, name, false), ERR_OK);
    ck_assert_int_eq(csv_add(&text, NULL, true), ERR_OK);
    ck_assert_int_eq(parse(text.data, &c, NULL), ERR_OK);
    ck_assert_uint_eq(c.num_rows, 1);
    ck_assert_str_eq(c.titles[1], "y,z");
    double back = strtod(csv_cell(&c, 0, 0), NULL);
    ck_assert(memcmp(&back, &(double){1.0 / 3}, sizeof back) == 0);
    ck_assert_str_eq(csv_cell(&c, 0, 1), "9223372036854775807");
    ck_assert_str_eq(csv_cell(&c, 0, 2), "a \"b\", c\n");
    ck_assert_str_eq(csv_cell(&c, 0, 3), "");
    end();
    buf_release(&text);
    json_decref(third);
    json_decref(big);
    json_decref(name);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_rows, test_bad_files, test_written_is_read};
    return unit_run("cli csv", tests, sizeof tests / sizeof *tests);
}
