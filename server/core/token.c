#include "server/core/token.h"

#include <string.h>
#include "common/crypto/sha256.h"
#include "server/core/events.h"
#include "server/core/names.h"

enum err token_find(struct work *w, const char *sha256, struct token_row *out, bool *out_found)
{
    struct token_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_TOKEN_BY_SHA256, w->arena, 1, &rows, &count, store_text(sha256));
    *out_found = !e && count > 0;
    if (*out_found)
        *out = rows[0];
    return e;
}

static enum err token_take_id(struct work *w, struct token_row *row)
{
    struct token_row other;
    if (!*row->id)
        return work_id(w, &row->id);
    record_init(RECORD_TOKEN, &other);
    other.id = row->id;
    enum err e = store_get(w->txn, RECORD_TOKEN, w->arena, &other);
    if (e == ERR_OK)
        return fault_set(w->fault, ERR_CONFLICT, NULL, "there is a token \"%.64s\" already", row->id);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err token_insert(struct work *w, struct token_row *row)
{
    struct token_row other;
    bool is_taken;
    if (strlen(row->sha256) != SHA256_HEX_SIZE - 1)
        return fault_set(w->fault, ERR_INVALID_FIELD, "token_sha256", "must be 64 lower-case hex digits");
    enum err e = token_find(w, row->sha256, &other, &is_taken);
    if (!e && is_taken)
        return fault_set(w->fault, ERR_CONFLICT, "token_sha256",
                         "this secret is already in use: make a new one");
    if (!e)
        e = token_take_id(w, row);
    row->created_by = w->caller;
    row->created_at = w->now_ms;
    return e ? e : store_insert(w->txn, RECORD_TOKEN, row);
}

enum err token_use(struct work *w)
{
    struct token_row row;
    record_init(RECORD_TOKEN, &row);
    row.id = w->caller;
    enum err e = store_get(w->txn, RECORD_TOKEN, w->arena, &row);
    if (e == ERR_NOT_FOUND)
        return ERR_OK; /* no token's caller: `fedlane simulate` */
    if (e || !row.max_uses)
        return e;
    if (row.uses >= row.max_uses)
        return fault_set(
            w->fault, ERR_FORBIDDEN, NULL,
            "This enrollment token has admitted %lld of %lld. Ask the server's administrator for another.",
            (long long)row.uses, (long long)row.max_uses);
    row.uses++;
    return store_update(w->txn, RECORD_TOKEN, &row);
}

enum err token_end(struct work *w, struct token_row *row, const char *reason)
{
    if (row->revoked_at)
        return ERR_OK;
    row->revoked_at = w->now_ms;
    row->revoked_reason = reason;
    enum err e = store_update(w->txn, RECORD_TOKEN, row);
    return e ? e : notify_topic(w, "token", row->id);
}

enum err tokens_end_of_worker(struct work *w, const char *worker_id, const char *reason)
{
    struct token_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_TOKENS_OF_WORKER, w->arena, 0, &rows, &count, store_text(worker_id),
                            store_int(0));
    for (size_t i = 0; i < count && !e; i++)
        e = token_end(w, &rows[i], reason);
    return e;
}

enum err tokens_end_of_device(struct work *w, const char *device_id, const char *reason)
{
    struct token_row *rows;
    size_t count;
    enum err e = store_find(w->txn, QUERY_TOKENS_OF_DEVICE, w->arena, 0, &rows, &count, store_text(device_id),
                            store_int(0));
    for (size_t i = 0; i < count && !e; i++)
        e = token_end(w, &rows[i], reason);
    return e;
}

enum err op_token_create(struct store_txn *txn, void *arg)
{
    struct op_token_create *a = arg;
    struct work w = work_begin(txn, &a->base);
    if (!*token_role_name(a->role))
        return fault_set(w.fault, ERR_INVALID_FIELD, "role",
                         "must be \"admin\", \"operator\", \"viewer\", \"worker\" or \"enrollment\"");
    if (strlen(a->name) > LIMIT_NAME)
        return fault_set(w.fault, ERR_INVALID_FIELD, "name", "must have at most %d bytes", LIMIT_NAME);
    if (a->max_uses && a->role != ROLE_ENROLLMENT)
        return fault_set(w.fault, ERR_INVALID_FIELD, "max_uses", "is for tokens of the role enrollment only");
    if (a->expires_at && a->expires_at <= w.now_ms)
        return fault_set(w.fault, ERR_INVALID_FIELD, "expires_at", "must lie in the future");
    record_init(RECORD_TOKEN, &a->out);
    a->out.id = a->id ? a->id : "";
    a->out.name = a->name;
    a->out.role = a->role;
    a->out.sha256 = a->token_sha256;
    a->out.expires_at = a->expires_at;
    a->out.max_uses = a->max_uses;
    return token_insert(&w, &a->out);
}

enum err op_token_revoke(struct store_txn *txn, void *arg)
{
    struct op_revoke *a = arg;
    struct work w = work_begin(txn, &a->base);
    struct token_row row;
    record_init(RECORD_TOKEN, &row);
    row.id = a->id;
    enum err e = store_get(txn, RECORD_TOKEN, w.arena, &row);
    if (e == ERR_NOT_FOUND)
        return fault_set(w.fault, e, NULL, "there is no token \"%.64s\"", a->id);
    a->base.is_repeat = !e && row.revoked_at;
    return e ? e : token_end(&w, &row, "revoked by a user");
}
