#include "server/api/upload.h"

#include "common/base/log.h"
#include "common/base/str.h"

bool media_is_tensors(const char *media_type)
{
    return str_eq(media_type, MEDIA_SAFETENSORS) || str_eq(media_type, MEDIA_BYTES);
}

static enum err too_large(const struct upload *u, struct fault *fault)
{
    return fault_set(fault, ERR_PAYLOAD_TOO_LARGE, NULL,
                     "The body may have at most %llu bytes: the tensors of this run's model and a header.",
                     (unsigned long long)u->max_bytes);
}

uint64_t upload_max_bytes(const struct tensor_table *table)
{
    return (uint64_t)table->num_params * sizeof(float) + (uint64_t)table->carried_bytes + 8 +
           LIMIT_SAFETENSORS_HEADER;
}

enum err upload_begin(struct upload *u, struct api *api, struct request *rq, const struct tensor_table *table,
                      const char *prefix, struct fault *fault)
{
    *u = (struct upload){.api = api};
    u->max_bytes = upload_max_bytes(table);
    uint64_t length = request_content_length(rq);
    if (length != REQUEST_LENGTH_UNKNOWN && length > u->max_bytes)
        return too_large(u, fault);
    enum err e = safetensors_stream_new(table, prefix, request_arena(rq), &u->stream);
    if (e == ERR_OK)
        e = api->blobs->ops->put_begin(api->blobs, &u->put);
    return api_failure(fault, e);
}

enum err upload_write(struct upload *u, struct request *rq, const void *bytes, size_t n, size_t *out_taken,
                      struct fault *fault)
{
    bool must_wait = false;
    *out_taken = 0;
    enum err e = u->api->blobs->ops->put_has_room(u->put, n)
                     ? ERR_OK
                     : room_wait(u->api->room, &u->waiter, rq, NULL, &must_wait);
    if (e != ERR_OK || must_wait)
        return api_failure(fault, e);
    *out_taken = n;
    u->size_bytes += n;
    if (u->size_bytes > u->max_bytes)
        return too_large(u, fault);
    e = safetensors_stream_feed(u->stream, bytes, n, fault);
    if (e == ERR_OK)
        e = u->api->blobs->ops->put_write(u->put, bytes, n);
    return api_failure(fault, e);
}

enum err upload_end(struct upload *u, struct fault *fault)
{
    enum err e = safetensors_stream_end(u->stream, fault);
    if (e != ERR_OK)
        return api_failure(fault, e);
    struct blob_put *put = u->put;
    u->put = NULL;
    return api_failure(fault, u->api->blobs->ops->put_end(put, &u->blob_id));
}

void upload_keep(struct upload *u)
{
    u->blob_id = 0;
}

void upload_release(struct upload *u)
{
    room_forget(u->api->room, &u->waiter);
    if (u->put)
        u->api->blobs->ops->put_abort(u->put);
    if (u->blob_id) {
        enum err e = u->api->blobs->ops->remove(u->api->blobs, u->blob_id);
        if (e != ERR_OK)
            log_warning("api",
                        "an upload that nothing names stays in the blob store until the next start: %s",
                        err_name(e));
    }
    safetensors_stream_free(u->stream);
    *u = (struct upload){.api = u->api};
}
