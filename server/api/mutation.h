/* Requests that create or change something: one operation, its reply rendered in the same transaction, and,
 * with an Idempotency-Key, the reply kept in that transaction too, so that effect and record stand or fall
 * together. */
#ifndef FEDLANE_API_MUTATION_H
#define FEDLANE_API_MUTATION_H

#include "common/crypto/token.h"
#include "server/api/context.h"

struct mutation;

/* The reply's JSON from the operation's outputs; inside the transaction. */
typedef json_t *mutation_render(struct api *api, struct store_txn *txn, struct arena *arena, const void *op);
/* Sets the outputs of the operation as if it had just made the object `id`, and gives its token the new
 * secret in place of the one that was lost. */
typedef enum err mutation_reissue(struct store_txn *txn, struct mutation *m, const char *id);

struct mutation {
    struct pending pending;
    struct api *api;
    void *op; /* begins with struct op_base */
    store_fn fn;
    int status;                        /* of the reply when it went well */
    mutation_render *render;           /* NULL: an empty reply */
    const char *location;              /* "/api/v1/runs/": Location is this and the id; NULL: none */
    const char *(*id)(const void *op); /* of the object made; with location or secret */
    bool has_secret;                   /* the reply shows `secret` once, as "token" */
    char secret[TOKEN_SIZE], secret_sha256[SHA256_HEX_SIZE];
    void (*committed)(const struct mutation *m); /* before the reply, in the request's thread; may be NULL */
    mutation_reissue *reissue;                   /* with has_secret */
    json_t *body; /* owned: what the operation reads, where that is not the request's own */
    /* the idempotency record; "" without a key */
    char key_id[SHA256_HEX_SIZE], body_sha256[SHA256_HEX_SIZE];
    /* made in the transaction, in the arena */
    int out_status;
    const char *out_text, *out_location;
};

/* Zeroed, with an operation of op_size bytes whose op_base is filled. Becomes REQUEST_STATE. NULL: out of
 * memory. */
struct mutation *mutation_new(struct api *api, struct request *rq, size_t op_size);
/* For a request that makes a token: takes "token_sha256" out of the body (m->body is the rest) or makes a
 * secret. m->secret_sha256 is set either way. */
enum err mutation_secret(struct mutation *m, const json_t *body, struct fault *fault) MUST_CHECK;
/* Starts it; the reply follows. */
enum err mutation_start(struct mutation *m, struct request *rq, struct fault *fault) MUST_CHECK;

/* For a mutation_reissue: the secret of this token, or of the one that belongs to the device or worker `id`
 * (found by `tokens`; ERR_CONFLICT where it was revoked), is m's from now on. */
enum err mutation_renew_secret(struct store_txn *txn, struct mutation *m, struct token_row *token) MUST_CHECK;
enum err mutation_renew_owners_secret(struct store_txn *txn, struct mutation *m, enum query tokens,
                                      const char *id) MUST_CHECK;

/* ---- idempotency.c ---- */
#define IDEMPOTENCY_KEEP_MS ((int64_t)24 * 3600 * 1000)
/* Reads the header; fills key_id and body_sha256. */
enum err idempotency_begin(struct mutation *m, struct request *rq, struct fault *fault) MUST_CHECK;
/* In the transaction: *out_found when a reply is on record; m->out_* hold it, or the object was given a new
 * secret and must be rendered (m->out_text is NULL then). */
enum err idempotency_find(struct mutation *m, struct store_txn *txn, bool *out_found) MUST_CHECK;
/* In the transaction: puts the reply on record and drops records that are too old. */
enum err idempotency_keep(struct mutation *m, struct store_txn *txn) MUST_CHECK;

#endif
