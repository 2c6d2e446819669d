#include "common/base/atomic_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            bytes += written;
            n -= (size_t)written;
        }
    }
    return true;
}

static enum err io_fault(struct fault *fault, const char *path, const char *what)
{
    return fault_set(fault, errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO, NULL,
                     "%s: %s: %s", path, what, strerror(errno));
}

static bool sync_parent(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    char *dir = n ? strndup(path, n) : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        (void)close(fd);
    free(dir);
    return ok;
}

enum err name_sync(const char *path, struct fault *fault)
{
    return sync_parent(path) ? ERR_OK : io_fault(fault, path, "cannot sync its directory");
}

int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* A file system that does not know it. A folder has one name only, but takes the place of an empty one at
     * most. */
    if (link(from, to) == 0)
        return unlink(from);
    return errno == EPERM && access(to, F_OK) != 0 ? rename(from, to) : -1;
}

/* `path`.tmp with all of the parts in it; nothing where it fails. */
static enum err write_beside(const char *tmp, const struct file_part *parts, size_t num_parts, bool is_synced,
                             struct fault *fault)
{
    enum err e = ERR_OK;
    /* One that a crash left, or that somebody else put there, has its own mode, or leads elsewhere. */
    int fd = -1;
    if (unlink(tmp) == 0 || errno == ENOENT)
        fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return io_fault(fault, tmp, "cannot create");
    for (size_t i = 0; i < num_parts && !e; i++) {
        if (!write_all(fd, parts[i].bytes, parts[i].size))
            e = io_fault(fault, tmp, "cannot write");
    }
    if (!e && is_synced && fsync(fd) != 0)
        e = io_fault(fault, tmp, "cannot sync");
    if (close(fd) != 0 && !e)
        e = io_fault(fault, tmp, "cannot write");
    if (e)
        (void)unlink(tmp);
    return e;
}

static enum err put(const char *path, const struct file_part *parts, size_t num_parts, bool is_synced,
                    int (*give_name)(const char *from, const char *to), struct fault *fault)
{
    char *tmp = NULL;
    if (asprintf(&tmp, "%s.tmp", path) < 0)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "%s: not enough memory", path);
    enum err e = write_beside(tmp, parts, num_parts, is_synced, fault);
    if (!e && give_name(tmp, path) != 0) {
        e = errno == EEXIST ? fault_set(fault, ERR_CONFLICT, NULL,
                                        "%s: already exists; remove it or name another file", path)
                            : io_fault(fault, path, "cannot give the file its name");
        (void)unlink(tmp);
    }
    if (!e && is_synced)
        e = name_sync(path, fault);
    free(tmp);
    return e;
}

enum err atomic_file_write(const char *path, const struct file_part *parts, size_t num_parts,
                           bool must_survive_power_loss, struct fault *fault)
{
    return put(path, parts, num_parts, must_survive_power_loss, rename, fault);
}

enum err atomic_file_create(const char *path, const struct file_part *parts, size_t num_parts,
                            struct fault *fault)
{
    return put(path, parts, num_parts, true, rename_new, fault);
}
