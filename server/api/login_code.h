/* One-time codes of `fedlane-server login-link`: files DATA-DIR/login/SHA256-OF-THE-CODE (0600), so only who
 * can write to the data directory can make one, also while a server runs on it. The code itself is kept
 * nowhere. Whoever removes the file has used the code: it works once, whoever asks at the same time. */
#ifndef FEDLANE_API_LOGIN_CODE_H
#define FEDLANE_API_LOGIN_CODE_H

#include <stdint.h>
#include "common/base/err.h"

#define LOGIN_CODE_SIZE 65 /* 256 random bits as hex digits, and a NUL */

struct login_grant {
    int64_t role;       /* enum token_role: one */
    int64_t expires_at; /* of the code */
    int64_t session_ms; /* how long the token lives that it is exchanged for */
};

/* Makes a code, and the folder DATA-DIR/login where it is missing; removes what has expired there. Where root
 * makes it, the files are given to the data directory's owner. ERR_USAGE: there is no such data directory;
 * ERR_IO. */
enum err login_code_make(const char *data_dir, const struct login_grant *grant, int64_t now_ms,
                         char out_code[LOGIN_CODE_SIZE], struct fault *fault) MUST_CHECK;
/* Uses a code up. ERR_UNAUTHORIZED: unknown, used or expired; the fault says what to do, and no path. */
enum err login_code_take(const char *data_dir, const char *code, int64_t now_ms, struct login_grant *out,
                         struct fault *fault) MUST_CHECK;

#endif
