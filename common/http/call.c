#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/api/api.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/http/http_impl.h"

#define CALL_ARENA        (1 * MIB)
#define HEADERS_MAX       (64 * KIB)
#define ERROR_BODY_MAX    (64 * KIB) /* what is behind it in an error reply is dropped */
#define TOKEN_MAX         1000
#define STALL_BYTES_PER_S 64L
#define STALL_S           60L
#define TRANSFER_BUFFER   (256L * 1024)

static bool is_visible(const char *s, bool may_have_blanks)
{
    for (; *s; s++) {
        bool is_inner_blank = may_have_blanks && (*s == ' ' || *s == '\t' || (unsigned char)*s >= 0x80);
        if (!is_inner_blank && (*s <= ' ' || *s > '~'))
            return false;
    }
    return true;
}

bool http_is_token(const char *token)
{
    return token[0] && strlen(token) <= TOKEN_MAX && is_visible(token, false);
}

/* A line break in a text would let it add headers of its own. */
static bool has_sound_texts(const struct http_request *r)
{
    if (!r->path || r->path[0] != '/' || !is_visible(r->path, false))
        return false;
    if ((r->method && !is_visible(r->method, false)) ||
        (r->content_type && !is_visible(r->content_type, true)))
        return false;
    if (r->token && !http_is_token(r->token))
        return false;
    for (size_t i = 0; i < r->num_headers; i++)
        if (!is_visible(r->headers[i].name, false) || !is_visible(r->headers[i].value, true))
            return false;
    return true;
}

static bool copy_texts(struct http_call *call, const struct http_request *r)
{
    struct http_request *own = &call->request;
    struct http_header *headers = arena_calloc(&call->arena, r->num_headers, sizeof *headers);
    bool is_whole = headers != NULL;
    for (size_t i = 0; i < r->num_headers && is_whole; i++) {
        headers[i].name = arena_strdup(&call->arena, r->headers[i].name);
        headers[i].value = arena_strdup(&call->arena, r->headers[i].value);
        is_whole = headers[i].name && headers[i].value;
    }
    own->headers = headers;
    own->method = arena_strdup(&call->arena, r->method ? r->method : "GET");
    own->token = arena_strdup(&call->arena, r->token);
    own->content_type = arena_strdup(&call->arena, r->content_type ? r->content_type : "application/json");
    call->url = arena_printf(&call->arena, "%s%s", call->client->base_url, r->path);
    own->path = call->url;
    return is_whole && own->method && (own->token || !r->token) && own->content_type && call->url;
}

enum err call_new(struct http_client *c, const struct http_request *request, struct http_call **out)
{
    if (!has_sound_texts(request))
        return ERR_USAGE;
    struct http_call *call = calloc(1, sizeof *call);
    if (!call)
        return ERR_NO_MEMORY;
    call->client = c;
    call->request = *request;
    arena_init(&call->arena, CALL_ARENA);
    if (!copy_texts(call, request)) {
        call_free(call);
        return ERR_NO_MEMORY;
    }
    call_reset_response(call);
    (void)snprintf(call->response.request_id, sizeof call->response.request_id, "%016llx%08llx",
                   (unsigned long long)c->retry_seed, (unsigned long long)atomic_fetch_add(&c->num_calls, 1));
    *out = call;
    return ERR_OK;
}

void call_free(struct http_call *call)
{
    if (!call)
        return;
    if (call->request.token)
        explicit_bzero((char *)(uintptr_t)call->request.token, strlen(call->request.token));
    curl_slist_free_all(call->headers);
    http_response_release(&call->response);
    arena_release(&call->arena);
    free(call);
}

void call_reset_response(struct http_call *call)
{
    int num_tries = call->response.num_tries;
    size_t max = call->request.max_reply_bytes;
    char id[sizeof call->response.request_id];
    memcpy(id, call->response.request_id, sizeof id);
    http_response_release(&call->response);
    memcpy(call->response.request_id, id, sizeof id);
    call->response.num_tries = num_tries;
    call->response.body.max = max ? max : LIMIT_JSON_REPLY;
    call->response.headers.max = HEADERS_MAX;
    call->fault = FAULT_NONE;
    call->callback_err = ERR_OK;
    call->curl_text[0] = '\0';
}

static size_t stop(struct http_call *call, enum err e)
{
    call->callback_err = e;
    return 0;
}

