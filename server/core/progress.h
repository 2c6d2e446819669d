/* How far the devices say they are: memory only, so that a report costs no commit. */
#ifndef FEDLANE_CORE_PROGRESS_H
#define FEDLANE_CORE_PROGRESS_H

#include <pthread.h>
#include "server/core/id_table.h"

struct progress_table {
    pthread_mutex_t lock;
    struct id_table tasks;
};

enum err progress_init(struct progress_table *p) MUST_CHECK;
void progress_release(struct progress_table *p);
void progress_forget(struct progress_table *p, const char *task_id);
/* Drops what was not reported since then: a report that crossed with its task's end would stay for ever. */
void progress_forget_before(struct progress_table *p, int64_t at_ms);

#endif
