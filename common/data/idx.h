/* IDX files of unsigned bytes (the format of MNIST): a big-endian magic 00 00 08 d, d sizes of four bytes,
 * then the bytes. Plain or compressed by gzip, told apart by content. Nothing that a header promises is
 * believed before the file's own size allows it. */
#ifndef FEDLANE_DATA_IDX_H
#define FEDLANE_DATA_IDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/limits.h"

struct gzFile_s;

struct idx {
    struct gzFile_s *stream;
    const char *path;  /* borrowed */
    const char *field; /* borrowed: the field that faults name, e.g. "data.train_images" */
    bool is_compressed;
    int num_dims;
    size_t dims[LIMIT_TENSOR_DIMS]; /* dims[0] is the number of items */
    size_t item_bytes;              /* product of the other dims, 1 when there are none */
    size_t header_bytes;
};

/* Opens the file and reads its header, which must have min_dims to max_dims dimensions, none of them 0.
 * ERR_BAD_FILE names file and byte offset (of the content, when it is compressed); `hint` ends the message
 * where there is no such file, and may be "". On error there is nothing to close. */
enum err idx_open(const char *path, const char *field, const char *hint, int min_dims, int max_dims,
                  struct idx *out, struct fault *fault) MUST_CHECK;
/* Reads all items, dims[0] * item_bytes bytes, and checks that the file ends there (and, compressed, its
 * checksum). */
enum err idx_read(struct idx *f, uint8_t *out, struct fault *fault) MUST_CHECK;
void idx_close(struct idx *f); /* also of a zeroed one */
/* ERR_BAD_FILE at a byte of the content: "FILE, byte N: ...". */
enum err idx_fault(const struct idx *f, uint64_t offset, struct fault *fault, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
