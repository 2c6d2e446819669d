#include "tests/fuzz/server.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/token.h"
#include "server/api/api.h"
#include "server/api/routes.h"
#include "server/core/ops.h"
#include "server/httpd/internal.h"
#include "tests/fuzz/fake_mhd.h"

#define MOST_OF_A_BODY (2 * MIB)
#define START_MS       1700000000000

static const char *const secrets[CALLERS] = {
    NULL,
    "fl_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "fl_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "fl_cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
    "fl_dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd",
    "fl_eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
    "fl_ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "fl_0000000000000000000000000000000000000000000000000000000000000000",
};

static struct {
    bool is_open;
    struct store *store;
    struct blobs *blobs;
    struct core *core;
    struct api *api;
    struct waiters *waiters;
    struct clock_fake clock;
    uint64_t entropy;
    struct httpd httpd;
    struct loop loop;
    int sockets[2]; /* what request_client_gone() asks: nobody ever closes them */
    bool wants_advance;
    fuzz_fault_hook *hook; /* NULL: nothing fails */
    char ids[128][ID_SIZE];
} server;

static enum err fill(void *ctx, void *out, size_t n)
{
    (void)ctx;
    unsigned char *bytes = out;
    for (size_t i = 0; i < n; i++) {
        server.entropy = server.entropy * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (unsigned char)(server.entropy >> 33);
    }
    return ERR_OK;
}

static void hear(void *ctx, const char *topic)
{
    (void)ctx;
    if (strcmp(topic, "advance") == 0)
        server.wants_advance = true;
    else
        api_wake(server.api, topic);
}

/* Around all that the server does: outside of it nothing may fail. */
static void within(bool begins)
{
    if (server.hook)
        server.hook(begins);
}

/* What the conductor's thread does. */
static void advance(void)
{
    int64_t next_ms = 0;
    for (int i = 0; i == 0 || server.wants_advance; i++) {
        server.wants_advance = false;
        within(true);
        enum err e = core_advance(server.core, &next_ms);
        within(false);
        if (e && !server.hook)
            bug("core_advance: %s", err_name(e));
        server.wants_advance |= e != ERR_OK; /* the conductor tries again */
        PROVE(i < 1000);                     /* it comes to rest */
    }
}

const char *fuzz_id(char name)
{
    const char *id = server.ids[(unsigned char)name & 127];
    return id[0] ? id : NULL;
}

static void remember(char name, const char *id)
{
    if (id && strlen(id) < ID_SIZE)
        (void)snprintf(server.ids[(unsigned char)name], ID_SIZE, "%s", id);
}

/* ---- one exchange ---- */

/* "$r" and its like become ids. */
static char *expand(const char *text, size_t n, size_t *out_len)
{
    char *out = malloc(n * ID_SIZE / 2 + ID_SIZE), *to = out;
    PROVE(out != NULL);
    for (size_t i = 0; i < n; i++) {
        const char *id = text[i] == '$' && i + 1 < n ? fuzz_id(text[i + 1]) : NULL;
        if (id) {
            to = stpcpy(to, id);
            i++;
        } else {
            *to++ = text[i];
        }
    }
    *to = '\0';
    *out_len = (size_t)(to - out);
    return out;
}

static void add_field(struct fake_field *fields, size_t *count, const char *name, size_t n, const char *value)
{
    if (*count == FAKE_FIELDS)
        return;
    struct fake_field *f = &fields[(*count)++];
    f->name = strndup(name, n);
    f->value = value ? strdup(value) : NULL;
    PROVE(f->name && (f->value || !value));
}

static void take_headers(struct MHD_Connection *c, const char *headers)
{
    for (const char *at = headers; *at;) {
        size_t line = strcspn(at, "\r\n"), name = strcspn(at, ":");
        if (name > 0 && name < line) {
            size_t skip = name + 1 + strspn(at + name + 1, " \t");
            char *value = strndup(at + skip, skip < line ? line - skip : 0);
            add_field(c->headers, &c->num_headers, at, name, value);
            free(value);
        }
        at += line + (at[line] != '\0');
    }
}

