#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"

#include <string.h>
#include "worker/device_entry.h"

static struct dataset *data;

static void ck_name(const char *prefix, const char *name, const char *expected)
{
    const struct device_data device = {.ordinal = 12, .name = name, .num_train = 9};
    json_t *entry = device_entry(prefix, data, &device);
    ck_assert_ptr_nonnull(entry);
    ck_assert_str_eq(json_string_value(json_object_get(entry, "name")), expected);
    json_decref(entry);
}

START_TEST(named_by_the_source_or_else_by_ordinal)
{
    data = support_data();
    ck_name("ward", "", "ward-12");
    ck_name("ward", "north", "ward-north");
    dataset_free(data);
}
END_TEST

START_TEST(long_names_lose_the_end_of_the_prefix)
{
    char prefix[LIMIT_NAME + 1], own[LIMIT_NAME + 1], expected[LIMIT_NAME + 3];
    data = support_data();
    memset(prefix, 'p', LIMIT_NAME);
    memset(own, 'o', LIMIT_NAME);
    prefix[LIMIT_NAME] = own[LIMIT_NAME] = '\0';
    memset(expected, 'p', LIMIT_NAME);
    (void)snprintf(expected + LIMIT_NAME - 3, 4, "-12");
    ck_name(prefix, "", expected);
    ck_name("p", own, own);
    ck_name("p", own + 1, own + 1);
    own[LIMIT_NAME - 2] = '\0';
    (void)snprintf(expected, sizeof expected, "p-%s", own);
    ck_name("pp", own, expected);
    ck_name("\xc3\xa4", own, own); /* half a letter does not stay */
    dataset_free(data);
}
END_TEST

START_TEST(no_test_data)
{
    data = support_data();
    const struct device_data device = {.ordinal = 3, .name = "x", .num_train = 9};
    json_t *entry = device_entry("w", data, &device);
    ck_assert_int_eq(json_integer_value(json_object_get(entry, "ordinal")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(entry, "num_examples")), 9);
    ck_assert(json_is_integer(json_object_get(entry, "num_test_examples")));
    ck_assert_int_eq(json_integer_value(json_object_get(entry, "num_test_examples")), 0);
    json_decref(entry);
    dataset_free(data);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {named_by_the_source_or_else_by_ordinal,
                                  long_names_lose_the_end_of_the_prefix, no_test_data};
    return unit_run("device_entry", tests, sizeof tests / sizeof *tests);
}
