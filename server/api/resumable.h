/* Updates that come in pieces: POST .../uploads begins one, PATCH appends to it, HEAD says how far it is,
 * DELETE drops it. The shape is that of the IETF's draft "Resumable Uploads for HTTP", and near enough to
 * tus.
 *
 * How far an upload is stands in no row: it is what the blob store has of it, durably. */
#ifndef FEDLANE_API_RESUMABLE_H
#define FEDLANE_API_RESUMABLE_H

#include "server/api/context.h"

/* The upload that the path names, as core_upload_find; its task too. */
enum err upload_of_path(const struct request *rq, struct store_txn *txn, struct arena *arena,
                        struct task_row *out_task, struct upload_row *out, struct fault *fault) MUST_CHECK;
/* How many of its bytes are durable, or will be with the next commit. ERR_NOT_FOUND: they were dropped. */
enum err upload_offset(struct api *api, const struct upload_row *row, int64_t *out,
                       struct fault *fault) MUST_CHECK;
/* Upload-Offset, Upload-Length, Upload-Complete of the coming reply. */
enum err upload_headers(struct request *rq, const struct upload_row *row, int64_t offset) MUST_CHECK;

/* All bytes of an upload are there. Checks them a few MiB at a time, then takes them as the task's update,
 * and replies as PUT .../update does. */
enum err upload_finish(struct api *api, struct request *rq, const struct task_row *task,
                       const struct upload_row *row, int64_t received_at, struct fault *fault) MUST_CHECK;

#endif
