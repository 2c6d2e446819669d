#include <string.h>
#include "cli/table.h"
#include "tests/support/unit.h"

static const struct table_column columns[] = {
    {"name", "name", CELL_TEXT, 0},    {"n", "n", CELL_COUNT, 4},  {"loss", "m.loss|loss", CELL_NUMBER, 0},
    {"acc", "m.acc", CELL_PERCENT, 0}, {"at", "at", CELL_TIME, 0}, {"ok", "ok", CELL_YES_NO, 0},
};
#define NUM_COLUMNS (sizeof columns / sizeof *columns)

static char *captured(void (*print)(FILE *out, const json_t *value), const char *json)
{
    char *text = NULL;
    size_t size = 0;
    json_t *value = json_loads(json, 0, NULL);
    ck_assert_ptr_nonnull(value);
    FILE *out = open_memstream(&text, &size);
    print(out, value);
    ck_assert_int_eq(fclose(out), 0);
    json_decref(value);
    return text;
}

static void print_all(FILE *out, const json_t *items)
{
    table_print(out, columns, NUM_COLUMNS, items);
}

static void print_object(FILE *out, const json_t *item)
{
    table_print_object(out, columns, NUM_COLUMNS, item);
}

static void print_row(FILE *out, const json_t *item)
{
    table_print_titles(out, columns, 2);
    table_print_row(out, columns, 2, item);
}

static void ck_output(void (*print)(FILE *out, const json_t *value), const char *json, const char *expected)
{
    char *text = captured(print, json);
    ck_assert_msg(strcmp(text, expected) == 0, "got:\n%sexpected:\n%s", text, expected);
    free(text);
}

START_TEST(test_alignment)
{
    ck_output(print_all,
              "[{\"name\": \"a\", \"n\": 7, \"m\": {\"loss\": 0.5, \"acc\": 0.857},"
              "  \"at\": \"2026-01-02T03:04:05.678Z\", \"ok\": true},"
              " {\"name\": \"longer\", \"n\": 12345, \"loss\": 2, \"at\": null, \"ok\": false}]",
              "name        n    loss     acc  at                   ok\n"
              "a           7  0.5000  85.7 %  2026-01-02 03:04:05  yes\n"
              "longer  12345  2.0000       -  -                    no\n");
    ck_output(print_all, "[]", "name  n  loss  acc  at  ok\n");
    ck_output(print_row, "{\"name\": \"ab\", \"n\": 3}", "name     n\nab       3\n");
    ck_output(print_object, "{\"name\": \"ab\", \"m\": {\"loss\": 1}}", "name  ab\nloss  1.0000\n");
}
END_TEST

START_TEST(test_width_is_of_letters)
{
    ck_output(print_all, "[{\"name\": \"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9\"}, {\"name\": \"x\"}]",
              "name   n  loss  acc  at  ok\n"
              "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9  -     -    -  -   -\n"
              "x      -     -    -  -   -\n");
}
END_TEST

static void ck_cell(enum cell_kind kind, const char *value, const char *expected)
{
    char text[CELL_SIZE], json[600];
    const struct table_column c = {"t", "v", kind, 0};
    (void)snprintf(json, sizeof json, "{\"v\": %s}", value);
    json_t *item = json_loads(json, 0, NULL);
    ck_assert_ptr_nonnull(item);
    cell_text(&c, item, text);
    ck_assert_str_eq(text, expected);
    json_decref(item);
}

START_TEST(test_cells)
{
    ck_cell(CELL_NUMBER, "0", "0.0000");
    ck_cell(CELL_NUMBER, "-0.25", "-0.2500");
    ck_cell(CELL_NUMBER, "0.00012", "1.200e-04");
    ck_cell(CELL_NUMBER, "123456.7", "123457");
    ck_cell(CELL_NUMBER, "1e12", "1.000e+12");
    ck_cell(CELL_NUMBER, "\"NaN\"", "nan");
    ck_cell(CELL_NUMBER, "\"-Infinity\"", "-inf");
    ck_cell(CELL_NUMBER, "\"x\"", "x");
    ck_cell(CELL_PERCENT, "1", "100.0 %");
    ck_cell(CELL_TEXT, "{\"b\": 1, \"a\": [2]}", "{\"a\": [2], \"b\": 1}");
    ck_cell(CELL_TIME, "\"soon\"", "soon");
    ck_cell(CELL_TEXT, "null", "-");
}
END_TEST

/* Nothing that a device calls itself may move the cursor or change colours. */
START_TEST(test_control_characters)
{
    ck_cell(CELL_TEXT, "\"a\\u001b[2Jb\\nc\\u007f\"", "a?[2Jb?c?");
    ck_cell(CELL_TEXT, "\"\\u009bx\"", "??x");
    char bad[] = "a\xff\xfe\xc3", good[] = "\xe2\x82\xac";
    text_clean(bad);
    ck_assert_str_eq(bad, "a???");
    text_clean(good);
    ck_assert_str_eq(good, "\xe2\x82\xac");
}
END_TEST

START_TEST(test_members)
{
    json_t *o = json_loads("{\"a\": {\"b\": {\"c\": 4}, \"n\": null}, \"x\": \"t\", \"r\": 1.5}", 0, NULL);
    ck_assert_int_eq(json_count_at(o, "a.b.c"), 4);
    ck_assert_int_eq(json_count_at(o, "a.z|a.b.c"), 4);
    ck_assert_int_eq(json_count_at(o, "a.b.c.d"), -1);
    ck_assert_int_eq(json_count_at(o, "r"), -1);
    ck_assert_ptr_null(json_at(o, "a.n"));
    ck_assert_ptr_null(json_at(NULL, "a"));
    ck_assert_str_eq(json_text_at(o, "x"), "t");
    ck_assert_str_eq(json_text_at(o, "a"), "");
    ck_assert(json_number_at(o, "r") > 1.4 && json_number_at(o, "a.b.c") > 3.9);
    double none = json_number_at(o, "x");
    ck_assert(none != none);
    json_decref(o);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_alignment, test_width_is_of_letters, test_cells,
                                  test_control_characters, test_members};
    return unit_run("cli table", tests, sizeof tests / sizeof *tests);
}
