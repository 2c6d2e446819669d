/* The uploads of which a piece is coming in right now. A client whose connection broke comes back before the
 * server has noticed: who asks for an upload anew takes it from the request that still waits for bytes. */
#ifndef FEDLANE_API_RUNNING_UPLOADS_H
#define FEDLANE_API_RUNNING_UPLOADS_H

#include <stdbool.h>
#include "server/store/blobs.h"

struct running_uploads; /* thread-safe */
struct running_upload;  /* one request's hold on an upload */

enum err running_uploads_new(struct blobs *blobs, struct running_uploads **out) MUST_CHECK;
void running_uploads_free(struct running_uploads *r); /* NULL is fine; nothing runs any more */

/* An upload is known by its blob. Goes on with it, from the first *out_offset bytes that are durable of it; a
 * request that had it loses it. ERR_NOT_FOUND where there is no such blob, or it has ended. */
enum err running_upload_begin(struct running_uploads *r, int64_t blob_id, struct running_upload **out,
                              int64_t *out_offset) MUST_CHECK;
/* As put_has_room of blobs.h; true where another request took it. */
bool running_upload_has_room(struct running_upload *u, size_t n);
/* ERR_CONFLICT: another request took the upload. */
enum err running_upload_write(struct running_upload *u, const void *bytes, size_t n) MUST_CHECK;
/* Frees u. What came is kept: *out_offset bytes, durable at the next commit of the store. Where `is_whole`
 * the blob is ended and can be read. ERR_CONFLICT as above; ERR_NOT_FOUND: it was removed meanwhile. */
enum err running_upload_end(struct running_upload *u, bool is_whole, int64_t *out_offset) MUST_CHECK;
/* Whoever has it has it no more. */
void running_upload_take(struct running_uploads *r, int64_t blob_id);
/* Whether one runs, and where it began. */
bool running_upload_began_at(struct running_uploads *r, int64_t blob_id, int64_t *out_offset);

#endif
