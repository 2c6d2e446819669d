/* Bearer tokens: 256 random bits as "fl_" + 64 hex digits. Only the SHA-256 is ever stored. */
#ifndef FEDLANE_CRYPTO_TOKEN_H
#define FEDLANE_CRYPTO_TOKEN_H

#include <stdbool.h>
#include "common/base/err.h"
#include "common/crypto/sha256.h"

#define TOKEN_SIZE 68

enum err token_new(char out[TOKEN_SIZE], char out_sha256[SHA256_HEX_SIZE]) MUST_CHECK;
/* Of any secret text, a caller's own too. */
enum err token_hash(const char *token, char out_sha256[SHA256_HEX_SIZE]) MUST_CHECK;
/* First line of a file, blanks cut; refuses an empty one. The fault names the file. */
enum err token_file_read(const char *path, char *out, size_t out_size, struct fault *fault) MUST_CHECK;
/* Mode 0600, whole or not at all, on the disk when it returns; never over an existing file (ERR_CONFLICT). */
enum err token_file_write(const char *path, const char *token, struct fault *fault) MUST_CHECK;

#endif
