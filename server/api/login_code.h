/* One-time codes of `fedlane-server login-link`: files DATA-DIR/login/SHA256-OF-THE-CODE (0600), so only who
 * can write to the data directory can make one, also while a server runs on it. The code itself is kept
 * nowhere. A code becomes the token of one id, and the store takes an id once: whoever asks at the same time,
 * and whatever fails on the way, a code gives one token. */
#ifndef FEDLANE_API_LOGIN_CODE_H
#define FEDLANE_API_LOGIN_CODE_H

#include <stdint.h>
#include "common/base/err.h"
#include "common/base/ids.h"

#define LOGIN_SESSION_HOURS_MAX (365 * 24)
#define LOGIN_CODE_SIZE         65 /* 256 random bits as hex digits, and a NUL */

struct login_grant {
    int64_t role;                /* enum token_role: one */
    int64_t made_at, expires_at; /* the code */
    int64_t session_ms;          /* how long the token lives that it is exchanged for */
    char token_id[ID_SIZE];
};

/* Makes a code (grant->token_id is not read), and the folder DATA-DIR/login where it is missing; removes what
 * has expired there. Where root makes it, the files are given to the data directory's owner. ERR_USAGE: there
 * is no such data directory; ERR_IO. */
enum err login_code_make(const char *data_dir, const struct login_grant *grant,
                         char out_code[LOGIN_CODE_SIZE], struct fault *fault) MUST_CHECK;
/* What a code is good for. ERR_UNAUTHORIZED: unknown, used or expired; the fault says what to do, and no
 * path.
 */
enum err login_code_find(const char *data_dir, const char *code, int64_t now_ms, struct login_grant *out,
                         struct fault *fault) MUST_CHECK;
/* That fault. */
enum err login_code_refuse(struct fault *fault) MUST_CHECK;
/* Removes a code whose token is stored. A failure is only logged: the code is worth nothing any more. */
void login_code_drop(const char *data_dir, const char *code);

#endif
