/* POST /login: the code of a login link becomes a token. */
#include "common/json/json_spec.h"
#include "server/api/fields.h"
#include "server/api/handlers.h"
#include "server/api/login_code.h"
#include "server/api/mutation.h"
#include "server/core/names.h"

struct login_body {
    const char *code;
};

static const struct json_field login_fields[] = {
    JSON_FIELD(struct login_body, code, JSON_FIELD_TEXT, .is_required = true, .min = 1, .max = LIMIT_NAME),
};

static json_t *render_login(struct api *api, struct store_txn *txn, struct arena *arena, const void *op)
{
    (void)api;
    (void)txn;
    (void)arena;
    const struct token_row *t = &((const struct op_token_create *)op)->out;
    struct obj o = obj_new();
    obj_text(&o, "token_id", t->id);
    obj_text(&o, "role", token_role_name(t->role));
    obj_time(&o, "expires_at", t->expires_at);
    return obj_end(&o);
}

enum err api_login(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct mutation *m = mutation_new(api, rq, sizeof(struct op_token_create));
    struct login_body body = {0};
    struct login_grant grant;
    if (!m)
        return ERR_NO_MEMORY;
    enum err e = json_spec_parse(request_json(rq), login_fields, 1, JSON_REFUSE_UNKNOWN, "",
                                 request_arena(rq), &body, fault);
    if (e == ERR_OK && !api->data_dir)
        e = fault_set(fault, ERR_UNAUTHORIZED, NULL,
                      "This server takes no login links; sign in with a token.");
    if (e == ERR_OK)
        e = reply_header(rq, "Cache-Control", "no-store");
    int64_t now_ms = clock_now_ms(&api->clock);
    if (e == ERR_OK)
        e = login_code_take(api->data_dir, body.code, now_ms, &grant, fault);
    if (e == ERR_OK)
        e = token_new(m->secret, m->secret_sha256);
    if (e != ERR_OK)
        return e;
    struct op_token_create *op = m->op;
    op->name = arena_printf(request_arena(rq), "login link, used from %s", request_remote(rq));
    if (!op->name)
        return ERR_NO_MEMORY;
    op->role = grant.role;
    op->expires_at = now_ms + grant.session_ms;
    op->token_sha256 = m->secret_sha256;
    m->has_secret = true;
    m->fn = op_token_create;
    m->status = 201;
    m->render = render_login;
    return mutation_start(m, rq, fault);
}
