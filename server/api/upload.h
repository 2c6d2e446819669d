/* A body of tensors on its way into the blob store, checked as it streams by. Whatever is not kept leaves
 * nothing. */
#ifndef FEDLANE_API_UPLOAD_H
#define FEDLANE_API_UPLOAD_H

#include "server/api/context.h"
#include "server/api/room.h"

struct upload {
    struct api *api;
    struct safetensors_stream *stream; /* NULL until upload_begin() */
    struct blob_put *put;
    struct room_waiter waiter;
    int64_t blob_id; /* 0 until upload_end(), and again once it is kept */
    uint64_t size_bytes, max_bytes;
};

/* The most bytes that a file of these tensors can have. */
uint64_t upload_max_bytes(const struct tensor_table *table);
/* For a file with the tensors of `table` under `prefix`. ERR_PAYLOAD_TOO_LARGE when the declared length
 * cannot be right. */
enum err upload_begin(struct upload *u, struct api *api, struct request *rq, const struct tensor_table *table,
                      const char *prefix, struct fault *fault) MUST_CHECK;
/* From a sink: takes all n bytes, or none now. */
enum err upload_write(struct upload *u, struct request *rq, const void *bytes, size_t n, size_t *out_taken,
                      struct fault *fault) MUST_CHECK;
/* The file was right and lies in the blob store as blob_id. */
enum err upload_end(struct upload *u, struct fault *fault) MUST_CHECK;
/* A row names the blob now. */
void upload_keep(struct upload *u);
/* Removes what was not kept. */
void upload_release(struct upload *u);

/* Whether the media type is one that tensors may come as. */
bool media_is_tensors(const char *media_type);

#endif
