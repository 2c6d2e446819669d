#include <string.h>
#include "cli/spec_file.h"
#include "tests/support/unit.h"

static void ck_set(const char *before, const char *assignment, const char *after)
{
    struct fault fault = FAULT_NONE;
    json_t *doc = json_loads(before, 0, NULL), *expected = json_loads(after, 0, NULL);
    ck_assert(doc && expected);
    enum err e = json_set_path(doc, assignment, &fault);
    ck_assert_msg(e == ERR_OK, "%s: %s", assignment, fault.detail);
    char *got = json_dumps(doc, JSON_SORT_KEYS);
    ck_assert_msg(json_equal(doc, expected), "%s: %s", assignment, got);
    free(got);
    json_decref(doc);
    json_decref(expected);
}

static void ck_refused(const char *before, const char *assignment, const char *words)
{
    struct fault fault = FAULT_NONE;
    json_t *doc = json_loads(before, 0, NULL);
    ck_assert_int_eq(json_set_path(doc, assignment, &fault), ERR_USAGE);
    ck_assert_msg(strstr(fault.detail, words) != NULL, "%s: %s", assignment, fault.detail);
    json_decref(doc);
}

START_TEST(test_values)
{
    ck_set("{}", "seed=3", "{\"seed\": 3}");
    ck_set("{}", "x=0.5", "{\"x\": 0.5}");
    ck_set("{}", "x=true", "{\"x\": true}");
    ck_set("{\"x\": 1}", "x=null", "{\"x\": null}");
    ck_set("{}", "x={\"a\": [1, 2]}", "{\"x\": {\"a\": [1, 2]}}");
    ck_set("{}", "name=\"7\"", "{\"name\": \"7\"}");
    ck_set("{}", "name=fedprox mu=1", "{\"name\": \"fedprox mu=1\"}");
    ck_set("{}", "name=", "{\"name\": \"\"}");
    ck_set("{}", "name={\"a\":", "{\"name\": \"{\\\"a\\\":\"}");
}
END_TEST

START_TEST(test_paths)
{
    ck_set("{\"a\": {\"b\": 1, \"c\": 2}}", "a.b=9", "{\"a\": {\"b\": 9, \"c\": 2}}");
    ck_set("{}", "a.b.c=1", "{\"a\": {\"b\": {\"c\": 1}}}");
    ck_set("{\"a\": null}", "a.b=1", "{\"a\": {\"b\": 1}}");
    ck_set("{\"l\": [{\"u\": 1}, {\"u\": 2}]}", "l[1].u=5", "{\"l\": [{\"u\": 1}, {\"u\": 5}]}");
    ck_set("{\"l\": [{\"u\": 1}, {\"u\": 2}]}", "l.1.u=5", "{\"l\": [{\"u\": 1}, {\"u\": 5}]}");
    ck_set("{\"l\": [[1, 2]]}", "l[0][1]=7", "{\"l\": [[1, 7]]}");
}
END_TEST

START_TEST(test_refusals)
{
    ck_refused("{}", "seed", "a = is missing");
    ck_refused("{}", "=3", "a name is empty");
    ck_refused("{}", "a..b=3", "a name is empty");
    ck_refused("{}", "a.=3", "a name is empty");
    ck_refused("{}", ".a=3", "it starts with no name");
    ck_refused("{}", "[0]=3", "it starts with no name");
    ck_refused("{}", "a[0]=3", "behind something that is no array");
    ck_refused("{\"a\": [1, 2]}", "a[2]=3", "no element \"2\", only 0 to 1");
    ck_refused("{\"a\": [1, 2]}", "a.b=3", "no element \"b\"");
    ck_refused("{\"a\": [1, 2]}", "a[1=3", "a ] is missing");
    ck_refused("{\"a\": [[1], 2]}", "a[0]0=3", "a dot is missing");
    ck_refused("{\"a\": []}", "a[0]=3", "is empty");
    ck_refused("{\"a\": 1}", "a.b=3", "plain value");
    ck_refused("{}", "a=\xff", "neither JSON nor valid UTF-8");
}
END_TEST

START_TEST(test_long_name)
{
    char assignment[400];
    memset(assignment, 'x', 300);
    (void)snprintf(assignment + 300, sizeof assignment - 300, "=1");
    ck_refused("{}", assignment, "--set xxx");
}
END_TEST

static const char *write_spec(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert(fputs(text, f) >= 0 && fclose(f) == 0);
    return name;
}

START_TEST(test_load)
{
    struct fault fault = FAULT_NONE;
    json_t *doc = NULL;
    const struct option_list none = {.count = 0}, some = {.items = {"a=1", "b.c=x", "a=2"}, .count = 3};
    char name[] = "/tmp/fedlane-spec-XXXXXX";
    ck_assert_int_ne(mkstemp(name), -1);
    (void)write_spec(name, "{\"a\": 0}");
    ck_assert_int_eq(spec_file_load(name, &some, &doc, &fault), ERR_OK);
    ck_assert_int_eq(json_integer_value(json_object_get(doc, "a")), 2);
    json_decref(doc);
    (void)write_spec(name, "[1]");
    ck_assert_int_eq(spec_file_load(name, &none, &doc, &fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(fault.detail, name));
    (void)write_spec(name, "{\"a\": ");
    ck_assert_int_eq(spec_file_load(name, &none, &doc, &fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "line"));
    (void)remove(name);
    ck_assert_int_eq(spec_file_load(name, &none, &doc, &fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(fault.detail, name));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_values, test_paths, test_refusals, test_long_name, test_load};
    return unit_run("cli spec file", tests, sizeof tests / sizeof *tests);
}
