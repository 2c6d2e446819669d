#include "common/data/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"

/* value = mantissa * 10^exponent, but for digits behind the 19th, which only make it larger by less than one
 * part in 10^18. */
struct parts {
    uint64_t mantissa;
    int64_t exponent;
    bool is_negative, is_cut; /* cut: one of the digits left out is not 0 */
};

#define MOST_DIGITS  19
#define EXPONENT_MAX 100000

static const char *take_digits(const char *s, const char *end, struct parts *p, int *digits, int shift)
{
    for (; s < end && (unsigned char)(*s - '0') < 10; s++) {
        if (*digits < MOST_DIGITS) {
            p->mantissa = p->mantissa * 10 + (uint64_t)(*s - '0');
            *digits += p->mantissa > 0;
            p->exponent -= shift;
        } else {
            p->exponent += 1 - shift;
            p->is_cut = p->is_cut || *s != '0';
        }
    }
    return s;
}

static bool take_exponent(const char *s, const char *end, struct parts *p)
{
    bool is_negative = false;
    int64_t value = 0;
    if (s < end && (*s == '+' || *s == '-'))
        is_negative = *s++ == '-';
    if (s == end)
        return false;
    for (; s < end; s++) {
        if ((unsigned char)(*s - '0') >= 10)
            return false;
        value = value < EXPONENT_MAX ? value * 10 + (*s - '0') : value;
    }
    p->exponent += is_negative ? -value : value;
    return true;
}

static bool take_parts(const char *s, size_t n, struct parts *p)
{
    const char *end = s + n;
    int digits = 0;
    *p = (struct parts){0};
    if (s < end && (*s == '+' || *s == '-'))
        p->is_negative = *s++ == '-';
    const char *whole = s;
    s = take_digits(s, end, p, &digits, 0);
    bool has_digit = s > whole;
    if (s < end && *s == '.') {
        const char *fraction = ++s;
        s = take_digits(s, end, p, &digits, 1);
        has_digit = has_digit || s > fraction;
    }
    if (!has_digit)
        return false;
    if (s < end && (*s == 'e' || *s == 'E'))
        return take_exponent(s + 1, end, p);
    return s == end;
}

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define POWER_MAX 22

/* Rounds right whatever comes, but wants a text with an end. */
static enum decimal slow(const char *s, size_t n, float *out)
{
    char small[64];
    double value = (double)INFINITY;
    n -= *s == '+';
    s += *s == '+';
    char *text = n < sizeof small ? small : malloc(n + 1);
    if (!text)
        return DECIMAL_BAD;
    memcpy(text, s, n);
    text[n] = '\0';
    if (str_to_double(text, &value) != ERR_OK)
        value = (double)INFINITY; /* the grammar was checked before */
    if (text != small)
        free(text);
    *out = fabs(value) <= 3.5e38 ? (float)value : INFINITY;
    return isfinite(*out) ? DECIMAL_GOOD : DECIMAL_TOO_LARGE;
}

enum decimal decimal_float(const char *s, size_t n, float *out)
{
    struct parts p;
    if (!take_parts(s, n, &p))
        return DECIMAL_BAD;
    if (p.mantissa == 0) {
        *out = p.is_negative ? -0.0f : 0.0f;
        return DECIMAL_GOOD;
    }
    if (p.exponent < -POWER_MAX || p.exponent > POWER_MAX)
        return slow(s, n, out);
    /* Two roundings of half a unit in 2^53 each, and the digits left out: the number is within 2^-51 of it.
     * So where all of that interval rounds to one float, that float is the right one. */
    double value = (double)p.mantissa;
    value = p.exponent < 0 ? value / powers[-p.exponent] : value * powers[p.exponent];
    const float low = (float)(value * (1 - 0x1p-51)), high = (float)(value * (1 + 0x1p-51));
    if (low != high || !isfinite(high))
        return slow(s, n, out);
    *out = p.is_negative ? -low : low;
    return DECIMAL_GOOD;
}

enum decimal decimal_whole(const char *s, size_t n, long long *out)
{
    struct parts p;
    if (!take_parts(s, n, &p))
        return DECIMAL_BAD;
    if (p.is_cut)
        return p.exponent < 0 ? DECIMAL_BAD : DECIMAL_TOO_LARGE;
    for (; p.exponent < 0 && p.mantissa % 10 == 0 && p.mantissa > 0; p.exponent++)
        p.mantissa /= 10;
    if (p.exponent < 0 && p.mantissa > 0)
        return DECIMAL_BAD;
    for (; p.exponent > 0 && p.mantissa > 0; p.exponent--) {
        if (p.mantissa > (uint64_t)INT64_MAX / 10)
            return DECIMAL_TOO_LARGE;
        p.mantissa *= 10;
    }
    if (p.mantissa > INT64_MAX)
        return DECIMAL_TOO_LARGE;
    *out = p.is_negative ? -(long long)p.mantissa : (long long)p.mantissa;
    return DECIMAL_GOOD;
}
