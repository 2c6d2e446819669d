/* Writing a checked safetensors file anew in the canonical form, from blob to blob, a piece at a time. */
#ifndef FEDLANE_API_CANONICAL_H
#define FEDLANE_API_CANONICAL_H

#include "common/crypto/sha256.h"
#include "common/tensor/safetensors.h"
#include "server/store/blobs.h"

struct canonical;

/* `header` and `table` are borrowed until canonical_free(); the header has been matched against the table. */
enum err canonical_new(struct blobs *blobs, int64_t blob_id, const struct safetensors_header *header,
                       const struct tensor_table *table, struct canonical **out) MUST_CHECK;
/* A few MiB of work. */
enum err canonical_step(struct canonical *c, bool *out_is_done) MUST_CHECK;
/* After the last step: the new blob is the caller's. */
enum err canonical_end(struct canonical *c, int64_t *out_blob_id, int64_t *out_size_bytes,
                       char out_weights_sha256[SHA256_HEX_SIZE],
                       char out_aggregate_sha256[SHA256_HEX_SIZE]) MUST_CHECK;
void canonical_free(struct canonical *c); /* drops a blob that was not ended; NULL is fine */

#endif
