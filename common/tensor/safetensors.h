/* safetensors, the only weight format on disk and on the wire: 8 bytes little-endian header length, a JSON
 * header, the data. Reading is strict (docs/algorithms.md has the list); what we write is canonical: tensors
 * in model order, no padding, no gaps, metadata keys sorted, compact JSON, so equal weights are equal bytes.
 */
#ifndef FEDLANE_TENSOR_SAFETENSORS_H
#define FEDLANE_TENSOR_SAFETENSORS_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/tensor/tensor.h"

struct safetensors_entry {
    const char *name;
    enum dtype dtype;
    int num_dims;
    int64_t shape[LIMIT_TENSOR_DIMS];
    int64_t num_elements;
    uint64_t begin, end; /* in the data section */
};

struct safetensors_pair {
    const char *key, *value;
};

/* A parsed header; everything in it lies in the arena it was parsed with. Entries are sorted by begin. */
struct safetensors_header {
    struct safetensors_entry *entries;
    size_t num_entries;
    struct safetensors_pair *metadata; /* of "__metadata__" */
    size_t num_metadata;
    uint64_t header_bytes; /* 8 + length of the JSON */
    uint64_t data_bytes;   /* end of the last tensor: the file must have exactly header_bytes + data_bytes */
};

/* Parses the JSON of a header (without the 8 length bytes). Refuses with ERR_INVALID_SAFETENSORS, saying what
 * and where: no JSON object, duplicate names, unknown dtype, shape product that overflows or differs from end
 * - begin, offsets that overlap, leave a gap or do not start at 0, metadata that is no string. */
enum err safetensors_header_parse(const char *json, size_t len, struct arena *arena,
                                  struct safetensors_header *out, struct fault *fault) MUST_CHECK;
const char *safetensors_metadata(const struct safetensors_header *h, const char *key); /* NULL if none */
const struct safetensors_entry *safetensors_find(const struct safetensors_header *h, const char *name);

/* The most bytes of JSON that a file for this table may have: 64 KiB for metadata and 2 KiB for each tensor,
 * and never more than LIMIT_SAFETENSORS_HEADER. A sender cannot make us hold a large document for a small
 * model. */
uint64_t safetensors_header_limit(const struct tensor_table *table);

/* Whether a file with this header can stand for `table`: the same names (any order), shapes, parameters in
 * F32, F16 or BF16, carried tensors in their own type. `prefix` ("grad." for gradients, "" for weights)
 * stands before the parameters' names; with a prefix carried tensors are not expected. ERR_NAME_MISMATCH,
 * ERR_SHAPE_MISMATCH, ERR_DTYPE_MISMATCH, each naming the tensor and what was expected. */
enum err safetensors_match(const struct safetensors_header *h, const struct tensor_table *table,
                           const char *prefix, struct fault *fault) MUST_CHECK;

/* One whole file in memory -> parameters in model order (F16, BF16 widened) and carried bytes (out_carried
 * may be NULL where the table carries nothing). The checks of header_parse and match, exact size,
 * ERR_NON_FINITE naming tensor and index. `header` may be NULL; otherwise filled in the arena. */
enum err safetensors_decode(const void *file, size_t size, const struct tensor_table *table,
                            const char *prefix, struct arena *arena, float *out_params, uint8_t *out_carried,
                            struct safetensors_header *header, struct fault *fault) MUST_CHECK;

/* The same of weights (prefix "") that nothing is carried beside, in the file's own memory, which is as
 * aligned as malloc's: the parameters of a file that lists them in model order as F32, as safetensors_encode
 * does, move to its front, and *out_is_done says so. Any other file stays as it is: it wants
 * safetensors_decode. After an error the file is as it was, or half moved. */
enum err safetensors_decode_in_place(void *file, size_t size, const struct tensor_table *table,
                                     struct arena *arena, bool *out_is_done, struct fault *fault) MUST_CHECK;

/* Canonical file of a model. metadata need not be sorted; keys must differ. carried may be NULL where the
 * table carries nothing. prefix as above. */
enum err safetensors_encode(const struct tensor_table *table, const char *prefix, const float *params,
                            const uint8_t *carried, const struct safetensors_pair *metadata,
                            size_t num_metadata, struct buf *out) MUST_CHECK;
/* Only the first header_bytes of that file; the data follow in model order (parameters and carried tensors as
 * the table lists them). */
enum err safetensors_encode_header(const struct tensor_table *table, const char *prefix,
                                   const struct safetensors_pair *metadata, size_t num_metadata,
                                   struct buf *out) MUST_CHECK;

/* Checks a file as it streams by, in pieces of any size, without holding its data: length field, header (at
 * most safetensors_header_limit; decode has the same limit), match against the table as soon as the header is
 * there, every parameter finite, exact size. */
struct safetensors_stream;
enum err safetensors_stream_new(const struct tensor_table *table, const char *prefix, struct arena *arena,
                                struct safetensors_stream **out) MUST_CHECK;
/* After the first error every further call returns it again. */
enum err safetensors_stream_feed(struct safetensors_stream *s, const void *bytes, size_t n,
                                 struct fault *fault) MUST_CHECK;
enum err safetensors_stream_end(struct safetensors_stream *s, struct fault *fault) MUST_CHECK;
/* NULL until the header was complete and right. */
const struct safetensors_header *safetensors_stream_header(const struct safetensors_stream *s);
void safetensors_stream_free(struct safetensors_stream *s);

#endif
