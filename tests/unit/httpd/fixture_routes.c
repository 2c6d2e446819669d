#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "tests/unit/httpd/fixture.h"

static enum err get_hello(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    atomic_fetch_add(&app.calls, 1);
    const char *caller = request_get(rq, REQUEST_CALLER);
    return reply_json(
        rq, 200,
        json_pack("{s:s, s:s*, s:s}", "hello", "world", "caller", caller, "remote", request_remote(rq)));
}

/* Holds the server's thread while is_blocked. */
static enum err get_block(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    atomic_fetch_add(&app.calls, 1);
    while (atomic_load(&app.is_blocked))
        (void)sched_yield();
    return reply_empty(rq, 204);
}

static enum err get_arm(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    enum err e = reply_empty(rq, 204);
    app.arm(strtol(request_param(rq, "n"), NULL, 10));
    return e;
}

static enum err get_disarm(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    atomic_store(&app.calls, app.disarm());
    return reply_empty(rq, 204);
}

/* Takes so many MiB of the request's memory. */
static enum err get_hungry(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    for (long i = strtol(request_param(rq, "mib"), NULL, 10); i > 0; i--)
        if (!arena_alloc(request_arena(rq), MIB))
            return ERR_NO_MEMORY;
    return reply_empty(rq, 204);
}

static enum err get_many(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    return reply_json(rq, 200, json_pack("{s:s*}", "q31", request_query(rq, "q31")));
}

static enum err get_item(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    int64_t limit;
    enum err e = request_query_int(rq, "limit", 1, 10, 5, &limit, fault);
    if (e)
        return e;
    return reply_json(rq, 200,
                      json_pack("{s:s, s:i, s:s*}", "item", request_param(rq, "item"), "limit", (int)limit,
                                "name", request_query(rq, "name")));
}

static enum err post_replay(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    return reply_json(rq, 202, json_pack("{s:s}", "replayed", request_param(rq, "item")));
}

static enum err get_latest(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    return reply_json(rq, 200, json_pack("{s:s}", "literal", "latest"));
}

static enum err get_file(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    return reply_json(rq, 200, json_pack("{s:s}", "path", request_param(rq, "path")));
}

static enum err post_echo(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    char sha256[SHA256_HEX_SIZE];
    enum err e = request_body_sha256(rq, sha256);
    if (e)
        return fault_set(fault, e, NULL, "SHA-256 failed");
    const json_t *body = request_json(rq);
    return reply_json(rq, 200, json_pack("{s:O?, s:s}", "got", (json_t *)(uintptr_t)body, "sha256", sha256));
}

static enum err get_failure(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    const char *kind = request_param(rq, "kind");
    if (strcmp(kind, "nothing") == 0)
        return ERR_OK; /* a handler's mistake */
    if (strcmp(kind, "io") == 0)
        return fault_set(fault, ERR_IO, NULL, "secret path /var/lib/fedlane");
    if (strcmp(kind, "bare") == 0)
        return ERR_STALE_ROUND;
    if (strcmp(kind, "busy") == 0)
        return fault_set(fault, ERR_UNAVAILABLE, NULL, "come back");
    enum err e = reply_json(rq, 200, json_pack("{s:s}", "never", "seen"));
    if (!e)
        e = reply_header(rq, "X-Never", "seen");
    return e ? e : fault_set(fault, ERR_CONFLICT, "name", "\xff cut %s", kind);
}

static enum err own_face(struct request *rq, const struct fault *fault)
{
    return reply_json(rq, err_http_status(fault->err), json_pack("{s:s}", "error_code", "OWN_FACE"));
}

/* ---- bodies ---- */

struct upload {
    uint64_t size;
    bool refuses;
};

static enum err upload_open(void *ctx, struct request *rq, void **out_sink, struct fault *fault)
{
    (void)ctx;
    if (request_query(rq, "refuse"))
        return fault_set(fault, ERR_STALE_ROUND, NULL, "the round is closed");
    struct upload *u = calloc(1, sizeof *u);
    if (!u)
        return ERR_NO_MEMORY;
    u->refuses = request_query(rq, "fail") != NULL;
    atomic_fetch_add(&app.opened, 1);
    atomic_store(&app.uploading, rq);
    *out_sink = u;
    return ERR_OK;
}

static enum err upload_write(void *sink, const void *bytes, size_t n, size_t *out_taken, struct fault *fault)
{
    struct upload *u = sink;
    (void)bytes;
    if (u->refuses)
        return fault_set(fault, ERR_INVALID_SAFETENSORS, "header", "no safetensors");
    *out_taken = atomic_load(&app.is_sink_full) ? 0 : n;
    u->size += *out_taken;
    return ERR_OK;
}

