/* Names that server, worker and command line share on the wire. */
#ifndef FEDLANE_API_API_H
#define FEDLANE_API_API_H

#define API_PREFIX "/api/v1"

#define MEDIA_JSON        "application/json"
#define MEDIA_PROBLEM     "application/problem+json"
#define MEDIA_SAFETENSORS "application/vnd.safetensors"
#define MEDIA_BYTES       "application/octet-stream"        /* taken for weights, too */
#define MEDIA_PART        "application/partial-upload"      /* a piece of an upload */
#define MEDIA_PART_TUS    "application/offset+octet-stream" /* the same as tus calls it */
#define MEDIA_EVENTS      "text/event-stream"
#define MEDIA_CSV         "text/csv"
#define MEDIA_TEXT        "text/plain; charset=utf-8"

#define HEADER_IDEMPOTENCY_KEY "Idempotency-Key"
#define HEADER_CONTENT_DIGEST  "Content-Digest"
#define HEADER_REPR_DIGEST     "Repr-Digest"
#define HEADER_UPLOAD_LENGTH   "Upload-Length"
#define HEADER_UPLOAD_OFFSET   "Upload-Offset"
#define HEADER_UPLOAD_COMPLETE "Upload-Complete"
#define HEADER_REQUEST_ID      "X-Request-Id"
#define HEADER_LAST_EVENT_ID   "Last-Event-ID"

#endif
