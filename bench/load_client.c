#include "bench/load_client.h"
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "bench/load_exchange.h"
#include "common/base/clock.h"

#define SCRATCH        (256 * KIB)
#define MAX_EVENTS     512
#define OPENED_AT_ONCE 64
#define EARLY_ENOUGH   20000 /* ns: sooner than this a request that falls due is sent at once */

enum state { RESTING, BUSY };

struct connection {
    struct load_exchange x;
    enum state state;
    bool was_open;
    int64_t since_ns;
    size_t next_resting; /* index + 1 */
};

struct load {
    struct load_config config;
    struct sockaddr_in to;
    SSL_CTX *tls;
    int epoll_fd;
    struct connection *connections;
    size_t resting_head, resting_tail; /* index + 1; open loop only: those that wait for a request */
    int64_t rate_since_ns;
    uint64_t num_due;  /* that were given to a connection since */
    size_t next_begun; /* closed loop: the connections from here on have not begun yet */
    bool is_stopped, is_draining;
    struct load_stats stats;
    char *scratch;
};

/* --- connections --- */

static size_t index_of(const struct load *l, const struct connection *c)
{
    return (size_t)(c - l->connections);
}

static void watch(struct load *l, struct connection *c, int what)
{
    struct epoll_event event = {.events = EPOLLIN | (c->x.wants_out ? (uint32_t)EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(l->epoll_fd, what, c->x.link.fd, &event))
        load_die("epoll_ctl: %s", strerror(errno));
}

static bool connection_open(struct load *l, struct connection *c)
{
    size_t n = l->config.num_sources ? l->config.num_sources : 1;
    struct sockaddr_in from = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(index_of(l, c) % n));
    if (!link_open(&c->x.link, &l->to, &from, l->tls))
        return false;
    c->x.wants_out = false;
    watch(l, c, EPOLL_CTL_ADD);
    return true;
}

static void rest(struct load *l, struct connection *c)
{
    c->state = RESTING;
    c->next_resting = 0;
    if (l->config.rate <= 0)
        return;
    size_t me = index_of(l, c) + 1;
    if (l->resting_tail)
        l->connections[l->resting_tail - 1].next_resting = me;
    else
        l->resting_head = me;
    l->resting_tail = me;
}

static struct connection *resting_take(struct load *l)
{
    struct connection *c = &l->connections[l->resting_head - 1];
    l->resting_head = c->next_resting;
    if (!l->resting_head)
        l->resting_tail = 0;
    return c;
}

/* False: the connection has nothing to ask for. */
static bool begin_request(struct load *l, struct connection *c, int64_t since_ns)
{
    struct load_request request = {.head = NULL};
    if (!l->config.next(l->config.ctx, index_of(l, c), &request))
        return false;
    c->state = BUSY;
    c->since_ns = since_ns;
    exchange_begin(&c->x, &request);
    l->stats.num_sent++;
    l->stats.in_flight++;
    return true;
}

static void end_request(struct load *l, struct connection *c, bool has_ended)
{
    const struct load_answer *answer = exchange_answer(&c->x, has_ended);
    c->x.answer.latency_ns = mono_ns() - c->since_ns;
    if (has_ended)
        l->stats.num_ended++;
    if (has_ended ||
        c->x.sent < c->x.to_send) /* after an answer in the middle of a body nothing else can come */
        link_close(&c->x.link);
    l->stats.in_flight--;
    l->stats.num_answered++;
    rest(l, c);
    if (l->config.done)
        l->config.done(l->config.ctx, index_of(l, c), answer);
}

/* False: the connection ended. */
static bool send_more(struct load *l, struct connection *c)
{
    bool was_blocked = c->x.wants_out;
    if (!exchange_send(&c->x))
        return false;
    if (c->x.wants_out != was_blocked)
        watch(l, c, EPOLL_CTL_MOD);
    return true;
}

/* --- what goes on --- */

static void open_or_die(struct load *l, struct connection *c)
{
    if (!connection_open(l, c))
        load_die("cannot connect to 127.0.0.1:%u: %s", l->config.port, strerror(errno));
    if (c->was_open)
        l->stats.num_reopened++;
    c->was_open = true;
}

