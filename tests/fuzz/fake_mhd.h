/* As much of libmicrohttpd as server/httpd needs of a connection, without sockets, threads or parsing: the
 * fuzz targets for requests link these functions in front of the library's own, and so drive
 * exchange_access() themselves. */
#ifndef FEDLANE_TESTS_FUZZ_FAKE_MHD_H
#define FEDLANE_TESTS_FUZZ_FAKE_MHD_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include "common/base/buf.h"

#define FAKE_FIELDS 64

struct fake_field {
    char *name, *value; /* of a query: value may be NULL */
};

struct MHD_Connection {
    union MHD_ConnectionInfo fd; /* of a peer that is there */
    struct fake_field headers[FAKE_FIELDS], query[FAKE_FIELDS];
    size_t num_headers, num_query;
    bool is_suspended;
    struct MHD_Response *response;
    unsigned status;
};

struct MHD_Response {
    int references;
    const void *bytes;
    uint64_t size; /* MHD_SIZE_UNKNOWN: until the reader ends it */
    MHD_ContentReaderCallback reader;
    void *reader_cls;
    size_t block;
    struct fake_field headers[FAKE_FIELDS];
    size_t num_headers;
};

/* NULL when absent. */
const char *fake_header(const struct MHD_Response *r, const char *name);
/* Called around each call of a content reader. */
extern void (*fake_reads)(bool begins);
/* What a client would get of the body, up to `most` bytes. False: it was cut. *out_waits: the reader has
 * nothing now and the connection is suspended. */
bool fake_body(struct MHD_Connection *c, size_t most, struct buf *out, bool *out_waits);
/* Drops the response; the connection's own fields are the caller's. */
void fake_end(struct MHD_Connection *c);

#endif
