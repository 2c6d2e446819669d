#include "common/crypto/token.h"
#include <openssl/crypto.h>
#include <string.h>
#include "common/base/atomic_file.h"
#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/crypto/random.h"

#define TOKEN_PREFIX "fl_"

enum err token_new(char out[TOKEN_SIZE], char out_sha256[SHA256_HEX_SIZE])
{
    uint8_t secret[32];
    enum err e = random_bytes(secret, sizeof secret);
    if (e)
        return e;
    memcpy(out, TOKEN_PREFIX, sizeof TOKEN_PREFIX - 1);
    hex_encode(secret, sizeof secret, out + sizeof TOKEN_PREFIX - 1);
    OPENSSL_cleanse(secret, sizeof secret);
    return token_hash(out, out_sha256);
}

enum err token_hash(const char *token, char out_sha256[SHA256_HEX_SIZE])
{
    return sha256_hex(token, strlen(token), out_sha256);
}

/* It will stand in a header: visible ASCII only. */
static bool is_token_text(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~')
            return false;
    return true;
}

enum err token_file_read(const char *path, char *out, size_t out_size, struct fault *fault)
{
    struct buf text = BUF_INIT(64 * KIB);
    enum err e = file_read(path, &text, fault);
    if (e)
        goto out;
    const char *first = text.data + strspn(text.data, " \t");
    size_t n = strcspn(first, "\r\n");
    while (n > 0 && (first[n - 1] == ' ' || first[n - 1] == '\t'))
        n--;
    if (n == 0)
        e = fault_set(fault, ERR_BAD_FILE, NULL, "%s: its first line is empty; it must hold the token", path);
    else if (n >= out_size)
        e = fault_set(fault, ERR_BAD_FILE, NULL, "%s: its first line has %zu bytes; a token has at most %zu",
                      path, n, out_size - 1);
    else if (!is_token_text(first, n))
        e = fault_set(fault, ERR_BAD_FILE, NULL,
                      "%s: its first line holds blanks or other bytes that no token has", path);
    if (e)
        goto out;
    memcpy(out, first, n);
    out[n] = '\0';
out:
    if (text.data)
        OPENSSL_cleanse(text.data, text.cap);
    buf_release(&text);
    return e;
}

enum err token_file_write(const char *path, const char *token, struct fault *fault)
{
    const struct file_part parts[] = {{token, strlen(token)}, {"\n", 1}};
    return atomic_file_create(path, parts, 2, fault);
}
