/* One request to the server of server.h: as libmicrohttpd takes it apart, through the HTTP layer, and what a
 * client then sees, with what each answer promises. */
#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "tests/fuzz/fake_mhd.h"
#include "tests/fuzz/server_impl.h"

#define MOST_OF_A_BODY (2 * MIB)

/* ---- the request ---- */

/* "$r" and its like become ids. */
static char *expand(const char *text, size_t n, size_t *out_len)
{
    char *out = malloc(n * FUZZ_ID_SIZE / 2 + FUZZ_ID_SIZE), *to = out;
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
    struct loop *l = &fuzz.loop;
    struct request *rq = l->inbox_head;
    if (!rq)
        return false;
    unsigned flags = rq->inbox;
    loop_forget(rq);
    fuzz_within(true);
    settle_inbox(rq, flags);
    fuzz_within(false);
    return true;
}

static void wait_no_longer(struct request *rq)
{
    atomic_store(&fuzz.httpd.is_draining, true);
    fuzz_within(true);
    settle_shutdown(rq);
    fuzz_within(false);
    while (take_inbox())
        ;
    atomic_store(&fuzz.httpd.is_draining, false);
}

struct exchange {
    struct MHD_Connection *c;
    const char *path, *method;
    void *cursor; /* the request */
};

static bool call(struct exchange *x, const char *bytes, size_t *n)
{
    fuzz_within(true);
    enum MHD_Result result =
        exchange_access(&fuzz.loop, x->c, x->path, x->method, "HTTP/1.1", bytes, n, &x->cursor);
    fuzz_within(false);
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
    const char *type = fake_header(r, "Content-Type"), *offset = fake_header(r, "Upload-Offset");
    out->status = (int)x->c->status;
    PROVE(!offset || str_to_i64(offset, &out->upload_offset) == ERR_OK);
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
    exchange_completed(&fuzz.loop, x->c, &x->cursor, MHD_REQUEST_TERMINATED_COMPLETED_OK);
    PROVE(fuzz.loop.live == NULL && fuzz.loop.inbox_head == NULL && fuzz.loop.num_suspended == 0);
    fake_end(x->c);
    release_fields(x->c->headers, x->c->num_headers);
    release_fields(x->c->query, x->c->num_query);
}

static void prove_problem(const json_t *json, int status)
{
    /* The id is the one that a reply without memory leaves out; its header is there. */
    const char *const texts[] = {"type", "title", "detail", "code", "request_id"};
    size_t n = sizeof texts / sizeof *texts - (fuzz.hook && status == 503);
    for (size_t i = 0; i < n; i++) {
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
        fuzz_id_set('n', json_string_value(json_object_get(json, keys[i])));
    fuzz_id_set('p', json_string_value(json_object_get(json, "upload_id")));
    fuzz_id_set('s', json_string_value(json_object_get(json, "token")));
    fuzz_id_set('t', json_string_value(json_object_get(json, "task_id")));
    fuzz_id_set('t', json_string_value(json_object_get(first, "task_id")));
}

static void prove_answer(const struct exchange *x, const struct fuzz_answer *a)
{
    const char *text = a->body.data ? a->body.data : "";
    json_t *json = NULL;
    if (a->status >= 500 && !fuzz.hook) /* a client's mistake is never the server's */
        bug("%s %s: %d %s", x->method, x->path, a->status, text);
    for (int i = 0; i < CALLERS; i++)
        PROVE(!fuzz_secrets[i] || !strstr(text, fuzz_secrets[i]));
    PROVE(!a->is_cut || fuzz.hook);
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
    struct MHD_Connection c = {.fd.connect_fd = fuzz.sockets[0]};
    struct fuzz_answer a = {.body = BUF_INIT(MOST_OF_A_BODY + MIB), .media_type = "", .upload_offset = -1};
    char bearer[128];
    const char *secret = caller == CALLER_SESSION ? fuzz_id('s') : fuzz_secrets[caller];
    size_t path_len, body_len;
    char *path = expand(target, strlen(target), &path_len),
         *content = expand(body ? body : "", size, &body_len);
    char *query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    take_headers(&c, headers);
    if (secret) {
        (void)snprintf(bearer, sizeof bearer, "Bearer %s", secret);
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
    if (fuzz.wants_advance)
        fuzz_advance();
    free(path);
    free(content);
    return a;
}

void fuzz_answer_release(struct fuzz_answer *a)
{
    buf_release(&a->body);
}
