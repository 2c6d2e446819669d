/* The folder in which a server keeps everything: fedlane.db, blobs.db, and the two tokens of the first start.
 */
#ifndef FEDLANE_SERVER_DATA_DIR_H
#define FEDLANE_SERVER_DATA_DIR_H

#include "server/core/core.h"
#include "server/store/blobs.h"
#include "server/store/store.h"

/* Lies in a folder while a backup is restored into it: what is there is not complete. */
#define RESTORE_MARKER "restore.partial"

/* Makes the folder (mode 0700) if it is not there and opens both databases. Faults say what is wrong and what
 * to do. */
enum err data_dir_open(const char *dir, struct store **out_store, struct blobs **out_blobs,
                       struct fault *fault) MUST_CHECK;

/* A store without any administrator's token gets one, in DIR/admin.token (0600), and one for enrolling
 * devices in DIR/enrollment.token; prints where they are, never what they are. A token that lies there
 * already (a first start that was cut short) is taken up. */
enum err data_dir_tokens(const char *dir, struct store *store, struct core *core,
                         struct fault *fault) MUST_CHECK;

/* Where the server on this folder answers, in DIR/server.url while it runs: `login-link` reads it. The file
 * is locked by the server, so one that a killed server left behind is known for that. */
#define SERVER_URL_SIZE 256
/* Gives what data_dir_drop_url takes. A failure is only logged (-1): nothing depends on it. */
int data_dir_put_url(const char *dir, const char *url) MUST_CHECK;
void data_dir_drop_url(const char *dir, int lock);
bool data_dir_url(const char *dir, char out[SERVER_URL_SIZE]); /* false: no server runs */

#endif