/* As libmicrohttpd takes it apart: '+' is a blank, the rest is left to the unescape callback. */
static void take_query(struct MHD_Connection *c, char *query)
{
    for (char *at = query; *at; at++)
        if (*at == '+')
            *at = ' ';
    for (char *pair; (pair = strsep(&query, "&"));) {
        char *value = strchr(pair, '=');
        size_t n = value ? (size_t)(value - pair) : strlen(pair);
        if (n > 0 || value)
            add_field(c->query, &c->num_query, pair, n, value ? value + 1 : NULL);
    }
}

static void release_fields(struct fake_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(fields[i].name);
        free(fields[i].value);
    }
}

/* What happened meanwhile, as the loop's thread would see it. */
static bool take_inbox(void)
{
    struct loop *l = &server.loop;
    struct request *rq = l->inbox_head;
    if (!rq)
        return false;
    unsigned flags = rq->inbox;
    loop_forget(rq);
    within(true);
    settle_inbox(rq, flags);
    within(false);
    return true;
}

static void wait_no_longer(struct request *rq)
{
    atomic_store(&server.httpd.is_draining, true);
    within(true);
    settle_shutdown(rq);
    within(false);
    while (take_inbox())
        ;
    atomic_store(&server.httpd.is_draining, false);
}

struct exchange {
    struct MHD_Connection *c;
    const char *path, *method;
    void *cursor; /* the request */
};

static bool call(struct exchange *x, const char *bytes, size_t *n)
{
    within(true);
    enum MHD_Result result =
        exchange_access(&server.loop, x->c, x->path, x->method, "HTTP/1.1", bytes, n, &x->cursor);
    within(false);
    return result == MHD_YES;
}

/* False: the connection is closed. */
static bool feed(struct exchange *x, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t n = size - at < 4096 ? size - at : 4096, left = n;
        if (!call(x, bytes + at, &left))
            return false;
        at += n - left;
        while (x->c->is_suspended)
            if (!take_inbox()) /* a sink that has no room, and nobody makes some */
                return false;
    }
    return true;
}

static void run(struct exchange *x, const char *body, size_t size, uint64_t declared)
{
    size_t none = 0;
    if (!call(x, NULL, &none) || x->c->response)
        return;
    if (!feed(x, body, declared < size ? (size_t)declared : size) || declared > size)
        return; /* the client left in the middle */
    if (!call(x, NULL, &none))
        return;
    while (x->c->is_suspended && take_inbox())
        ;
    if (x->c->is_suspended)
        wait_no_longer(x->cursor);
    PROVE(!x->c->is_suspended);
    if (!x->c->response)
        (void)call(x, NULL, &none);
}

static void collect(struct exchange *x, struct fuzz_answer *out)
{
    bool waits = false;
    const struct MHD_Response *r = x->c->response;
    const char *type = fake_header(r, "Content-Type");
    out->status = (int)x->c->status;
    PROVE(fake_header(r, "X-Request-Id") != NULL);
    PROVE(out->status != 401 || fake_header(r, "WWW-Authenticate"));
    PROVE(out->status != 405 || fake_header(r, "Allow"));
    if (strcmp(x->method, "HEAD") != 0)
        out->is_cut = !fake_body(x->c, MOST_OF_A_BODY, &out->body, &waits);
    if (waits)
        wait_no_longer(x->cursor);
    out->media_type = !type                                         ? ""
                      : str_has_prefix(type, "application/problem") ? "problem"
                      : str_has_prefix(type, "application/json")    ? "json"
                                                                    : "other";
}

static void end(struct exchange *x)
{
    while (take_inbox())
        ;
    if (x->c->is_suspended && x->cursor)
        wait_no_longer(x->cursor);
    exchange_completed(&server.loop, x->c, &x->cursor, MHD_REQUEST_TERMINATED_COMPLETED_OK);
    PROVE(server.loop.live == NULL && server.loop.inbox_head == NULL && server.loop.num_suspended == 0);
    fake_end(x->c);
    release_fields(x->c->headers, x->c->num_headers);
    release_fields(x->c->query, x->c->num_query);
}

