#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/device_list.h"

static void must_be(const char *text, const int64_t *expected, size_t n)
{
    struct fault fault = FAULT_NONE;
    int64_t *ordinals = NULL;
    size_t count = 0;
    ck_assert_msg(device_list_parse(text, &ordinals, &count, &fault) == ERR_OK, "%s: %s", text, fault.detail);
    ck_assert_uint_eq(count, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(ordinals[i], expected[i]);
    free(ordinals);
}

START_TEST(lists_and_ranges)
{
    must_be("0", (const int64_t[]){0}, 1);
    must_be("7,3", (const int64_t[]){3, 7}, 2);
    must_be("0-3,12", (const int64_t[]){0, 1, 2, 3, 12}, 5);
    must_be("5-5", (const int64_t[]){5}, 1);
    must_be("4-6,5,1-4", (const int64_t[]){1, 2, 3, 4, 5, 6}, 6);
}
END_TEST

START_TEST(mistakes_are_shown)
{
    static const char *const bad[] = {"",     ",",   "1,",  ",1",   "a",  "3-x", "3-",
                                      "-3",   "1 2", "1;2", "0x10", "+1", "1.5", "99999999999999999999",
                                      "1-2-3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fault fault = FAULT_NONE;
        int64_t *ordinals = NULL;
        size_t count = 0;
        ck_assert_msg(device_list_parse(bad[i], &ordinals, &count, &fault) == ERR_USAGE, "\"%s\" was taken",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(fault.detail, bad[i]));
        ck_assert_str_eq(fault.field, "devices");
    }
}
END_TEST

START_TEST(ranges_have_an_order_and_an_end)
{
    struct fault fault = FAULT_NONE;
    int64_t *ordinals = NULL;
    size_t count = 0;
    ck_assert_int_eq(device_list_parse("9-3", &ordinals, &count, &fault), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "9-3"));
    ck_assert_int_eq(device_list_parse("0-10000", &ordinals, &count, &fault), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "10000"));
    ck_assert_int_eq(device_list_parse("0-5000,0-5000", &ordinals, &count, &fault), ERR_USAGE);
    ck_assert_int_eq(device_list_parse("0-9999", &ordinals, &count, &fault), ERR_OK);
    ck_assert_uint_eq(count, 10000);
    free(ordinals);
}
END_TEST

START_TEST(all_devices_or_those_that_are_there)
{
    struct dataset *data = support_data();
    struct fault fault = FAULT_NONE;
    int64_t *ordinals = NULL;
    size_t count = 0;
    ck_assert_int_eq(device_list_choose(NULL, data, "d.json", &ordinals, &count, &fault), ERR_OK);
    ck_assert_uint_eq(count, 30);
    ck_assert_int_eq(ordinals[29], 29);
    free(ordinals);
    ck_assert_int_eq(device_list_choose("0,29", data, "d.json", &ordinals, &count, &fault), ERR_OK);
    ck_assert_uint_eq(count, 2);
    free(ordinals);
    ck_assert_int_eq(device_list_choose("0-30", data, "d.json", &ordinals, &count, &fault), ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "d.json"));
    ck_assert_ptr_nonnull(strstr(fault.detail, "device 30"));
    ck_assert_ptr_nonnull(strstr(fault.detail, "30 devices"));
    dataset_free(data);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {lists_and_ranges, mistakes_are_shown, ranges_have_an_order_and_an_end,
                                  all_devices_or_those_that_are_there};
    return unit_run("device_list", tests, sizeof tests / sizeof *tests);
}
