#include <math.h>
#include <string.h>
#include "common/json/json_spec.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

struct target {
    int64_t rounds;
    double rate;
    bool autostart;
    const char *name;
    int optimizer;
    json_t *model, *labels, *extra;
    int64_t any_int;
    bool has_rounds, has_name;
};

static const char *const optimizers[] = {"sgd", "adam", NULL};

static const struct json_field fields[] = {
    {.name = "rounds",
     .kind = JSON_FIELD_INT,
     .offset = offsetof(struct target, rounds),
     .is_required = true,
     .min = 1,
     .max = 100,
     .is_set_offset = offsetof(struct target, has_rounds)},
    JSON_FIELD(struct target, rate, JSON_FIELD_DOUBLE, .min = 0, .max = INFINITY),
    JSON_FIELD(struct target, autostart, JSON_FIELD_BOOL),
    {.name = "name",
     .kind = JSON_FIELD_TEXT,
     .offset = offsetof(struct target, name),
     .min = 1,
     .max = 8,
     .allow_null = true,
     .is_set_offset = offsetof(struct target, has_name)},
    JSON_FIELD(struct target, optimizer, JSON_FIELD_CHOICE, .choices = optimizers),
    JSON_FIELD(struct target, model, JSON_FIELD_OBJECT),
    JSON_FIELD(struct target, labels, JSON_FIELD_ARRAY, .min = 1, .max = 2),
    JSON_FIELD(struct target, extra, JSON_FIELD_ANY),
    JSON_FIELD(struct target, any_int, JSON_FIELD_INT),
};

struct parsed {
    json_t *root;
    struct arena arena;
    struct target target;
    struct fault fault;
    enum err err;
};

static struct parsed parse_as(const char *text, enum json_unknown unknown)
{
    struct parsed p = {.arena = ARENA_INIT(1 << 16),
                       .target = {.rate = 0.5, .name = "default", .optimizer = 7}};
    p.root = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    ck_assert_msg(p.root != NULL, "%s", text);
    p.err = json_spec_parse(p.root, fields, sizeof fields / sizeof *fields, unknown, "run.", &p.arena,
                            &p.target, &p.fault);
    ck_assert_int_eq(p.err, p.fault.err);
    return p;
}

static void parsed_release(struct parsed *p)
{
    json_decref(p->root);
    arena_release(&p->arena);
}

START_TEST(test_all_kinds)
{
    struct parsed p =
        parse_as("{\"rounds\": 100, \"rate\": 2, \"autostart\": true, \"name\": \"caf\\u00e9\", "
                 "\"optimizer\": \"adam\", \"model\": {\"a\": 1}, \"labels\": [1, 2], \"extra\": null, "
                 "\"any_int\": -9223372036854775808}",
                 JSON_REFUSE_UNKNOWN);
    ck_assert_msg(p.err == ERR_OK, "%s %s", p.fault.field, p.fault.detail);
    ck_assert_int_eq(p.target.rounds, 100);
    ck_assert(p.target.has_rounds && p.target.has_name);
    ck_assert_double_eq(p.target.rate, 2);
    ck_assert(p.target.autostart);
    ck_assert_str_eq(p.target.name, "caf\xc3\xa9");
    ck_assert_int_eq(p.target.optimizer, 1);
    ck_assert_ptr_eq(p.target.model, json_object_get(p.root, "model"));
    ck_assert_uint_eq(json_array_size(p.target.labels), 2);
    ck_assert(json_is_null(p.target.extra));
    ck_assert_int_eq(p.target.any_int, INT64_MIN);
    parsed_release(&p);
}
END_TEST

START_TEST(test_defaults_stay)
{
    struct parsed p = parse_as("{\"rounds\": 1, \"name\": null}", JSON_REFUSE_UNKNOWN);
    ck_assert_int_eq(p.err, ERR_OK);
    ck_assert_double_eq(p.target.rate, 0.5);
    ck_assert_str_eq(p.target.name, "default");
    ck_assert_int_eq(p.target.optimizer, 7);
    ck_assert_ptr_null(p.target.model);
    ck_assert(!p.target.has_name);
    parsed_release(&p);
}
END_TEST

