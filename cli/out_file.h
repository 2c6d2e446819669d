/* Files that people ask for: whole, or not there. What is written goes to NAME.part in the same folder, which
 * takes the name when all is well. Interrupted by SIGINT or SIGTERM, the part is removed. */
#ifndef FEDLANE_CLI_OUT_FILE_H
#define FEDLANE_CLI_OUT_FILE_H

#include <stddef.h>
#include "common/base/err.h"

struct out_file {
    char *path, *part; /* owned */
    int fd;
};

#define OUT_FILE_INIT ((struct out_file){.fd = -1})

/* ERR_IO, ERR_STORAGE_FULL, ERR_NO_MEMORY; faults name the file. */
enum err out_file_open(struct out_file *f, const char *path, struct fault *fault) MUST_CHECK;
enum err out_file_write(struct out_file *f, const void *bytes, size_t n, struct fault *fault) MUST_CHECK;
/* The file has its name, and is on the disk. */
enum err out_file_commit(struct out_file *f, struct fault *fault) MUST_CHECK;
/* Removes the part unless it was committed. For every file, in the end. */
void out_file_release(struct out_file *f);

/* Makes the folders above a path, which is changed meanwhile. What fails is seen by whoever uses them next.
 */
void out_file_folders_above(char *path);

/* All of it at once. */
enum err out_file_put(const char *path, const void *bytes, size_t n, struct fault *fault) MUST_CHECK;

#endif
