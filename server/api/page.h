/* Lists: {"items": [...], "next_cursor": null}, ?limit= and ?cursor=. A cursor is the key of the last item
 * that was sent; its form is the list's own business, so clients must take it as opaque. */
#ifndef FEDLANE_API_PAGE_H
#define FEDLANE_API_PAGE_H

#include <jansson.h>
#include "server/api/context.h"

struct page {
    int64_t limit;
    const char *text; /* the cursor; NULL: from the start */
    int64_t number;   /* the same as a number, for page_read_number; -1: from the start */
};

/* ERR_INVALID_FIELD for the limit, ERR_INVALID_CURSOR for what no list ever gave out. */
enum err page_read_id(const struct request *rq, struct page *out, struct fault *fault) MUST_CHECK;
enum err page_read_number(const struct request *rq, struct page *out, struct fault *fault) MUST_CHECK;
struct store_value page_after_id(const struct page *p); /* the condition; store_any from the start */
struct store_value page_after_number(const struct page *p);

/* {"items", "next_cursor"}. Steals `items`. next NULL: this was the last page. */
json_t *page_json(json_t *items, const char *next);

/* One page of rows of one query, rendered: finds limit + 1 with `args`, renders at most limit, and takes the
 * cursor from the last row rendered. */
struct page_source {
    enum query query;
    enum record_kind kind;
    const struct store_value *args;
    size_t num_args;
    json_t *(*render)(struct reading *r, struct store_txn *txn, const void *row); /* NULL: out of memory */
    const char *(*cursor)(struct reading *r, const void *row);                    /* in the arena */
    bool (*skip_first)(const struct page *page,
                       const void *row); /* the first row may be one too many; or NULL */
};
enum err page_fill(struct reading *r, struct store_txn *txn, const struct page *page,
                   const struct page_source *source) MUST_CHECK;
/* Cursors for rows whose first column is a text id. */
const char *page_cursor_first_text(struct reading *r, const void *row);

#endif
