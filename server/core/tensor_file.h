/* A safetensors file in the blob store, read range by range: what an aggregation needs of it, whatever its
 * size. */
#ifndef FEDLANE_CORE_TENSOR_FILE_H
#define FEDLANE_CORE_TENSOR_FILE_H

#include "common/base/arena.h"
#include "common/tensor/safetensors.h"
#include "server/store/blobs.h"

struct tensor_file {
    struct blobs *blobs;
    int64_t blob_id;
    const char *header; /* JSON */
    size_t header_len;
    uint64_t data_offset; /* of the data section in the file */
    /* For each tensor of the table, in its order: where it lies in the data section, and its type there. */
    struct tensor_place {
        uint64_t begin;
        enum dtype dtype;
    } * places;
};

/* Reads the header; `table` and `prefix` as in safetensors_match. What was checked when it was uploaded is
 * not trusted to be so still: ERR_CORRUPT with a fault. In the arena. known: NULL, or a file that was opened
 * with the same table and prefix: one with the same header need not be parsed. */
enum err tensor_file_open(struct blobs *blobs, int64_t blob_id, const struct tensor_table *table,
                          const char *prefix, const struct tensor_file *known, struct arena *arena,
                          struct tensor_file *out, struct fault *fault) MUST_CHECK;
/* n elements of parameter tensor `index` from element `first`, widened to float32. scratch: n * 4 bytes. */
enum err tensor_file_read(const struct tensor_file *f, size_t index, int64_t first, size_t n, void *scratch,
                          float *out) MUST_CHECK;
/* n bytes of a carried tensor. */
enum err tensor_file_read_bytes(const struct tensor_file *f, size_t index, int64_t first, size_t n,
                                void *out) MUST_CHECK;

#endif
