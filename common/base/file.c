#include "common/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE ((size_t)65536)

static enum err read_all(int fd, const char *path, struct buf *out, struct fault *fault)
{
    for (;;) {
        /* One byte more than may be kept is asked for, to notice a file that is too long. */
        size_t room = out->max - out->len, step = room < READ_SIZE ? room : READ_SIZE;
        char extra;
        enum err e = buf_reserve(out, step);
        if (e)
            return fault_set(fault, e, NULL, "%s: not enough memory to read it", path);
        ssize_t n = step ? read(fd, out->data + out->len, step) : read(fd, &extra, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fault_set(fault, ERR_IO, NULL, "%s: cannot read: %s", path, strerror(errno));
        if (n > 0 && step == 0)
            return fault_set(fault, ERR_PAYLOAD_TOO_LARGE, NULL, "%s: larger than %zu bytes", path, out->max);
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (n == 0)
            return ERR_OK;
    }
}

enum err file_read(const char *path, struct buf *out, struct fault *fault)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, NULL, "%s: cannot open: %s", path,
                         strerror(errno));
    size_t len_before = out->len;
    enum err e = read_all(fd, path, out, fault);
    if (e && out->data) {
        out->len = len_before;
        out->data[len_before] = '\0';
    }
    (void)close(fd);
    return e;
}
