/* Names of files. */
#ifndef FEDLANE_DATA_PATH_H
#define FEDLANE_DATA_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/arena.h"
#include "common/base/err.h"

/* What a message shows of a path: a long one keeps its end, which tells more. */
const char *path_shown(const char *path);
bool path_is_directory(const char *path);
bool path_ends_in(const char *path, const char *ending);

/* Opens a regular file to read, without waiting at a pipe. What to do where there is none is `hint`, "" for
 * nothing, or NULL: what a relative path is relative to. `wanted` ends the message about anything else than a
 * file, "" or "; name ...". ERR_BAD_FILE. The caller closes *out_fd. */
enum err path_open(const char *path, const char *field, const char *hint, const char *wanted, int *out_fd,
                   uint64_t *out_bytes, struct fault *fault) MUST_CHECK;

/* The files of a directory whose name ends in one of `endings` (NULL-ended), in the order of their bytes.
 * Hidden ones and folders are passed over. Names without the directory, in the arena. ERR_BAD_FILE. */
enum err path_list(const char *dir, const char *const *endings, const char *field, struct arena *arena,
                   const char ***out_names, size_t *out_count, struct fault *fault) MUST_CHECK;

/* A directory with the subdirectories train and test: those two. Any other directory: itself and NULL. No
 * directory: NULL and NULL. ERR_BAD_FILE where there is nothing by that name, or only one of the two. */
struct path_splits {
    const char *train, *test;
};
enum err path_splits(const char *path, const char *field, struct arena *arena, struct path_splits *out,
                     struct fault *fault) MUST_CHECK;

#endif
