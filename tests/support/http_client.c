#include "tests/support/http_client.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

bool http_client_open(struct http_client *c, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval patience = {.tv_sec = 30};
    const int on = 1;
    c->start = c->end = 0;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return c->fd >= 0 && connect(c->fd, (struct sockaddr *)&at, sizeof at) == 0 &&
           setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
           setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
           setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
}

void http_client_close(struct http_client *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
}

bool http_client_send(struct http_client *c, const void *bytes, size_t n)
{
    for (const char *at = bytes; n > 0;) {
        ssize_t sent = send(c->fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool http_client_print(struct http_client *c, const char *fmt, ...)
{
    char text[16384];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return n >= 0 && (size_t)n < sizeof text && http_client_send(c, text, (size_t)n);
}

/* More bytes behind those that are there. */
static bool fill(struct http_client *c)
{
    if (c->start == c->end)
        c->start = c->end = 0;
    if (c->end == sizeof c->in) {
        memmove(c->in, c->in + c->start, c->end - c->start);
        c->end -= c->start;
        c->start = 0;
    }
    ssize_t n = recv(c->fd, c->in + c->end, sizeof c->in - c->end, 0);
    if (n <= 0)
        return false;
    c->end += (size_t)n;
    return true;
}

/* Up to and with the next line feed, NUL-ended. */
static bool read_line(struct http_client *c, char *out, size_t size)
{
    for (size_t n = 0; n + 1 < size;) {
        if (c->start == c->end && !fill(c))
            return false;
        out[n++] = c->in[c->start++];
        if (out[n - 1] == '\n') {
            out[n] = '\0';
            return true;
        }
    }
    return false;
}

bool http_client_read_head(struct http_client *c, struct http_answer *out)
{
    size_t n = 0;
    *out = (struct http_answer){.status = 0};
    while (n + 1 < sizeof out->head) {
        char *line = out->head + n;
        if (!read_line(c, line, sizeof out->head - n))
            return false;
        n += strlen(line);
        if (strcmp(line, "\r\n") == 0)
            break;
    }
    return sscanf(out->head, "HTTP/1.1 %d", &out->status) == 1;
}

static bool body_append(struct http_answer *a, const char *bytes, size_t n)
{
    char *body = realloc(a->body, a->body_len + n + 1);
    if (!body)
        return false;
    a->body = body;
    memcpy(body + a->body_len, bytes, n);
    a->body_len += n;
    body[a->body_len] = '\0';
    return true;
}

static bool read_exactly(struct http_client *c, size_t n, struct http_answer *out)
{
    while (n > 0) {
        if (c->start == c->end && !fill(c))
            return false;
        size_t take = c->end - c->start < n ? c->end - c->start : n;
        if (!body_append(out, c->in + c->start, take))
            return false;
        c->start += take;
        n -= take;
    }
    return true;
}

static bool read_chunked(struct http_client *c, struct http_answer *out)
{
    char line[64];
    for (unsigned long size = 1; size > 0;) {
        if (!read_line(c, line, sizeof line))
            return false;
        size = strtoul(line, NULL, 16);
        if (!read_exactly(c, size, out) || !read_line(c, line, sizeof line))
            return false;
    }
    return true;
}

bool http_client_read(struct http_client *c, bool is_head_request, struct http_answer *out)
{
    bool fine = http_client_read_head(c, out) && body_append(out, "", 0);
    const char *length = http_answer_field(out, "Content-Length");
    if (!fine || is_head_request || out->status == 204 || out->status == 304) {
        ;
    } else if (length) {
        fine = read_exactly(c, strtoul(length, NULL, 10), out);
    } else if (http_answer_field(out, "Transfer-Encoding")) {
        fine = read_chunked(c, out);
    } else {
        do {
            fine = body_append(out, c->in + c->start, c->end - c->start);
            c->start = c->end;
        } while (fine && fill(c));
    }
    if (!fine)
        out->status = 0;
    return fine;
}

size_t http_client_read_chunk(struct http_client *c, char *out, size_t n)
{
    char line[64];
    struct http_answer chunk = {.status = 0};
    if (!read_line(c, line, sizeof line))
        return 0;
    size_t size = strtoul(line, NULL, 16);
    bool fine = read_exactly(c, size, &chunk) && read_line(c, line, sizeof line) && size < n;
    if (fine && size)
        memcpy(out, chunk.body, size);
    out[fine ? size : 0] = '\0';
    http_answer_release(&chunk);
    return fine ? size : 0;
}

bool http_client_read_end(struct http_client *c)
{
    char byte;
    return c->start == c->end && recv(c->fd, &byte, 1, 0) == 0;
}

struct http_answer http_client_do(struct http_client *c, const char *method, const char *path,
                                  const char *headers, const char *body)
{
    struct http_answer answer = {.status = 0};
    if (http_client_print(c, "%s %s HTTP/1.1\r\nHost: test\r\n%s", method, path, headers) &&
        (!body || http_client_print(c, "Content-Length: %zu\r\n", strlen(body))) &&
        http_client_print(c, "\r\n") && (!body || http_client_send(c, body, strlen(body))))
        (void)http_client_read(c, strcmp(method, "HEAD") == 0, &answer);
    return answer;
}

struct http_answer http_do(uint16_t port, const char *method, const char *path, const char *headers,
                           const char *body)
{
    struct http_client c;
    struct http_answer answer = {.status = 0};
    if (http_client_open(&c, port))
        answer = http_client_do(&c, method, path, headers, body);
    http_client_close(&c);
    return answer;
}

const char *http_answer_field(const struct http_answer *a, const char *name)
{
    static _Thread_local char value[1024];
    size_t len = strlen(name);
    for (const char *line = strstr(a->head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        const char *at = line + len + 1 + strspn(line + len + 1, " ");
        size_t n = strcspn(at, "\r");
        if (n >= sizeof value)
            return NULL;
        memcpy(value, at, n);
        value[n] = '\0';
        return value;
    }
    return NULL;
}

void http_answer_release(struct http_answer *a)
{
    free(a->body);
    a->body = NULL;
}
