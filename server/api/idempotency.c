#include <string.h>
#include "server/api/caller.h"
#include "server/api/mutation.h"

#define PURGE_AT_ONCE 64 /* per record added, so that a backlog shrinks without a long transaction */

static enum err check_key(const char *key, struct fault *fault)
{
    size_t n = strlen(key);
    bool is_fine = n > 0 && n <= LIMIT_IDEMPOTENCY_KEY;
    for (size_t i = 0; is_fine && i < n; i++)
        is_fine = key[i] > 0x20 && key[i] < 0x7f;
    if (is_fine)
        return ERR_OK;
    return fault_set(fault, ERR_INVALID_FIELD, HEADER_IDEMPOTENCY_KEY,
                     "The key must be 1 to %d visible ASCII characters, for example a random UUID.",
                     LIMIT_IDEMPOTENCY_KEY);
}

enum err idempotency_begin(struct mutation *m, struct request *rq, struct fault *fault)
{
    const char *key = request_header(rq, HEADER_IDEMPOTENCY_KEY);
    if (!key)
        return ERR_OK;
    enum err e = check_key(key, fault);
    if (e != ERR_OK)
        return e;
    /* No part can hold a line break, so different triples are different texts. */
    const char *id = arena_printf(request_arena(rq), "%s\n%s %s\n%s", api_caller(rq)->token_id,
                                  request_method(rq), request_path(rq), key);
    if (!id)
        return ERR_NO_MEMORY;
    if ((e = sha256_hex(id, strlen(id), m->key_id)) != ERR_OK)
        return e;
    return request_body_sha256(rq, m->body_sha256);
}

static enum err replay(struct mutation *m, struct store_txn *txn, const struct idempotency_row *row)
{
    struct arena *arena = ((struct op_base *)m->op)->arena;
    if (row->reply[0] == '\0' && m->has_secret)
        return m->reissue(txn, m, row->object_id);
    m->out_status = (int)row->status;
    m->out_text = row->reply;
    if (m->location && !(m->out_location = arena_printf(arena, "%s%s", m->location, row->object_id)))
        return ERR_NO_MEMORY;
    return ERR_OK;
}

enum err idempotency_find(struct mutation *m, struct store_txn *txn, bool *out_found)
{
    struct op_base *op = m->op;
    struct idempotency_row row;
    record_init(RECORD_IDEMPOTENCY, &row);
    row.id = m->key_id;
    *out_found = false;
    enum err e = store_get(txn, RECORD_IDEMPOTENCY, op->arena, &row);
    if (e == ERR_NOT_FOUND)
        return ERR_OK;
    if (e != ERR_OK)
        return e;
    if (row.created_at + IDEMPOTENCY_KEEP_MS < clock_now_ms(&m->api->clock))
        return ERR_OK;
    if (strcmp(row.body_sha256, m->body_sha256) != 0)
        return fault_set(
            &op->fault, ERR_DUPLICATE_CONFLICT, HEADER_IDEMPOTENCY_KEY,
            "This key was used before with another body. Send the same body to get the former reply, or "
            "use a new key for a new request.");
    *out_found = true;
    return replay(m, txn, &row);
}

static enum err purge(struct store_txn *txn, struct arena *arena, int64_t before)
{
    struct idempotency_row *rows;
    size_t n;
    enum err e =
        store_find(txn, QUERY_IDEMPOTENCY_BEFORE, arena, PURGE_AT_ONCE, &rows, &n, store_int(before));
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        e = store_remove(txn, RECORD_IDEMPOTENCY, &rows[i]);
    return e;
}

enum err idempotency_keep(struct mutation *m, struct store_txn *txn)
{
    struct op_base *op = m->op;
    int64_t now = clock_now_ms(&m->api->clock);
    /* Before the put: a record of this key that is too old goes as well. */
    enum err e = purge(txn, op->arena, now - IDEMPOTENCY_KEEP_MS);
    if (e != ERR_OK)
        return e;
    struct idempotency_row row = {.id = m->key_id,
                                  .body_sha256 = m->body_sha256,
                                  .status = m->out_status,
                                  .reply = m->has_secret ? "" : m->out_text,
                                  .object_id = m->id ? m->id(m->op) : "",
                                  .created_at = now};
    return store_put(txn, RECORD_IDEMPOTENCY, &row);
}
