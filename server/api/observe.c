#include "server/api/observe.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The statuses that the server sends; others are counted as the last. 0: the client left. */
static const int statuses[] = {0,   200, 201, 204, 206, 304, 400, 401, 403, 404, 405,
                               409, 413, 415, 416, 422, 429, 431, 500, 503, 507};
#define NUM_STATUSES (sizeof statuses / sizeof statuses[0])
/* Upper bounds in seconds. Long-polls land in the last ones by their nature. */
static const double bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                0.25,   0.5,   1,      2.5,   5,    10,    60};
#define NUM_BOUNDS (sizeof bounds / sizeof bounds[0])

struct counts {
    atomic_uint_fast64_t by_status[NUM_STATUSES + 1];
    atomic_uint_fast64_t by_bound[NUM_BOUNDS + 1];
    atomic_uint_fast64_t total_ns;
};

struct observations {
    const struct route *routes;
    size_t num_routes;
    atomic_uint_fast64_t bytes_in, bytes_out;
    struct counts counts[]; /* one per route, and one for no route */
};

enum err observations_new(const struct route *routes, size_t num_routes, struct observations **out)
{
    struct observations *o = calloc(1, sizeof *o + (num_routes + 1) * sizeof o->counts[0]);
    if (!o)
        return ERR_NO_MEMORY;
    o->routes = routes;
    o->num_routes = num_routes;
    *out = o;
    return ERR_OK;
}

void observations_free(struct observations *o)
{
    free(o);
}

static void add(atomic_uint_fast64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t get(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void observations_add(struct observations *o, const struct route *route, int status, int64_t duration_ns,
                      uint64_t bytes_in, uint64_t bytes_out)
{
    struct counts *c = &o->counts[route ? (size_t)(route - o->routes) : o->num_routes];
    size_t s = 0, b = 0;
    while (s < NUM_STATUSES && statuses[s] != status)
        s++;
    while (b < NUM_BOUNDS && (double)duration_ns > bounds[b] * 1e9)
        b++;
    add(&c->by_status[s], 1);
    add(&c->by_bound[b], 1);
    add(&c->total_ns, (uint64_t)duration_ns);
    add(&o->bytes_in, bytes_in);
    add(&o->bytes_out, bytes_out);
}

static const char *route_name(const struct observations *o, size_t i)
{
    return i < o->num_routes ? o->routes[i].operation_id : "none";
}

static enum err write_statuses(const struct observations *o, struct buf *out)
{
    enum err e = buf_puts(
        out, "# HELP fedlane_http_requests_total Requests by route and status; status 0 is a client that "
             "left before its reply.\n# TYPE fedlane_http_requests_total counter\n");
    for (size_t i = 0; i <= o->num_routes; i++) {
        for (size_t s = 0; e == ERR_OK && s <= NUM_STATUSES; s++) {
            uint64_t n = get(&o->counts[i].by_status[s]);
            if (n > 0)
                e = buf_printf(out, "fedlane_http_requests_total{route=\"%s\",status=\"%d\"} %llu\n",
                               route_name(o, i), s < NUM_STATUSES ? statuses[s] : 999, (unsigned long long)n);
        }
    }
    return e;
}

static enum err write_histogram(const struct observations *o, size_t i, struct buf *out)
{
    const struct counts *c = &o->counts[i];
    const char *name = route_name(o, i);
    uint64_t sum = 0;
    enum err e = ERR_OK;
    for (size_t b = 0; e == ERR_OK && b < NUM_BOUNDS; b++) {
        sum += get(&c->by_bound[b]);
        e = buf_printf(out, "fedlane_http_request_duration_seconds_bucket{route=\"%s\",le=\"%g\"} %llu\n",
                       name, bounds[b], (unsigned long long)sum);
    }
    sum += get(&c->by_bound[NUM_BOUNDS]);
    if (e == ERR_OK)
        e = buf_printf(out,
                       "fedlane_http_request_duration_seconds_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
                       "fedlane_http_request_duration_seconds_sum{route=\"%s\"} %.9f\n"
                       "fedlane_http_request_duration_seconds_count{route=\"%s\"} %llu\n",
                       name, (unsigned long long)sum, name, (double)get(&c->total_ns) / 1e9, name,
                       (unsigned long long)sum);
    return e;
}

static bool was_used(const struct counts *c)
{
    for (size_t b = 0; b <= NUM_BOUNDS; b++) {
        if (get(&c->by_bound[b]) > 0)
            return true;
    }
    return false;
}

enum err observations_write(const struct observations *o, struct buf *out)
{
    enum err e = write_statuses(o, out);
    if (e == ERR_OK)
        e = buf_puts(
            out, "# HELP fedlane_http_request_duration_seconds From the headers to the end of the reply; "
                 "long-polls include their wait.\n# TYPE fedlane_http_request_duration_seconds histogram\n");
    for (size_t i = 0; e == ERR_OK && i <= o->num_routes; i++) {
        if (was_used(&o->counts[i]))
            e = write_histogram(o, i, out);
    }
    if (e != ERR_OK)
        return e;
    return buf_printf(out,
                      "# HELP fedlane_http_received_bytes_total Bytes of request bodies.\n"
                      "# TYPE fedlane_http_received_bytes_total counter\n"
                      "fedlane_http_received_bytes_total %llu\n"
                      "# HELP fedlane_http_sent_bytes_total Bytes of reply bodies.\n"
                      "# TYPE fedlane_http_sent_bytes_total counter\n"
                      "fedlane_http_sent_bytes_total %llu\n",
                      (unsigned long long)get(&o->bytes_in), (unsigned long long)get(&o->bytes_out));
}
