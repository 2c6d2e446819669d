#include "worker/state_dir.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/crypto/random.h"
#include "common/base/atomic_file.h"

static enum err io_fault(struct fault *fault, const char *path, const char *what)
{
    return fault_set(fault, ERR_IO, "state-dir", "%s: %s: %s", path, what, strerror(errno));
}

static char *path_in(const char *dir, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static enum err make_dir(const char *path, struct fault *fault)
{
    struct stat st;
    struct fault not_synced = FAULT_NONE;
    if (mkdir(path, S_IRWXU) == 0) {
        if (name_sync(path, &not_synced) != ERR_OK)
            log_warning("worker", "a power cut may take the new state directory away: %s", not_synced.detail);
    } else if (errno != EEXIST) {
        return io_fault(fault, path, "cannot make the state directory");
    }
    if (stat(path, &st) != 0)
        return io_fault(fault, path, "cannot look at the state directory");
    if (!S_ISDIR(st.st_mode))
        return fault_set(fault, ERR_IO, "state-dir", "%s: is no directory", path);
    /* Others must not read the token, whoever made the directory. */
    if ((st.st_mode & 077) && chmod(path, S_IRWXU) != 0)
        return io_fault(fault, path, "is open to others and its mode cannot be changed to 0700");
    return ERR_OK;
}

static enum err lock(struct state_dir *s, struct fault *fault)
{
    char *path = path_in(s->path, "lock");
    enum err e = ERR_OK;
    if (!path)
        return fault_set(fault, ERR_NO_MEMORY, "state-dir", "%s: not enough memory", s->path);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (s->lock_fd < 0)
        e = io_fault(fault, path, "cannot open");
    else if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
        e = errno != EWOULDBLOCK ? io_fault(fault, path, "cannot lock")
                                 : fault_set(fault, ERR_DEVICE_BUSY, "state-dir",
                                             "%s: another worker process uses this state directory "
                                             "(device_busy); stop that one, or give "
                                             "this one a directory of its own with --state-dir",
                                             s->path);
    free(path);
    return e;
}

/* The file's first line; ERR_NOT_FOUND where there is no file. */
static enum err read_instance_id(const char *path, char out[ID_SIZE], struct fault *fault)
{
    struct buf text = BUF_INIT(4 * KIB);
    enum err e = file_read(path, &text, fault);
    if (!e) {
        size_t len = text.data ? strcspn(text.data, "\n") : 0;
        if (len == ID_SIZE - 1) {
            memcpy(out, text.data, len);
            out[len] = '\0';
        }
        if (len != ID_SIZE - 1 || !id_is_valid(out))
            e = fault_set(fault, ERR_BAD_FILE, "state-dir",
                          "%s: holds no instance id (32 hex digits); remove it to make this worker a new one",
                          path);
    }
    buf_release(&text);
    return e;
}

static enum err make_instance_id(const char *path, char out[ID_SIZE], struct fault *fault)
{
    struct entropy entropy = entropy_system();
    struct clock clock = clock_system();
    enum err e = id_new(&entropy, clock_now_ms(&clock), out);
    if (e)
        return fault_set(fault, e, "state-dir", "%s: no random bytes for an instance id", path);
    const struct file_part parts[] = {{out, ID_SIZE - 1}, {"\n", 1}};
    return atomic_file_write(path, parts, 2, true, fault);
}

static enum err take_instance_id(struct state_dir *s, struct fault *fault)
{
    char *path = path_in(s->path, "instance_id");
    if (!path)
        return fault_set(fault, ERR_NO_MEMORY, "state-dir", "%s: not enough memory", s->path);
    enum err e = read_instance_id(path, s->instance_id, fault);
    if (e == ERR_NOT_FOUND)
        e = make_instance_id(path, s->instance_id, fault);
    free(path);
    return e;
}

enum err state_dir_open(const char *path, struct state_dir *out, struct fault *fault)
{
    *out = (struct state_dir){.lock_fd = -1, .path = strdup(path)};
    enum err e =
        out->path ? make_dir(path, fault) : fault_set(fault, ERR_NO_MEMORY, "state-dir", "not enough memory");
    if (!e)
        e = lock(out, fault);
    if (!e)
        e = take_instance_id(out, fault);
    if (e)
        state_dir_close(out);
    return e;
}

void state_dir_close(struct state_dir *s)
{
    if (s->lock_fd >= 0)
        (void)close(s->lock_fd);
    free(s->path);
    *s = (struct state_dir){.lock_fd = -1};
}

enum err state_dir_new_token(const struct state_dir *s, char out_token[TOKEN_SIZE],
                             char out_sha256[SHA256_HEX_SIZE], struct fault *fault)
{
    char *path = path_in(s->path, "token");
    enum err e = path ? token_new(out_token, out_sha256) : ERR_NO_MEMORY;
    if (e)
        e = fault_set(fault, e, "state-dir", "%s: cannot make a token", s->path);
    else {
        const struct file_part parts[] = {{out_token, strlen(out_token)}, {"\n", 1}};
        e = atomic_file_write(path, parts, 2, true, fault);
    }
    free(path);
    return e;
}
