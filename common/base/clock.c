#include "common/base/clock.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS_PER_DAY ((int64_t)86400000)

static int64_t clock_ns(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) != 0)
        bug("clock_gettime failed");
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t mono_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static int64_t wall_minus_mono_ns;
static pthread_once_t start_once = PTHREAD_ONCE_INIT;

static void start(void)
{
    wall_minus_mono_ns = clock_ns(CLOCK_REALTIME) - mono_ns();
}

static int64_t system_now_ms(void *ctx)
{
    (void)ctx;
    (void)pthread_once(&start_once, start);
    return (mono_ns() + wall_minus_mono_ns) / 1000000;
}

struct clock clock_system(void)
{
    return (struct clock){system_now_ms, NULL};
}

static int64_t fake_now_ms(void *ctx)
{
    const struct clock_fake *fake = ctx;
    return fake->ms;
}

struct clock clock_fake(struct clock_fake *fake)
{
    return (struct clock){fake_now_ms, fake};
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar, counted in years that start in March, so that
 * the leap day is a year's last. */
static int64_t days_from_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static void date_from_days(int64_t days, int *out_year, int *out_month, int *out_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t d = days - era * 146097;
    int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    int64_t day_of_year = d - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * day_of_year + 2) / 153;
    *out_day = (int)(day_of_year - (153 * m + 2) / 5 + 1);
    *out_month = (int)(m < 10 ? m + 3 : m - 9);
    *out_year = (int)(y + era * 400 + (*out_month <= 2));
}

void time_format(int64_t ms, char out[TIME_TEXT_SIZE])
{
    const int64_t first = days_from_date(0, 1, 1) * MS_PER_DAY;
    const int64_t last = days_from_date(10000, 1, 1) * MS_PER_DAY - 1;
    ms = ms < first ? first : ms > last ? last : ms; /* the text has room for four-digit years */
    int64_t days = ms / MS_PER_DAY - (ms % MS_PER_DAY < 0);
    int in_day = (int)(ms - days * MS_PER_DAY);
    int year, month, day;
    date_from_days(days, &year, &month, &day);
    char text[64];
    (void)snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year, month, day,
                   in_day / 3600000, in_day / 60000 % 60, in_day / 1000 % 60, in_day % 1000);
    memcpy(out, text, TIME_TEXT_SIZE);
    out[TIME_TEXT_SIZE - 1] = '\0';
}

/* Reads exactly n digits. */
static bool read_digits(const char **s, int n, int *out)
{
    int value = 0;
    for (int i = 0; i < n; i++, (*s)++) {
        if (**s < '0' || **s > '9')
            return false;
        value = value * 10 + (**s - '0');
    }
    *out = value;
    return true;
}

static bool read_char(const char **s, char upper)
{
    if (**s != upper && !(upper >= 'A' && **s == upper + ('a' - 'A')))
        return false;
    (*s)++;
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && is_leap);
}

static bool read_fraction(const char **s, int *out_ms)
{
    *out_ms = 0;
    if (**s != '.')
        return true;
    (*s)++;
    int digits = 0;
    for (int weight = 100; **s >= '0' && **s <= '9'; (*s)++, digits++, weight /= 10)
        *out_ms += weight * (**s - '0');
    return digits >= 1 && digits <= 9;
}

static bool read_offset(const char **s, int64_t *out_ms)
{
    int hours, minutes, sign = **s == '-' ? -1 : 1;
    *out_ms = 0;
    if (read_char(s, 'Z'))
        return true;
    if (**s != '+' && **s != '-')
        return false;
    (*s)++;
    if (!read_digits(s, 2, &hours) || !read_char(s, ':') || !read_digits(s, 2, &minutes) || hours > 23 ||
        minutes > 59)
        return false;
    *out_ms = (int64_t)sign * (hours * 60 + minutes) * 60000;
    return true;
}

enum err time_parse(const char *text, int64_t *out_ms)
{
    const char *s = text;
    int year, month, day, hour, minute, second, ms;
    int64_t offset_ms;
    if (!read_digits(&s, 4, &year) || !read_char(&s, '-') || !read_digits(&s, 2, &month) ||
        !read_char(&s, '-') || !read_digits(&s, 2, &day) || !read_char(&s, 'T') ||
        !read_digits(&s, 2, &hour) || !read_char(&s, ':') || !read_digits(&s, 2, &minute) ||
        !read_char(&s, ':') || !read_digits(&s, 2, &second) || !read_fraction(&s, &ms) ||
        !read_offset(&s, &offset_ms) || *s)
        return ERR_INVALID_FIELD;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 || minute > 59 ||
        second > 59)
        return ERR_INVALID_FIELD;
    int64_t in_day = (int64_t)(hour * 60 + minute) * 60000 + second * 1000 + ms;
    *out_ms = days_from_date(year, month, day) * MS_PER_DAY + in_day - offset_ms;
    return ERR_OK;
}
