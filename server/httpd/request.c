#include "server/httpd/internal.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include "common/base/clock.h"
#include "common/base/str.h"

static bool id_is_sane(const char *id)
{
    size_t n = id ? strlen(id) : 0;
    if (n == 0 || n >= REQUEST_ID_SIZE)
        return false;
    for (; *id; id++)
        if (!isalnum((unsigned char)*id) && *id != '.' && *id != '_' && *id != '-')
            return false;
    return true;
}

static void id_make(struct request *rq)
{
    const char *given = request_header(rq, "X-Request-Id");
    if (!id_is_sane(given) || str_copy(rq->id, sizeof rq->id, given))
        (void)snprintf(rq->id, sizeof rq->id, "%016" PRIx64 "%016" PRIx64, rq->loop->id_prefix,
                       rq->loop->id_next++);
}

struct request *request_new(struct loop *l, struct MHD_Connection *mhd, const char *path, const char *method)
{
    struct request *rq = calloc(1, sizeof *rq);
    if (!rq)
        return NULL;
    rq->loop = l;
    rq->mhd = mhd;
    rq->media_type = "";
    rq->started_ns = mono_ns();
    arena_init(&rq->arena, LIMIT_REQUEST_ARENA);
    rq->path = arena_strdup(&rq->arena, path);
    rq->method_name = arena_strdup(&rq->arena, method);
    if (!rq->path || !rq->method_name) {
        arena_release(&rq->arena);
        free(rq);
        return NULL;
    }
    id_make(rq);
    rq->live_next = l->live;
    if (l->live)
        l->live->live_prev = rq;
    l->live = rq;
    atomic_fetch_add(&l->httpd->num_requests, 1);
    return rq;
}

static void request_unlink(struct request *rq)
{
    struct loop *l = rq->loop;
    *(rq->live_prev ? &rq->live_prev->live_next : &l->live) = rq->live_next;
    if (rq->live_next)
        rq->live_next->live_prev = rq->live_prev;
    struct httpd *h = l->httpd;
    if (atomic_fetch_sub(&h->num_requests, 1) == 1 && atomic_load(&h->is_draining)) {
        (void)pthread_mutex_lock(&h->mutex);
        (void)pthread_cond_broadcast(&h->idle);
        (void)pthread_mutex_unlock(&h->mutex);
    }
}

void request_free(struct request *rq)
{
    if (rq->is_suspended || rq->is_deferred)
        bug("request %s is freed while it is suspended", rq->id);
    waiters_unsubscribe(rq);
    loop_forget(rq);
    exchange_forget(rq);
    timer_disarm(&rq->loop->timers, &rq->timer);
    reply_reset(rq);
    body_release(rq);
    for (size_t i = REQUEST_SLOTS; i-- > 0;)
        request_set(rq, (enum request_slot)i, NULL, NULL);
    arena_release(&rq->arena);
    request_unlink(rq);
    free(rq);
}

const struct route *request_route(const struct request *rq)
{
    return rq->match.route;
}

const char *request_method(const struct request *rq)
{
    return rq->method_name;
}

const char *request_path(const struct request *rq)
{
    return rq->path;
}

const char *request_param(const struct request *rq, const char *name)
{
    for (size_t i = 0; i < rq->match.num_params; i++)
        if (str_eq(rq->match.params[i].name, name))
            return rq->match.params[i].value;
    bug("route %s has no path parameter \"%s\"", rq->match.route ? rq->match.route->operation_id : "(none)",
        name);
}

const char *request_query(const struct request *rq, const char *name)
{
    for (size_t i = 0; i < rq->num_query; i++)
        if (str_eq(rq->query[i].name, name))
            return rq->query[i].value;
    return NULL;
}

enum err request_query_int(const struct request *rq, const char *name, int64_t min, int64_t max,
                           int64_t otherwise, int64_t *out, struct fault *fault)
{
    const char *text = request_query(rq, name);
    int64_t value = otherwise;
    if (text && (str_to_i64(text, &value) || value < min || value > max))
        return fault_set(fault, ERR_INVALID_FIELD, name,
                         "?%s= must be a whole number from %" PRId64 " to %" PRId64, name, min, max);
    *out = value;
    return ERR_OK;
}

