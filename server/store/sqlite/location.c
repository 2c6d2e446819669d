#include "server/store/sqlite/location.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "common/base/str.h"

#define FUSE_MAGIC 0x65735546UL

bool filesystem_is_remote(unsigned long magic, const char *type)
{
    static const unsigned long remote[] = {
        0x6969UL,     /* NFS */
        0x517bUL,     /* SMB */
        0xff534d42UL, /* CIFS */
        0xfe534d42UL, /* SMB2 */
        0x5346414fUL, /* AFS */
        0x73757245UL, /* Coda */
        0x00c36400UL, /* Ceph */
        0x0bd00bd0UL, /* Lustre */
        0x47504653UL, /* GPFS */
    };
    static const char *const local_fuse[] = {
        "", "fuseblk", "fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.bindfs", "virtiofs"};
    for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++)
        if (magic == remote[i])
            return true;
    if (magic != FUSE_MAGIC)
        return false;
    for (size_t i = 0; i < sizeof local_fuse / sizeof local_fuse[0]; i++)
        if (str_eq(type, local_fuse[i]))
            return false;
    return true;
}

/* The file system's name, from the mount with the file's device number; "" when that is not to be found. */
static void filesystem_type(dev_t device, char *out, size_t out_size)
{
    out[0] = '\0';
    FILE *f = fopen("/proc/self/mountinfo", "re");
    if (!f)
        return;
    char wanted[32], *line = NULL;
    size_t capacity = 0;
    (void)snprintf(wanted, sizeof wanted, "%u:%u", major(device), minor(device));
    while (!out[0] && getline(&line, &capacity, f) > 0) {
        char number[32];
        const char *type = strstr(line, " - ");
        if (!type || sscanf(line, "%*d %*d %31s", number) != 1 || !str_eq(number, wanted))
            continue;
        (void)snprintf(out, out_size, "%.*s", (int)strcspn(type + 3, " \n"), type + 3);
    }
    free(line);
    (void)fclose(f);
}

static enum err check_filesystem(const char *path, int fd, struct fault *fault)
{
    struct statfs fs;
    struct stat st;
    if (fstatfs(fd, &fs) || fstat(fd, &st))
        return fault_set(fault, ERR_IO, NULL, "cannot tell which file system %s is on: %s", path,
                         strerror(errno));
    char type[64];
    filesystem_type(st.st_dev, type, sizeof type);
    if (!filesystem_is_remote((unsigned long)fs.f_type, type))
        return ERR_OK;
    return fault_set(
        fault, ERR_USAGE, NULL,
        "%s is on a network file system (%s, type 0x%lx), where a database can be damaged because locks are "
        "not reliable: put the data on a local disk",
        path, type[0] ? type : "unknown", (unsigned long)fs.f_type);
}

static enum err open_fault(const char *path, struct fault *fault)
{
    int reason = errno;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (slash == path ? 1 : (int)(slash - path)) : 1;
    return fault_set(
        fault, reason == ENOSPC || reason == EDQUOT ? ERR_STORAGE_FULL : ERR_IO, NULL,
        "cannot write %s: %s. The folder %.*s must exist and this user must be allowed to make files in it",
        path, strerror(reason), folder, slash ? path : ".");
}

static enum err take_lock(const char *path, int fd, struct fault *fault)
{
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK)
            return fault_set(fault, ERR_IO, NULL, "cannot lock %s.lock: %s", path, strerror(errno));
        char holder[32] = "";
        ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
        holder[n > 0 ? strspn(holder, "0123456789") : 0] = '\0';
        return fault_set(fault, ERR_CONFLICT, NULL,
                         "%s is in use by another process%s%s: stop it, or use another folder for the data",
                         path, holder[0] ? ", number " : "", holder);
    }
    /* Only to be named in that message: a lock file without it does its work. */
    char pid[32];
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, pid, (size_t)n, 0) != n)
        errno = 0;
    return ERR_OK;
}

enum err location_take(const char *path, int *out_lock, struct fault *fault)
{
    char real[PATH_MAX], lock_path[PATH_MAX];
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return open_fault(path, fault);
    (void)close(file);
    /* Where it lies behind a link, the lock is there, too: by whatever name it is reached, it has one lock.
     */
    if (!realpath(path, real))
        return open_fault(path, fault);
    if (snprintf(lock_path, sizeof lock_path, "%s.lock", real) >= (int)sizeof lock_path)
        return fault_set(fault, ERR_USAGE, NULL, "the path %.200s... is too long", path);
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0)
        return open_fault(lock_path, fault);
    enum err e = check_filesystem(path, lock, fault);
    if (!e)
        e = take_lock(path, lock, fault);
    if (e)
        (void)close(lock);
    else
        *out_lock = lock;
    return e;
}

void location_release(int lock)
{
    if (lock >= 0)
        (void)close(lock);
}
