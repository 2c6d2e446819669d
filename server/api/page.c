#include "server/api/page.h"

#include <string.h>
#include "common/base/str.h"

static enum err read_limit(const struct request *rq, struct page *out, struct fault *fault)
{
    *out = (struct page){.number = -1};
    return request_query_int(rq, "limit", 1, LIMIT_PAGE, LIMIT_PAGE_DEFAULT, &out->limit, fault);
}

static enum err bad_cursor(struct fault *fault)
{
    return fault_set(
        fault, ERR_INVALID_CURSOR, "cursor",
        "This cursor was not given out by this list. Use the next_cursor of the page before, unchanged, "
        "or leave it out to start anew.");
}

enum err page_read_id(const struct request *rq, struct page *out, struct fault *fault)
{
    enum err e = read_limit(rq, out, fault);
    if (e != ERR_OK)
        return e;
    out->text = request_query(rq, "cursor");
    return out->text && !id_is_valid(out->text) ? bad_cursor(fault) : ERR_OK;
}

enum err page_read_number(const struct request *rq, struct page *out, struct fault *fault)
{
    enum err e = read_limit(rq, out, fault);
    if (e != ERR_OK)
        return e;
    out->text = request_query(rq, "cursor");
    if (!out->text)
        return ERR_OK;
    uint64_t n;
    if (strlen(out->text) > 18 || str_to_u64(out->text, &n) != ERR_OK)
        return bad_cursor(fault);
    out->number = (int64_t)n;
    return ERR_OK;
}

struct store_value page_after_id(const struct page *p)
{
    return store_text_or_any(p->text);
}

struct store_value page_after_number(const struct page *p)
{
    return p->number < 0 ? store_any : store_int(p->number);
}

json_t *page_json(json_t *items, const char *next)
{
    return json_pack("{s:o, s:s?}", "items", items, "next_cursor", next);
}

const char *page_cursor_first_text(struct reading *r, const void *row)
{
    (void)r;
    return *(const char *const *)row;
}

static enum err render_rows(struct reading *r, struct store_txn *txn, const struct page_source *source,
                            const char *rows, size_t n, json_t **out_items)
{
    size_t row_size = record_types[source->kind].row_size;
    *out_items = json_array();
    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(*out_items, source->render(r, txn, rows + i * row_size)) != 0) {
            json_decref(*out_items);
            return ERR_NO_MEMORY;
        }
    }
    return *out_items ? ERR_OK : ERR_NO_MEMORY;
}

enum err page_fill(struct reading *r, struct store_txn *txn, const struct page *page,
                   const struct page_source *source)
{
    char *rows;
    size_t n, row_size = record_types[source->kind].row_size;
    int64_t most = page->limit + 1 + (source->skip_first ? 1 : 0);
    enum err e = txn->store->ops->find(txn, source->query, source->args, source->num_args, most, r->arena,
                                       (void **)&rows, &n);
    if (e != ERR_OK)
        return e;
    if (source->skip_first && n > 0 && source->skip_first(page, rows)) {
        rows += row_size;
        n--;
    }
    bool is_last = n <= (size_t)page->limit;
    if (!is_last)
        n = (size_t)page->limit;
    json_t *items;
    if ((e = render_rows(r, txn, source, rows, n, &items)) != ERR_OK)
        return e;
    r->out = page_json(items, is_last ? NULL : source->cursor(r, rows + (n - 1) * row_size));
    return r->out ? ERR_OK : ERR_NO_MEMORY;
}
