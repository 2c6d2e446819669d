/* The folder that a backup is: the two databases, the tokens' files where there are any, and backup.json,
 * which names each with its size and SHA-256. */
#ifndef FEDLANE_SERVER_BACKUP_FILES_H
#define FEDLANE_SERVER_BACKUP_FILES_H

#include "common/crypto/sha256.h"
#include "server/store/backup.h"

#define BACKUP_PATH_SIZE 4096
#define BACKUP_FILES     4

struct backup_file {
    const char *name;
    bool is_required;
    bool is_there;
    int64_t size;
    char sha256[SHA256_HEX_SIZE];
};
struct backup_list {
    struct backup_file files[BACKUP_FILES];
    char made_at[40], program[80];
};

void backup_list_init(struct backup_list *list); /* the names */

/* "DIR/NAME" */
enum err backup_path(const char *dir, const char *name, char out[BACKUP_PATH_SIZE],
                     struct fault *fault) MUST_CHECK;
/* Reads from_dir/NAME; where to_dir is not NULL it is copied there, into a new file of mode 0600 that is on
 * the disk at the end. Sets is_there, size and sha256; a file that is not there and need not be is no error.
 */
enum err backup_file_take(struct backup_file *f, const char *from_dir, const char *to_dir,
                          struct fault *fault) MUST_CHECK;
/* DIR/backup.json. */
enum err backup_list_write(const struct backup_list *list, const char *dir, struct fault *fault) MUST_CHECK;
enum err backup_list_read(struct backup_list *list, const char *dir, struct fault *fault) MUST_CHECK;
/* Makes the names in the folder durable. */
enum err backup_sync_dir(const char *dir, struct fault *fault) MUST_CHECK;
/* Removes the files that a backup has from the folder, and nothing else. */
void backup_remove(const char *dir);
/* "3 runs with 20 rounds, ..." on stdout. */
void backup_print_facts(const struct backup_facts *facts);

#endif
