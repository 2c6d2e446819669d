#include "tests/fuzz/fake_mhd.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "tests/fuzz/fuzz.h"

const char *MHD_lookup_connection_value(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *key)
{
    PROVE(kind == MHD_HEADER_KIND);
    for (size_t i = 0; i < c->num_headers; i++)
        if (strcasecmp(c->headers[i].name, key) == 0)
            return c->headers[i].value;
    return NULL;
}

int MHD_get_connection_values(struct MHD_Connection *c, enum MHD_ValueKind kind, MHD_KeyValueIterator each,
                              void *cls)
{
    const struct fake_field *fields = kind == MHD_HEADER_KIND ? c->headers : c->query;
    size_t n = kind == MHD_HEADER_KIND ? c->num_headers : c->num_query;
    for (size_t i = 0; i < n && each; i++)
        if (each(cls, kind, fields[i].name, fields[i].value) == MHD_NO)
            return (int)i + 1;
    return (int)n;
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *c,
                                                        enum MHD_ConnectionInfoType type, ...)
{
    return type == MHD_CONNECTION_INFO_CONNECTION_FD ? &c->fd : NULL;
}

void MHD_suspend_connection(struct MHD_Connection *c)
{
    PROVE(!c->is_suspended);
    c->is_suspended = true;
}

void MHD_resume_connection(struct MHD_Connection *c)
{
    PROVE(c->is_suspended);
    c->is_suspended = false;
}

/* ---- responses ---- */

/* NULL where there is no memory, as the library has it. */
static struct MHD_Response *response_new(void)
{
    struct MHD_Response *r = calloc(1, sizeof *r);
    if (r)
        r->references = 1;
    return r;
}

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer,
                                                     enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *r = response_new();
    PROVE(mode == MHD_RESPMEM_PERSISTENT && (size == 0 || buffer));
    if (r) {
        r->size = size;
        r->bytes = buffer;
    }
    return r;
}

struct MHD_Response *MHD_create_response_from_callback(uint64_t size, size_t block,
                                                       MHD_ContentReaderCallback reader, void *cls,
                                                       MHD_ContentReaderFreeCallback release)
{
    struct MHD_Response *r = response_new();
    PROVE(block > 0 && !release);
    if (r) {
        r->size = size;
        r->block = block;
        r->reader = reader;
        r->reader_cls = cls;
    }
    return r;
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *r, const char *name, const char *value)
{
    /* The library refuses these, too. */
    PROVE(name[0] && !strpbrk(name, "\t\r\n ") && !strpbrk(value, "\r\n"));
    PROVE(r->num_headers < FAKE_FIELDS);
    struct fake_field *f = &r->headers[r->num_headers++];
    *f = (struct fake_field){strdup(name), strdup(value)};
    return f->name && f->value ? MHD_YES : MHD_NO;
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
    PROVE(!c->response && !c->is_suspended && status >= 200 && status < 600);
    c->response = r;
    c->status = status;
    r->references++;
    return MHD_YES;
}

void MHD_destroy_response(struct MHD_Response *r)
{
    if (--r->references > 0)
        return;
    for (size_t i = 0; i < r->num_headers; i++) {
        free(r->headers[i].name);
        free(r->headers[i].value);
    }
    free(r);
}

/* ---- what a client sees ---- */

const char *fake_header(const struct MHD_Response *r, const char *name)
{
    for (size_t i = 0; i < r->num_headers; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return NULL;
}

static void no_hook(bool begins)
{
    (void)begins;
}
void (*fake_reads)(bool begins) = no_hook;

/* One call of the reader. 1: there may be more; 0: the end; -1: cut; 2: it waits. */
static int read_more(struct MHD_Connection *c, struct buf *out)
{
    struct MHD_Response *r = c->response;
    char *block = malloc(r->block);
    PROVE(block != NULL);
    size_t room = r->size - out->len < r->block ? (size_t)(r->size - out->len) : r->block;
    fake_reads(true);
    ssize_t n = r->reader(r->reader_cls, out->len, block, room);
    fake_reads(false);
    if (n > 0) {
        PROVE((size_t)n <= room && !buf_append(out, block, (size_t)n));
    }
    free(block);
    if (n == MHD_CONTENT_READER_END_OF_STREAM)
        return 0;
    if (n == MHD_CONTENT_READER_END_WITH_ERROR)
        return -1;
    PROVE(n > 0 || c->is_suspended); /* else the library would ask for ever */
    return n > 0 ? 1 : 2;
}

bool fake_body(struct MHD_Connection *c, size_t most, struct buf *out, bool *out_waits)
{
    struct MHD_Response *r = c->response;
    int state = 1;
    *out_waits = false;
    if (!r->reader) {
        PROVE(r->size == 0 || !buf_append(out, r->bytes, (size_t)r->size));
        return true;
    }
    while (state == 1 && out->len < most && out->len < r->size)
        state = read_more(c, out);
    *out_waits = state == 2;
    PROVE(state != 0 || r->size == MHD_SIZE_UNKNOWN); /* it ended early */
    return state >= 0;
}

void fake_end(struct MHD_Connection *c)
{
    if (c->response)
        MHD_destroy_response(c->response);
    c->response = NULL;
}
