/* DIR/control.sock, by which other commands on this machine ask the server on a data directory to do what
 * only it can. Who may connect is who may enter the directory: no token is needed. Today it takes backups:
 *
 *     -> backup /absolute/folder
 *     <- progress DONE TOTAL          (bytes; any number of times)
 *     <- ok   |   error what happened and what to do */
#ifndef FEDLANE_SERVER_CONTROL_H
#define FEDLANE_SERVER_CONTROL_H

#include "server/store/backup.h"

struct control;

/* All are borrowed until control_stop. A failure is only logged (NULL): nothing but backups depends on it. */
struct control *control_start(const char *data_dir, struct store *store, struct blobs *blobs);
void control_stop(struct control *c); /* gives up what runs; NULL is legal */

/* Has the server on data_dir copy its store and blobs into to_dir, an absolute path. ERR_NOT_FOUND: no server
 * answers there. ERR_CANCELLED: the watch gave up, and the server has left to_dir alone since. */
enum err control_backup(const char *data_dir, const char *to_dir, const struct backup_watch *watch,
                        struct fault *fault) MUST_CHECK;

#endif
