#include "server/httpd/listen.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct endpoint {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t size;
    const char *text; /* the address as given */
};

static enum err endpoint_parse(const char *text, uint16_t port, struct endpoint *out, struct fault *fault)
{
    memset(out, 0, sizeof *out);
    out->text = text;
    if (inet_pton(AF_INET, text, &out->address.v4.sin_addr) == 1) {
        out->address.v4.sin_family = AF_INET;
        out->address.v4.sin_port = htons(port);
        out->size = sizeof out->address.v4;
    } else if (inet_pton(AF_INET6, text, &out->address.v6.sin6_addr) == 1) {
        out->address.v6.sin6_family = AF_INET6;
        out->address.v6.sin6_port = htons(port);
        out->size = sizeof out->address.v6;
    } else {
        return fault_set(fault, ERR_USAGE, NULL,
                         "cannot listen on \"%s\": give a numeric address such as 127.0.0.1, ::1 or 0.0.0.0",
                         text);
    }
    return ERR_OK;
}

static uint16_t endpoint_port(const struct endpoint *e)
{
    return ntohs(e->address.any.sa_family == AF_INET ? e->address.v4.sin_port : e->address.v6.sin6_port);
}

static enum err refuse(const struct endpoint *at, const char *what, struct fault *fault)
{
    int error = errno;
    unsigned port = endpoint_port(at);
    if (error == EADDRINUSE)
        return fault_set(fault, ERR_CONFLICT, NULL,
                         "cannot listen on %s port %u: another program has it. Stop that one (find it with: "
                         "ss -ltnp 'sport = :%u') or choose another port with --listen %s:PORT",
                         at->text, port, port, at->text);
    if (error == EACCES)
        return fault_set(
            fault, ERR_IO, NULL,
            "cannot listen on %s port %u: permission denied; ports below 1024 need privileges, choose a "
            "higher one",
            at->text, port);
    if (error == EADDRNOTAVAIL)
        return fault_set(fault, ERR_USAGE, NULL, "cannot listen on %s: this machine has no such address",
                         at->text);
    return fault_set(fault, ERR_IO, NULL, "cannot listen on %s port %u: %s: %s", at->text, port, what,
                     strerror(error));
}

static int socket_open(const struct endpoint *at, bool is_shared)
{
    const int on = 1, off = 0;
    int fd = socket(at->address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    bool fine = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
    if (fine && is_shared)
        fine = setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0;
    if (fine && at->address.any.sa_family == AF_INET6)
        fine = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0;
    if (fine && bind(fd, &at->address.any, at->size) == 0 && (!is_shared || listen(fd, SOMAXCONN) == 0))
        return fd;
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

/* With SO_REUSEPORT a second server of the same user would share the port without an error, so a socket
 * without it asks first. */
static enum err probe(struct endpoint *at, struct fault *fault)
{
    int fd = socket_open(at, false);
    if (fd < 0)
        return refuse(at, "bind", fault);
    (void)close(fd);
    return ERR_OK;
}

enum err listen_open(const char *address, uint16_t port, int *fds, size_t count, uint16_t *out_port,
                     struct fault *fault)
{
    struct endpoint at;
    size_t opened = 0;
    enum err e = endpoint_parse(address, port, &at, fault);
    if (!e && port)
        e = probe(&at, fault);
    for (; !e && opened < count; opened += !e) {
        fds[opened] = socket_open(&at, true);
        if (fds[opened] < 0)
            e = refuse(&at, "bind or listen", fault);
        else if (getsockname(fds[opened], &at.address.any, &at.size) != 0)
            e = refuse(&at, "getsockname", fault); /* after the first, all ask for the port that it got */
    }
    if (e) {
        while (opened > 0)
            (void)close(fds[--opened]);
        return e;
    }
    *out_port = endpoint_port(&at);
    return ERR_OK;
}
