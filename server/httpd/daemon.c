#include "server/httpd/internal.h"
#include <stdlib.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/random.h"
#include "server/httpd/peers.h"

/* Decoding is ours, segment by segment: libmicrohttpd would make %2F a separator and %00 an end. */
static size_t leave_escaped(void *cls, struct MHD_Connection *mhd, char *text)
{
    (void)cls;
    (void)mhd;
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static void daemon_log(void *cls, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
static void daemon_log(void *cls, const char *fmt, va_list ap)
{
    (void)cls;
    char text[512];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    if (n > 0 && (size_t)n < sizeof text && text[n - 1] == '\n')
        text[n - 1] = '\0';
    log_debug("httpd", "libmicrohttpd: %s", text);
}

static void connection_await(struct connection *c)
{
    struct loop *l = c->loop;
    c->since_ns = mono_ns();
    c->is_waiting = true;
    c->prev = l->waiting_tail;
    c->next = NULL;
    *(c->prev ? &c->prev->next : &l->waiting_head) = c;
    l->waiting_tail = c;
}

static void connection_arrived(struct connection *c)
{
    struct loop *l = c->loop;
    if (!c->is_waiting)
        return;
    *(c->prev ? &c->prev->next : &l->waiting_head) = c->next;
    *(c->next ? &c->next->prev : &l->waiting_tail) = c->prev;
    c->is_waiting = false;
}

static int connection_fd(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static uint64_t network_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return peers_network(info ? info->client_addr : NULL);
}

static void connection_notify(void *cls, struct MHD_Connection *mhd, void **context,
                              enum MHD_ConnectionNotificationCode code)
{
    struct loop *l = cls;
    struct connection *c = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add(&l->num_connections, 1);
        c = calloc(1, sizeof *c);
        *context = c;
        if (!c) {
            /* Without its record the connection could not be cut when it is slow: let it end at once. */
            (void)shutdown(connection_fd(mhd), SHUT_RDWR);
            return;
        }
        c->loop = l;
        c->fd = connection_fd(mhd);
        connection_await(c);
        uint64_t network = network_of(mhd);
        if (peers_add(l->httpd->peers, network))
            c->network = network;
        else
            (void)shutdown(c->fd, SHUT_RDWR);
    } else {
        atomic_fetch_sub(&l->num_connections, 1);
        if (c)
            connection_arrived(c);
        if (c && c->network)
            peers_drop(l->httpd->peers, c->network);
        free(c);
        *context = NULL;
    }
}

static int64_t timeout_ns(const struct loop *l)
{
    return (int64_t)l->httpd->config.timeout_s * 1000000000;
}

int64_t connections_next_cut_ns(const struct loop *l)
{
    return l->waiting_head ? l->waiting_head->since_ns + timeout_ns(l) : INT64_MAX;
}

/* libmicrohttpd's own timeout starts anew with every byte, so a client that sends its headers byte by byte
 * would keep a connection for ever. */
void connections_cut_slow(struct loop *l, int64_t now_ns)
{
    for (struct connection *c; (c = l->waiting_head) && c->since_ns + timeout_ns(l) <= now_ns;) {
        connection_arrived(c);
        (void)shutdown(c->fd, SHUT_RDWR);
    }
}

static struct connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *upload, size_t *upload_size, void **cursor)
{
    if (!*cursor) {
        struct connection *c = connection_of(mhd);
        if (c)
            connection_arrived(c);
    }
    return exchange_access(cls, mhd, url, method, version, upload, upload_size, cursor);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **cursor,
                         enum MHD_RequestTerminationCode code)
{
    exchange_completed(cls, mhd, cursor, code);
    struct connection *c = connection_of(mhd);
    if (c && !c->is_waiting)
        connection_await(c);
}

bool connection_is_trusted(struct request *rq)
{
    struct tls *tls = rq->loop->httpd->tls;
    struct connection *c = connection_of(rq->mhd);
    if (!tls || !tls_client_ca(tls))
        return true;
    if (!c)
        return false;
    if (!c->is_checked) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(rq->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        c->is_trusted = info && tls_client_is_trusted(tls, info->tls_session);
        c->is_checked = true;
    }
    return c->is_trusted;
}

/* An even share for each thread, at least 1; 0 stays 0. */
static unsigned share(unsigned total, size_t threads)
{
    return (unsigned)((total + threads - 1) / threads);
}

enum err daemon_start(struct loop *l, struct fault *fault)
{
    const struct httpd_config *c = &l->httpd->config;
    enum err e = random_bytes(&l->id_prefix, sizeof l->id_prefix);
    if (e) {
        (void)close(l->listen_fd);
        return fault_set(fault, e, NULL, "cannot get random bytes for request ids");
    }
    /* No internal thread: in 0.9.75 it waits again, before it serves, when epoll_wait gave exactly 128
     * events. */
    struct tls *tls = l->httpd->tls;
    const unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0);
    const char *client_ca = tls ? tls_client_ca(tls) : NULL;
    struct MHD_OptionItem with_tls[] = {{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
                                        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)tls_retrieve},
                                        {MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)(uintptr_t)client_ca},
                                        {MHD_OPTION_END, 0, NULL}};
    if (!client_ca)
        with_tls[2] = with_tls[3];
    l->daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, on_access, l, MHD_OPTION_EXTERNAL_LOGGER, daemon_log, NULL,
                         MHD_OPTION_LISTEN_SOCKET, l->listen_fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, l,
                         MHD_OPTION_NOTIFY_CONNECTION, connection_notify, l, MHD_OPTION_CONNECTION_LIMIT,
                         share(c->max_connections, l->httpd->num_loops), MHD_OPTION_CONNECTION_TIMEOUT,
                         c->timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, c->connection_memory,
                         MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                         MHD_OPTION_ARRAY, tls ? with_tls : with_tls + 3, MHD_OPTION_END);
    const union MHD_DaemonInfo *info = NULL;
    if (l->daemon)
        info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    else
        (void)close(l->listen_fd);
    if (!info)
        return fault_set(fault, ERR_IO, NULL, "libmicrohttpd did not start on %s", l->httpd->url);
    l->epoll_fd = info->epoll_fd;
    return ERR_OK;
}
