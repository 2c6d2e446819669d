#include "common/crypto/sha256.h"
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"

struct sha256 {
    EVP_MD_CTX *ctx;
};

/* Looked up once: OpenSSL takes longer for it than for a hash of a small model. */
static EVP_MD *algorithm;
static pthread_once_t algorithm_once = PTHREAD_ONCE_INIT;

static void find_algorithm(void)
{
    algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static const EVP_MD *sha256_algorithm(void)
{
    (void)pthread_once(&algorithm_once, find_algorithm);
    return algorithm ? algorithm : EVP_sha256();
}

enum err sha256_new(struct sha256 **out)
{
    struct sha256 *h = calloc(1, sizeof *h);
    if (!h)
        return ERR_NO_MEMORY;
    h->ctx = EVP_MD_CTX_new();
    if (!h->ctx || EVP_DigestInit_ex(h->ctx, sha256_algorithm(), NULL) != 1) {
        sha256_free(h);
        return ERR_NO_MEMORY;
    }
    *out = h;
    return ERR_OK;
}

enum err sha256_update(struct sha256 *h, const void *bytes, size_t n)
{
    return EVP_DigestUpdate(h->ctx, bytes, n) == 1 ? ERR_OK : ERR_INTERNAL;
}

enum err sha256_final(struct sha256 *h, uint8_t out[SHA256_SIZE])
{
    return EVP_DigestFinal_ex(h->ctx, out, NULL) == 1 ? ERR_OK : ERR_INTERNAL;
}

void sha256_free(struct sha256 *h)
{
    if (!h)
        return;
    EVP_MD_CTX_free(h->ctx);
    free(h);
}

enum err sha256_hex(const void *bytes, size_t n, char out[SHA256_HEX_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    if (EVP_Digest(bytes, n, digest, NULL, sha256_algorithm(), NULL) != 1)
        return ERR_NO_MEMORY;
    hex_encode(digest, sizeof digest, out);
    return ERR_OK;
}

#define BASE64_SIZE 44 /* of 32 bytes, with one '=' */

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static enum err digest_from_base64(const char *text, uint8_t out[SHA256_SIZE])
{
    uint32_t bits = 0;
    size_t num_bits = 0, n = 0;
    for (size_t i = 0; i < BASE64_SIZE - 1; i++) {
        int value = base64_value(text[i]);
        if (value < 0)
            return ERR_INVALID_FIELD;
        bits = bits << 6 | (uint32_t)value;
        num_bits += 6;
        if (num_bits >= 8) {
            num_bits -= 8;
            out[n++] = (uint8_t)(bits >> num_bits);
        }
    }
    /* Two bits are left over; anything in them would be a second spelling of the same digest. */
    return text[BASE64_SIZE - 1] == '=' && (bits & 3) == 0 ? ERR_OK : ERR_INVALID_FIELD;
}

static size_t trimmed_len(const char *s, size_t n)
{
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    return n;
}

/* One member of the dictionary: key=:BASE64: with parameters behind ';', which say nothing that we use. */
static enum err parse_member(const char *member, size_t n, char *out, bool *is_found)
{
    static const char key[] = "sha-256=";
    const char *semicolon = memchr(member, ';', n);
    n = trimmed_len(member, semicolon ? (size_t)(semicolon - member) : n);
    if (n < sizeof key - 1 || memcmp(member, key, sizeof key - 1) != 0)
        return n > 0 && memchr(member, '=', n) && member[0] != '=' ? ERR_OK : ERR_INVALID_FIELD;
    const char *value = member + sizeof key - 1;
    uint8_t digest[SHA256_SIZE];
    if (n - (sizeof key - 1) != BASE64_SIZE + 2 || value[0] != ':' || value[BASE64_SIZE + 1] != ':')
        return ERR_INVALID_FIELD;
    enum err e = digest_from_base64(value + 1, digest);
    if (e)
        return e;
    hex_encode(digest, sizeof digest, out);
    *is_found = true;
    return ERR_OK;
}

enum err content_digest_parse(const char *header, char out[SHA256_HEX_SIZE])
{
    bool is_found = false;
    for (const char *s = header;; s++) {
        s += strspn(s, " \t");
        size_t n = strcspn(s, ",");
        enum err e = parse_member(s, trimmed_len(s, n), out, &is_found);
        if (e)
            return e;
        s += n;
        if (!*s)
            return is_found ? ERR_OK : ERR_NOT_FOUND;
    }
}

void content_digest_format(const uint8_t sha256[SHA256_SIZE], char out[CONTENT_DIGEST_SIZE])
{
    unsigned char base64[BASE64_SIZE + 1];
    (void)EVP_EncodeBlock(base64, sha256, SHA256_SIZE);
    (void)snprintf(out, CONTENT_DIGEST_SIZE, "sha-256=:%s:", (const char *)base64);
}
