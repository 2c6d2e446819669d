/* The REST API: the route table's handlers over core and store. No rules of its own beyond who may ask for
 * what. */
#ifndef FEDLANE_API_H
#define FEDLANE_API_H

#include "common/base/clock.h"
#include "common/base/err.h"
#include "server/core/core.h"
#include "server/httpd/httpd.h"
#include "server/httpd/waiters.h"
#include "server/store/blobs.h"
#include "server/store/store.h"

struct api;

/* All borrowed; they outlive the API. */
struct api_config {
    struct store *store;
    struct blobs *blobs;
    struct core *core;
    struct clock clock;
    struct waiters *waiters;
    int64_t heartbeat_ms;  /* told to workers as next_heartbeat_s */
    const char *data_dir;  /* where login links are; NULL: none are taken */
    int64_t auth_failures; /* of one address at once; one a second is forgotten. 0: DEFAULT_AUTH_FAILURES */
    const char *web_dir;   /* the dashboard's files are read from there; NULL: the built-in ones */
};

enum err api_new(const struct api_config *config, struct api **out) MUST_CHECK;
/* After httpd_stop(); NULL is fine. */
void api_free(struct api *api);

/* What httpd_start() takes, with api_routes of routes.h. */
struct httpd_hooks api_hooks(struct api *api);
/* The running server, for the figures of /metrics; NULL before httpd_stop(). */
void api_set_httpd(struct api *api, const struct httpd *httpd);
/* Wakes who waits for a topic of the store ("worker:ID", "run:ID", "events"). Any thread. */
void api_wake(struct api *api, const char *topic);

#endif
