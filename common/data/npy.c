#include "common/data/npy.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/data/npy_impl.h"
#include "common/data/path.h"

#define HEADER_TEXT_MAX ((size_t)64 * 1024)
#define CHUNK_ITEMS     8192

enum err npy_fault(const struct npy *f, uint64_t offset, struct fault *fault, const char *fmt, ...)
{
    char text[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fault_set(fault, ERR_BAD_FILE, f->field, "%s%s%s, byte %llu: %s", path_shown(f->path),
                     f->member[0] ? ", member " : "", f->member, (unsigned long long)offset, text);
}

/* -- bytes ----------------------------------------------------------------------------------------------- */

static enum err read_exactly(struct npy *f, void *out, size_t n, struct fault *fault)
{
    size_t have = 0;
    while (have < n) {
        const int64_t got = f->stream.read(f->stream.handle, (char *)out + have, n - have);
        if (got < 0)
            return npy_fault(f, f->offset, fault, "unreadable or damaged (%s): copy the file again",
                             f->stream.why(f->stream.handle));
        if (got == 0)
            return npy_fault(
                f, f->offset, fault,
                "the file is truncated: it ends here, %zu bytes or more too early; copy it again", n - have);
        have += (size_t)got;
        f->offset += (uint64_t)got;
    }
    return ERR_OK;
}

/* The read past the end is also what makes libzip check a member's checksum. */
static enum err must_end(struct npy *f, struct fault *fault)
{
    char more;
    const int64_t got = f->stream.read(f->stream.handle, &more, 1);
    if (got > 0)
        return npy_fault(f, f->offset, fault, "the file goes on where its header says that it ends");
    if (got < 0)
        return npy_fault(f, f->offset, fault, "the end of the file is damaged (%s): copy it again",
                         f->stream.why(f->stream.handle));
    return ERR_OK;
}

/* -- opening --------------------------------------------------------------------------------------------- */

static enum err read_length(struct npy *f, size_t *out, struct fault *fault)
{
    uint8_t b[8];
    enum err err = read_exactly(f, b, sizeof b, fault);
    if (err != ERR_OK)
        return err;
    if (memcmp(b, "\x93NUMPY", 6) != 0)
        return npy_fault(f, 0, fault, "no NumPy file: it does not begin with \\x93NUMPY");
    const int version = b[6];
    if (version < 1 || version > 3)
        return npy_fault(f, 6, fault, "format version %d.%d; 1.0, 2.0 and 3.0 are read", version, b[7]);
    memset(b, 0, sizeof b);
    err = read_exactly(f, b, version == 1 ? 2 : 4, fault);
    *out = (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
    if (err == ERR_OK && *out > HEADER_TEXT_MAX)
        return npy_fault(f, 8, fault, "a header of %zu bytes: no file that NumPy wrote", *out);
    return err;
}

static enum err read_header(struct npy *f, struct fault *fault)
{
    size_t len = 0;
    enum err err = read_length(f, &len, fault);
    if (err != ERR_OK)
        return err;
    const uint64_t start = f->offset;
    char *text = malloc(len + 1);
    if (!text)
        return fault_set(fault, ERR_NO_MEMORY, f->field, "no memory to read %s", path_shown(f->path));
    err = read_exactly(f, text, len, fault);
    text[len] = '\0';
    if (err == ERR_OK && strlen(text) != len)
        err = npy_fault(f, start + strlen(text), fault, "a zero byte in the header");
    if (err == ERR_OK)
        err = npy_parse_header(text, start, f, fault);
    f->items_at = f->offset;
    free(text);
    const uint64_t rest = f->stream.size > f->offset ? f->stream.size - f->offset : 0;
    if (err == ERR_OK && f->num_items > rest / npy_type_bytes(f->type))
        err = npy_fault(f, f->stream.size, fault,
                        "the file is truncated: it ends here, but its header promises %zu elements of %zu "
                        "bytes from byte %llu on; copy it again",
                        f->num_items, npy_type_bytes(f->type), (unsigned long long)f->offset);
    return err;
}

enum err npy_open_stream(const struct npy_stream *stream, const char *path, const char *member,
                         const char *field, struct npy *out, struct fault *fault)
{
    *out = (struct npy){.stream = *stream, .path = path, .member = member, .field = field};
    const enum err err = read_header(out, fault);
    if (err != ERR_OK)
        npy_close(out);
    return err;
}

static int64_t fd_read(void *handle, void *out, size_t n)
{
    const int fd = (int)(intptr_t)handle;
    int64_t got;
    do
        got = read(fd, out, n);
    while (got < 0 && errno == EINTR);
    return got;
}

static const char *fd_why(void *handle)
{
    (void)handle;
    return strerror(errno);
}

static void fd_close(void *handle)
{
    close((int)(intptr_t)handle);
}

enum err npy_open(const char *path, const char *field, struct npy *out, struct fault *fault)
{
    int fd;
    uint64_t bytes;
    *out = (struct npy){0};
    const enum err err = path_open(path, field, NULL, "", &fd, &bytes, fault);
    if (err != ERR_OK)
        return err;
    const struct npy_stream stream = {(void *)(intptr_t)fd, fd_read, fd_why, fd_close, bytes};
    /* cppcheck-suppress resourceLeak ; fd_close closes it */
    return npy_open_stream(&stream, path, "", field, out, fault);
}

void npy_close(struct npy *f)
{
    if (f->stream.close)
        f->stream.close(f->stream.handle);
    f->stream = (struct npy_stream){0};
}

/* -- elements -------------------------------------------------------------------------------------------- */

/* Walks the elements in the file's order; `to` is where the present one goes in C order. */
struct walk {
    const struct npy *f;
    size_t index[LIMIT_TENSOR_DIMS], stride[LIMIT_TENSOR_DIMS];
    size_t to;
};

static void walk_start(struct walk *w, const struct npy *f)
{
    size_t stride = 1;
    *w = (struct walk){.f = f};
    for (int d = f->num_dims - 1; d >= 0; d--) {
        w->stride[d] = stride;
        stride *= f->dims[d];
    }
}

static void walk_on(struct walk *w)
{
    if (!w->f->is_fortran) {
        w->to++;
        return;
    }
    for (int d = 0; d < w->f->num_dims; d++) {
        w->to += w->stride[d];
        if (++w->index[d] < w->f->dims[d])
            return;
        w->to -= w->stride[d] * w->f->dims[d];
        w->index[d] = 0;
    }
}

uint64_t npy_item_offset(const struct npy *f, size_t item)
{
    return f->items_at + (uint64_t)item * npy_type_bytes(f->type);
}

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* One little-endian element, whatever this machine's own order and the alignment. */
static uint64_t bits_of(const uint8_t *p, size_t n)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++)
        bits |= (uint64_t)p[i] << 8 * i;
    return bits;
}