enum err request_wait_ms(const struct request *rq, int64_t *out_ms, struct fault *fault)
{
    const char *text = request_query(rq, "wait");
    double seconds = 0, most = rq->match.route->max_wait_s;
    if (text && (str_to_double(text, &seconds) || seconds < 0 || seconds > most))
        return fault_set(fault, ERR_INVALID_FIELD, "wait", "?wait= must be seconds from 0 to %.0f", most);
    *out_ms = (int64_t)(seconds * 1000);
    return ERR_OK;
}

const char *request_header(const struct request *rq, const char *name)
{
    const char *value = MHD_lookup_connection_value(rq->mhd, MHD_HEADER_KIND, name);
    for (const struct trimmed *t = rq->trimmed; t; t = t->next)
        if (t->raw == value)
            return t->text;
    return value;
}

/* The q of "text/csv;q=0.5": false only when it is 0. */
static bool quality_is_positive(const char *params, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (tolower((unsigned char)params[i]) == 'q' && params[i + 1] == '=') {
            for (i += 2; i < n && (params[i] == '0' || params[i] == '.'); i++)
                ;
            return i < n && params[i] >= '1' && params[i] <= '9';
        }
    return true;
}

/* A comma-separated list with qualities: of Accept, of Accept-Encoding. */
static bool list_accepts(const char *at, const char *item)
{
    size_t len = strlen(item);
    while (at && *at) {
        at += strspn(at, ", \t");
        size_t n = strcspn(at, ",");
        if (n >= len && strncasecmp(at, item, len) == 0 &&
            (n == len || at[len] == ';' || at[len] == ' ' || at[len] == '\t'))
            return quality_is_positive(at + len, n - len);
        at += n;
    }
    return false;
}

bool request_accepts(const struct request *rq, const char *media_type)
{
    return list_accepts(request_header(rq, "Accept"), media_type);
}

bool request_accepts_coding(const struct request *rq, const char *coding)
{
    return list_accepts(request_header(rq, "Accept-Encoding"), coding);
}

const char *request_media_type(const struct request *rq)
{
    return rq->media_type;
}

uint64_t request_content_length(const struct request *rq)
{
    return rq->content_length;
}

const char *request_id(const struct request *rq)
{
    return rq->id;
}

const char *request_remote(const struct request *rq)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(rq->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    char text[INET6_ADDRSTRLEN];
    const void *bytes = NULL;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (address && address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        bytes = &v4.sin_addr;
    } else if (address && address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof v6);
        bytes = &v6.sin6_addr;
    }
    if (!bytes || !inet_ntop(address->sa_family, bytes, text, sizeof text))
        return "";
    /* The arena is the request's own, not a part of what const promises. */
    const char *copy = arena_strdup(request_arena((struct request *)(uintptr_t)rq), text);
    return copy ? copy : "";
}

static int request_fd(const struct request *rq)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(rq->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* Before its end a TLS client sends one last record, which nobody reads while the request is set aside: what
 * tells then is that the other direction was shut. */
static bool tls_client_gone(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

bool request_client_gone(const struct request *rq)
{
    char byte;
    if (rq->loop->httpd->tls)
        return tls_client_gone(request_fd(rq));
    ssize_t n = recv(request_fd(rq), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool request_input_ended(const struct request *rq)
{
    char byte;
    const union MHD_ConnectionInfo *info = NULL;
    ssize_t n = recv(request_fd(rq), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)))
        return false;
    if (rq->loop->httpd->tls)
        info = MHD_get_connection_info(rq->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return !info || !tls_has_unread(info->tls_session);
}

void request_cut(struct request *rq)
{
    (void)shutdown(request_fd(rq), SHUT_RDWR);
}

struct arena *request_arena(struct request *rq)
{
    return &rq->arena;
}

void request_set(struct request *rq, enum request_slot slot, void *value, void (*release)(void *value))
{
    struct slot former = rq->slots[slot];
    rq->slots[slot] = (struct slot){.value = value, .release = release};
    if (former.release)
        former.release(former.value);
}

void *request_get(const struct request *rq, enum request_slot slot)
{
    return rq->slots[slot].value;
}

void request_defer(struct request *rq)
{
    if (rq->is_deferred)
        bug("request %s is deferred twice", rq->id);
    rq->is_deferred = true;
}

void request_complete(struct request *rq)
{
    loop_post(rq, INBOX_COMPLETE);
}

void request_continue(struct request *rq, route_handler *step)
{
    rq->step = step;
    loop_post(rq, INBOX_CONTINUE);
}

void request_resume(struct request *rq)
{
    loop_post(rq, INBOX_RESUME);
}
