#include "tests/unit/http/stub_server.h"
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_REQUESTS    4096
#define MAX_CONNECTIONS 1024
#define MAX_HEAD        65536

struct stub {
    stub_handler *handler;
    void *ctx;
    int listener;
    char url[64];
    pthread_t acceptor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_stopping, is_released;
    struct stub_request *requests[MAX_REQUESTS];
    int num_requests;
    int fds[MAX_CONNECTIONS];
    pthread_t threads[MAX_CONNECTIONS];
    int num_connections;
};

struct connection {
    struct stub *s;
    int fd, number;
};

/* Reads up to and with the blank line. NULL when the peer is gone. */
static char *read_head(int fd)
{
    char *head = calloc(1, MAX_HEAD);
    size_t n = 0;
    if (!head)
        abort();
    while (n + 1 < MAX_HEAD && recv(fd, head + n, 1, 0) == 1) {
        n++;
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
            return head;
    }
    free(head);
    return NULL;
}

static size_t content_length(const char *head)
{
    const char *at = strcasestr(head, "\r\ncontent-length:");
    return at ? strtoul(at + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

static struct stub_request *read_request(const struct connection *c)
{
    char *head = read_head(c->fd);
    if (!head)
        return NULL;
    struct stub_request *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->head = head;
    r->connection = c->number;
    r->body_size = content_length(head);
    r->body = calloc(1, r->body_size + 1);
    if (!r->body)
        abort();
    for (size_t n = 0; n < r->body_size;) {
        ssize_t got = recv(c->fd, r->body + n, r->body_size - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    return r;
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    struct stub *s = c->s;
    bool goes_on = true;
    while (goes_on) {
        struct stub_request *r = read_request(c);
        if (!r)
            break;
        pthread_mutex_lock(&s->lock);
        if (s->num_requests == MAX_REQUESTS)
            abort();
        r->number = s->num_requests;
        s->requests[s->num_requests++] = r;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        goes_on = s->handler(s, c->fd, r);
    }
    shutdown(c->fd, SHUT_RDWR);
    free(c);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct stub *s = arg;
    for (;;) {
        int fd = accept(s->listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        struct connection *c = calloc(1, sizeof *c);
        int on = 1;
        if (!c || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
            abort();
        pthread_mutex_lock(&s->lock);
        if (s->num_connections == MAX_CONNECTIONS)
            abort();
        c->s = s;
        c->fd = fd;
        c->number = s->num_connections;
        s->fds[c->number] = fd;
        if (pthread_create(&s->threads[c->number], NULL, serve, c) != 0)
            abort();
        s->num_connections++;
        pthread_mutex_unlock(&s->lock);
    }
}

struct stub *stub_start(stub_handler *handler, void *ctx)
{
    struct stub *s = calloc(1, sizeof *s);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    ck_assert_ptr_nonnull(s);
    s->handler = handler;
    s->ctx = ctx;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(s->listener, 0);
    ck_assert_int_eq(bind(s->listener, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(s->listener, 128), 0);
    ck_assert_int_eq(getsockname(s->listener, (struct sockaddr *)&at, &size), 0);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", ntohs(at.sin_port));
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    ck_assert_int_eq(pthread_create(&s->acceptor, NULL, accept_all, s), 0);
    return s;
}

void stub_stop(struct stub *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_stopping = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->acceptor, NULL);
    close(s->listener);
    for (int i = 0; i < s->num_connections; i++) {
        shutdown(s->fds[i], SHUT_RDWR);
        pthread_join(s->threads[i], NULL);
        close(s->fds[i]);
    }
    for (int i = 0; i < s->num_requests; i++) {
        free(s->requests[i]->head);
        free(s->requests[i]->body);
        free(s->requests[i]);
    }
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
}

void *stub_ctx(const struct stub *s)
{
    return s->ctx;
}

const char *stub_url(const struct stub *s)
{
    return s->url;
}

int stub_num_requests(struct stub *s)
{
    pthread_mutex_lock(&s->lock);
    int n = s->num_requests;
    pthread_mutex_unlock(&s->lock);
    return n;
}

int stub_num_connections(struct stub *s)
{
    pthread_mutex_lock(&s->lock);
    int n = s->num_connections;
    pthread_mutex_unlock(&s->lock);
    return n;
}

void stub_wait_requests(struct stub *s, int n)
{
    pthread_mutex_lock(&s->lock);
    while (s->num_requests < n)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

const struct stub_request *stub_request(struct stub *s, int n)
{
    pthread_mutex_lock(&s->lock);
    const struct stub_request *r = n < s->num_requests ? s->requests[n] : NULL;
    pthread_mutex_unlock(&s->lock);
    ck_assert_ptr_nonnull(r);
    return r;
}

bool stub_has_header(const struct stub_request *request, const char *line)
{
    char whole[2048];
    (void)snprintf(whole, sizeof whole, "\r\n%s\r\n", line);
    return strcasestr(request->head, whole) != NULL;
}

void stub_send(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the client has gone, as some tests want it to */
        bytes += sent;
        n -= (size_t)sent;
    }
}

void stub_reply(int fd, int status, const char *extra_headers, const char *body)
{
    char head[4096];
    int n = snprintf(head, sizeof head, "HTTP/1.1 %d Reason\r\n%sContent-Length: %zu\r\n\r\n", status,
                     extra_headers, strlen(body));
    stub_send(fd, head, (size_t)n);
    stub_send(fd, body, strlen(body));
}

void stub_hang(struct stub *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->is_released && !s->is_stopping)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

void stub_release(struct stub *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_released = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}
