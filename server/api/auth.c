#include <string.h>
#include <strings.h>
#include "common/base/buf.h"
#include "common/base/str.h"
#include "common/crypto/token.h"
#include "server/api/auth_limit.h"
#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/core/names.h"

#define MAX_TOKEN 512 /* bytes; ours have 67 */

static const struct caller nobody = {.token_id = "", .worker_id = "", .device_id = "", .sha256 = ""};

const struct caller *api_caller(const struct request *rq)
{
    const struct caller *c = request_get(rq, REQUEST_CALLER);
    return c ? c : &nobody;
}

/* The secret of "Bearer SECRET" (RFC 6750); the scheme in any case. */
static enum err bearer(const struct request *rq, const char **out, struct fault *fault)
{
    const char *h = request_header(rq, "Authorization");
    if (!h)
        return fault_set(
            fault, ERR_UNAUTHORIZED, NULL,
            "This route needs a token. Send the header \"Authorization: Bearer TOKEN\"; the first one "
            "is in admin.token in the server's data directory.");
    if (strncasecmp(h, "Bearer ", 7) != 0)
        return fault_set(
            fault, ERR_UNAUTHORIZED, NULL,
            "The Authorization header must read \"Bearer TOKEN\"; other schemes are not supported.");
    h += 7;
    while (*h == ' ')
        h++;
    if (*h == '\0' || strlen(h) > MAX_TOKEN)
        return fault_set(fault, ERR_UNAUTHORIZED, NULL, "The token in the Authorization header %s.",
                         *h == '\0' ? "is empty" : "is too long to be one");
    *out = h;
    return ERR_OK;
}

struct token_look {
    struct arena *arena;
    const char *sha256;
    struct token_row *row; /* NULL: there is none */
};

static enum err find_token(struct store_txn *txn, void *arg)
{
    struct token_look *look = arg;
    struct token_row *rows;
    size_t n;
    enum err e = store_find(txn, QUERY_TOKEN_BY_SHA256, look->arena, 1, &rows, &n, store_text(look->sha256));
    look->row = e == ERR_OK && n == 1 ? rows : NULL;
    return e;
}

static enum err check_token(const struct token_row *t, int64_t now_ms, struct fault *fault)
{
    if (!t)
        return fault_set(
            fault, ERR_UNAUTHORIZED, NULL,
            "The server does not know this token. Check that it was copied whole, and that it is of "
            "this server.");
    if (t->revoked_at != 0 && str_eq(t->revoked_reason, TOKEN_REASON_REPLACED))
        return fault_set(
            fault, ERR_DEVICE_BUSY, NULL,
            "Another process has registered with the same identity and took over; this token is no "
            "longer valid. Let only one process use a state directory, or give this one its own.");
    if (t->revoked_at != 0)
        return fault_set(
            fault, ERR_TOKEN_REVOKED, NULL,
            "This token was revoked. Ask the server's administrator for a new one, or register again.");
    if (t->expires_at != 0 && now_ms >= t->expires_at)
        return fault_set(fault, ERR_TOKEN_EXPIRED, NULL,
                         "This token has expired. Ask the server's administrator for a new one.");
    return ERR_OK;
}

enum err caller_check(struct api *api, struct store_txn *txn, const struct caller *c, struct arena *arena,
                      struct fault *fault)
{
    struct token_row row;
    if (!c->token_id[0])
        return ERR_OK;
    record_init(RECORD_TOKEN, &row);
    row.id = c->token_id;
    enum err e = store_get(txn, RECORD_TOKEN, arena, &row);
    if (e != ERR_OK && e != ERR_NOT_FOUND)
        return e;
    bool is_known = e == ERR_OK && str_eq(row.sha256, c->sha256);
    return check_token(is_known ? &row : NULL, clock_now_ms(&api->clock), fault);
}

int64_t caller_wait_ms(struct api *api, const struct caller *c, int64_t wait_ms)
{
    if (!c->expires_at)
        return wait_ms;
    int64_t left_ms = c->expires_at - clock_now_ms(&api->clock) + 1; /* then it has expired for sure */
    return left_ms < wait_ms ? left_ms : wait_ms;
}

uint64_t caller_topic(const struct caller *c)
{
    return topic_of("token", c->token_id);
}

static enum err check_role(const struct route *route, const struct token_row *t, struct fault *fault)
{
    if ((uint32_t)t->role & route->roles)
        return ERR_OK;
    char roles[80] = "";
    size_t len = 0;
    for (int64_t role = ROLE_ADMIN; role <= ROLE_ENROLLMENT; role <<= 1) {
        if (!((uint32_t)role & route->roles))
            continue;
        int n = snprintf(roles + len, sizeof roles - len, "%s%s", len ? ", " : "", token_role_name(role));
        if (n > 0)
            len += (size_t)n;
    }
    return fault_set(fault, ERR_FORBIDDEN, NULL,
                     "A token of the role %s may not do this; it needs one of the role %s.",
                     token_role_name(t->role), roles);
}

enum err api_auth_failed(struct api *api, const struct request *rq, enum err e, struct fault *fault)
{
    if (err_http_status(e) != 401 ||
        auth_limit_failed(api->auth_limit, request_remote(rq), clock_now_ms(&api->clock)))
        return e;
    return fault_set(
        fault, ERR_RATE_LIMITED, NULL,
        "Too many requests of your address came without a good token. Correct the token, wait some "
        "seconds, and try again; who shows a good one is answered all the time.");
}

enum err api_authenticate(void *ctx, struct request *rq, const struct route *route, struct fault *fault)
{
    struct api *api = ctx;
    if (route->roles == 0)
        return ERR_OK;
    const char *secret = NULL;
    enum err e = bearer(rq, &secret, fault);
    if (e != ERR_OK)
        return api_auth_failed(api, rq, e, fault);
    char sha256[SHA256_HEX_SIZE];
    if ((e = token_hash(secret, sha256)) != ERR_OK)
        return api_failure(fault, e);
    struct token_look look = {.arena = request_arena(rq), .sha256 = sha256};
    if ((e = api->store->ops->read(api->store, find_token, &look)) != ERR_OK)
        return api_failure(fault, e);
    if ((e = check_token(look.row, clock_now_ms(&api->clock), fault)) != ERR_OK)
        return api_auth_failed(api, rq, e, fault);
    if ((e = check_role(route, look.row, fault)) != ERR_OK)
        return e;
    struct caller *c = arena_alloc(look.arena, sizeof *c);
    if (!c)
        return api_failure(fault, ERR_NO_MEMORY);
    *c = (struct caller){.token_id = look.row->id,
                         .role = (uint32_t)look.row->role,
                         .worker_id = look.row->worker_id,
                         .device_id = look.row->device_id,
                         .sha256 = look.row->sha256,
                         .expires_at = look.row->expires_at};
    request_set(rq, REQUEST_CALLER, c, NULL);
    return caller_is_worker(c) ? caller_check_path(api, rq, route, fault) : ERR_OK;
}