/* The server may have closed a connection that rested: that is no answer, a new one is tried once. */
static bool send_first(struct load *l, struct connection *c)
{
    if (send_more(l, c))
        return true;
    if (c->x.sent > 0)
        return false;
    link_close(&c->x.link);
    open_or_die(l, c);
    return send_more(l, c);
}

/* since_ns: when it was due; 0: now. */
static void begin_and_send(struct load *l, struct connection *c, int64_t since_ns)
{
    if (c->x.link.fd < 0)
        open_or_die(l, c);
    if (!begin_request(l, c, since_ns ? since_ns : mono_ns()))
        rest(l, c);
    else if (!send_first(l, c))
        end_request(l, c, true);
}

static void receive(struct load *l, struct connection *c)
{
    do {
        ssize_t n = link_receive(&c->x.link, l->scratch, SCRATCH);
        if (n == LINK_BLOCKED)
            return;
        if (n == LINK_ENDED || c->state != BUSY ||
            !exchange_take(&c->x, l->scratch, (size_t)n, l->config.keep_body)) {
            if (c->state == BUSY)
                end_request(l, c, true);
            else
                link_close(&c->x.link);
            return;
        }
        if (c->x.head_size && c->x.content_left == 0) {
            end_request(l, c, false);
            return;
        }
    } while (link_has_more(&c->x.link));
}

static bool may_begin(const struct load *l, const struct connection *c)
{
    return l->config.rate <= 0 && c->state == RESTING && !l->is_draining && !l->is_stopped;
}

static void serve(struct load *l, struct connection *c, uint32_t events)
{
    if (c->x.link.fd < 0)
        return; /* closed since epoll told of it */
    /* While hands are shaken, only sending reads: a read of its own could take the bytes that it waits for.
     */
    bool is_shaking = c->state == BUSY && c->x.link.waits_for_input;
    if ((is_shaking || (c->state == BUSY && (events & EPOLLOUT))) && !send_more(l, c))
        end_request(l, c, true);
    else if (!is_shaking && (events & ~(uint32_t)EPOLLOUT))
        receive(l, c);
    if (may_begin(l, c))
        begin_and_send(l, c, 0);
}

/* Sends what is due; how long until the next is. */
static int64_t send_due(struct load *l, int64_t now_ns)
{
    double gap_ns = 1e9 / l->config.rate;
    for (;;) {
        int64_t due_ns = l->rate_since_ns + (int64_t)((double)l->num_due * gap_ns);
        if (due_ns > now_ns + EARLY_ENOUGH)
            return due_ns - now_ns;
        if (!l->resting_head)
            return INT64_MAX; /* an answer comes first */
        l->num_due++;
        begin_and_send(l, resting_take(l), due_ns);
    }
}

static void serve_events(struct load *l, int64_t wait_ns)
{
    static _Thread_local struct epoll_event events[MAX_EVENTS];
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    int n = epoll_pwait2(l->epoll_fd, events, MAX_EVENTS, &wait, NULL);
    if (n < 0 && errno != EINTR)
        load_die("epoll_pwait2: %s", strerror(errno));
    for (int i = 0; i < n && !l->is_stopped; i++)
        serve(l, events[i].data.ptr, events[i].events);
}

/* Some more connections: what has come meanwhile is served in between, or the first would wait for the last.
 */
static void begin_some(struct load *l)
{
    for (int i = 0; i < OPENED_AT_ONCE && l->next_begun < l->config.num_connections && !l->is_stopped; i++) {
        struct connection *c = &l->connections[l->next_begun++];
        if (may_begin(l, c))
            begin_and_send(l, c, mono_ns());
    }
}

static void loop(struct load *l, int64_t until_ns)
{
    bool is_open = l->config.rate > 0 && !l->is_draining;
    for (int64_t now; !l->is_stopped && (now = mono_ns()) < until_ns;) {
        begin_some(l);
        bool has_all = l->next_begun == l->config.num_connections;
        int64_t wait_ns = has_all ? until_ns - now : 0, due_ns = is_open ? send_due(l, now) : INT64_MAX;
        if (!is_open && has_all && l->stats.in_flight == 0)
            return;
        serve_events(l, due_ns < wait_ns ? due_ns : wait_ns);
    }
}

