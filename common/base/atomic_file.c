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

enum err atomic_file_write(const char *path, const struct file_part *parts, size_t num_parts,
                           bool must_survive_power_loss, struct fault *fault)
{
    char *tmp = NULL;
    enum err e = ERR_OK;
    if (asprintf(&tmp, "%s.tmp", path) < 0)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "%s: not enough memory", path);
    /* One that a crash left, or that somebody else put there, has its own mode, or leads elsewhere. */
    int fd = -1;
    if (unlink(tmp) == 0 || errno == ENOENT)
        fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) {
        e = io_fault(fault, tmp, "cannot create");
        goto out;
    }
    for (size_t i = 0; i < num_parts && !e; i++) {
        if (!write_all(fd, parts[i].bytes, parts[i].size))
            e = io_fault(fault, tmp, "cannot write");
    }
    if (!e && must_survive_power_loss && fsync(fd) != 0)
        e = io_fault(fault, tmp, "cannot sync");
    if (close(fd) != 0 && !e)
        e = io_fault(fault, tmp, "cannot write");
    if (!e && rename(tmp, path) != 0)
        e = io_fault(fault, path, "cannot replace");
    if (e)
        (void)unlink(tmp);
    else if (must_survive_power_loss)
        e = name_sync(path, fault);
out:
    free(tmp);
    return e;
}
