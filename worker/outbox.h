/* Reports that the server has not taken yet: updates and failures, each in a file of the state directory
 * before the first try, so that work survives a killed process. One report per task; a newer attempt replaces
 * the older.
 *
 * A file is a line of words (task, route, round, attempt, ordinal, media type, size and SHA-256 of the body),
 * then the body. */
#ifndef FEDLANE_WORKER_OUTBOX_H
#define FEDLANE_WORKER_OUTBOX_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/ids.h"
#include "common/crypto/sha256.h"

enum report_route {
    REPORT_UPDATE, /* PUT .../update: safetensors, or JSON of an evaluation */
    REPORT_FAIL,   /* POST .../fail: JSON */
};

struct report {
    char task_id[ID_SIZE];
    enum report_route route;
    int64_t round, attempt, ordinal; /* for the log */
    const char *media_type;          /* MEDIA_SAFETENSORS or MEDIA_JSON */
    char sha256[SHA256_HEX_SIZE];    /* of the body */
    size_t size;
    char *body; /* owned (free); NULL: on disk only */
};

/* Frees the body. */
void report_release(struct report *r);

/* "DIR/outbox", made where it is not; what a killed process left half written is removed. */
enum err outbox_open(const char *state_dir, char **out_path, struct fault *fault) MUST_CHECK;
/* Writes the report's file; fills sha256. Any thread, each its own task. */
enum err outbox_store(const char *outbox, struct report *r, struct fault *fault) MUST_CHECK;
/* The whole report of a task, body and all. ERR_NOT_FOUND; ERR_BAD_FILE when the file is damaged (it names
 * the file). */
enum err outbox_load(const char *outbox, const char *task_id, struct report *out,
                     struct fault *fault) MUST_CHECK;
/* The server took it, or never will. */
void outbox_remove(const char *outbox, const char *task_id);
/* The ids of the tasks that have a report, in order. In the arena. */
enum err outbox_list(const char *outbox, struct arena *arena, char (**out_ids)[ID_SIZE], size_t *out_count,
                     struct fault *fault) MUST_CHECK;

#endif
