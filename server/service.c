#include "server/service.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "server/api/api.h"
#include "server/api/routes.h"
#include "server/conductor.h"

struct service {
    struct store *store;
    struct blobs *blobs;
    struct core *core;
    struct waiters *waiters;
    struct api *api;
    struct conductor *conductor;
    struct httpd *httpd;
};

/* Runs on the thread that committed. */
static void hear(void *ctx, const char *topic)
{
    struct service *s = ctx;
    if (strcmp(topic, "advance") == 0)
        conductor_wake(s->conductor);
    else
        api_wake(s->api, topic);
}

static enum err assemble(struct service *s, const struct service_config *config, struct fault *fault)
{
    enum err e = waiters_new(LIMIT_WAITERS, &s->waiters);
    if (e != ERR_OK)
        return e;
    const struct core_config core = {.store = s->store,
                                     .blobs = s->blobs,
                                     .clock = config->clock,
                                     .entropy = config->entropy,
                                     .heartbeat_ms = config->heartbeat_ms};
    if ((e = core_new(&core, &s->core)) != ERR_OK)
        return e;
    const struct api_config api = {.store = s->store,
                                   .blobs = s->blobs,
                                   .core = s->core,
                                   .clock = config->clock,
                                   .waiters = s->waiters,
                                   .heartbeat_ms = config->heartbeat_ms,
                                   .data_dir = config->data_dir,
                                   .auth_failures = config->auth_failures,
                                   .web_dir = config->web_dir};
    if ((e = api_new(&api, &s->api)) != ERR_OK)
        return e;
    if ((e = conductor_new(s->core, config->clock, &s->conductor)) != ERR_OK)
        return e;
    s->store->ops->listen(s->store, hear, s);
    return core_recover(s->core, fault);
}

enum err service_open(const struct service_config *config, struct service **out, struct fault *fault)
{
    struct service *s = calloc(1, sizeof *s);
    if (!s) {
        config->store->ops->close(config->store);
        config->blobs->ops->close(config->blobs);
        return fault_set(fault, ERR_NO_MEMORY, NULL, "There is not enough memory to start.");
    }
    s->store = config->store;
    s->blobs = config->blobs;
    enum err e = assemble(s, config, fault);
    if (e == ERR_OK) {
        *out = s;
        return ERR_OK;
    }
    if (fault->err == ERR_OK)
        e = fault_set(fault, e, NULL, "The server cannot start: %s.", err_code(e));
    service_stop(s, 0);
    return e;
}

enum err service_listen(struct service *s, const struct service_listen *config, struct fault *fault)
{
    enum err e = conductor_start(s->conductor);
    if (e != ERR_OK)
        return fault_set(fault, e, NULL, "There are not enough threads or memory to start.");
    const struct httpd_config http = {.address = config->address,
                                      .port = config->port,
                                      .threads = config->threads,
                                      .max_connections_per_ip = config->connections_per_address
                                                                    ? config->connections_per_address
                                                                    : DEFAULT_PEER_CONNECTIONS,
                                      .tls = config->tls,
                                      .waiters = s->waiters};
    struct httpd_hooks hooks = api_hooks(s->api);
    e = httpd_start(&http, api_routes, api_num_routes, &hooks, &s->httpd, fault);
    if (e == ERR_OK)
        api_set_httpd(s->api, s->httpd);
    return e;
}

enum err service_reload_tls(struct service *s, struct fault *fault)
{
    return httpd_reload_tls(s->httpd, fault);
}

const char *service_url(const struct service *s)
{
    return httpd_url(s->httpd);
}

uint16_t service_port(const struct service *s)
{
    return httpd_port(s->httpd);
}

struct store *service_store(struct service *s)
{
    return s->store;
}

struct blobs *service_blobs(struct service *s)
{
    return s->blobs;
}

struct core *service_core(struct service *s)
{
    return s->core;
}

bool service_stop(struct service *s, int64_t drain_ms)
{
    bool is_drained = true;
    if (!s)
        return true;
    if (s->httpd) {
        httpd_stop_accepting(s->httpd);
        is_drained = httpd_drain(s->httpd, drain_ms);
        api_set_httpd(s->api, NULL);
        httpd_stop(s->httpd);
    }
    if (s->conductor)
        conductor_stop(s->conductor);
    s->store->ops->close(s->store); /* runs what is queued, so all that it calls must still be there */
    conductor_free(s->conductor);
    api_free(s->api);
    core_free(s->core);
    s->blobs->ops->close(s->blobs);
    waiters_free(s->waiters);
    free(s);
    return is_drained;
}
