/* POST /login: the code of a login link becomes a token. */
#include "common/json/json_spec.h"
#include "server/api/caller.h"
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

struct login {
    struct op_token_create create; /* first: the operation */
    const char *data_dir, *code;
};

static enum err create_once(struct store_txn *txn, void *arg)
{
    struct op_token_create *op = arg;
    enum err e = op_token_create(txn, op);
    return e == ERR_CONFLICT ? login_code_refuse(&op->base.fault) : e;
}

/* Only now: where the token could not be stored, the link can be opened again. */
static void drop_code(const struct mutation *m)
{
    const struct login *login = m->op;
    login_code_drop(login->data_dir, login->code);
}

/* What the code is good for becomes the operation. */
static enum err prepare(struct mutation *m, struct request *rq, const struct login_grant *grant,
                        int64_t now_ms)
{
    struct op_token_create *op = m->op;
    op->name = arena_printf(request_arena(rq), "login link, used from %s", request_remote(rq));
    op->id = arena_strdup(request_arena(rq), grant->token_id);
    if (!op->name || !op->id)
        return ERR_NO_MEMORY;
    op->role = grant->role;
    op->expires_at = now_ms + grant->session_ms;
    op->token_sha256 = m->secret_sha256;
    m->has_secret = true;
    m->fn = create_once;
    m->committed = drop_code;
    m->status = 201;
    m->render = render_login;
    return ERR_OK;
}

enum err api_login(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct mutation *m = mutation_new(api, rq, sizeof(struct login));
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
        e = api_auth_failed(api, rq, login_code_find(api->data_dir, body.code, now_ms, &grant, fault), fault);
    if (e == ERR_OK)
        e = token_new(m->secret, m->secret_sha256);
    if (e == ERR_OK)
        e = prepare(m, rq, &grant, now_ms);
    if (e != ERR_OK)
        return e;
    struct login *login = m->op;
    login->data_dir = api->data_dir;
    login->code = body.code;
    return mutation_start(m, rq, fault);
}
