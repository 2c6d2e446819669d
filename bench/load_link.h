/* One TCP connection to the server, plain or TLS; never blocks once it is open. TLS shakes hands while the
 * first bytes are sent, so many connections do so at once. */
#ifndef FEDLANE_BENCH_LOAD_LINK_H
#define FEDLANE_BENCH_LOAD_LINK_H

#include <netinet/in.h>
#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define LINK_BLOCKED (-1) /* wait until the socket can be read or written */
#define LINK_ENDED   (-2) /* the other side closed, or the connection broke */

struct load_link {
    int fd;               /* -1: closed */
    SSL *ssl;             /* NULL: plain */
    bool waits_for_input; /* link_send() was blocked because the other side has to speak first */
};

/* Connects from the address `from` (port 0). False: see errno. */
bool link_open(struct load_link *link, const struct sockaddr_in *to, const struct sockaddr_in *from,
               SSL_CTX *tls);
/* Blocks until hands are shaken. False: that failed. */
bool link_shake_hands(struct load_link *link);
void link_close(struct load_link *link);
/* Bytes that were taken, or LINK_... */
ssize_t link_send(struct load_link *link, const struct iovec *pieces, int num_pieces);
ssize_t link_receive(struct load_link *link, void *out, size_t size);
/* Bytes are there that epoll does not know of. */
bool link_has_more(const struct load_link *link);

#endif
