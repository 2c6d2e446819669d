#include "cli/data/part_dir.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/out_file.h"
#include "common/base/interrupt.h"

static enum err dir_fault(struct fault *fault, const char *path, const char *what)
{
    return fault_set(fault, errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_BAD_FILE, NULL,
                     "%.300s: %s: %s", path, what, strerror(errno));
}

/* NULL may also mean a folder that cannot be read; whoever makes it anew hears why. */
static bool has_files(const char *path)
{
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !found; entry = readdir(dir))
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        (void)closedir(dir);
    return found;
}

static enum err check_free(const char *path, struct fault *fault)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? ERR_OK : dir_fault(fault, path, "cannot be made");
    if (!S_ISDIR(st.st_mode))
        return fault_set(fault, ERR_BAD_FILE, NULL,
                         "%.300s: is there already, and is no folder: give another name", path);
    if (has_files(path))
        return fault_set(fault, ERR_BAD_FILE, NULL,
                         "%.300s: is there already, and not empty: give another name or remove it", path);
    return ERR_OK;
}

static enum err make_part(struct part_dir *d, struct fault *fault)
{
    enum err e = check_free(d->path, fault);
    if (e)
        return e;
    out_file_folders_above(d->part);
    if (mkdir(d->part, 0777) == 0)
        return ERR_OK;
    if (errno == EEXIST)
        return fault_set(fault, ERR_BAD_FILE, NULL,
                         "%.300s: is there already: another command is writing it, or one was killed; in "
                         "that case remove it",
                         d->part);
    return dir_fault(fault, d->part, "cannot be made");
}

enum err part_dir_open(struct part_dir *d, const char *path, struct fault *fault)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    *d = (struct part_dir){.path = strndup(path, len)};
    if (!d->path || asprintf(&d->part, "%s.part", d->path) < 0) {
        d->part = NULL;
        part_dir_release(d);
        return fault_set(fault, ERR_NO_MEMORY, NULL, "%.300s: not enough memory", path);
    }
    enum err e = make_part(d, fault);
    if (!e) {
        interrupt_begin();
        return ERR_OK;
    }
    free(d->part); /* it is not ours */
    d->part = NULL;
    part_dir_release(d);
    return e;
}

enum err part_dir_make(const struct part_dir *d, const char *name, struct fault *fault)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", d->part, name) < 0)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "%.300s: not enough memory", d->part);
    enum err e = mkdir(path, 0777) == 0 ? ERR_OK : dir_fault(fault, path, "cannot be made");
    free(path);
    return e;
}

enum err part_dir_commit(struct part_dir *d, struct fault *fault)
{
    if (interrupt_came())
        return fault_set(fault, ERR_CANCELLED, NULL, "interrupted: %.300s is not made", d->path);
    /* One call for all the files: thousands of fsyncs would take longer than writing them. */
    int fd = open(d->part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_on_disk = fd >= 0 && syncfs(fd) == 0;
    enum err e = is_on_disk ? ERR_OK : dir_fault(fault, d->part, "cannot be written to the disk");
    if (fd >= 0)
        (void)close(fd);
    if (!e && rename(d->part, d->path) != 0)
        e = dir_fault(fault, d->path, "cannot be made");
    if (e)
        return e;
    free(d->part);
    d->part = NULL;
    return ERR_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

void part_dir_release(struct part_dir *d)
{
    if (d->part)
        (void)nftw(d->part, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(d->part);
    free(d->path);
    *d = PART_DIR_INIT;
    interrupt_end();
}
