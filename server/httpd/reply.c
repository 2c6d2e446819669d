#include "server/httpd/internal.h"
#include <stdlib.h>
#include <string.h>
#include "common/json/json_emit.h"

enum err reply_no_memory(struct fault *fault)
{
    return fault_set(fault, ERR_NO_MEMORY, NULL,
                     "not enough memory for this request; try again in a few seconds");
}

/* Drops the body, keeps the header fields. */
static void body_reset(struct request *rq)
{
    struct reply *r = &rq->reply;
    free(r->owned);
    if (r->kind == REPLY_SOURCE && r->source.free)
        r->source.free(r->source.ctx);
    if (r->kind == REPLY_EVENTS && r->events.free)
        r->events.free(r->events.ctx);
    buf_release(&r->page);
    *r = (struct reply){.fields = r->fields, .etag = r->etag, .sha256_hex = r->sha256_hex};
}

void reply_reset(struct request *rq)
{
    body_reset(rq);
    rq->reply = (struct reply){.kind = REPLY_NONE};
}

static bool is_header_text(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static enum err keep_text(struct request *rq, const char *text, const char **out)
{
    if (!is_header_text(text))
        return ERR_INVALID_FIELD;
    *out = arena_strdup(&rq->arena, text);
    return *out ? ERR_OK : ERR_NO_MEMORY;
}

static enum err bytes_begin(struct request *rq, int status, const char *media_type)
{
    body_reset(rq);
    if (media_type) {
        enum err e = keep_text(rq, media_type, &rq->reply.media_type);
        if (e)
            return e;
    }
    rq->reply.status = status;
    rq->reply.kind = REPLY_BYTES;
    return ERR_OK;
}

enum err reply_empty(struct request *rq, int status)
{
    return bytes_begin(rq, status, NULL);
}

enum err reply_bytes_take(struct request *rq, int status, const char *media_type, void *bytes, size_t n)
{
    enum err e = bytes_begin(rq, status, media_type);
    if (e) {
        free(bytes);
        return e;
    }
    rq->reply.bytes = rq->reply.owned = bytes;
    rq->reply.size = n;
    return ERR_OK;
}

enum err reply_bytes(struct request *rq, int status, const char *media_type, const void *bytes, size_t n)
{
    void *copy = malloc(n ? n : 1);
    if (!copy)
        return ERR_NO_MEMORY;
    if (n)
        memcpy(copy, bytes, n);
    return reply_bytes_take(rq, status, media_type, copy, n);
}

enum err reply_static(struct request *rq, const char *media_type, const void *bytes, size_t n,
                      const char *etag)
{
    enum err e = bytes_begin(rq, 200, media_type);
    if (e)
        return e;
    rq->reply.bytes = bytes;
    rq->reply.size = n;
    return etag ? reply_etag(rq, etag) : ERR_OK;
}

enum err reply_json_as(struct request *rq, int status, const char *media_type, json_t *body)
{
    struct buf text = BUF_INIT(LIMIT_JSON_REPLY);
    char *bytes;
    size_t n;
    enum err e = body ? json_emit(body, false, &text) : ERR_NO_MEMORY;
    if (!e)
        e = buf_take(&text, &bytes, &n);
    if (!e)
        e = reply_bytes_take(rq, status, media_type, bytes, n);
    buf_release(&text);
    json_decref(body);
    return e;
}

enum err reply_json(struct request *rq, int status, json_t *body)
{
    return reply_json_as(rq, status, "application/json", body);
}

enum err reply_source(struct request *rq, const struct body_source *source)
{
    const char *etag = NULL, *sha256_hex = NULL;
    enum err e = bytes_begin(rq, 200, source->media_type);
    if (!e && source->etag)
        e = keep_text(rq, source->etag, &etag);
    if (!e && source->sha256_hex)
        e = keep_text(rq, source->sha256_hex, &sha256_hex);
    if (e) {
        reply_reset(rq);
        if (source->free)
            source->free(source->ctx);
        return e;
    }
    rq->reply.kind = REPLY_SOURCE;
    rq->reply.source = *source;
    rq->reply.length = source->size_bytes;
    rq->reply.etag = etag;
    rq->reply.sha256_hex = sha256_hex;
    return ERR_OK;
}

static enum err field_add(struct request *rq, struct reply_field **list, const char *name, const char *value)
{
    struct reply_field *field = arena_alloc(&rq->arena, sizeof *field);
    if (!field)
        return ERR_NO_MEMORY;
    enum err e = keep_text(rq, name, &field->name);
    if (!e)
        e = keep_text(rq, value, &field->value);
    if (e)
        return e;
    field->next = *list;
    *list = field;
    return ERR_OK;
}

enum err reply_header(struct request *rq, const char *name, const char *value)
{
    return field_add(rq, &rq->reply.fields, name, value);
}

enum err reply_fault_header(struct request *rq, const char *name, const char *value)
{
    return field_add(rq, &rq->fault_fields, name, value);
}

enum err reply_etag(struct request *rq, const char *tag)
{
    return strchr(tag, '"') ? ERR_INVALID_FIELD : keep_text(rq, tag, &rq->reply.etag);
}
