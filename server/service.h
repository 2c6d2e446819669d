/* The whole server in one piece: store, blobs, core, API and HTTP put together, started and stopped. What
 * main() and the tests run. */
#ifndef FEDLANE_SERVER_SERVICE_H
#define FEDLANE_SERVER_SERVICE_H

#include "common/base/clock.h"
#include "common/base/ids.h"
#include "server/core/core.h"
#include "server/httpd/httpd.h"
#include "server/store/blobs.h"
#include "server/store/store.h"

struct service;

struct service_config {
    struct store *store; /* both become the service's, also when service_open() fails */
    struct blobs *blobs;
    struct clock clock;
    struct entropy entropy;
    int64_t heartbeat_ms;
    const char *data_dir;  /* where login links are; NULL: none are taken */
    int64_t auth_failures; /* struct api_config */
    const char *web_dir;   /* in place of the dashboard that is built in; may be NULL */
};

/* Takes up what a former process left. Nothing moves by itself yet. */
enum err service_open(const struct service_config *config, struct service **out,
                      struct fault *fault) MUST_CHECK;

struct service_listen {
    const char *address;              /* numeric */
    uint16_t port;                    /* 0: any free one */
    unsigned threads;                 /* 0: one per core, at most 4 */
    unsigned connections_per_address; /* 0: DEFAULT_PEER_CONNECTIONS */
    struct httpd_tls tls;
};
/* Starts the clockwork and answers requests when it returns. */
enum err service_listen(struct service *s, const struct service_listen *config,
                        struct fault *fault) MUST_CHECK;
enum err service_reload_tls(struct service *s, struct fault *fault) MUST_CHECK; /* httpd_reload_tls() */
const char *service_url(const struct service *s); /* "http://127.0.0.1:8080", with the actual port */
uint16_t service_port(const struct service *s);
struct store *service_store(struct service *s);
struct blobs *service_blobs(struct service *s);
struct core *service_core(struct service *s);

/* Accepts no more, answers what is parked and in flight (at most drain_ms), closes everything. NULL is fine.
 * False when some request had to be cut off. */
bool service_stop(struct service *s, int64_t drain_ms);

#endif
