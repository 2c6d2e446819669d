#include "server/api/mutation.h"

#include <string.h>
#include "common/base/buf.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_emit.h"

static void mutation_release(void *value)
{
    struct mutation *m = value;
    json_decref(m->body);
}

struct mutation *mutation_new(struct api *api, struct request *rq, size_t op_size)
{
    struct arena *arena = request_arena(rq);
    struct mutation *m = arena_alloc(arena, sizeof *m);
    struct op_base *op = arena_alloc(arena, op_size);
    if (!m || !op)
        return NULL;
    *op = api_op_base(api, rq);
    m->api = api;
    m->op = op;
    request_set(rq, REQUEST_STATE, m, mutation_release);
    return m;
}

enum err mutation_secret(struct mutation *m, const json_t *body, struct fault *fault)
{
    m->body = json_copy((json_t *)body);
    /* What there was no memory for is left out without a word. */
    if (!m->body || json_object_size(m->body) != json_object_size(body))
        return ERR_NO_MEMORY;
    const json_t *own = json_object_get(m->body, "token_sha256");
    if (!own) {
        m->has_secret = true;
        return token_new(m->secret, m->secret_sha256);
    }
    const char *hex = json_string_value(own);
    uint8_t bytes[SHA256_SIZE];
    if (!hex || hex_decode(hex, bytes, sizeof bytes) != ERR_OK)
        return fault_set(fault, ERR_INVALID_FIELD, "token_sha256",
                         "It must be the SHA-256 of the token's text, as 64 lower-case hexadecimal digits.");
    hex_encode(bytes, sizeof bytes, m->secret_sha256);
    return json_object_del(m->body, "token_sha256") == 0 ? ERR_OK : ERR_INTERNAL;
}

/* Compact text in the arena, with the secret in it where there is one. */
static enum err render(struct mutation *m, struct store_txn *txn, struct arena *arena)
{
    json_t *json = m->render(m->api, txn, arena, m->op);
    if (json && m->has_secret && json_object_set_new(json, "token", json_string(m->secret)) != 0) {
        json_decref(json);
        json = NULL;
    }
    struct buf text = BUF_INIT(LIMIT_JSON_REPLY);
    enum err e = json ? json_emit(json, false, &text) : ERR_NO_MEMORY;
    json_decref(json);
    if (!e && !(m->out_text = arena_strdup(arena, text.data)))
        e = ERR_NO_MEMORY;
    buf_release(&text);
    return e;
}

static enum err finish(struct mutation *m, struct store_txn *txn, bool is_replay)
{
    struct arena *arena = ((struct op_base *)m->op)->arena;
    m->out_status = m->status;
    m->out_text = "";
    if (m->location) {
        m->out_location = arena_printf(arena, "%s%s", m->location, m->id(m->op));
        if (!m->out_location)
            return ERR_NO_MEMORY;
        m->pending.object = m->out_location;
    }
    enum err e = m->render ? render(m, txn, arena) : ERR_OK;
    if (e == ERR_OK && m->key_id[0] && !is_replay)
        e = idempotency_keep(m, txn);
    return e;
}

static enum err run_mutation(struct store_txn *txn, void *arg)
{
    struct mutation *m = arg;
    struct op_base *base = m->op;
    bool is_replay = false;
    base->fault = FAULT_NONE;
    m->out_text = m->out_location = NULL;
    enum err e = m->key_id[0] ? idempotency_find(m, txn, &is_replay) : ERR_OK;
    m->pending.is_replay = e == ERR_OK && is_replay;
    if (e != ERR_OK || m->out_text)
        return e;
    if (!is_replay && (e = m->fn(txn, m->op)) != ERR_OK)
        return e;
    return finish(m, txn, is_replay);
}

enum err mutation_renew_secret(struct store_txn *txn, struct mutation *m, struct token_row *token)
{
    token->sha256 = m->secret_sha256;
    enum err e = store_update(txn, RECORD_TOKEN, token);
    return e == ERR_OK ? api_token_changed(txn, token->id) : e;
}

enum err mutation_renew_owners_secret(struct store_txn *txn, struct mutation *m, enum query tokens,
                                      const char *id)
{
    struct op_base *op = m->op;
    struct token_row *rows;
    size_t n;
    enum err e = store_find(txn, tokens, op->arena, 1, &rows, &n, store_text(id), store_int(0));
    if (e == ERR_OK && n == 0)
        return fault_set(
            &op->fault, ERR_CONFLICT, NULL,
            "What this request made has been revoked since. Register anew, with a new " HEADER_IDEMPOTENCY_KEY
            ".");
    return e == ERR_OK ? mutation_renew_secret(txn, m, &rows[0]) : e;
}

static enum err mutation_done(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    struct mutation *m = request_get(rq, REQUEST_STATE);
    if (m->committed)
        m->committed(m);
    enum err e = m->out_location ? reply_header(rq, "Location", m->out_location) : ERR_OK;
    if (e != ERR_OK)
        return e;
    if (m->out_text[0] == '\0')
        return reply_empty(rq, m->out_status);
    return reply_bytes(rq, m->out_status, MEDIA_JSON, m->out_text, strlen(m->out_text));
}

enum err mutation_start(struct mutation *m, struct request *rq, struct fault *fault)
{
    if (request_route(rq)->is_idempotent) {
        enum err e = idempotency_begin(m, rq, fault);
        if (e != ERR_OK)
            return e;
    }
    return api_write(m->api, rq, &m->pending, run_mutation, m, m->op, mutation_done);
}