static int64_t int_of(enum npy_type type, uint64_t bits)
{
    switch (type) {
    case NPY_I8:
        return (int8_t)(uint8_t)bits;
    case NPY_I16:
        return (int16_t)(uint16_t)bits;
    case NPY_I32:
        return (int32_t)(uint32_t)bits;
    case NPY_I64:
        return (int64_t)bits;
    default:
        return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    }
}

static double number_of(enum npy_type type, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float f;
    double d;
    switch (type) {
    case NPY_F16:
        return half_value((uint16_t)bits);
    case NPY_F32:
        memcpy(&f, &low, sizeof f);
        return (double)f;
    case NPY_F64:
        memcpy(&d, &bits, sizeof d);
        return d;
    case NPY_U64:
        return (double)bits;
    default:
        return (double)int_of(type, bits);
    }
}

static enum err not_finite(const struct npy *f, const struct walk *w, uint64_t offset, double value,
                           struct fault *fault)
{
    const size_t row = f->num_dims > 0 ? w->to / w->stride[0] : 0;
    const size_t rest = f->num_dims > 0 ? w->to % w->stride[0] : 0;
    return npy_fault(f, offset, fault,
                     "%g at feature %zu of example %zu; give finite numbers that fit a float", value, rest,
                     row);
}

enum element { ELEMENT_FLOAT, ELEMENT_BYTE, ELEMENT_INT };

/* Writes the items of one chunk where they go. */
static enum err place(struct npy *f, const uint8_t *chunk, size_t n, enum element element, struct walk *w,
                      void *out, struct fault *fault)
{
    const size_t bytes = npy_type_bytes(f->type);
    for (size_t i = 0; i < n; i++, walk_on(w)) {
        const uint64_t bits = bits_of(chunk + i * bytes, bytes);
        if (element == ELEMENT_BYTE) {
            ((uint8_t *)out)[w->to] = f->type == NPY_BOOL ? bits != 0 : (uint8_t)bits;
        } else if (element == ELEMENT_INT) {
            ((int64_t *)out)[w->to] = int_of(f->type, bits);
        } else {
            const double value = number_of(f->type, bits);
            const float rounded = fabs(value) <= 3.5e38 ? (float)value : (float)NAN;
            if (!isfinite(rounded))
                return not_finite(f, w, f->offset - (n - i) * bytes, value, fault);
            ((float *)out)[w->to] = rounded;
        }
    }
    return ERR_OK;
}

static enum err read_items(struct npy *f, enum element element, void *out, struct fault *fault)
{
    const size_t bytes = npy_type_bytes(f->type);
    uint8_t *chunk = malloc(CHUNK_ITEMS * bytes);
    struct walk walk;
    enum err err = ERR_OK;
    if (!chunk)
        return fault_set(fault, ERR_NO_MEMORY, f->field, "no memory to read %s", path_shown(f->path));
    walk_start(&walk, f);
    for (size_t done = 0; err == ERR_OK && done < f->num_items;) {
        const size_t n = f->num_items - done < CHUNK_ITEMS ? f->num_items - done : CHUNK_ITEMS;
        err = read_exactly(f, chunk, n * bytes, fault);
        if (err == ERR_OK)
            err = place(f, chunk, n, element, &walk, out, fault);
        done += n;
    }
    free(chunk);
    return err != ERR_OK ? err : must_end(f, fault);
}

enum err npy_read_floats(struct npy *f, float *out, struct fault *fault)
{
    return read_items(f, ELEMENT_FLOAT, out, fault);
}

enum err npy_read_bytes(struct npy *f, uint8_t *out, struct fault *fault)
{
    if (f->type != NPY_U8 && f->type != NPY_BOOL)
        bug("bytes of type %s", npy_type_name(f->type));
    return read_items(f, ELEMENT_BYTE, out, fault);
}

enum err npy_read_ints(struct npy *f, int64_t *out, struct fault *fault)
{
    if (npy_type_is_float(f->type))
        bug("whole numbers of type %s", npy_type_name(f->type));
    return read_items(f, ELEMENT_INT, out, fault);
}
