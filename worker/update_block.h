/* Memory in which what comes out of a task becomes the file that goes to the server: room for a header, then
 * the parameters. So a large model is not there a second time beside its report. */
#ifndef FEDLANE_WORKER_UPDATE_BLOCK_H
#define FEDLANE_WORKER_UPDATE_BLOCK_H

#include "common/tensor/safetensors.h"

struct update_block {
    char *memory; /* NULL: none yet, or a file was made of it */
    size_t room;  /* of the header */
};

/* Memory for the parameters of `tensors`, which carry nothing, unless it is there. ERR_NO_MEMORY. */
enum err update_block_ready(struct update_block *b, const struct tensor_table *tensors) MUST_CHECK;
void update_block_release(struct update_block *b);
/* num_params floats in model order. */
float *update_block_values(const struct update_block *b);
/* The canonical file of the values (safetensors_encode); its memory moves to the caller (free). After an
 * error everything is as it was. */
enum err update_block_file(struct update_block *b, const struct tensor_table *tensors, const char *prefix,
                           const struct safetensors_pair *metadata, size_t num_metadata, char **out_file,
                           size_t *out_size) MUST_CHECK;

#endif
