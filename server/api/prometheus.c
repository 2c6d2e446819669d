/* GET /metrics: the server's figures in Prometheus' text format. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/file.h"
#include "common/base/str.h"
#include "config.h"
#include "server/api/context.h"
#include "server/api/handlers.h"
#include "server/api/observe.h"
#include "server/core/names.h"

#define ROWS_AT_ONCE 500

static enum err gauge(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    return buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type, name, value);
}

/* ---- what the store knows ---- */

#define NUM_PRESENCES    (PRESENCE_REVOKED + 1)
#define NUM_RUN_STATUSES (RUN_FINISHED + 1)

struct tally {
    struct core *core;
    int64_t devices[NUM_PRESENCES];
    int64_t runs[NUM_RUN_STATUSES], rounds;
};

static enum err count_devices(struct store_txn *txn, struct tally *t)
{
    char after[ID_SIZE] = "";
    size_t n;
    enum err e;
    do {
        struct arena piece = ARENA_INIT(LIMIT_REQUEST_ARENA);
        struct device_row *rows;
        e = store_find(txn, QUERY_DEVICES, &piece, ROWS_AT_ONCE, &rows, &n, store_any, store_any,
                       store_text_or_any(after[0] ? after : NULL));
        for (size_t i = 0; e == ERR_OK && i < n; i++)
            t->devices[core_device_presence(t->core, &rows[i])]++;
        if (e == ERR_OK && n > 0)
            e = str_copy(after, sizeof after, rows[n - 1].id);
        arena_release(&piece);
    } while (e == ERR_OK && n == ROWS_AT_ONCE);
    return e;
}

static enum err count_runs(struct store_txn *txn, struct tally *t)
{
    char after[ID_SIZE] = "";
    size_t n;
    enum err e;
    do {
        struct arena piece = ARENA_INIT(LIMIT_REQUEST_ARENA);
        struct run_row *rows;
        e = store_find(txn, QUERY_RUNS, &piece, ROWS_AT_ONCE, &rows, &n, store_any, store_any,
                       store_text_or_any(after[0] ? after : NULL));
        for (size_t i = 0; e == ERR_OK && i < n; i++) {
            t->runs[rows[i].status]++;
            t->rounds += rows[i].model_version;
        }
        if (e == ERR_OK && n > 0)
            e = str_copy(after, sizeof after, rows[n - 1].id);
        arena_release(&piece);
    } while (e == ERR_OK && n == ROWS_AT_ONCE);
    return e;
}

static enum err tally(struct store_txn *txn, void *arg)
{
    enum err e = count_devices(txn, arg);
    return e == ERR_OK ? count_runs(txn, arg) : e;
}

static enum err write_tally(struct api *api, struct buf *out)
{
    struct tally t = {.core = api->core};
    enum err e = api->store->ops->read(api->store, tally, &t);
    if (e == ERR_OK)
        e = buf_puts(out, "# HELP fedlane_devices Devices by status.\n# TYPE fedlane_devices gauge\n");
    for (int p = 0; e == ERR_OK && p < NUM_PRESENCES; p++)
        e = buf_printf(out, "fedlane_devices{status=\"%s\"} %lld\n", presence_name((enum presence)p),
                       (long long)t.devices[p]);
    if (e == ERR_OK)
        e = buf_puts(out, "# HELP fedlane_runs Runs by status.\n# TYPE fedlane_runs gauge\n");
    for (int s = 0; e == ERR_OK && s < NUM_RUN_STATUSES; s++)
        e = buf_printf(out, "fedlane_runs{status=\"%s\"} %lld\n", run_status_name(s), (long long)t.runs[s]);
    if (e == ERR_OK)
        e = gauge(out, "fedlane_rounds_total", "counter", "Rounds that made a model version, over all runs.",
                  (double)t.rounds);
    return e;
}

static enum err write_store(struct api *api, struct buf *out)
{
    struct store_stats s = {0};
    api->store->ops->stats(api->store, &s);
    enum err e =
        gauge(out, "fedlane_store_queue", "gauge", "Operations that wait for the writer.", (double)s.queued);
    if (e == ERR_OK)
        e = gauge(out, "fedlane_store_commits_total", "counter", "Commits since the start.",
                  (double)s.commits);
    if (e == ERR_OK)
        e = gauge(out, "fedlane_store_operations_total", "counter", "Operations since the start.",
                  (double)s.operations);
    if (e == ERR_OK)
        e = gauge(out, "fedlane_store_bytes", "gauge", "Size of the database of runs and devices.",
                  (double)s.size_bytes);
    if (e == ERR_OK)
        e = gauge(out, "fedlane_blob_bytes", "gauge", "Bytes of weights and updates that are kept.",
                  (double)api->blobs->ops->total_bytes(api->blobs));
    return e;
}

/* ---- what the process knows ---- */

static double resident_bytes(void)
{
    struct buf text = BUF_INIT(4 * KIB);
    uint64_t pages = 0;
    if (file_read("/proc/self/statm", &text, NULL) == ERR_OK) {
        char *second = strchr(text.data, ' '), *end = second ? strchr(second + 1, ' ') : NULL;
        if (end) {
            *end = '\0';
            if (str_to_u64(second + 1, &pages) != ERR_OK)
                pages = 0;
        }
    }
    buf_release(&text);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static enum err write_process(struct api *api, struct buf *out)
{
    const struct httpd *httpd = atomic_load(&api->httpd);
    struct httpd_stats s = {0};
    if (httpd)
        s = httpd_stats(httpd);
    enum err e = gauge(out, "fedlane_http_connections", "gauge", "Open connections.", (double)s.connections);
    if (e == ERR_OK)
        e = gauge(out, "fedlane_http_requests_in_flight", "gauge", "Requests being answered.",
                  (double)s.requests_in_flight);
    if (e == ERR_OK)
        e = gauge(out, "fedlane_waiters", "gauge", "Parked long-polls and event streams.",
                  (double)waiters_count(api->waiters));
    if (e == ERR_OK)
        e = gauge(out, "process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes());
    if (e == ERR_OK)
        e = buf_printf(out,
                       "# HELP fedlane_build_info The running program.\n# TYPE fedlane_build_info gauge\n"
                       "fedlane_build_info{version=\"%s\",store=\"%s\",blobs=\"%s\"} 1\n",
                       PACKAGE_VERSION, api->store->ops->name, api->blobs->ops->name);
    return e;
}

enum err api_prometheus(void *ctx, struct request *rq, struct fault *fault)
{
    struct api *api = ctx;
    struct buf out = BUF_INIT(LIMIT_JSON_REPLY);
    char *data;
    size_t len;
    enum err e = observations_write(api->observed, &out);
    if (e == ERR_OK)
        e = write_process(api, &out);
    if (e == ERR_OK)
        e = write_store(api, &out);
    if (e == ERR_OK)
        e = write_tally(api, &out);
    if (e == ERR_OK)
        e = buf_take(&out, &data, &len);
    buf_release(&out);
    if (e != ERR_OK)
        return api_failure(fault, e);
    return reply_bytes_take(rq, 200, "text/plain; version=0.0.4; charset=utf-8", data, len);
}
