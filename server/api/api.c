#include "server/api/api.h"

#include <stdlib.h>
#include <string.h>
#include "server/api/arch_cache.h"
#include "server/api/auth_limit.h"
#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/api/observe.h"
#include "server/api/room.h"
#include "server/api/routes.h"
#include "server/api/running_uploads.h"

enum err api_new(const struct api_config *config, struct api **out)
{
    struct api *api = calloc(1, sizeof *api);
    if (!api)
        return ERR_NO_MEMORY;
    api->store = config->store;
    api->blobs = config->blobs;
    api->core = config->core;
    api->clock = config->clock;
    api->waiters = config->waiters;
    api->heartbeat_ms = config->heartbeat_ms;
    api->data_dir = config->data_dir;
    api->web_dir = config->web_dir;
    atomic_init(&api->httpd, NULL);
    enum err e = arch_cache_new(&api->archs);
    if (e == ERR_OK)
        e = running_uploads_new(config->blobs, &api->uploads);
    if (e == ERR_OK)
        e = room_new(config->blobs, &api->room);
    if (e == ERR_OK)
        e = observations_new(api_routes, api_num_routes, &api->observed);
    if (e == ERR_OK)
        e = auth_limit_new(config->auth_failures ? config->auth_failures : DEFAULT_AUTH_FAILURES,
                           &api->auth_limit);
    if (e != ERR_OK)
        api_free(api);
    else
        *out = api;
    return e;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    auth_limit_free(api->auth_limit);
    observations_free(api->observed);
    running_uploads_free(api->uploads);
    room_free(api->room);
    arch_cache_free(api->archs);
    free(api);
}

static void observe(void *ctx, const struct route *route, int status, int64_t duration_ns, uint64_t bytes_in,
                    uint64_t bytes_out)
{
    struct api *api = ctx;
    observations_add(api->observed, route, status, duration_ns, bytes_in, bytes_out);
}

struct httpd_hooks api_hooks(struct api *api)
{
    return (struct httpd_hooks){.ctx = api, .authenticate = api_authenticate, .observe = observe};
}

void api_set_httpd(struct api *api, const struct httpd *httpd)
{
    atomic_store(&api->httpd, httpd);
}

void api_wake(struct api *api, const char *topic)
{
    const char *colon = strchr(topic, ':');
    char kind[16];
    if (!colon) {
        waiters_notify(api->waiters, topic_of(topic, NULL));
        return;
    }
    size_t n = (size_t)(colon - topic);
    if (n >= sizeof kind)
        bug("a topic of the store that nobody can wait for: %s", topic);
    memcpy(kind, topic, n);
    kind[n] = '\0';
    waiters_notify(api->waiters, topic_of(kind, colon + 1));
}
