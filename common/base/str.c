#include "common/base/str.h"
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum err str_copy(char *dst, size_t dst_size, const char *src)
{
    size_t n = strlen(src);
    if (n >= dst_size)
        return ERR_INVALID_FIELD;
    memmove(dst, src, n + 1);
    return ERR_OK;
}

bool str_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum err str_to_u64(const char *s, uint64_t *out)
{
    uint64_t value = 0;
    if (!*s)
        return ERR_INVALID_FIELD;
    for (; *s; s++) {
        if (!is_digit(*s))
            return ERR_INVALID_FIELD;
        uint64_t digit = (uint64_t)(*s - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return ERR_INVALID_FIELD;
        value = 10 * value + digit;
    }
    *out = value;
    return ERR_OK;
}

enum err str_to_i64(const char *s, int64_t *out)
{
    bool is_negative = *s == '-';
    uint64_t size;
    enum err e = str_to_u64(s + is_negative, &size);
    if (e)
        return e;
    if (size > (uint64_t)INT64_MAX + is_negative)
        return ERR_INVALID_FIELD;
    *out = is_negative ? (int64_t)(0 - size) : (int64_t)size;
    return ERR_OK;
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void c_locale_make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static const char *skip_digits(const char *s, bool *had_some)
{
    for (; is_digit(*s); s++)
        *had_some = true;
    return s;
}

/* strtod alone would also take blanks, hexadecimal, "nan" and "inf". */
static bool is_decimal(const char *s)
{
    bool has_digits = false, has_exponent = true;
    s = skip_digits(s + (*s == '-'), &has_digits);
    if (*s == '.')
        s = skip_digits(s + 1, &has_digits);
    if (*s == 'e' || *s == 'E') {
        s++;
        has_exponent = false;
        s = skip_digits(s + (*s == '-' || *s == '+'), &has_exponent);
    }
    return has_digits && has_exponent && *s == '\0';
}

enum err str_to_double(const char *s, double *out)
{
    if (!is_decimal(s))
        return ERR_INVALID_FIELD;
    (void)pthread_once(&c_locale_once, c_locale_make);
    if (c_locale == (locale_t)0)
        return ERR_NO_MEMORY;
    double value = strtod_l(s, NULL, c_locale);
    if (!isfinite(value))
        return ERR_INVALID_FIELD;
    *out = value;
    return ERR_OK;
}

void hex_encode(const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum err hex_decode(const char *hex, uint8_t *out, size_t n)
{
    if (strlen(hex) != 2 * n)
        return ERR_INVALID_FIELD;
    for (size_t i = 0; i < n; i++) {
        int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return ERR_INVALID_FIELD;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return ERR_OK;
}

size_t utf8_sequence(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    if (n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    bool is_overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    bool is_surrogate = p[0] == 0xED && p[1] >= 0xA0;
    bool is_above_last = p[0] == 0xF4 && p[1] >= 0x90;
    return is_overlong || is_surrogate || is_above_last ? 0 : len;
}

uint32_t utf8_decode(const char *s, size_t len)
{
    static const unsigned char value_bits[UTF8_MOST + 1] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t character = (unsigned char)s[0] & value_bits[len];
    for (size_t i = 1; i < len; i++)
        character = character << 6 | ((unsigned char)s[i] & 0x3f);
    return character;
}

size_t utf8_encode(uint32_t character, char out[UTF8_MOST])
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const unsigned char lead[UTF8_MOST] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[more] | character >> 6 * more);
    for (int i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
    return (size_t)more + 1;
}

bool utf8_is_valid(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = utf8_sequence(s + i, n - i);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

#define NEAREST_SIZE 64

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

size_t str_distance(const char *a, const char *b)
{
    size_t len_a = strlen(a), len_b = strlen(b);
    if (len_a >= NEAREST_SIZE || len_b >= NEAREST_SIZE)
        return strcmp(a, b) == 0 ? 0 : NEAREST_SIZE;
    size_t row[NEAREST_SIZE];
    for (size_t j = 0; j <= len_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= len_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= len_b; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[len_b];
}

bool str_is_typo_of(const char *word, const char *known)
{
    size_t limit = strlen(known) / 3;
    return str_distance(word, known) <= (limit > 2 ? limit : 2) && str_distance(word, known) < strlen(known);
}

void str_hide_tokens(char *text)
{
    static const char prefix[] = "fl_", hex[] = "0123456789abcdefABCDEF";
    enum { LEAST = 16 }; /* digits of what may be a token */
    for (char *at = text; (at = strstr(at, prefix)) != NULL; at += sizeof prefix - 1) {
        char *digits = at + sizeof prefix - 1;
        size_t n = strspn(digits, hex);
        if (n < LEAST)
            continue;
        memcpy(digits, "...", 3);
        memmove(digits + 3, digits + n, strlen(digits + n) + 1);
    }
}
