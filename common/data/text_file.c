#include "common/data/text_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "common/base/limits.h"
#include "common/crypto/sha256.h"
#include "common/data/path.h"

#define BLOCK_BYTES MIB
#define ZLIB_BUFFER (256 * 1024)

enum err text_fault(const struct text_file *f, uint64_t offset, struct fault *fault, const char *fmt, ...)
{
    char text[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fault_set(fault, ERR_BAD_FILE, f->field, "%s, byte %llu%s: %s", path_shown(f->path),
                     (unsigned long long)offset, f->is_compressed ? " of the uncompressed content" : "",
                     text);
}

enum err text_open(const char *path, const char *field, struct text_file *out, struct fault *fault)
{
    int fd;
    uint64_t bytes;
    *out = (struct text_file){.path = path, .field = field};
    enum err err = path_open(path, field, NULL, "", &fd, &bytes, fault);
    if (err != ERR_OK)
        return err;
    out->stream = gzdopen(fd, "rb");
    if (!out->stream)
        close(fd);
    out->block = malloc(BLOCK_BYTES + 1);
    if (!out->stream || !out->block || gzbuffer(out->stream, ZLIB_BUFFER) != 0) {
        text_close(out);
        return fault_set(fault, ERR_NO_MEMORY, field, "no memory to read %s", path_shown(path));
    }
    out->is_compressed = !gzdirect(out->stream);
    err = text_more(out, 0, fault);
    if (err != ERR_OK)
        text_close(out);
    else if (out->end >= 3 && memcmp(out->block, "\xef\xbb\xbf", 3) == 0)
        out->at = 3;
    return err;
}

enum err text_more(struct text_file *f, size_t keep, struct fault *fault)
{
    int code = Z_OK;
    memmove(f->block, f->block + keep, f->end - keep);
    f->offset += keep;
    f->end -= keep;
    f->at -= keep;
    if (f->end == BLOCK_BYTES)
        return text_fault(f, f->offset, fault,
                          "a piece of more than %zu KiB without an end: is a quotation mark missing?",
                          BLOCK_BYTES / KIB);
    const int got = gzread(f->stream, f->block + f->end, (unsigned)(BLOCK_BYTES - f->end));
    const char *why = gzerror(f->stream, &code);
    if (got < 0 || (got == 0 && code != Z_OK))
        return text_fault(f, f->offset + f->end, fault, "unreadable or damaged (%s): copy the file again",
                          code == Z_ERRNO ? strerror(errno) : why);
    const size_t before = f->end;
    f->end += (size_t)got;
    f->block[f->end] = '\0';
    f->is_at_end = got == 0;
    return f->sum ? sha256_update(f->sum, f->block + before, (size_t)got) : ERR_OK;
}

enum err text_sum(struct text_file *f, struct sha256 *sum)
{
    f->sum = sum;
    return sha256_update(sum, f->block, f->end);
}

enum err text_look(struct text_file *f, size_t *keep, bool *out_is_there, struct fault *fault)
{
    enum err err = ERR_OK;
    while (err == ERR_OK && f->at == f->end && !f->is_at_end) {
        err = text_more(f, *keep, fault);
        *keep = 0;
    }
    *out_is_there = f->at < f->end;
    return err;
}

void text_close(struct text_file *f)
{
    if (f->stream)
        gzclose_r(f->stream);
    free(f->block);
    f->stream = NULL;
    f->block = NULL;
}
