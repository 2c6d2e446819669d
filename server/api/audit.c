#include "server/api/audit.h"

#include "server/api/caller.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/core/names.h"

enum err audit_add(struct store_txn *txn, const struct pending *p)
{
    const struct caller *caller = api_caller(p->rq);
    struct audit_row row;
    record_init(RECORD_AUDIT, &row);
    row.at = clock_now_ms(&p->api->clock);
    row.token_id = caller->token_id;
    row.role = caller->role;
    row.remote = request_remote(p->rq);
    row.request_id = request_id(p->rq);
    row.operation = request_route(p->rq)->operation_id;
    row.path = request_path(p->rq);
    row.object = p->object ? p->object : "";
    return store_insert(txn, RECORD_AUDIT, &row);
}

static json_t *render(struct reading *r, struct store_txn *txn, const void *of)
{
    const struct audit_row *row = of;
    struct token_row token;
    record_init(RECORD_TOKEN, &token);
    token.id = row->token_id;
    if (row->token_id[0] && store_get(txn, RECORD_TOKEN, r->arena, &token) != ERR_OK)
        return NULL; /* tokens are never removed, so what is missing is memory */
    struct obj o = obj_new();
    obj_int(&o, "id", row->id);
    obj_time(&o, "at", row->at);
    obj_text_or_null(&o, "token_id", row->token_id);
    obj_text_or_null(&o, "token_name", token.name);
    obj_text_or_null(&o, "role", row->role ? token_role_name(row->role) : "");
    obj_text(&o, "remote", row->remote);
    obj_text(&o, "request_id", row->request_id);
    obj_text(&o, "operation", row->operation);
    obj_text(&o, "path", row->path);
    obj_text_or_null(&o, "object", row->object);
    return obj_end(&o);
}

static const char *cursor_of(struct reading *r, const void *row)
{
    return arena_printf(r->arena, "%lld", (long long)((const struct audit_row *)row)->id);
}

static enum err read_audit(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct page page;
    enum err e = page_read_number(r->rq, &page, r->fault);
    if (e != ERR_OK)
        return e;
    const struct store_value args[] = {store_text_or_any(request_query(r->rq, "token")),
                                       page_after_number(&page)};
    return page_fill(r, txn, &page,
                     &(struct page_source){.query = QUERY_AUDIT,
                                           .kind = RECORD_AUDIT,
                                           .args = args,
                                           .num_args = 2,
                                           .render = render,
                                           .cursor = cursor_of});
}

enum err api_audit(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_audit, fault);
}
