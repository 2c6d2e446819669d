#include "server/core/model_writer.h"

#include "common/base/str.h"

static enum err write_bytes(struct model_writer *m, const void *bytes, size_t n)
{
    enum err e = sha256_update(m->file, bytes, n);
    m->size_bytes += (int64_t)n;
    if (!e)
        e = m->blobs->ops->make_room(m->blobs);
    return e ? e : m->blobs->ops->put_write(m->put, bytes, n);
}

enum err model_writer_begin(struct model_writer *m, struct blobs *blobs, const struct tensor_table *table)
{
    struct buf header = BUF_INIT(LIMIT_SAFETENSORS_HEADER + 8);
    *m = (struct model_writer){.blobs = blobs};
    enum err e = sha256_new(&m->file);
    if (!e)
        e = sha256_new(&m->params);
    if (!e)
        e = safetensors_encode_header(table, "", NULL, 0, &header);
    if (!e)
        e = blobs->ops->put_begin(blobs, &m->put);
    if (!e)
        e = write_bytes(m, header.data, header.len);
    buf_release(&header);
    return e;
}

enum err model_writer_params(struct model_writer *m, const float *values, size_t n)
{
    enum err e = sha256_update(m->params, values, n * sizeof *values);
    return e ? e : write_bytes(m, values, n * sizeof *values);
}

enum err model_writer_carried(struct model_writer *m, const void *bytes, size_t n)
{
    return write_bytes(m, bytes, n);
}

static enum err hash_end(struct sha256 *h, char out[SHA256_HEX_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    enum err e = sha256_final(h, digest);
    if (!e)
        hex_encode(digest, sizeof digest, out);
    return e;
}

enum err model_writer_end(struct model_writer *m, struct model_file *out)
{
    enum err e = hash_end(m->file, out->weights_sha256);
    if (!e)
        e = hash_end(m->params, out->aggregate_sha256);
    if (e)
        return e;
    out->size_bytes = m->size_bytes;
    struct blob_put *put = m->put;
    m->put = NULL;
    return m->blobs->ops->put_end(put, &out->blob_id);
}

void model_writer_release(struct model_writer *m)
{
    if (m->put)
        m->blobs->ops->put_abort(m->put);
    sha256_free(m->file);
    sha256_free(m->params);
    *m = (struct model_writer){0};
}
