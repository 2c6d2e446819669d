#include "bench/load_link.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define TLS_RECORD 16384

static bool tls_begin(struct load_link *link, SSL_CTX *tls)
{
    link->ssl = SSL_new(tls);
    if (!link->ssl || SSL_set_fd(link->ssl, link->fd) != 1) {
        errno = ENOMEM;
        return false;
    }
    SSL_set_connect_state(link->ssl);
    return true;
}

bool link_open(struct load_link *link, const struct sockaddr_in *to, const struct sockaddr_in *from,
               SSL_CTX *tls)
{
    int on = 1;
    *link = (struct load_link){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    bool is_open = link->fd >= 0 &&
                   setsockopt(link->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) == 0 &&
                   bind(link->fd, (const struct sockaddr *)from, sizeof *from) == 0 &&
                   connect(link->fd, (const struct sockaddr *)to, sizeof *to) == 0 &&
                   setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
                   (!tls || tls_begin(link, tls)) && ioctl(link->fd, FIONBIO, &on) == 0;
    if (!is_open) {
        int why = errno;
        link_close(link);
        errno = why;
    }
    return is_open;
}

void link_close(struct load_link *link)
{
    SSL_free(link->ssl);
    link->ssl = NULL;
    if (link->fd >= 0)
        (void)close(link->fd);
    link->fd = -1;
}

static ssize_t tls_result(struct load_link *link, int result)
{
    link->waits_for_input = false;
    if (result > 0)
        return result;
    int why = SSL_get_error(link->ssl, result);
    link->waits_for_input = why == SSL_ERROR_WANT_READ;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? LINK_BLOCKED : LINK_ENDED;
}

bool link_shake_hands(struct load_link *link)
{
    if (!link->ssl)
        return true;
    for (;;) {
        ERR_clear_error();
        int result = SSL_do_handshake(link->ssl);
        if (result == 1)
            return true;
        if (tls_result(link, result) == LINK_ENDED)
            return false;
        struct pollfd wait = {.fd = link->fd, .events = link->waits_for_input ? POLLIN : POLLOUT};
        (void)poll(&wait, 1, -1);
    }
}

/* One record at a time, so that a small request is one record however many pieces it has. */
static ssize_t tls_send(struct load_link *link, const struct iovec *pieces, int num_pieces)
{
    char record[TLS_RECORD];
    size_t used = 0;
    for (int i = 0; i < num_pieces && used < sizeof record; i++) {
        size_t room = sizeof record - used, n = pieces[i].iov_len < room ? pieces[i].iov_len : room;
        memcpy(record + used, pieces[i].iov_base, n);
        used += n;
    }
    ERR_clear_error(); /* another connection's would be taken for this one's */
    return tls_result(link, SSL_write(link->ssl, record, (int)used));
}

static ssize_t plain_result(ssize_t result)
{
    if (result > 0)
        return result;
    return result < 0 && (errno == EAGAIN || errno == EINTR) ? LINK_BLOCKED : LINK_ENDED;
}

ssize_t link_send(struct load_link *link, const struct iovec *pieces, int num_pieces)
{
    if (link->ssl)
        return tls_send(link, pieces, num_pieces);
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces, .msg_iovlen = (size_t)num_pieces};
    return plain_result(sendmsg(link->fd, &message, MSG_NOSIGNAL));
}

ssize_t link_receive(struct load_link *link, void *out, size_t size)
{
    bool waited = link->waits_for_input;
    if (link->ssl) {
        ERR_clear_error();
        ssize_t n = tls_result(link, SSL_read(link->ssl, out, (int)size));
        link->waits_for_input = waited; /* what is to be sent asks for itself */
        return n;
    }
    return plain_result(recv(link->fd, out, size, 0));
}

bool link_has_more(const struct load_link *link)
{
    return link->ssl && SSL_pending(link->ssl) > 0;
}
