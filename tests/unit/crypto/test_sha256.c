#include <string.h>
#include "common/base/str.h"
#include "common/crypto/random.h"
#include "common/crypto/sha256.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/unit.h"

/* FIPS 180-2, appendix B */
#define HEX_OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HEX_OF_ABC     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define HEX_OF_MILLION "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
#define BASE64_OF_ABC  "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="

START_TEST(test_whole)
{
    char hex[SHA256_HEX_SIZE];
    ck_assert_int_eq(sha256_hex("", 0, hex), ERR_OK);
    ck_assert_str_eq(hex, HEX_OF_NOTHING);
    ck_assert_int_eq(sha256_hex("abc", 3, hex), ERR_OK);
    ck_assert_str_eq(hex, HEX_OF_ABC);
}
END_TEST

START_TEST(test_in_pieces)
{
    struct sha256 *h = NULL;
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE], piece[1001];
    memset(piece, 'a', sizeof piece);
    ck_assert_int_eq(sha256_new(&h), ERR_OK);
    for (size_t left = 1000000, n; left > 0; left -= n) {
        n = left < sizeof piece ? left : sizeof piece;
        ck_assert_int_eq(sha256_update(h, piece, n), ERR_OK);
    }
    ck_assert_int_eq(sha256_final(h, digest), ERR_OK);
    hex_encode(digest, sizeof digest, hex);
    ck_assert_str_eq(hex, HEX_OF_MILLION);
    sha256_free(h);
    sha256_free(NULL);
    alloc_fail_at(0);
    ck_assert_int_eq(sha256_new(&h), ERR_NO_MEMORY);
    ck_assert(alloc_fail_end());
}
END_TEST

START_TEST(test_digest_there_and_back)
{
    uint8_t bytes[SHA256_SIZE];
    char header[CONTENT_DIGEST_SIZE], hex[SHA256_HEX_SIZE], back[SHA256_HEX_SIZE];
    ck_assert_int_eq(hex_decode(HEX_OF_ABC, bytes, sizeof bytes), ERR_OK);
    content_digest_format(bytes, header);
    ck_assert_str_eq(header, "sha-256=:" BASE64_OF_ABC ":");
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(random_bytes(bytes, sizeof bytes), ERR_OK);
        hex_encode(bytes, sizeof bytes, hex);
        content_digest_format(bytes, header);
        ck_assert_int_eq(content_digest_parse(header, back), ERR_OK);
        ck_assert_str_eq(back, hex);
    }
}
END_TEST

START_TEST(test_digest_headers)
{
    static const struct {
        const char *header;
        enum err err;
    } rows[] = {
        {"sha-256=:" BASE64_OF_ABC ":", ERR_OK},
        {"  sha-256=:" BASE64_OF_ABC ":  ", ERR_OK},
        {"sha-512=:AAAA:, sha-256=:" BASE64_OF_ABC ":", ERR_OK},
        {"sha-256=:" BASE64_OF_ABC ":;x=1 ,\tmd5=:AAAA:", ERR_OK},
        {"sha-512=:AAAA:", ERR_NOT_FOUND},
        {"", ERR_INVALID_FIELD},
        {",", ERR_INVALID_FIELD},
        {"sha-256", ERR_INVALID_FIELD},
        {"sha-256=", ERR_INVALID_FIELD},
        {"sha-256=" BASE64_OF_ABC, ERR_INVALID_FIELD},
        {"=:AAAA:", ERR_INVALID_FIELD},
        {"sha-256=:" BASE64_OF_ABC ":,", ERR_INVALID_FIELD},
        {"sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0:", ERR_INVALID_FIELD},
        {"sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0a:", ERR_INVALID_FIELD},
        {"sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1=:", ERR_INVALID_FIELD}, /* stray bits */
        {"sha-256=:ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=:", ERR_INVALID_FIELD},
        {"sha-256=:" HEX_OF_ABC ":", ERR_INVALID_FIELD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char hex[SHA256_HEX_SIZE] = "";
        ck_assert_msg(content_digest_parse(rows[i].header, hex) == rows[i].err, "%s", rows[i].header);
        if (rows[i].err == ERR_OK)
            ck_assert_str_eq(hex, HEX_OF_ABC);
    }
}
END_TEST

START_TEST(test_random)
{
    uint8_t a[32] = {0}, b[32] = {0};
    struct entropy system = entropy_system();
    ck_assert_int_eq(random_bytes(a, sizeof a), ERR_OK);
    ck_assert_int_eq(system.fill(system.ctx, b, sizeof b), ERR_OK);
    ck_assert_mem_ne(a, b, sizeof a);
    ck_assert_int_eq(random_bytes(NULL, 0), ERR_OK);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_whole, test_in_pieces, test_digest_there_and_back, test_digest_headers,
                                  test_random};
    return unit_run("sha256", tests, sizeof tests / sizeof *tests);
}
