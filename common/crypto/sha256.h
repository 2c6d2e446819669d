/* SHA-256 by libcrypto. */
#ifndef FEDLANE_CRYPTO_SHA256_H
#define FEDLANE_CRYPTO_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

#define SHA256_SIZE     32
#define SHA256_HEX_SIZE 65

struct sha256; /* a running hash, on the heap */
enum err sha256_new(struct sha256 **out) MUST_CHECK;
enum err sha256_update(struct sha256 *h, const void *bytes, size_t n) MUST_CHECK;
enum err sha256_final(struct sha256 *h,
                      uint8_t out[SHA256_SIZE]) MUST_CHECK; /* may be updated no more; free it */
void sha256_free(struct sha256 *h);

enum err sha256_hex(const void *bytes, size_t n, char out[SHA256_HEX_SIZE]) MUST_CHECK;
/* The value of a Content-Digest header (RFC 9530) to hex: "sha-256=:BASE64:" -> 64 digits, other algorithms
 * skipped. ERR_INVALID_FIELD when malformed, ERR_NOT_FOUND when it holds no sha-256. */
enum err content_digest_parse(const char *header, char out[SHA256_HEX_SIZE]) MUST_CHECK;
#define CONTENT_DIGEST_SIZE 64
void content_digest_format(const uint8_t sha256[SHA256_SIZE], char out[CONTENT_DIGEST_SIZE]);

#endif
