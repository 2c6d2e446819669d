/* What a worker keeps over restarts: who it is, its token, and reports that the server has not taken yet. One
 * process at a time: the directory is locked.
 *
 *   lock          held as long as the process lives
 *   instance_id   made once: the server knows the worker by it
 *   token         the worker's secret of this start, mode 0600
 *   outbox/       one file per report (worker/outbox.h) */
#ifndef FEDLANE_WORKER_STATE_DIR_H
#define FEDLANE_WORKER_STATE_DIR_H

#include "common/base/err.h"
#include "common/base/ids.h"
#include "common/crypto/token.h"

struct state_dir {
    char *path;
    int lock_fd;
    char instance_id[ID_SIZE];
};

/* Makes the directory (mode 0700) where there is none, locks it, reads or makes the instance id.
 * ERR_DEVICE_BUSY when another process holds the lock; ERR_IO and ERR_BAD_FILE name the file. */
enum err state_dir_open(const char *path, struct state_dir *out, struct fault *fault) MUST_CHECK;
void state_dir_close(struct state_dir *s); /* unlocks */

/* A fresh secret, on disk before it returns, so that whoever is told its hash can be talked to after a crash.
 */
enum err state_dir_new_token(const struct state_dir *s, char out_token[TOKEN_SIZE],
                             char out_sha256[SHA256_HEX_SIZE], struct fault *fault) MUST_CHECK;

#endif
