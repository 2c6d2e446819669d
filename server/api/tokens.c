#include "server/api/caller.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/mutation.h"
#include "server/api/page.h"
#include "common/json/json_spec.h"
#include "server/core/names.h"

#define MAX_EXPIRES_S ((double)100 * 366 * 24 * 3600)

static struct obj token_obj(const struct token_row *t)
{
    struct obj o = obj_new();
    obj_text(&o, "id", t->id);
    obj_text(&o, "name", t->name);
    obj_text(&o, "role", token_role_name(t->role));
    obj_text_or_null(&o, "worker_id", t->worker_id);
    obj_text_or_null(&o, "device_id", t->device_id);
    obj_text_or_null(&o, "created_by", t->created_by);
    obj_time(&o, "created_at", t->created_at);
    obj_time(&o, "expires_at", t->expires_at);
    obj_time(&o, "revoked_at", t->revoked_at);
    obj_text_or_null(&o, "revoked_reason", t->revoked_reason);
    if (t->role == ROLE_ENROLLMENT) {
        obj_int_or_null(&o, "max_uses", t->max_uses ? t->max_uses : -1);
        obj_int(&o, "uses", t->uses);
    }
    return o;
}

/* ---- POST /tokens ---- */

static const char *const roles[] = {"admin", "operator", "viewer", "enrollment", NULL};
static const int64_t role_values[] = {ROLE_ADMIN, ROLE_OPERATOR, ROLE_VIEWER, ROLE_ENROLLMENT};

struct token_body {
    const char *name;
    int role;
    const char *expires_at;
    int64_t expires_in_s, max_uses;
};

static const struct json_field token_fields[] = {
    JSON_FIELD(struct token_body, name, JSON_FIELD_TEXT, .is_required = true, .min = 1, .max = LIMIT_NAME),
    JSON_FIELD(struct token_body, role, JSON_FIELD_CHOICE, .is_required = true, .choices = roles),
    JSON_FIELD(struct token_body, expires_at, JSON_FIELD_TEXT, .min = 1, .max = 40, .allow_null = true),
    JSON_FIELD(struct token_body, expires_in_s, JSON_FIELD_INT, .min = 1, .max = MAX_EXPIRES_S,
               .allow_null = true),
    JSON_FIELD(struct token_body, max_uses, JSON_FIELD_INT, .min = 1, .max = LIMIT_DEVICES_PER_RUN,
               .allow_null = true),
};

static enum err read_expiry(const struct token_body *b, int64_t now_ms, int64_t *out_ms, struct fault *fault)
{
    *out_ms = b->expires_in_s ? now_ms + b->expires_in_s * 1000 : 0;
    if (!b->expires_at)
        return ERR_OK;
    if (b->expires_in_s)
        return fault_set(fault, ERR_INVALID_FIELD, "expires_at",
                         "Give expires_at or expires_in_s, not both.");
    if (time_parse(b->expires_at, out_ms) != ERR_OK)
        return fault_set(fault, ERR_INVALID_FIELD, "expires_at",
                         "It must be a time like 2030-01-31T12:00:00Z (RFC 3339, UTC).");
    if (*out_ms <= now_ms)
        return fault_set(fault, ERR_INVALID_FIELD, "expires_at", "This time is not in the future.");
    return ERR_OK;
}

static json_t *render_token(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    (void)api;
    (void)txn;
    (void)arena;
    struct obj o = token_obj(&((const struct op_token_create *)op)->out);
    return obj_end(&o);
}

static const char *token_id(const void *op)
{
    return ((const struct op_token_create *)op)->out.id;
}

/* The former secret was lost on the way: nobody can hold it but a thief, so it simply ceases to exist. */
static enum err token_reissue(struct store_txn *txn, struct mutation *m, const char *id)
{
    struct op_token_create *op = m->op;
    record_init(RECORD_TOKEN, &op->out);
    op->out.id = id;
    enum err e = store_get(txn, RECORD_TOKEN, op->base.arena, &op->out);
    if (e != ERR_OK)
        return e;
    return mutation_renew_secret(txn, m, &op->out);
}

enum err api_token_create(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct mutation *m = mutation_new(api, rq, sizeof(struct op_token_create));
    if (!m)
        return ERR_NO_MEMORY;
    enum err e = mutation_secret(m, request_json(rq), fault);
    if (e != ERR_OK)
        return e;
    struct token_body body = {0};
    e = json_spec_parse(m->body, token_fields, sizeof token_fields / sizeof token_fields[0],
                        JSON_REFUSE_UNKNOWN, "", request_arena(rq), &body, fault);
    if (e != ERR_OK)
        return e;
    struct op_token_create *op = m->op;
    e = read_expiry(&body, clock_now_ms(&api->clock), &op->expires_at, fault);
    if (e != ERR_OK)
        return e;
    op->name = body.name;
    op->role = role_values[body.role];
    op->max_uses = body.max_uses;
    op->token_sha256 = m->secret_sha256;
    m->fn = op_token_create;
    m->status = 201;
    m->render = render_token;
    m->id = token_id;
    m->reissue = token_reissue;
    return mutation_start(m, rq, fault);
}

/* ---- GET /tokens ---- */

static json_t *render_row(struct reading *r, struct store_txn *txn, const void *row)
{
    (void)r;
    (void)txn;
    struct obj o = token_obj(row);
    return obj_end(&o);
}

static enum err read_tokens(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct page page;
    enum err e = page_read_id(r->rq, &page, r->fault);
    if (e != ERR_OK)
        return e;
    struct store_value role = store_any;
    const char *name = request_query(r->rq, "role");
    if (name) {
        int64_t value;
        if (token_role_parse(name, &value) != ERR_OK)
            return fault_set(r->fault, ERR_INVALID_FIELD, "role",
                             "It must be admin, operator, viewer, worker or enrollment.");
        role = store_int(value);
    }
    const struct store_value args[] = {role, page_after_id(&page)};
    return page_fill(r, txn, &page,
                     &(struct page_source){.query = QUERY_TOKENS,
                                           .kind = RECORD_TOKEN,
                                           .args = args,
                                           .num_args = 2,
                                           .render = render_row,
                                           .cursor = page_cursor_first_text});
}

enum err api_token_list(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_tokens, fault);
}

/* ---- GET /tokens/self ---- */

static enum err read_self(struct store_txn *txn, void *arg)
{
    struct reading *r = arg;
    struct token_row row;
    record_init(RECORD_TOKEN, &row);
    row.id = api_caller(r->rq)->token_id;
    enum err e = api_get(txn, RECORD_TOKEN, r->arena, &row, "token", row.id, r->fault);
    if (e == ERR_OK && !(r->out = render_row(r, txn, &row)))
        e = ERR_NO_MEMORY;
    return e;
}

enum err api_token_self(void *ctx, struct request *rq, struct fault *fault)
{
    return api_reply_read(ctx, rq, read_self, fault);
}

/* ---- DELETE /tokens/{token} ---- */

enum err api_token_revoke(void *ctx, struct request *rq, struct fault *fault)
{
    struct mutation *m = mutation_new(ctx, rq, sizeof(struct op_revoke));
    if (!m)
        return ERR_NO_MEMORY;
    m->fn = op_token_revoke;
    m->status = 204;
    enum err e = api_path_id(rq, "token", &((struct op_revoke *)m->op)->id, fault);
    return e == ERR_OK ? mutation_start(m, rq, fault) : e;
}