void load_run(struct load *l, int64_t duration_ns)
{
    int64_t until_ns = mono_ns() + duration_ns;
    l->is_stopped = l->is_draining = false;
    l->next_begun = 0;
    if (l->config.rate > 0)
        load_set_rate(l, l->config.rate);
    loop(l, until_ns);
}

bool load_drain(struct load *l, int64_t duration_ns)
{
    l->is_stopped = false;
    l->is_draining = true;
    l->next_begun = l->config.num_connections;
    loop(l, mono_ns() + duration_ns);
    return l->stats.in_flight == 0;
}

void load_stop(struct load *l)
{
    l->is_stopped = true;
}

void load_poke(struct load *l, size_t connection)
{
    struct connection *c = &l->connections[connection];
    if (may_begin(l, c))
        begin_and_send(l, c, 0);
}

void load_set_rate(struct load *l, double rate)
{
    l->config.rate = rate;
    l->rate_since_ns = mono_ns();
    l->num_due = 0;
    l->resting_head = l->resting_tail = 0;
    for (size_t i = 0; i < l->config.num_connections; i++)
        if (l->connections[i].state == RESTING)
            rest(l, &l->connections[i]);
}

struct load_stats load_stats(const struct load *l)
{
    struct load_stats stats = l->stats;
    if (l->config.rate > 0) {
        double due = (double)(mono_ns() - l->rate_since_ns) * l->config.rate / 1e9;
        stats.num_late = due > (double)l->num_due ? (uint64_t)due - l->num_due : 0;
    }
    return stats;
}

/* --- start and end --- */

static enum err tls_open(struct load *l, struct fault *fault)
{
    if (!l->config.ca_file)
        return ERR_OK;
    l->tls = SSL_CTX_new(TLS_client_method());
    if (!l->tls)
        return ERR_NO_MEMORY;
    (void)SSL_CTX_set_mode(l->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                       SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(l->tls, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_load_verify_locations(l->tls, l->config.ca_file, NULL) != 1)
        return fault_set(fault, ERR_BAD_FILE, NULL, "%s holds no certificate", l->config.ca_file);
    return ERR_OK;
}

static void raise_open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum err open_connections(struct load *l, struct fault *fault)
{
    enum err e = tls_open(l, fault);
    for (size_t i = 0; i < l->config.num_connections && !e; i++) {
        struct connection *c = &l->connections[i];
        buf_init(&c->x.in, EXCHANGE_HEAD + l->config.keep_body + 1);
        c->was_open = l->config.rate > 0;
        if (c->was_open && !(connection_open(l, c) && link_shake_hands(&c->x.link)))
            e = fault_set(fault, ERR_NETWORK, NULL, "connection %zu to 127.0.0.1:%u: %s", i, l->config.port,
                          strerror(errno));
        else
            rest(l, c);
    }
    return e;
}

enum err load_new(const struct load_config *config, struct load **out, struct fault *fault)
{
    struct load *l = calloc(1, sizeof *l);
    if (!l)
        return ERR_NO_MEMORY;
    raise_open_files();
    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    l->config = *config;
    l->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(config->port)};
    l->to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->scratch = malloc(SCRATCH);
    l->connections = calloc(config->num_connections, sizeof *l->connections);
    for (size_t i = 0; l->connections && i < config->num_connections; i++)
        l->connections[i].x.link.fd = -1;
    enum err e =
        l->epoll_fd >= 0 && l->scratch && l->connections ? open_connections(l, fault) : ERR_NO_MEMORY;
    if (e) {
        load_free(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

void load_free(struct load *l)
{
    if (!l)
        return;
    for (size_t i = 0; l->connections && i < l->config.num_connections; i++) {
        link_close(&l->connections[i].x.link);
        buf_release(&l->connections[i].x.in);
    }
    SSL_CTX_free(l->tls);
    if (l->epoll_fd >= 0)
        (void)close(l->epoll_fd);
    free(l->scratch);
    free(l->connections);
    free(l);
}
