/* Writes a model's canonical file into the blob store as its values come, tensor by tensor in model order,
 * and hashes it on the way. */
#ifndef FEDLANE_CORE_MODEL_WRITER_H
#define FEDLANE_CORE_MODEL_WRITER_H

#include "common/crypto/sha256.h"
#include "common/tensor/safetensors.h"
#include "server/store/blobs.h"

struct model_writer {
    struct blobs *blobs;
    struct blob_put *put;
    struct sha256 *file, *params;
    int64_t size_bytes;
};

struct model_file {
    int64_t blob_id, size_bytes;
    char weights_sha256[SHA256_HEX_SIZE];   /* of the file */
    char aggregate_sha256[SHA256_HEX_SIZE]; /* of the parameters, as params_sha256 */
};

enum err model_writer_begin(struct model_writer *m, struct blobs *blobs,
                            const struct tensor_table *table) MUST_CHECK;
enum err model_writer_params(struct model_writer *m, const float *values, size_t n) MUST_CHECK;
enum err model_writer_carried(struct model_writer *m, const void *bytes, size_t n) MUST_CHECK;
enum err model_writer_end(struct model_writer *m, struct model_file *out) MUST_CHECK;
void model_writer_release(struct model_writer *m); /* takes back what was not ended */

#endif
