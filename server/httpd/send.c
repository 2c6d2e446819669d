#include "server/httpd/internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/str.h"
#include "server/httpd/range.h"

#define SOURCE_BLOCK (64 * KIB) /* memory of one download */
#define EVENTS_BLOCK (4 * KIB)

static bool is_reading(const struct request *rq)
{
    return rq->is_head || str_eq(rq->method_name, "GET");
}

/* A 200 can become 304 (If-None-Match), 206 or 416 (Range). */
static enum err apply_conditions(struct request *rq)
{
    struct reply *r = &rq->reply;
    if (r->status != 200 || !is_reading(rq))
        return ERR_OK;
    if (etag_matches(request_header(rq, "If-None-Match"), r->etag, false)) {
        r->sha256_hex = NULL;
        return reply_empty(rq, 304);
    }
    if (r->kind != REPLY_SOURCE)
        return ERR_OK;
    const char *if_range = request_header(rq, "If-Range");
    if (if_range && !etag_matches(if_range, r->etag, true))
        return ERR_OK;
    switch (range_parse(request_header(rq, "Range"), r->source.size_bytes, &r->offset, &r->length)) {
    case RANGE_PART:
        r->status = 206;
        break;
    case RANGE_UNSATISFIABLE: {
        uint64_t size = r->source.size_bytes;
        struct fault fault = FAULT_NONE;
        (void)fault_set(&fault, ERR_RANGE_NOT_SATISFIABLE, "Range", "the whole has %" PRIu64 " bytes", size);
        reply_fault(rq, &fault);
        char text[64];
        (void)snprintf(text, sizeof text, "bytes */%" PRIu64, size);
        return reply_header(rq, "Content-Range", text);
    }
    case RANGE_WHOLE:
        break;
    }
    return ERR_OK;
}

static struct MHD_Response *response_make(struct request *rq)
{
    struct reply *r = &rq->reply;
    if (r->kind == REPLY_EVENTS)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENTS_BLOCK, stream_events, rq, NULL);
    if (r->kind == REPLY_SOURCE) {
        size_t block = r->length < SOURCE_BLOCK ? (size_t)r->length : SOURCE_BLOCK;
        return MHD_create_response_from_callback(r->length, block ? block : 1, stream_source, rq, NULL);
    }
    if (!rq->is_head)
        r->bytes_out = r->size;
    /* The bytes live as long as the request, and that outlives the response. */
    void *bytes = (void *)(uintptr_t)r->bytes;
    return MHD_create_response_from_buffer(r->size, bytes, MHD_RESPMEM_PERSISTENT);
}

static bool put(struct MHD_Response *response, const char *name, const char *value)
{
    return !value || MHD_add_response_header(response, name, value) == MHD_YES;
}

static bool put_digest(struct request *rq, struct MHD_Response *response)
{
    uint8_t digest[SHA256_SIZE];
    char text[CONTENT_DIGEST_SIZE];
    const char *hex = rq->reply.sha256_hex;
    if (!hex || hex_decode(hex, digest, sizeof digest))
        return true;
    content_digest_format(digest, text);
    /* The digest is of the whole: of a part's content it would be wrong (RFC 9530, section 3). */
    return put(response, rq->reply.status == 206 ? "Repr-Digest" : "Content-Digest", text);
}

static bool put_range(struct request *rq, struct MHD_Response *response)
{
    const struct reply *r = &rq->reply;
    if (r->kind != REPLY_SOURCE)
        return true;
    char text[96];
    (void)snprintf(text, sizeof text, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, r->offset,
                   r->offset + r->length - 1, r->source.size_bytes);
    return put(response, "Accept-Ranges", "bytes") &&
           (r->status != 206 || put(response, "Content-Range", text));
}

static bool put_etag(struct request *rq, struct MHD_Response *response)
{
    char text[256];
    if (!rq->reply.etag)
        return true;
    int n = snprintf(text, sizeof text, "\"%s\"", rq->reply.etag);
    return n < (int)sizeof text && put(response, "ETag", text);
}

/* What is no page may do nothing where a browser shows it as one, and stands in no frame. */
static bool put_policy(const struct request *rq, struct MHD_Response *response)
{
    for (const struct reply_field *f = rq->reply.fields; f; f = f->next)
        if (str_eq(f->name, "Content-Security-Policy"))
            return true;
    return put(response, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
}

static bool put_all(struct request *rq, struct MHD_Response *response)
{
    bool fine = put(response, "X-Request-Id", rq->id) && put(response, "X-Content-Type-Options", "nosniff") &&
                put(response, "Referrer-Policy", "no-referrer") && put_policy(rq, response) &&
                put(response, "Content-Type", rq->reply.media_type) && put_etag(rq, response) &&
                put_digest(rq, response) && put_range(rq, response);
    for (const struct reply_field *f = rq->reply.fields; fine && f; f = f->next)
        fine = put(response, f->name, f->value);
    if (atomic_load(&rq->loop->httpd->is_closing))
        fine = fine && put(response, "Connection", "close");
    return fine;
}

enum MHD_Result send_reply(struct request *rq)
{
    if (rq->is_dropped)
        return MHD_NO;
    if (apply_conditions(rq)) {
        struct fault fault = FAULT_NONE;
        (void)reply_no_memory(&fault);
        reply_fault(rq, &fault);
    }
    struct MHD_Response *response = response_make(rq);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_NO;
    if (put_all(rq, response))
        result = MHD_queue_response(rq->mhd, (unsigned)rq->reply.status, response);
    MHD_destroy_response(response);
    if (result == MHD_YES)
        rq->phase = PHASE_REPLY;
    return result;
}
