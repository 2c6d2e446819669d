#include "common/data/idx.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "common/data/path.h"

#define IDX_UNSIGNED_BYTE 0x08
#define READ_CHUNK        (4 * MIB)
#define ZLIB_BUFFER       (256 * 1024)
/* deflate cannot shrink anything further than this, so a longer promise is a lie. */
#define DEFLATE_MAX_RATIO 1032

enum err idx_fault(const struct idx *f, uint64_t offset, struct fault *fault, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fault_set(fault, ERR_BAD_FILE, f->field, "%s, byte %llu%s: %s", path_shown(f->path),
                     (unsigned long long)offset, f->is_compressed ? " of the uncompressed content" : "",
                     text);
}

/* Exactly n bytes, else the fault of a file that ends early or is damaged. */
static enum err read_exactly(struct idx *f, void *out, size_t n, struct fault *fault)
{
    const z_off_t start = gztell(f->stream);
    size_t have = 0;
    while (have < n) {
        const size_t want = n - have < READ_CHUNK ? n - have : READ_CHUNK;
        const int got = gzread(f->stream, (uint8_t *)out + have, (unsigned)want);
        int code = Z_OK;
        if (got > 0) {
            have += (size_t)got;
            continue;
        }
        const char *why = gzerror(f->stream, &code);
        if (got < 0 && code != Z_BUF_ERROR)
            return idx_fault(f, (uint64_t)start + have, fault,
                             "unreadable or damaged (%s): copy the file again",
                             code == Z_ERRNO ? strerror(errno) : why);
        return idx_fault(
            f, (uint64_t)start + have, fault,
            "the file is truncated: it ends here, %zu bytes short of what its header promises; copy it again",
            n - have);
    }
    return ERR_OK;
}

static enum err open_stream(struct idx *f, const char *hint, uint64_t *out_file_bytes, struct fault *fault)
{
    int fd;
    const enum err err =
        path_open(f->path, f->field, hint, "; name an IDX file, plain or .gz", &fd, out_file_bytes, fault);
    if (err != ERR_OK)
        return err;
    f->stream = gzdopen(fd, "rb");
    if (!f->stream || gzbuffer(f->stream, ZLIB_BUFFER) != 0) {
        if (!f->stream)
            close(fd);
        return fault_set(fault, ERR_NO_MEMORY, f->field, "no memory to read %s", path_shown(f->path));
    }
    f->is_compressed = !gzdirect(f->stream);
    return ERR_OK;
}

static size_t big_endian(const uint8_t b[4])
{
    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

static enum err read_magic(struct idx *f, int min_dims, int max_dims, struct fault *fault)
{
    uint8_t magic[4];
    const enum err err = read_exactly(f, magic, sizeof magic, fault);
    if (err != ERR_OK)
        return err;
    if (magic[0] != 0 || magic[1] != 0)
        return idx_fault(f, 0, fault, "no IDX file: it begins with %02x %02x instead of 00 00", magic[0],
                         magic[1]);
    if (magic[2] != IDX_UNSIGNED_BYTE)
        return idx_fault(f, 2, fault, "element type 0x%02x; only unsigned bytes (0x08) are read", magic[2]);
    if (magic[3] < min_dims || magic[3] > max_dims)
        return idx_fault(
            f, 3, fault,
            "%d dimensions; this file must have %d to %d (labels have 1, images 2 or more): are images and "
            "labels exchanged?",
            magic[3], min_dims, max_dims);
    f->num_dims = magic[3];
    return ERR_OK;
}

static enum err read_dims(struct idx *f, uint64_t content_max, struct fault *fault)
{
    f->item_bytes = 1;
    f->header_bytes = 4 + 4 * (size_t)f->num_dims;
    for (int i = 0; i < f->num_dims; i++) {
        uint8_t bytes[4];
        const uint64_t offset = 4 + 4 * (uint64_t)i;
        const enum err err = read_exactly(f, bytes, sizeof bytes, fault);
        if (err != ERR_OK)
            return err;
        f->dims[i] = big_endian(bytes);
        if (f->dims[i] == 0)
            return idx_fault(f, offset, fault, "dimension %d is 0, so the file holds nothing", i);
        if (i > 0 && f->dims[i] > content_max / f->item_bytes)
            return idx_fault(
                f, offset, fault,
                "dimension %d is %zu, more than a file of this size can hold: it is truncated or no IDX file",
                i, f->dims[i]);
        if (i > 0)
            f->item_bytes *= f->dims[i];
    }
    if (f->dims[0] > (content_max - f->header_bytes) / f->item_bytes)
        return idx_fault(
            f, f->is_compressed ? 4 : content_max, fault,
            "the file is truncated: its header promises %zu items of %zu bytes, more than a file of this "
            "size can hold; copy it again",
            f->dims[0], f->item_bytes);
    return ERR_OK;
}

enum err idx_open(const char *path, const char *field, const char *hint, int min_dims, int max_dims,
                  struct idx *out, struct fault *fault)
{
    uint64_t file_bytes = 0;
    *out = (struct idx){.path = path, .field = field};
    enum err err = open_stream(out, hint, &file_bytes, fault);
    if (err == ERR_OK)
        err = read_magic(out, min_dims, max_dims, fault);
    if (err == ERR_OK)
        err = read_dims(out, out->is_compressed ? (file_bytes + 1) * DEFLATE_MAX_RATIO : file_bytes, fault);
    if (err != ERR_OK)
        idx_close(out);
    return err;
}

enum err idx_read(struct idx *f, uint8_t *out, struct fault *fault)
{
    const size_t n = f->dims[0] * f->item_bytes;
    uint8_t more;
    int code = Z_OK;
    const enum err err = read_exactly(f, out, n, fault);
    if (err != ERR_OK)
        return err;
    /* The read past the end is also what makes zlib check a compressed file's length and checksum. */
    const int got = gzread(f->stream, &more, 1);
    if (got > 0)
        return idx_fault(f, f->header_bytes + n, fault,
                         "the file goes on where its header says that it ends");
    const char *why = gzerror(f->stream, &code);
    if (got < 0 || code != Z_OK)
        return idx_fault(f, f->header_bytes + n, fault,
                         "the end of the compressed file is damaged (%s): copy it again",
                         code == Z_ERRNO ? strerror(errno) : why);
    return ERR_OK;
}

void idx_close(struct idx *f)
{
    if (f->stream)
        gzclose_r(f->stream);
    f->stream = NULL;
}
