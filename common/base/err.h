/* Errors: one table gives each error its name, the HTTP status it becomes, whether trying again can help, and
 * the machine-readable code that stands in a problem+json reply. */
#ifndef FEDLANE_BASE_ERR_H
#define FEDLANE_BASE_ERR_H

#include <stdbool.h>

/* X(NAME, http_status, retry_helps, "code") */
#define ERR_TABLE(X)                                                                                         \
    X(OK, 200, false, "ok")                                                                                  \
    X(MALFORMED_JSON, 400, false, "malformed_json")                                                          \
    X(INVALID_FIELD, 400, false, "invalid_field")                                                            \
    X(UNKNOWN_FIELD, 400, false, "unknown_field")                                                            \
    X(MISSING_FIELD, 400, false, "missing_field")                                                            \
    X(INVALID_CURSOR, 400, false, "invalid_cursor")                                                          \
    X(UNAUTHORIZED, 401, false, "unauthorized")                                                              \
    X(TOKEN_REVOKED, 401, false, "token_revoked")                                                            \
    X(TOKEN_EXPIRED, 401, false, "token_expired")                                                            \
    X(FORBIDDEN, 403, false, "forbidden")                                                                    \
    X(NOT_SELECTED, 403, false, "not_selected")                                                              \
    X(NOT_FOUND, 404, false, "not_found")                                                                    \
    X(METHOD_NOT_ALLOWED, 405, false, "method_not_allowed")                                                  \
    X(CONFLICT, 409, false, "conflict")                                                                      \
    X(STALE_ROUND, 409, false, "stale_round")                                                                \
    X(SUPERSEDED, 409, false, "superseded")                                                                  \
    X(RUN_NOT_RUNNING, 409, false, "run_not_running")                                                        \
    X(DUPLICATE_CONFLICT, 409, false, "duplicate_conflict")                                                  \
    X(DEVICE_BUSY, 409, true, "device_busy")                                                                 \
    X(CONFIG_MISMATCH, 409, false, "config_mismatch")                                                        \
    X(PAYLOAD_TOO_LARGE, 413, false, "payload_too_large")                                                    \
    X(UNSUPPORTED_MEDIA_TYPE, 415, false, "unsupported_media_type")                                          \
    X(RANGE_NOT_SATISFIABLE, 416, false, "range_not_satisfiable")                                            \
    X(SHAPE_MISMATCH, 422, false, "shape_mismatch")                                                          \
    X(DTYPE_MISMATCH, 422, false, "dtype_mismatch")                                                          \
    X(NAME_MISMATCH, 422, false, "name_mismatch")                                                            \
    X(NON_FINITE, 422, false, "non_finite")                                                                  \
    X(DIGEST_MISMATCH, 422, false, "digest_mismatch")                                                        \
    X(INVALID_SAFETENSORS, 422, false, "invalid_safetensors")                                                \
    X(INVALID_UPDATE, 422, false, "invalid_update")                                                          \
    X(RATE_LIMITED, 429, true, "rate_limited")                                                               \
    X(HEADERS_TOO_LARGE, 431, false, "headers_too_large")                                                    \
    X(INTERNAL, 500, false, "internal")                                                                      \
    X(UNAVAILABLE, 503, true, "unavailable")                                                                 \
    X(NO_MEMORY, 503, true, "unavailable")                                                                   \
    X(TOO_MANY_WAITERS, 503, true, "too_many_waiters")                                                       \
    X(STORAGE_FULL, 507, true, "storage_full")                                                               \
    /* Below here: never sent as they are; a handler turns them into one of the above. */                    \
    X(IO, 500, false, "internal")                                                                            \
    X(CORRUPT, 500, false, "internal")                                                                       \
    X(BAD_FILE, 500, false, "bad_file")                                                                      \
    X(NETWORK, 503, true, "network")                                                                         \
    X(TIMEOUT, 503, true, "timeout")                                                                         \
    X(CANCELLED, 503, false, "cancelled")                                                                    \
    X(USAGE, 400, false, "usage")

enum err {
#define X(name, status, retry, code) ERR_##name,
    ERR_TABLE(X)
#undef X
        ERR_COUNT
};

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

const char *err_name(enum err e); /* "INVALID_FIELD" */
const char *err_code(enum err e); /* "invalid_field" */
int err_http_status(enum err e);
bool err_retry_helps(enum err e);
/* The first error with this code; ERR_INTERNAL when there is none. For clients that read a problem+json
 * reply. */
enum err err_from_code(const char *code);

/* An error with what a person needs: which field, and what happened and what to do. Made where the facts are
 * known, shown at the boundary (HTTP reply, command line). `field` is a JSON path ("training.learning_rate")
 * or "". */
struct fault {
    enum err err;
    char field[128];
    char detail[512];
};

#define FAULT_NONE ((struct fault){.err = ERR_OK})

/* Fills `f` (which may be NULL) and returns `e`. `field` may be NULL. Bytes that are no UTF-8
 * become '?'. */
enum err fault_set(struct fault *f, enum err e, const char *field, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Prefixes the field path of `f` (not NULL): "units" inside "model.layers[1]" becomes
 * "model.layers[1].units". Returns f->err. */
enum err fault_within(struct fault *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A broken invariant: says where on stderr and aborts. */
_Noreturn void bug_at(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
#define bug(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)

#endif
