/* A folder that people ask for: whole, or not there. Its files go to NAME.part beside it, which takes the
 * name when all is well. On SIGINT, SIGTERM or SIGHUP the part is removed, and then the signal does what it
 * does. One at a time. */
#ifndef FEDLANE_CLI_DATA_PART_DIR_H
#define FEDLANE_CLI_DATA_PART_DIR_H

#include <stdbool.h>
#include "common/base/err.h"

struct part_dir {
    char *path, *part; /* owned; files are made in `part` */
};

#define PART_DIR_INIT ((struct part_dir){0})

/* Makes NAME.part, and the folders above it. ERR_BAD_FILE where NAME is there already and is not an empty
 * folder, or cannot be made; ERR_STORAGE_FULL. */
enum err part_dir_open(struct part_dir *d, const char *path, struct fault *fault) MUST_CHECK;
/* A folder in it, one level deep. */
enum err part_dir_make(const struct part_dir *d, const char *name, struct fault *fault) MUST_CHECK;
/* The folder has its name, and is on the disk. ERR_CANCELLED after a signal (common/base/interrupt.h), which
 * is noted from the opening on. */
enum err part_dir_commit(struct part_dir *d, struct fault *fault) MUST_CHECK;
/* Removes the part unless it was committed. After a signal it does not return. */
void part_dir_release(struct part_dir *d);

#endif
