#include "config.h"
#include "server/api/context.h"
#include "server/api/handlers.h"

enum err api_healthz(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    return reply_json(rq, 200, json_pack("{s:s}", "status", "ok"));
}

static enum err look(struct store_txn *txn, void *arg)
{
    int64_t n;
    (void)arg;
    return store_count(txn, QUERY_RUNS_BY_STATUS, &n, store_int(RUN_RUNNING));
}

enum err api_readyz(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    if (api->store->ops->read(api->store, look, NULL) != ERR_OK)
        return fault_set(
            fault, ERR_UNAVAILABLE, NULL,
            "The database cannot be read. The server's log says why; it needs its data directory.");
    return reply_json(rq, 200, json_pack("{s:s}", "status", "ready"));
}

enum err api_version(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    return reply_json(
        rq, 200,
        json_pack("{s:s, s:s, s:s}", "name", "fedlane-server", "version", PACKAGE_VERSION, "api", "v1"));
}

enum err api_strategies(void *ctx, struct request *rq, struct fault *fault)
{
    (void)ctx;
    (void)fault;
    return reply_json(rq, 200, core_strategies_json());
}