static void prove_problem(const json_t *json, int status)
{
    const char *const texts[] = {"type", "title", "detail", "code", "request_id"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = json_string_value(json_object_get(json, texts[i]));
        PROVE(text && text[0]);
    }
    PROVE(json_integer_value(json_object_get(json, "status")) == status);
}

static void learn_ids(const json_t *json)
{

    const json_t *first = json_array_get(json_object_get(json, "items"), 0);
    const char *const keys[] = {"id", "run_id", "device_id", "worker_id"};
    for (size_t i = 0; i < 4; i++)
        remember('n', json_string_value(json_object_get(json, keys[i])));
    remember('p', json_string_value(json_object_get(json, "upload_id")));
    remember('t', json_string_value(json_object_get(json, "task_id")));
    remember('t', json_string_value(json_object_get(first, "task_id")));
}

static void prove_answer(const struct exchange *x, const struct fuzz_answer *a)
{
    const char *text = a->body.data ? a->body.data : "";
    json_t *json = NULL;
    if (a->status >= 500 && !server.hook) /* a client's mistake is never the server's */
        bug("%s %s: %d %s", x->method, x->path, a->status, text);
    for (int i = 1; i < CALLERS; i++)
        PROVE(!strstr(text, secrets[i]));
    PROVE(!a->is_cut || server.hook);
    if (strcmp(x->method, "HEAD") == 0 || a->is_cut)
        return;
    PROVE(a->status < 400 || strcmp(a->media_type, "problem") == 0);
    if (strcmp(a->media_type, "problem") != 0 && strcmp(a->media_type, "json") != 0)
        return;
    json = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!json)
        bug("%s %s: no JSON: %s", x->method, x->path, text);
    if (a->status >= 400)
        prove_problem(json, a->status);
    else
        learn_ids(json);
    json_decref(json);
}

