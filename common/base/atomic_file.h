/* Writing a file so that a reader finds the former content or the new one, never a part. */
#ifndef FEDLANE_BASE_ATOMIC_FILE_H
#define FEDLANE_BASE_ATOMIC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include "common/base/err.h"

struct file_part {
    const void *bytes;
    size_t size;
};

/* The parts one behind the other become the file `path` (mode 0600), by way of `path`.tmp.
 * `must_survive_power_loss`: synced to the disk before it returns; without it the file survives the process,
 * not the machine. ERR_IO, ERR_STORAGE_FULL and ERR_NO_MEMORY name the file; what was there before is then
 * untouched. */
enum err atomic_file_write(const char *path, const struct file_part *parts, size_t num_parts,
                           bool must_survive_power_loss, struct fault *fault) MUST_CHECK;

/* The same for a file that must not be there yet, synced: ERR_CONFLICT where something has its name, also
 * where that came while this was writing; it is untouched then. One writer of `path` at a time. */
enum err atomic_file_create(const char *path, const struct file_part *parts, size_t num_parts,
                            struct fault *fault) MUST_CHECK;

/* As rename(), but where something has the name `to` it stays: -1 and EEXIST. */
int rename_new(const char *from, const char *to) MUST_CHECK;

/* Makes the name itself survive a power cut: that of a new file or folder is lost with its folder's cached
 * block. ERR_IO. */
enum err name_sync(const char *path, struct fault *fault) MUST_CHECK;

#endif