START_TEST(test_text_outlives_the_document)
{
    struct parsed p = parse_as("{\"rounds\": 1, \"name\": \"abc\"}", JSON_REFUSE_UNKNOWN);
    json_decref(p.root);
    ck_assert_str_eq(p.target.name, "abc");
    arena_release(&p.arena);
}
END_TEST

static const struct {
    const char *text;
    enum err err;
    const char *field, *detail;
} errors[] = {
    {"{}", ERR_MISSING_FIELD, "run.rounds", "is required: give an integer"},
    {"{\"rounds\": 1, \"rat\": 2}", ERR_UNKNOWN_FIELD, "run.rat", "did you mean \"rate\"?"},
    {"{\"rouns\": 1}", ERR_UNKNOWN_FIELD, "run.rouns", "did you mean \"rounds\"?"},
    {"{\"rounds\": 1, \"zzzzzz\": 2}", ERR_UNKNOWN_FIELD, "run.zzzzzz", "remove it"},
    {"{\"rounds\": 1.0}", ERR_INVALID_FIELD, "run.rounds", "must be an integer, but is a real number"},
    {"{\"rounds\": \"1\"}", ERR_INVALID_FIELD, "run.rounds", "must be an integer, but is a string"},
    {"{\"rounds\": null}", ERR_INVALID_FIELD, "run.rounds", "must be an integer, but is null"},
    {"{\"rounds\": 0}", ERR_INVALID_FIELD, "run.rounds", "must be between 1 and 100, but is 0"},
    {"{\"rounds\": 101}", ERR_INVALID_FIELD, "run.rounds", "must be between 1 and 100, but is 101"},
    {"{\"rounds\": 1, \"rate\": -0.5}", ERR_INVALID_FIELD, "run.rate", "must be at least 0, but is -0.5"},
    {"{\"rounds\": 1, \"rate\": true}", ERR_INVALID_FIELD, "run.rate", "must be a number, but is a boolean"},
    {"{\"rounds\": 1, \"rate\": \"NaN\"}", ERR_INVALID_FIELD, "run.rate",
     "must be a number, but is a string"},
    {"{\"rounds\": 1, \"autostart\": 1}", ERR_INVALID_FIELD, "run.autostart", "must be true or false"},
    {"{\"rounds\": 1, \"name\": 1}", ERR_INVALID_FIELD, "run.name", "must be a string, but is an integer"},
    {"{\"rounds\": 1, \"name\": \"\"}", ERR_INVALID_FIELD, "run.name", "must not be empty"},
    {"{\"rounds\": 1, \"name\": \"123456789\"}", ERR_INVALID_FIELD, "run.name", "at most 8 bytes, but has 9"},
    {"{\"rounds\": 1, \"name\": \"a\\u0000b\"}", ERR_INVALID_FIELD, "run.name", "without NUL"},
    {"{\"rounds\": 1, \"optimizer\": \"Sgd\"}", ERR_INVALID_FIELD, "run.optimizer",
     "must be one of \"sgd\", \"adam\", but is \"Sgd\""},
    {"{\"rounds\": 1, \"optimizer\": []}", ERR_INVALID_FIELD, "run.optimizer", "but is an array"},
    {"{\"rounds\": 1, \"model\": []}", ERR_INVALID_FIELD, "run.model", "must be an object, but is an array"},
    {"{\"rounds\": 1, \"labels\": {}}", ERR_INVALID_FIELD, "run.labels",
     "must be an array, but is an object"},
    {"{\"rounds\": 1, \"labels\": []}", ERR_INVALID_FIELD, "run.labels", "at least 1 elements, but has 0"},
    {"{\"rounds\": 1, \"labels\": [1,2,3]}", ERR_INVALID_FIELD, "run.labels",
     "at most 2 elements, but has 3"},
    {"[]", ERR_INVALID_FIELD, "run", "must be an object, but is an array"},
    {"5", ERR_INVALID_FIELD, "run", "must be an object, but is an integer"},
};