/* How long the client says that its body is. */
static uint64_t declared_length(struct MHD_Connection *c, size_t size)
{
    char text[32];
    uint64_t declared = size;
    const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    if (MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding"))
        return size;
    if (given)
        return str_to_u64(given, &declared) ? size : declared;
    (void)snprintf(text, sizeof text, "%zu", size);
    if (size > 0)
        add_field(c->headers, &c->num_headers, "Content-Length", 14, text);
    return size;
}

struct fuzz_answer fuzz_ask(enum fuzz_caller caller, const char *method, const char *target,
                            const char *headers, const void *body, size_t size)
{
    struct MHD_Connection c = {.fd.connect_fd = server.sockets[0]};
    struct fuzz_answer a = {.body = BUF_INIT(MOST_OF_A_BODY + MIB), .media_type = ""};
    char bearer[128];
    size_t path_len, body_len;
    char *path = expand(target, strlen(target), &path_len),
         *content = expand(body ? body : "", size, &body_len);
    char *query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    take_headers(&c, headers);
    if (secrets[caller]) {
        (void)snprintf(bearer, sizeof bearer, "Bearer %s", secrets[caller]);
        add_field(c.headers, &c.num_headers, "Authorization", 13, bearer);
    }
    if (query && *query)
        take_query(&c, query);
    struct exchange x = {.c = &c, .path = path, .method = method};
    run(&x, content, body_len, declared_length(&c, body_len));
    if (c.response) {
        collect(&x, &a);
        prove_answer(&x, &a);
    }
    end(&x);
    if (server.wants_advance)
        advance();
    free(path);
    free(content);
    return a;
}

void fuzz_answer_release(struct fuzz_answer *a)
{
    buf_release(&a->body);
}

void fuzz_tick(int64_t ms)
{
    server.clock.ms += ms;
    advance();
}

bool fuzz_server_changed(void)
{
    static int64_t known;
    struct store_stats stats;
    server.store->ops->stats(server.store, &stats);
    bool has_changed = stats.operations != known;
    known = stats.operations;
    return has_changed;
}

/* ---- the machine ---- */

static void make_token(enum fuzz_caller caller, const char *name, int64_t role)
{
    char sha256[SHA256_HEX_SIZE];
    struct arena arena = ARENA_INIT(64 * KIB);
    PROVE(!token_hash(secrets[caller], sha256));
    struct op_token_create op = {.base = {.core = server.core, .arena = &arena, .caller = ""},
                                 .name = name,
                                 .role = role,
                                 .token_sha256 = sha256};
    PROVE(!store_write_wait(server.store, op_token_create, &op));
    remember('k', op.out.id);
    arena_release(&arena);
}

/* Must be taken. The id under `key` is remembered. */
static void must(enum fuzz_caller caller, const char *method, const char *target, const char *body,
                 const char *key, char name)
{
    struct fuzz_answer a = fuzz_ask(caller, method, target, body ? "Content-Type: application/json\n" : "",
                                    body, body ? strlen(body) : 0);
    if (a.status < 200 || a.status > 299)
        bug("%s %s: %d %s", method, target, a.status, a.body.data ? a.body.data : "");
    json_t *json = key ? json_loads(a.body.data, 0, NULL) : NULL;
    if (key)
        remember(name, json_string_value(json_object_get(json, key)));
    json_decref(json);
    fuzz_answer_release(&a);
}

#define EXAMPLES "\"dataset\":\"hand\",\"num_examples\":4,\"num_test_examples\":1,\"input\":[2],\"classes\":2"

static void enrol(enum fuzz_caller caller, const char *path, const char *more, const char *key, char name)
{
    char body[600], sha256[SHA256_HEX_SIZE];
    PROVE(!token_hash(secrets[caller], sha256));
    (void)snprintf(body, sizeof body, "{\"token_sha256\":\"%s\",%s}", sha256, more);
    must(CALLER_ENROLLMENT, "POST", path, body, key, name);
}

static void update(enum fuzz_caller caller)
{
    static const char header[] =
        "{\"__metadata__\":{\"attempt\":\"1\",\"steps_done\":\"4\",\"num_examples\":\"4\"},"
        "\"0.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
        "\"0.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}";
    uint8_t file[8 + sizeof header - 1 + 24] = {(uint8_t)(sizeof header - 1)};
    file[1] = (uint8_t)((sizeof header - 1) >> 8);
    memcpy(file + 8, header, sizeof header - 1);
    struct fuzz_answer a = fuzz_ask(caller, "PUT", "/api/v1/tasks/$t/update",
                                    "Content-Type: application/vnd.safetensors\n", file, sizeof file);
    if (a.status != 200)
        bug("%d %s", a.status, a.body.data ? a.body.data : "");
    fuzz_answer_release(&a);
}

#define RUN                                                                                                  \
    "{\"num_rounds\":3,\"dataset\":\"hand\",\"model\":{\"input\":[2],\"layers\":[{\"type\":\"dense\","       \
    "\"units\":2}],"                                                                                         \
    "\"init\":\"zeros\"},\"training\":{\"local_epochs\":1,\"batch_size\":1,\"learning_rate\":0.1},"          \
    "\"selection\":{\"devices_per_round\":3,\"population\":3}}"

static void make_devices(void)
{
    enrol(CALLER_WORKER, "/api/v1/workers",
          "\"name\":\"w\",\"instance_id\":\"0190a0b0c0d07e0f8a0b0c0d0e0f0a0b\",\"devices\":[{\"ordinal\":"
          "0," EXAMPLES "},{\"ordinal\":1," EXAMPLES "}]",
          "worker_id", 'w');
    enrol(CALLER_REVOKED, "/api/v1/devices", "\"name\":\"r\",\"ordinal\":9," EXAMPLES, "device_id", 'x');
    must(CALLER_ADMIN, "DELETE", "/api/v1/devices/$x", NULL, NULL, 0);
    enrol(CALLER_DEVICE, "/api/v1/devices", "\"name\":\"d\",\"ordinal\":2," EXAMPLES, "device_id", 'd');
}

/* One round is closed, the next one is open and its tasks are claimed. */
static void make_rounds(void)
{
    must(CALLER_OPERATOR, "POST", "/api/v1/runs", RUN, "id", 'o');
    must(CALLER_OPERATOR, "POST", "/api/v1/runs/$o/stop", NULL, NULL, 0);
    must(CALLER_OPERATOR, "POST", "/api/v1/runs", RUN, "id", 'r');
    for (int i = 0; i < 2; i++) {
        must(CALLER_WORKER, "POST", "/api/v1/workers/$w/tasks:claim", "{\"max\":1}", NULL, 0);
        update(CALLER_WORKER);
    }
    must(CALLER_DEVICE, "POST", "/api/v1/devices/$d/tasks:claim", NULL, NULL, 0);
    update(CALLER_DEVICE);
    must(CALLER_WORKER, "POST", "/api/v1/workers/$w/tasks:claim", "{\"max\":1}", NULL, 0);
    remember('u', fuzz_id('t'));
    must(CALLER_DEVICE, "POST", "/api/v1/devices/$d/tasks:claim", NULL, NULL, 0);
}

static void open_once(void)
{
    static bool is_done;
    struct fault fault = FAULT_NONE;
    if (is_done)
        return;
    is_done = true;
    log_init(LOG_ERROR + 1, LOG_TEXT);
    PROVE(socketpair(AF_UNIX, SOCK_STREAM, 0, server.sockets) == 0);
    PROVE(!waiters_new(1000, &server.waiters));
    PROVE(!router_new(api_routes, api_num_routes, &server.httpd.router, &fault));
    (void)pthread_mutex_init(&server.loop.mutex, NULL);
    (void)pthread_mutex_init(&server.httpd.mutex, NULL);
    (void)pthread_cond_init(&server.httpd.idle, NULL);
    server.loop.httpd = &server.httpd;
    server.loop.is_woken = true; /* nobody sleeps */
    server.httpd.config.waiters = server.waiters;
}

void fuzz_server_open(void)
{
    struct store *store;
    struct blobs *blobs;
    PROVE(!store_memory_open(&store) && !blobs_memory_open(&blobs));
    fuzz_server_open_over(store, blobs);
}

void fuzz_server_open_over(struct store *store, struct blobs *blobs)
{
    struct fault fault = FAULT_NONE;
    open_once();
    memset(server.ids, 0, sizeof server.ids);
    server.clock.ms = START_MS;
    server.entropy = 1;
    server.loop.id_next = 0;
    server.store = store;
    server.blobs = blobs;
    const struct core_config core = {.store = server.store,
                                     .blobs = server.blobs,
                                     .clock = clock_fake(&server.clock),
                                     .entropy = {fill, NULL},
                                     .heartbeat_ms = 10000};
    PROVE(!core_new(&core, &server.core));
    const struct api_config api = {.store = server.store,
                                   .blobs = server.blobs,
                                   .core = server.core,
                                   .clock = core.clock,
                                   .waiters = server.waiters,
                                   .heartbeat_ms = 10000,
                                   .auth_failures = INT32_MAX};
    PROVE(!api_new(&api, &server.api));
    server.httpd.hooks = api_hooks(server.api);
    server.store->ops->listen(server.store, hear, NULL);
    PROVE(!core_recover(server.core, &fault));
    make_token(CALLER_ADMIN, "admin", ROLE_ADMIN);
    make_token(CALLER_OPERATOR, "operator", ROLE_OPERATOR);
    make_token(CALLER_VIEWER, "viewer", ROLE_VIEWER);
    make_token(CALLER_ENROLLMENT, "enrollment", ROLE_ENROLLMENT);
    make_devices();
    make_rounds();
    (void)fuzz_server_changed();
}

void fuzz_server_hook(fuzz_fault_hook *hook)
{
    server.hook = hook;
    fake_reads = within;
}

void fuzz_server_step(uint64_t step)
{
    server.clock.ms = START_MS + 1000 + (int64_t)step;
    server.entropy = step * 1000003 + 17;
}

void fuzz_id_set(char name, const char *id)
{
    remember(name, id);
}

void fuzz_server_close(void)
{
    timers_release(&server.loop.timers);
    server.store->ops->close(server.store);
    api_free(server.api);
    core_free(server.core);
    server.blobs->ops->close(server.blobs);
}
