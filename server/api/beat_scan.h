/* The heartbeat that comes nearly always, read without building a document: compact or not, with the fields
 * that it may have, each once, plain numbers and no escapes. Whatever else comes is for the JSON parser,
 * which also says what is wrong with it; so this accepts nothing that the parser would not. */
#ifndef FEDLANE_API_BEAT_SCAN_H
#define FEDLANE_API_BEAT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/ids.h"

#define BEAT_TASKS 16 /* more of them are for the parser */

struct beat_task {
    char id[ID_SIZE];
    int64_t steps_done;
    double train_loss;
    bool has_loss;
};

struct beat_scan {
    /* The text of the object, within the body; NULL: there is none. It is only delimited: the caller must
     * know such a text to be JSON, or leave the body to the parser. */
    const char *resources;
    size_t resources_size;
    struct beat_task tasks[BEAT_TASKS];
    size_t num_tasks;
};

/* {"resources": {...}, "tasks": [{"task_id": ID, "steps_done": N, "train_loss": X}, ...]}, all but task_id
 * optional. False: leave it to the parser. The text has a NUL behind its n bytes. */
bool beat_scan(const char *text, size_t n, struct beat_scan *out);

#endif