START_TEST(test_errors)
{
    struct parsed p = parse_as(errors[_i].text, JSON_REFUSE_UNKNOWN);
    ck_assert_msg(p.err == errors[_i].err, "%s: %s", errors[_i].text, p.fault.detail);
    ck_assert_str_eq(p.fault.field, errors[_i].field);
    ck_assert_msg(strstr(p.fault.detail, errors[_i].detail) != NULL, "%s", p.fault.detail);
    ck_assert(!p.target.has_name);
    parsed_release(&p);
}
END_TEST

START_TEST(test_unknown_may_be_ignored)
{
    struct parsed p = parse_as("{\"rounds\": 5, \"raet\": 2}", JSON_IGNORE_UNKNOWN);
    ck_assert_int_eq(p.err, ERR_OK);
    ck_assert_int_eq(p.target.rounds, 5);
    parsed_release(&p);
}
END_TEST

START_TEST(test_long_names_in_faults)
{
    char text[2000], name[1500];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    (void)snprintf(text, sizeof text, "{\"rounds\": 5, \"%s\": 2}", name);
    struct parsed p = parse_as(text, JSON_REFUSE_UNKNOWN);
    ck_assert_int_eq(p.err, ERR_UNKNOWN_FIELD);
    ck_assert_uint_eq(strlen(p.fault.field), sizeof p.fault.field - 1);
    parsed_release(&p);
}
END_TEST

START_TEST(test_no_document_and_no_fault)
{
    struct target target;
    struct arena arena = ARENA_INIT(100);
    struct fault fault;
    ck_assert_int_eq(json_spec_parse(NULL, fields, 1, JSON_REFUSE_UNKNOWN, "", &arena, &target, &fault),
                     ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "");
    ck_assert_str_eq(fault.detail, "must be an object, but is not there");
    json_t *empty = json_object();
    ck_assert_int_eq(json_spec_parse(empty, fields, 1, JSON_REFUSE_UNKNOWN, "", &arena, &target, NULL),
                     ERR_MISSING_FIELD);
    json_decref(empty);
}
END_TEST

START_TEST(test_no_memory)
{
    json_t *root = json_pack("{s:i, s:s}", "rounds", 1, "name", "abc");
    struct arena arena = ARENA_INIT(1000);
    struct target target = {0};
    struct fault fault = FAULT_NONE;
    const size_t n = sizeof fields / sizeof *fields;
    alloc_fail_at(0);
    ck_assert_int_eq(json_spec_parse(root, fields, n, JSON_REFUSE_UNKNOWN, "", &arena, &target, &fault),
                     ERR_NO_MEMORY);
    ck_assert(alloc_fail_end());
    ck_assert_str_eq(fault.field, "name");
    ck_assert_int_eq(json_spec_parse(root, fields, n, JSON_REFUSE_UNKNOWN, "", &arena, &target, &fault),
                     ERR_OK);
    arena_release(&arena);
    json_decref(root);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_spec");
    TCase *tc = unit_case("json_spec");
    tcase_add_test(tc, test_all_kinds);
    tcase_add_test(tc, test_defaults_stay);
    tcase_add_test(tc, test_text_outlives_the_document);
    tcase_add_loop_test(tc, test_errors, 0, (int)(sizeof errors / sizeof *errors));
    tcase_add_test(tc, test_unknown_may_be_ignored);
    tcase_add_test(tc, test_long_names_in_faults);
    tcase_add_test(tc, test_no_document_and_no_fault);
    tcase_add_test(tc, test_no_memory);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
