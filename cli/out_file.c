#include "cli/out_file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/str.h"

/* What a signal's handler removes: one program writes one file at a time. Of its own, as the handler may run
 * while another thread frees the file's. */
static char unfinished[PATH_MAX];
static volatile sig_atomic_t is_unfinished;

static void on_signal(int number)
{
    if (is_unfinished)
        (void)unlink(unfinished);
    /* SA_RESETHAND: this time it ends the process. */
    (void)raise(number);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, former;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &former) == 0 && former.sa_handler == SIG_DFL)
            (void)sigaction(numbers[i], &action, NULL);
    /* A limit on the size of files is then an error like any other. */
    (void)signal(SIGXFSZ, SIG_IGN);
}

static enum err io_fault(struct fault *fault, const char *path, const char *what)
{
    return fault_set(fault, errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO, NULL,
                     "%s: %s: %s", path, what, strerror(errno));
}

enum err out_file_open(struct out_file *f, const char *path, struct fault *fault)
{
    *f = OUT_FILE_INIT;
    f->path = strdup(path);
    if (!f->path || asprintf(&f->part, "%s.part", path) < 0) {
        f->part = NULL;
        out_file_release(f);
        return fault_set(fault, ERR_NO_MEMORY, NULL, "%s: not enough memory", path);
    }
    watch_signals();
    is_unfinished = str_copy(unfinished, sizeof unfinished, f->part) == ERR_OK;
    f->fd = open(f->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd >= 0)
        return ERR_OK;
    enum err e = io_fault(fault, f->part, "cannot be made");
    is_unfinished = false;
    out_file_release(f);
    return e;
}

enum err out_file_write(struct out_file *f, const void *bytes, size_t n, struct fault *fault)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t written = write(f->fd, at, n);
        if (written < 0 && errno != EINTR)
            return io_fault(fault, f->part, "cannot be written");
        if (written > 0) {
            at += written;
            n -= (size_t)written;
        }
    }
    return ERR_OK;
}

enum err out_file_commit(struct out_file *f, struct fault *fault)
{
    /* Pipes and devices cannot be synced. */
    if (fsync(f->fd) != 0 && errno != EINVAL && errno != EROFS)
        return io_fault(fault, f->part, "cannot be written to the disk");
    int closed = close(f->fd);
    f->fd = -1;
    if (closed != 0)
        return io_fault(fault, f->part, "cannot be written");
    if (rename(f->part, f->path) != 0)
        return io_fault(fault, f->path, "cannot be replaced");
    is_unfinished = false;
    free(f->part);
    f->part = NULL;
    return ERR_OK;
}

void out_file_release(struct out_file *f)
{
    if (f->fd >= 0)
        (void)close(f->fd);
    if (f->part && is_unfinished)
        (void)unlink(f->part);
    is_unfinished = false;
    free(f->part);
    free(f->path);
    *f = OUT_FILE_INIT;
}

enum err out_file_put(const char *path, const void *bytes, size_t n, struct fault *fault)
{
    struct out_file f;
    enum err e = out_file_open(&f, path, fault);
    if (e)
        return e;
    e = out_file_write(&f, bytes, n, fault);
    if (!e)
        e = out_file_commit(&f, fault);
    out_file_release(&f);
    return e;
}

void out_file_folders_above(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        (void)mkdir(path, 0777);
        *c = '/';
    }
}
