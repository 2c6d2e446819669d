/* Decimal numbers in text, fast: what CSV and JSON files of several GB are made of. */
#ifndef FEDLANE_DATA_DECIMAL_H
#define FEDLANE_DATA_DECIMAL_H

#include <stddef.h>

enum decimal {
    DECIMAL_GOOD,
    DECIMAL_BAD, /* no number: anything but [+-] digits [. digits] [e [+-] digits] with a digit before e */
    DECIMAL_TOO_LARGE /* for the type */
};

/* The n bytes as the float nearest to the double nearest to the number; what is too small becomes 0. */
enum decimal decimal_float(const char *s, size_t n, float *out);
/* The n bytes as a whole number; a fraction of zeros or an exponent may follow ("3.0", "1e2"), other
 * fractions are DECIMAL_BAD. */
enum decimal decimal_whole(const char *s, size_t n, long long *out);

#endif
