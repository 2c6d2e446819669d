#include "tests/support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/data/decimal.h"

static void ck_float(const char *text)
{
    const double expected = strtod(text, NULL);
    float got = 0;
    const bool is_good = decimal_float(text, strlen(text), &got) == DECIMAL_GOOD && got == (float)expected &&
                         signbit(got) == signbit((float)expected);
    if (!is_good) /* the check itself is slow */
        ck_abort_msg("%s: %.9g, not %.9g", text, (double)got, expected);
}

START_TEST(test_as_strtod)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0.0e5",
        "1",
        "-1",
        "+1",
        "1.",
        ".5",
        "-.5",
        "1e5",
        "1E+5",
        "1e-5",
        "3.4028234e38",
        "1.401298464324817e-45",
        "7e-46",
        "1e-400",
        "0.1",
        "16777217",
        "16777219",
        "33554433.0000000000001",
        "1.00000005960464477539062500000001",
        "1.000000059604644775390625",
        "0.00000000000000000000000000000001",
        "123456789012345678901234567890",
        "1234567890123456789012345678901234567890123456789012345678901234567e-50",
        "0.3333333432674407958984375",
        "0e999999999999",
        "100000000000000000000000e-22"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_float(texts[i]);
    for (uint64_t i = 0; i < 200000; i++) {
        char text[64];
        const uint64_t bits = rng_u64(1, i);
        const uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        if (!isfinite(f))
            continue;
        const double d = i % 3 == 0 ? (double)f : rng_uniform(2, i) * pow(10, (double)(bits % 60) - 30);
        (void)snprintf(text, sizeof text, "%.*g", (int)(bits >> 32) % 20 + 1, d);
        if (fabs(strtod(text, NULL)) < 3.4e38)
            ck_float(text);
    }
}
END_TEST

/* Between two floats: half a unit above 1, and a hair more or less, in more digits than are counted. */
START_TEST(test_hard_cases)
{
    float f;
    static const char half[] = "1.00000005960464477539062500", more[] = "1.00000005960464477539062501",
                      less[] = "1.00000005960464477539062499";
    ck_float(half);
    ck_float(more);
    ck_float(less);
    ck_assert_int_eq(decimal_float(less, strlen(less), &f), DECIMAL_GOOD);
    ck_assert_float_eq(f, 1);
}
END_TEST

START_TEST(test_no_numbers)
{
    static const char *const texts[] = {"",      "-",    "+",   ".",   "e5",   "1e",   "1e+",
                                        "1.5.2", "0x10", "nan", "inf", "1 ",   " 1",   "--1",
                                        "1,5",   "1e5.", "1_0", "one", "-inf", "1e--5"};
    float f;
    long long i;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        ck_assert_msg(decimal_float(texts[k], strlen(texts[k]), &f) == DECIMAL_BAD, "%s", texts[k]);
        ck_assert_msg(decimal_whole(texts[k], strlen(texts[k]), &i) == DECIMAL_BAD, "%s", texts[k]);
    }
    ck_assert_int_eq(decimal_float("3.41e38", 7, &f), DECIMAL_TOO_LARGE);
    ck_assert_int_eq(decimal_float("-1e999", 6, &f), DECIMAL_TOO_LARGE);
    ck_assert_int_eq(decimal_float("12", 1, &f), DECIMAL_GOOD);
    ck_assert_float_eq(f, 1);
}
END_TEST

START_TEST(test_whole)
{
    static const struct {
        const char *text;
        enum decimal got;
        long long value;
    } cases[] = {
        {"0", DECIMAL_GOOD, 0},
        {"7", DECIMAL_GOOD, 7},
        {"-7", DECIMAL_GOOD, -7},
        {"3.0", DECIMAL_GOOD, 3},
        {"3.000e0", DECIMAL_GOOD, 3},
        {"1e3", DECIMAL_GOOD, 1000},
        {"12.5e1", DECIMAL_GOOD, 125},
        {"3.5", DECIMAL_BAD, 0},
        {"1e-1", DECIMAL_BAD, 0},
        {"0e-5", DECIMAL_GOOD, 0},
        {"1e19", DECIMAL_TOO_LARGE, 0},
        {"9223372036854775807", DECIMAL_GOOD, INT64_MAX},
        {"1e99999999999", DECIMAL_TOO_LARGE, 0},
        {"1.000000000000000000000000", DECIMAL_GOOD, 1},
        {"1.000000000000000000000001", DECIMAL_BAD, 0},
        {"12345678901234567890123", DECIMAL_TOO_LARGE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        long long value = 0;
        ck_assert_msg(decimal_whole(cases[i].text, strlen(cases[i].text), &value) == cases[i].got, "%s",
                      cases[i].text);
        if (cases[i].got == DECIMAL_GOOD)
            ck_assert_int_eq(value, cases[i].value);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_as_strtod, test_hard_cases, test_no_numbers, test_whole};
    return unit_run("decimal", tests, sizeof tests / sizeof *tests);
}
