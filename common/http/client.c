#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/str.h"
#include "common/http/http_impl.h"

#define CONNECT_TIMEOUT_MS 10000
#define MAX_CONNECTIONS    64

static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_rc;

static void global_init(void)
{
    struct sigaction pipe_action;
    /* OpenSSL writes with write(2): a peer that hangs up would end the process. */
    if (sigaction(SIGPIPE, NULL, &pipe_action) == 0 && pipe_action.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
    global_rc = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static bool url_has(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    bool is_there = curl_url_get(u, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return is_there;
}

static enum err check_base_url(const char *base_url, struct fault *fault)
{
    CURLU *u = curl_url();
    enum err e = ERR_OK;
    if (!u)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory for an HTTP client");
    bool is_http = str_has_prefix(base_url, "http://") || str_has_prefix(base_url, "https://");
    bool is_url = curl_url_set(u, CURLUPART_URL, base_url, 0) == CURLUE_OK;
    /* The text may hold a password, so it is not repeated before that is known. */
    if (is_url && (url_has(u, CURLUPART_USER) || url_has(u, CURLUPART_PASSWORD)))
        e = fault_set(fault, ERR_USAGE, "server",
                      "the server's URL must not hold a user or a password: give a token");
    else if (strchr(base_url, '@'))
        e = fault_set(fault, ERR_USAGE, "server", "the server's URL must not hold '@'");
    else if (!is_http || !is_url)
        e = fault_set(fault, ERR_USAGE, "server",
                      "\"%.200s\" is no URL of a server: write http://HOST:PORT or https://HOST:PORT",
                      base_url);
    else if (strpbrk(base_url, "?#"))
        e = fault_set(fault, ERR_USAGE, "server", "\"%.200s\" must end before '?' and '#'", base_url);
    curl_url_cleanup(u);
    return e;
}

static bool copy_text(const char *text, char **out)
{
    *out = text ? strdup(text) : NULL;
    return *out || !text;
}

static bool copy_config(struct http_client *c, const struct http_config *config)
{
    size_t len = strlen(config->base_url);
    while (len > 0 && config->base_url[len - 1] == '/')
        len--;
    c->base_url = strndup(config->base_url, len);
    c->connect_timeout_ms =
        config->connect_timeout_ms > 0 ? (long)config->connect_timeout_ms : CONNECT_TIMEOUT_MS;
    c->max_connections = config->max_connections > 0 ? config->max_connections : MAX_CONNECTIONS;
    c->retry_seed = config->retry_seed;
    c->log_as = config->log_as;
    return c->base_url && copy_text(config->user_agent, &c->user_agent) &&
           copy_text(config->ca_file, &c->ca_file) && copy_text(config->cert_file, &c->cert_file) &&
           copy_text(config->key_file, &c->key_file);
}

static enum err check_file(const char *path, const char *option, const char *what, struct fault *fault)
{
    if (!path || access(path, R_OK) == 0)
        return ERR_OK;
    return fault_set(fault, ERR_USAGE, option, "--%s: cannot read %s in %.200s: %s", option, what, path,
                     strerror(errno));
}

static enum err check_files(const struct http_config *config, struct fault *fault)
{
    enum err e = check_file(config->ca_file, "cacert", "the certificates to trust", fault);
    if (!e)
        e = check_file(config->cert_file, "cert", "the client's certificate", fault);
    if (!e)
        e = check_file(config->key_file, "key", "the certificate's private key", fault);
    if (!e && config->key_file && !config->cert_file)
        e = fault_set(fault, ERR_USAGE, "cert", "--key needs --cert, the key's certificate");
    return e;
}

enum err http_client_new(const struct http_config *config, struct http_client **out, struct fault *fault)
{
    (void)pthread_once(&global_once, global_init);
    enum err e = global_rc ? fault_set(fault, ERR_NO_MEMORY, NULL, "libcurl does not start: %s",
                                       curl_easy_strerror(global_rc))
                           : check_base_url(config->base_url, fault);
    if (!e)
        e = check_files(config, fault);
    if (e)
        return e;
    struct http_client *c = calloc(1, sizeof *c);
    if (!c)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory for an HTTP client");
    (void)pthread_mutex_init(&c->token_lock, NULL);
    atomic_init(&c->is_cancelled, false);
    e = copy_config(c, config) ? http_loop_new(c, &c->own_loop) : ERR_NO_MEMORY;
    if (!e)
        e = http_client_set_token(c, config->token);
    if (e) {
        http_client_free(c);
        return fault_set(fault, e, e == ERR_USAGE ? "token" : NULL, "%s",
                         e == ERR_USAGE ? "the token holds blanks or other bytes that no token has"
                                        : "not enough memory for an HTTP client");
    }
    *out = c;
    return ERR_OK;
}

static void token_free(char *token)
{
    if (token)
        explicit_bzero(token, strlen(token));
    free(token);
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    http_loop_free(c->own_loop);
    token_free(c->token);
    (void)pthread_mutex_destroy(&c->token_lock);
    free(c->base_url);
    free(c->user_agent);
    free(c->ca_file);
    free(c->cert_file);
    free(c->key_file);
    free(c);
}

enum err http_client_set_token(struct http_client *c, const char *token)
{
    if (token && !http_is_token(token))
        return ERR_USAGE;
    char *copy = token ? strdup(token) : NULL;
    if (token && !copy)
        return ERR_NO_MEMORY;
    (void)pthread_mutex_lock(&c->token_lock);
    char *old = c->token;
    c->token = copy;
    (void)pthread_mutex_unlock(&c->token_lock);
    token_free(old);
    return ERR_OK;
}

const char *http_client_base_url(const struct http_client *c)
{
    return c->base_url;
}

struct blocking {
    struct http_response *response;
    struct fault *fault;
    enum err err;
    bool is_done;
};

static void on_done(void *ctx, enum err e, struct http_response *response, const struct fault *fault)
{
    struct blocking *b = ctx;
    *b->response = *response;
    *response = HTTP_RESPONSE_INIT;
    if (e && b->fault)
        *b->fault = *fault;
    b->err = e;
    b->is_done = true;
}

enum err http_request(struct http_client *c, const struct http_request *request, struct http_response *out,
                      struct fault *fault)
{
    struct blocking b = {.response = out, .fault = fault};
    struct http_call *call;
    http_response_release(out);
    enum err e = http_loop_start(c->own_loop, request, on_done, &b, &call);
    if (e)
        return fault_set(fault, e, NULL, "%s %.200s: %s", request->method ? request->method : "GET",
                         request->path ? request->path : "",
                         e == ERR_USAGE ? "holds bytes that no request may hold" : "not enough memory");
    while (!b.is_done) {
        if (atomic_load(&c->is_cancelled))
            http_loop_cancel(c->own_loop, call);
        e = http_loop_run_once(c->own_loop, -1);
        if (e && !b.is_done) { /* nothing would ever end the wait */
            loop_end_all(c->own_loop);
            return fault_set(fault, e, NULL, "%s: waiting for the network failed", c->base_url);
        }
    }
    return b.err;
}

void http_client_cancel(struct http_client *c)
{
    atomic_store(&c->is_cancelled, true);
    http_loop_wakeup(c->own_loop);
}

enum err http_client_sleep(struct http_client *c, int64_t ms)
{
    int64_t end_ns = mono_ns() + ms * 1000000;
    while (!atomic_load(&c->is_cancelled)) {
        int64_t left_ns = end_ns - mono_ns();
        if (left_ns <= 0)
            return ERR_OK;
        enum err e = http_loop_run_once(c->own_loop, (left_ns + 999999) / 1000000);
        if (e)
            return e;
    }
    return ERR_CANCELLED;
}
