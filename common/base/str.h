/* Small text helpers: bounded copies, strict numbers, hex. */
#ifndef FEDLANE_BASE_STR_H
#define FEDLANE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

/* Copies all of src or nothing: ERR_INVALID_FIELD when it does not fit. */
enum err str_copy(char *dst, size_t dst_size, const char *src) MUST_CHECK;
bool str_eq(const char *a, const char *b); /* NULL equals only NULL */
bool str_has_prefix(const char *s, const char *prefix);
/* The whole text must be one decimal number: no sign for u64, no blanks, no overflow. */
enum err str_to_u64(const char *s, uint64_t *out) MUST_CHECK;
enum err str_to_i64(const char *s, int64_t *out) MUST_CHECK;
enum err str_to_double(const char *s, double *out) MUST_CHECK; /* finite only, '.' whatever the locale */
void hex_encode(const uint8_t *bytes, size_t n, char *out /* 2n+1 */);
/* Lower case only; ERR_INVALID_FIELD when it is not exactly 2n hex digits. */
enum err hex_decode(const char *hex, uint8_t *out, size_t n) MUST_CHECK;
bool utf8_is_valid(const char *s, size_t n);
/* Bytes of the UTF-8 sequence that s (n bytes) starts with, 1..4; 0 when it starts with none. */
size_t utf8_sequence(const char *s, size_t n);
#define UTF8_MOST 4 /* bytes of a character */
/* The character that s begins with, which utf8_sequence says is len bytes long. */
uint32_t utf8_decode(const char *s, size_t len);
/* The bytes of a character below 0x110000 that is no surrogate; how many they are. */
size_t utf8_encode(uint32_t character, char out[UTF8_MOST]);
/* What quotes a client can hold a token that stands there by mistake, whole or cut: leaves "fl_..." of it. */
void str_hide_tokens(char *text);
/* How many letters to insert, drop or change to get from a to b; 64 for different words of 64 bytes or more.
 */
size_t str_distance(const char *a, const char *b);
/* Near enough to ask "did you mean?". */
bool str_is_typo_of(const char *word, const char *known);

#endif
