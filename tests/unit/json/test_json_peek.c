#include "common/json/json_peek.h"
#include "tests/support/unit.h"

static const struct {
    const char *object, *value; /* that of "every", to the text's end */
} cases[] = {
    {"{\"every\":5}", "5}"},
    {" { \"a\" : [1, {\"every\": 2}] ,\n\t\"every\" : 3 , \"b\" : 4 } ", "3 , \"b\" : 4 } "},
    {"{\"a\":\"\\\"every\\\":7,\\\\\",\"every\":8}", "8}"},
    {"{\"a\":\"every\",\"b\":[\"every\",9,\"}\",\"]\"],\"every\":{\"every\":1}}", "{\"every\":1}}"},
    {"{\"everything\":1,\"ever\":2,\"every\\u0020\":3}", NULL},
    {"{\"a\":{\"every\":1}}", NULL},
    {"{\"a\":\"every\"}", NULL},
    {"{\"a\":[[[]],{}],\"every\":null}", "null}"},
    {"{}", NULL},
    {"[\"every\"]", NULL},
    {"\"every\"", NULL},
    {"5", NULL},
    {"", NULL},
    /* What is no JSON leads nowhere, and never past its end. */
    {"{\"every", NULL},
    {"{\"every\"", NULL},
    {"{\"a\":\"\\", NULL},
    {"{\"a\":{\"every\":1", NULL},
    {"{\"a\":1,", NULL},
    {"{\"every\":", ""},
};

START_TEST(test_member)
{
    const char *value = json_peek(cases[_i].object, "every");
    ck_assert_pstr_eq(value, cases[_i].value);
}
END_TEST

int main(void)
{
    TCase *tc = unit_case("json_peek");
    tcase_add_loop_test(tc, test_member, 0, (int)(sizeof cases / sizeof *cases));
    return unit_run_case("json_peek", tc);
}
