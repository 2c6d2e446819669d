/* Which weights a run keeps. */
#ifndef FEDLANE_CORE_RETENTION_H
#define FEDLANE_CORE_RETENTION_H

#include "server/core/work.h"

/* Blobs that no row will name once the transaction is committed; the caller removes them then. */
struct blob_list {
    int64_t *ids; /* in the arena */
    size_t count, capacity;
};

/* The model that is one too many now that `newest` is stored. */
enum err retention_models(struct work *w, const struct plan *plan, const struct run_row *run, int64_t newest,
                          struct blob_list *garbage) MUST_CHECK;

/* -- outside of transactions, on core_advance's thread --------------------------------------------------- */
/* A round ended: its update files may go, unless the run keeps them. Thread-safe. Out of memory: the next
 * start finds them. */
void leftover_add(struct core *c, const char *run_id, int64_t round);
enum err leftovers_remove(struct core *c) MUST_CHECK;
void leftovers_free(struct core *c);
void blobs_remove(struct core *c, const int64_t *ids, size_t count);
/* Gives back a piece of what was removed, if there is any. *out_has_more: call again. */
enum err garbage_advance(struct core *c, bool *out_has_more) MUST_CHECK;

/* At the start: removes every blob that no row names. An update's row names its blob while its round is open,
 * and after it only in a run that keeps updates. */
enum err retention_collect(struct core *c) MUST_CHECK;

#endif
