#include "cli/plot/gnuplot.h"
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum err gnuplot_quote(struct buf *script, const char *text)
{
    enum err e = buf_puts(script, "'");
    for (; *text && !e; text++) {
        bool is_control = (unsigned char)*text < 0x20 || *text == 0x7f;
        e = *text == '\'' ? buf_puts(script, "''") : buf_append(script, is_control ? " " : text, 1);
    }
    return e ? e : buf_puts(script, "'");
}

bool gnuplot_is_there(void)
{
    const char *path = getenv("PATH");
    char file[1024];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        (void)snprintf(file, sizeof file, "%.*s/gnuplot", (int)n, path);
        if (access(file, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* A file in memory: a pipe would block on a script that is larger than it. */
static int file_with(const char *name, const struct buf *content)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    size_t done = 0, size = content ? content->len : 0;
    while (fd >= 0 && done < size) {
        ssize_t n = write(fd, content->data + done, size - done);
        if (n < 0 && errno != EINTR) {
            (void)close(fd);
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

static int spawn(int in_fd, int out_fd, int err_fd, pid_t *out_pid)
{
    char name[] = "gnuplot", *const argv[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0)
        return rc;
    rc = posix_spawn_file_actions_adddup2(&actions, in_fd, STDIN_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, err_fd, STDERR_FILENO);
    if (rc == 0)
        rc = posix_spawnp(out_pid, name, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static int wait_for(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* The start of what it complained about, on one line. */
static void read_complaint(int fd, char *out, size_t size)
{
    ssize_t n = pread(fd, out, size - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < 0x20)
            *c = ' ';
}

enum err gnuplot_run(const struct buf *script, int out_fd, struct fault *fault)
{
    char complaint[300];
    int in_fd = file_with("script", script), err_fd = file_with("complaints", NULL);
    enum err e = ERR_OK;
    pid_t pid = -1;
    int rc = in_fd >= 0 && err_fd >= 0 ? spawn(in_fd, out_fd, err_fd, &pid) : errno;
    if (rc == ENOENT)
        e = fault_set(fault, ERR_IO, NULL, "gnuplot is not installed, and draws the plots: " GNUPLOT_INSTALL);
    else if (rc != 0)
        e = fault_set(fault, ERR_IO, NULL, "gnuplot cannot be started: %s", strerror(rc));
    if (!e) {
        int status = wait_for(pid);
        read_complaint(err_fd, complaint, sizeof complaint);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            e = fault_set(fault, ERR_IO, NULL, "gnuplot failed: %s", complaint);
    }
    if (in_fd >= 0)
        (void)close(in_fd);
    if (err_fd >= 0)
        (void)close(err_fd);
    return e;
}