static void upload_abort(void *sink)
{
    free(sink);
    atomic_fetch_add(&app.aborted, 1);
}

static const struct body_sink_ops upload_ops = {
    .open = upload_open, .write = upload_write, .abort = upload_abort};

static enum err put_upload(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    char sha256[SHA256_HEX_SIZE];
    enum err e = request_body_sha256(rq, sha256);
    if (e)
        return fault_set(fault, e, NULL, "SHA-256 failed");
    struct upload *u = request_sink_take(rq);
    uint64_t size = u->size;
    free(u);
    return reply_json(rq, 200, json_pack("{s:I, s:s}", "size", (json_int_t)size, "sha256", sha256));
}

char blob_byte(uint64_t offset)
{
    return (char)('a' + (offset * 2654435761u >> 7) % 26);
}

static enum err blob_pull(void *ctx, uint64_t offset, void *buf, size_t n, size_t *out_n)
{
    struct request *rq = ctx;
    if (n > atomic_load(&app.largest_pull))
        atomic_store(&app.largest_pull, n);
    *out_n = 0;
    if (request_query(rq, "fail") && offset > 100000)
        return ERR_IO;
    if (request_query(rq, "wait") && atomic_load(&app.state) == 0) {
        atomic_store(&app.pulling, rq);
        return ERR_OK;
    }
    for (size_t i = 0; i < n; i++)
        ((char *)buf)[i] = blob_byte(offset + i);
    *out_n = n;
    return ERR_OK;
}

static void count_release(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&app.released, 1);
}

static enum err get_blob(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    const struct body_source source = {
        .size_bytes = request_query(rq, "empty") ? 0 : BLOB_SIZE,
        .media_type = "application/octet-stream",
        .etag = "blob-1",
        .sha256_hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        .pull = blob_pull,
        .free = count_release,
        .ctx = rq,
    };
    return reply_source(rq, &source);
}

static enum err get_static(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    return reply_static(rq, "text/html", "<p>hi</p>", 9, "v1");
}

/* ---- later ---- */

static enum err get_later(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    request_defer(rq);
    answerer_put(rq);
    return ERR_OK;
}

static enum err look(void *ctx, struct request *rq, bool timed_out, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    (void)timed_out;
    atomic_fetch_add(&app.looks, 1);
    int state = atomic_load(&app.state);
    return state ? reply_json(rq, 200, json_pack("{s:i}", "state", state)) : ERR_OK;
}

static enum err get_wait(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    int64_t wait_ms;
    enum err e = request_wait_ms(rq, &wait_ms, fault);
    const char *topic = request_query(rq, "topic");
    const uint64_t topics[] = {topic_of("state", topic), topic_of("other", NULL)};
    return e ? e : waiter_park(rq, topics, 2, wait_ms, look, fault);
}

static enum err claim_step(void *ctx, struct request *rq, struct fault *fault)
{
    return look(ctx, rq, false, fault);
}

static enum err claim(void *ctx, struct request *rq, bool timed_out, struct fault *fault)
{
    (void)ctx;
    (void)timed_out;
    (void)fault;
    request_defer(rq);
    answerer_put(rq);
    return ERR_OK;
}

static enum err post_claim(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    int64_t wait_ms;
    app.answerer.step = claim_step;
    enum err e = request_wait_ms(rq, &wait_ms, fault);
    const uint64_t topic = topic_of("state", NULL);
    return e ? e : waiter_park(rq, &topic, 1, wait_ms, claim, fault);
}

/* Every number up to the app's state, once; 100 ends the stream. */
static enum err events_next(void *ctx, struct buf *out, bool *out_end)
{
    int *sent = ctx;
    enum err e = ERR_OK;
    atomic_fetch_add(&app.looks, 1);
    while (!e && *sent < atomic_load(&app.state)) {
        char id[16];
        (void)snprintf(id, sizeof id, "%d", ++*sent);
        e = sse_event(out, id, "number", "line one\nline two");
    }
    *out_end = *sent >= 100;
    return e;
}

static void events_free(void *ctx)
{
    free(ctx);
    atomic_fetch_add(&app.released, 1);
}

static enum err get_events(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    const char *last = request_header(rq, "Last-Event-ID");
    const uint64_t topic = topic_of("state", NULL);
    int *sent = calloc(1, sizeof *sent);
    if (!sent)
        return ERR_NO_MEMORY;
    *sent = last ? (int)strtol(last, NULL, 10) : 0;
    const struct sse_source source = {
        .next = events_next, .free = events_free, .ctx = sent, .topics = &topic, .num_topics = 1};
    return reply_events(rq, &source, fault);
}

