/* NumPy's array files (.npy, formats 1.0, 2.0 and 3.0; .npz has several in a ZIP archive, see npz.h): a
 * header that names type, order and shape, then the elements. Numbers of little-endian types are read;
 * objects, which are Python pickles, never. Nothing that a header promises is believed before the file's size
 * allows it. */
#ifndef FEDLANE_DATA_NPY_H
#define FEDLANE_DATA_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/limits.h"

enum npy_type {
    NPY_BOOL,
    NPY_U8,
    NPY_U16,
    NPY_U32,
    NPY_U64,
    NPY_I8,
    NPY_I16,
    NPY_I32,
    NPY_I64,
    NPY_F16,
    NPY_F32,
    NPY_F64,
    NPY_TYPE_COUNT
};

const char *npy_type_name(enum npy_type type); /* as in a header: "<f4", "|u1" */
size_t npy_type_bytes(enum npy_type type);     /* of one element */
bool npy_type_is_float(enum npy_type type);

/* Where the bytes come from. read: as read(2), but of up to n bytes; why: the last error as a text. */
struct npy_stream {
    void *handle;
    int64_t (*read)(void *handle, void *out, size_t n);
    const char *(*why)(void *handle);
    void (*close)(void *handle);
    uint64_t size; /* of the whole */
};

struct npy {
    struct npy_stream stream;
    const char *path;   /* borrowed */
    const char *member; /* borrowed: of the archive, such as "x"; "" for a file of its own */
    const char *field;  /* borrowed: the field that faults name, e.g. "data.x" */
    uint64_t offset;    /* bytes read */
    uint64_t items_at;  /* where the elements begin */
    enum npy_type type;
    bool is_fortran; /* the first index runs fastest */
    int num_dims;    /* 0 for a single number */
    size_t dims[LIMIT_TENSOR_DIMS];
    size_t num_items; /* product of the dims */
};

/* Opens a .npy file and reads its header. ERR_BAD_FILE names file and byte offset. On error there is nothing
 * to close. */
enum err npy_open(const char *path, const char *field, struct npy *out, struct fault *fault) MUST_CHECK;
/* The same for a stream, which it takes over (also on error); see npz.h. */
enum err npy_open_stream(const struct npy_stream *stream, const char *path, const char *member,
                         const char *field, struct npy *out, struct fault *fault) MUST_CHECK;
void npy_close(struct npy *f); /* also of a zeroed one */

/* All elements, num_items of them, in C order whatever the file's own order, and the check that the file ends
 * there. */
/* Any type, rounded to float; NaN, infinities and what is too large for a float: ERR_BAD_FILE with the index.
 */
enum err npy_read_floats(struct npy *f, float *out, struct fault *fault) MUST_CHECK;
/* NPY_U8 and NPY_BOOL (0 or 1). */
enum err npy_read_bytes(struct npy *f, uint8_t *out, struct fault *fault) MUST_CHECK;
/* The integer types and NPY_BOOL; beyond INT64_MAX: INT64_MAX. */
enum err npy_read_ints(struct npy *f, int64_t *out, struct fault *fault) MUST_CHECK;

/* "FILE[member], byte N: ..." */
enum err npy_fault(const struct npy *f, uint64_t offset, struct fault *fault, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Where in the file an element is, counted in the file's order. */
uint64_t npy_item_offset(const struct npy *f, size_t item);

/* The header of an array in C order, as NumPy writes it: a multiple of 64 bytes. */
#define NPY_HEADER_MAX 320
size_t npy_header(enum npy_type type, int num_dims, const size_t *dims, char out[NPY_HEADER_MAX]);

#endif