static size_t trim(const char **s, size_t n)
{
    for (; n > 0 && (**s == ' ' || **s == '\t'); n--)
        ++*s;
    while (n > 0 && strchr(" \t\r\n", (*s)[n - 1]))
        n--;
    return n;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
    struct http_call *call = ctx;
    struct buf *headers = &call->response.headers;
    const char *name = bytes, *colon = memchr(bytes, ':', size * count);
    size_t len = size * count;
    if (len >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        buf_clear(headers); /* a 100 Continue came before this reply */
    else if (colon && !memchr(bytes, '\0', len)) {
        const char *value = colon + 1;
        size_t name_len = trim(&name, (size_t)(colon - bytes));
        size_t value_len = trim(&value, len - (size_t)(value - bytes));
        enum err e = buf_append(headers, name, name_len);
        if (!e)
            e = buf_append(headers, "", 1);
        if (!e)
            e = buf_append(headers, value, value_len);
        if (!e)
            e = buf_append(headers, "", 1);
        if (e)
            return stop(call, e);
    }
    return len;
}

static enum err gather_body(struct http_call *call, const char *bytes, size_t n)
{
    struct buf *body = &call->response.body;
    curl_off_t total = -1;
    if (body->len == 0 &&
        curl_easy_getinfo(call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &total) == CURLE_OK && total > 0 &&
        (uint64_t)total <= body->max) {
        enum err e = buf_reserve(body, (size_t)total);
        if (e)
            return e;
    }
    return buf_append(body, bytes, n);
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
    struct http_call *call = ctx;
    size_t n = size * count;
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    bool is_fine = status >= 200 && status < 300;
    enum err e = ERR_OK;
    if (call->request.on_body && is_fine) {
        call->on_body_got_some = true;
        e = call->request.on_body(call->request.on_body_ctx, bytes, n);
    } else if (is_fine) {
        e = gather_body(call, bytes, n);
    } else {
        struct buf *body = &call->response.body;
        body->max = ERROR_BODY_MAX;
        size_t room = body->max - body->len;
        e = buf_append(body, bytes, n < room ? n : room);
    }
    return e ? stop(call, e) : n;
}

static enum err add_header(struct http_call *call, const char *name, const char *value)
{
    char fixed[512], *line = fixed;
    size_t size = strlen(name) + strlen(value) + 4;
    if (size > sizeof fixed)
        line = malloc(size);
    if (!line)
        return ERR_NO_MEMORY;
    /* curl's spelling of a header without a value */
    (void)snprintf(line, size, value[0] ? "%s: %s" : "%s;", name, value);
    struct curl_slist *longer = curl_slist_append(call->headers, line);
    explicit_bzero(line, size);
    if (line != fixed)
        free(line);
    if (!longer)
        return ERR_NO_MEMORY;
    call->headers = longer;
    return ERR_OK;
}

/* "Name:" tells curl to leave out a header of its own. */
static enum err drop_header(struct http_call *call, const char *name_and_colon)
{
    struct curl_slist *longer = curl_slist_append(call->headers, name_and_colon);
    if (!longer)
        return ERR_NO_MEMORY;
    call->headers = longer;
    return ERR_OK;
}

static enum err add_authorization(struct http_call *call)
{
    struct http_client *c = call->client;
    char value[TOKEN_MAX + sizeof "Bearer "] = "";
    (void)pthread_mutex_lock(&c->token_lock);
    const char *token = call->request.token ? call->request.token : c->token;
    if (token)
        (void)snprintf(value, sizeof value, "Bearer %s", token);
    (void)pthread_mutex_unlock(&c->token_lock);
    enum err e = value[0] ? add_header(call, "Authorization", value) : ERR_OK;
    explicit_bzero(value, sizeof value);
    return e;
}

static bool may_have_body(const struct http_request *r)
{
    return r->body_size > 0 || str_eq(r->method, "POST") || str_eq(r->method, "PUT") ||
           str_eq(r->method, "PATCH");
}

static enum err add_headers(struct http_call *call)
{
    const struct http_request *r = &call->request;
    curl_slist_free_all(call->headers);
    call->headers = NULL;
    enum err e = add_authorization(call);
    if (!e)
        e = add_header(call, HEADER_REQUEST_ID, call->response.request_id);
    if (!e)
        e = drop_header(call,
                        "Expect:"); /* waiting for a 100 Continue costs a second at servers that send none */
    if (!e && may_have_body(r))
        e = r->body_size ? add_header(call, "Content-Type", r->content_type)
                         : drop_header(call, "Content-Type:");
    for (size_t i = 0; i < r->num_headers && !e; i++)
        e = add_header(call, r->headers[i].name, r->headers[i].value);
    return e;
}

/* Keeps the first failure: each one is lack of memory, or an option that this libcurl does not know. */
#define SET(option, value) (rc = rc ? rc : curl_easy_setopt(easy, option, value))

static CURLcode set_body(const struct http_request *r, CURL *easy)
{
    CURLcode rc = CURLE_OK;
    if (may_have_body(r)) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_size);
        SET(CURLOPT_POSTFIELDS, r->body_size ? (const char *)r->body : "");
    } else if (str_eq(r->method, "HEAD")) {
        SET(CURLOPT_NOBODY, 1L);
    } else {
        SET(CURLOPT_HTTPGET, 1L);
    }
    SET(CURLOPT_CUSTOMREQUEST, r->method);
    if (r->timeout_ms == 0) {
        SET(CURLOPT_BUFFERSIZE, TRANSFER_BUFFER);
        SET(CURLOPT_UPLOAD_BUFFERSIZE, TRANSFER_BUFFER);
        SET(CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES_PER_S);
        SET(CURLOPT_LOW_SPEED_TIME, STALL_S);
    } else if (r->timeout_ms > 0) {
        SET(CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
    }
    return rc;
}

enum err call_set_up(struct http_call *call, CURL *easy)
{
    const struct http_client *c = call->client;
    CURLcode rc = CURLE_OK;
    enum err e = add_headers(call);
    if (e)
        return e;
    curl_easy_reset(easy);
    SET(CURLOPT_PRIVATE, (void *)call);
    SET(CURLOPT_ERRORBUFFER, call->curl_text);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, c->connect_timeout_ms);
    SET(CURLOPT_URL, call->url);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_HTTPHEADER, call->headers);
    if (c->user_agent)
        SET(CURLOPT_USERAGENT, c->user_agent);
    if (c->ca_file)
        SET(CURLOPT_CAINFO, c->ca_file);
    if (c->cert_file) {
        SET(CURLOPT_SSLCERT, c->cert_file);
        SET(CURLOPT_SSLKEY, c->key_file ? c->key_file : c->cert_file);
    }
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, (void *)call);
    SET(CURLOPT_WRITEFUNCTION, on_bytes);
    SET(CURLOPT_WRITEDATA, (void *)call);
    rc = rc ? rc : set_body(&call->request, easy);
    return rc ? ERR_NO_MEMORY : ERR_OK;
}
