/* What a list of devices is asked for, and which devices may be it: each source gives candidates in the
 * list's order, read from memory or an index, so that few rows are read in vain. */
#ifndef FEDLANE_API_DEVICE_FILTER_H
#define FEDLANE_API_DEVICE_FILTER_H

#include "server/api/context.h"

struct device_filter {
    struct core_device_filter known; /* what the core tells from memory */
    const char *run;                 /* NULL: any */
};
enum err device_filter_read(struct reading *r, struct device_filter *out) MUST_CHECK;

/* Candidates, in pieces, ascending by id, or of a run by ordinal. */
struct device_source {
    struct api *api;
    const struct device_filter *filter;
    enum { FROM_ALL, FROM_LABEL, FROM_RUN, FROM_FEW } from;
    struct core_device *items; /* in the request's arena */
    size_t count, piece;
    bool is_last; /* there are no more pieces */
};
#define DEVICE_CURSOR_SIZE ID_SIZE /* an id, or an ordinal */

/* `after`: the cursor to begin behind; "": from the start. */
enum err device_source_open(struct reading *r, const struct device_filter *f, const char *after,
                            struct device_source *out) MUST_CHECK;
/* The next piece: items, count, is_last. `after`: the cursor of the last one of the piece before. */
enum err device_source_next(struct device_source *s, struct store_txn *txn, const char *after) MUST_CHECK;
/* The row of a candidate, in the arena, and whether it passes the filter. */
enum err device_source_row(struct device_source *s, struct store_txn *txn, const struct core_device *item,
                           struct arena *arena, struct device_row *out, bool *out_passes) MUST_CHECK;
/* The cursor behind a candidate. */
void device_source_cursor(const struct device_source *s, const struct core_device *item,
                          char out[DEVICE_CURSOR_SIZE]);

#endif