static const char *const item_query[] = {"limit", "name", NULL};
static const char *const wait_query[] = {"wait", "topic", NULL};
static const char *const blob_query[] = {"fail", "wait", "empty", NULL};
static const char *const upload_query[] = {"refuse", "fail", NULL};
static const char *const upload_types[] = {"application/vnd.safetensors", "application/octet-stream", NULL};

/* One more than a query may have. */
static const char *const many_query[] = {"q0",  "q1",  "q2",  "q3",  "q4",  "q5",  "q6",  "q7",  "q8",
                                         "q9",  "q10", "q11", "q12", "q13", "q14", "q15", "q16", "q17",
                                         "q18", "q19", "q20", "q21", "q22", "q23", "q24", "q25", "q26",
                                         "q27", "q28", "q29", "q30", "q31", "q32", NULL};
_Static_assert(sizeof many_query / sizeof *many_query == LIMIT_QUERY_PARAMS + 2, "one more, and the end");

#define ROUTE(id, verb, pattern, function, ...)                                                              \
    {                                                                                                        \
        .operation_id = id, .method = verb, .path = pattern, .handler = function, __VA_ARGS__                \
    }

const struct route fixture_routes[] = {
    ROUTE("hello", HTTP_GET, "/hello", get_hello, .roles = 0),
    ROUTE("arm", HTTP_GET, "/arm/{n}", get_arm, .roles = 0),
    ROUTE("disarm", HTTP_GET, "/disarm", get_disarm, .roles = 0),
    ROUTE("block", HTTP_GET, "/block", get_block, .roles = 0),
    ROUTE("secret", HTTP_GET, "/secret", get_hello, .roles = 1),
    ROUTE("secret_upload", HTTP_PUT, "/secret", put_upload, .roles = 1, .body = BODY_STREAM,
          .sink = &upload_ops, .body_limit = 1 << 20),
    ROUTE("item", HTTP_GET, "/items/{item}", get_item, .query = item_query),
    ROUTE("item_lax", HTTP_GET, "/lax/{item}", get_item, .query = item_query, .ignores_unknown = true),
    ROUTE("item_delete", HTTP_DELETE, "/items/{item}", get_latest, .roles = 0),
    ROUTE("item_replay", HTTP_POST, "/items/{item}:replay", post_replay, .roles = 0),
    ROUTE("item_latest", HTTP_GET, "/items/latest", get_latest, .roles = 0),
    ROUTE("claim", HTTP_POST, "/tasks:claim", post_claim, .query = wait_query, .max_wait_s = 60),
    ROUTE("hungry", HTTP_GET, "/hungry/{mib}", get_hungry, .roles = 0),
    ROUTE("many", HTTP_GET, "/many", get_many, .query = many_query),
    ROUTE("file", HTTP_GET, "/files/*path", get_file, .roles = 0),
    ROUTE("echo", HTTP_POST, "/echo", post_echo, .body = BODY_JSON),
    ROUTE("echo_optional", HTTP_POST, "/optional", post_echo, .body = BODY_JSON, .body_is_optional = true),
    ROUTE("echo_small", HTTP_POST, "/small", post_echo, .body = BODY_JSON, .body_limit = 64),
    ROUTE("upload", HTTP_PUT, "/upload", put_upload, .body = BODY_STREAM, .sink = &upload_ops,
          .media_types = upload_types, .query = upload_query),
    ROUTE("upload_small", HTTP_PUT, "/upload/small", put_upload, .body = BODY_STREAM, .sink = &upload_ops,
          .body_limit = 200000),
    ROUTE("blob", HTTP_GET, "/blob", get_blob, .query = blob_query),
    ROUTE("static", HTTP_GET, "/static", get_static, .roles = 0),
    ROUTE("failure", HTTP_GET, "/failures/{kind}", get_failure, .roles = 0),
    ROUTE("own_face", HTTP_GET, "/own/{kind}", get_failure, .render_error = own_face),
    ROUTE("later", HTTP_GET, "/later", get_later, .roles = 0),
    ROUTE("wait", HTTP_GET, "/wait", get_wait, .query = wait_query, .max_wait_s = 60),
    ROUTE("events", HTTP_GET, "/events", get_events, .roles = 0),
};
const size_t num_fixture_routes = sizeof fixture_routes / sizeof *fixture_routes;
