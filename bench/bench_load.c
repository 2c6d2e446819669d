/* Sends the requests of a file over many kept-alive connections, and prints what became of them as one line
 * of JSON. bench/load writes the files and reads the lines.
 *
 *     bench/bench_load --port PORT [options] FILE
 *
 * The file holds requests one behind the other, each "HEAD BODY FILL\n" (three sizes in bytes), then the head
 * and the body; FILL zero bytes follow when it is sent. Connection c of n sends requests c, c + n, c + 2 n,
 * ... of the file, and begins anew at its end. With --answers each answer is written out: "REQUEST STATUS
 * SIZE\n", then SIZE bytes of its body; REQUEST is the request's place in the file.
 *
 * When the time is over, what is in flight is waited for: it counts in all but the rate. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/histogram.h"
#include "bench/load_client.h"
#include "common/base/clock.h"
#include "common/base/config.h"
#include "common/base/limits.h"

#define NUM_STATUSES 600
#define FOREVER_S    3600.0
#define DRAIN_S      30.0 /* for what is in flight when the time is over */

struct options {
    int64_t port, connections, sources, times;
    double seconds, rate;
    const char *ca, *answers;
};

static const struct option_row rows[] = {
    {"port", 0, OPTION_INT, offsetof(struct options, port), "PORT", "of the server on 127.0.0.1", NULL, 1,
     65535},
    {"ca", 0, OPTION_STRING, offsetof(struct options, ca), "FILE", "speak TLS and trust this authority (PEM)",
     NULL, 0, 0},
    {"connections", 0, OPTION_INT, offsetof(struct options, connections), "N", "default 64", NULL, 1, 60000},
    {"sources", 0, OPTION_INT, offsetof(struct options, sources), "N",
     "addresses they come from: 127.0.0.1, 127.0.0.2, ... (default 1)", NULL, 1, 250},
    {"seconds", 0, OPTION_DOUBLE, offsetof(struct options, seconds), "S",
     "send for so long; with --times: wait at most so long", NULL, 0.01, FOREVER_S},
    {"times", 0, OPTION_INT, offsetof(struct options, times), "N",
     "requests of each connection (default: until the time is over)", NULL, 0, 1e9},
    {"rate", 0, OPTION_DOUBLE, offsetof(struct options, rate), "R",
     "requests a second over all connections (default: each sends its next when it has its answer)", NULL, 0,
     1e9},
    {"answers", 0, OPTION_STRING, offsetof(struct options, answers), "FILE", "write all answers there", NULL,
     0, 0},
};

struct run {
    const struct options *options;
    struct load_request *requests;
    size_t num_requests;
    int64_t *sent; /* by each connection */
    FILE *answers;
    struct histogram latencies;
    uint64_t statuses[NUM_STATUSES];
    int64_t first_ns, last_ns; /* when answers came: the first with a body, the last */
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "bench_load: %s\n", what);
    exit(EXIT_FAILURE);
}

/* --- the requests --- */

static char *read_whole(const char *path, size_t *out_size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        fail("cannot read the file of requests");
    long size = ftell(f);
    char *bytes = size < 0 ? NULL : malloc((size_t)size + 1);
    rewind(f);
    if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size)
        fail("cannot read the file of requests");
    (void)fclose(f);
    bytes[size] = '\0';
    *out_size = (size_t)size;
    return bytes;
}

/* What follows this request. */
static const char *read_request(const char *at, const char *end, struct load_request *out)
{
    static const char zeros[256 * 1024];
    char *line_end = NULL;
    *out = (struct load_request){.fill = zeros, .fill_size = sizeof zeros};
    out->head_size = strtoull(at, &line_end, 10);
    out->body_size = strtoull(line_end, &line_end, 10);
    out->fill_total = strtoull(line_end, &line_end, 10);
    if (*line_end != '\n' || out->head_size + out->body_size > (size_t)(end - line_end - 1))
        fail("the file of requests is malformed");
    out->head = line_end + 1;
    out->body = out->head + out->head_size;
    return out->head + out->head_size + out->body_size;
}

static void read_requests(struct run *run, char *bytes, size_t size)
{
    size_t capacity = 0;
    for (const char *at = bytes; at < bytes + size; run->num_requests++) {
        if (run->num_requests == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            run->requests = realloc(run->requests, capacity * sizeof *run->requests);
            if (!run->requests)
                fail("no memory for the requests");
        }
        at = read_request(at, bytes + size, &run->requests[run->num_requests]);
    }
    if (!run->num_requests)
        fail("the file holds no request");
}

/* --- what the client asks --- */

static size_t place_of(const struct run *run, size_t connection, int64_t nth)
{
    return (connection + (size_t)nth * (size_t)run->options->connections) % run->num_requests;
}

static bool next(void *ctx, size_t connection, struct load_request *out)
{
    struct run *run = ctx;
    if (run->options->times && run->sent[connection] == run->options->times)
        return false;
    *out = run->requests[place_of(run, connection, run->sent[connection]++)];
    return true;
}

static void done(void *ctx, size_t connection, const struct load_answer *answer)
{
    struct run *run = ctx;
    run->last_ns = mono_ns();
    if (!run->first_ns && answer->content_size)
        run->first_ns = run->last_ns;
    histogram_add(&run->latencies, answer->latency_ns);
    run->statuses[answer->status < NUM_STATUSES ? answer->status : NUM_STATUSES - 1]++;
    if (run->answers) {
        (void)fprintf(run->answers, "%zu %d %zu\n", place_of(run, connection, run->sent[connection] - 1),
                      answer->status, answer->body_size);
        (void)fwrite(answer->body, 1, answer->body_size, run->answers);
    }
}

/* --- what became of it --- */

static void print_statuses(const struct run *run)
{
    const char *between = "";
    (void)printf("\"statuses\": {");
    for (int i = 0; i < NUM_STATUSES; i++) {
        if (run->statuses[i]) {
            (void)printf("%s\"%d\": %" PRIu64, between, i, run->statuses[i]);
            between = ", ";
        }
    }
    (void)printf("}, ");
}

/* stats: in the end; in_time: when the time was over. */
static void print_result(const struct run *run, const struct load_stats *stats,
                         const struct load_stats *in_time, int64_t start_ns, int64_t end_ns)
{
    static const double quantiles[] = {0.5, 0.9, 0.99, 0.999, 1};
    static const char *const names[] = {"p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms"};
    double seconds = (double)(end_ns - start_ns) / 1e9;
    (void)printf("{\"seconds\": %.6f, \"sent\": %" PRIu64 ", \"answered\": %" PRIu64 ", \"rate\": %.1f, ",
                 seconds, stats->num_sent, stats->num_answered, (double)in_time->num_answered / seconds);
    (void)printf("\"in_flight\": %zu, \"ended\": %" PRIu64 ", \"reopened\": %" PRIu64 ", \"late\": %" PRIu64
                 ", ",
                 stats->in_flight, stats->num_ended, stats->num_reopened, in_time->num_late);
    print_statuses(run);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        (void)printf("\"%s\": %.4f, ", names[i], (double)histogram_at(&run->latencies, quantiles[i]) / 1e6);
    (void)printf("\"start\": %.6f, \"first\": %.6f, \"last\": %.6f}\n", (double)start_ns / 1e9,
                 (double)run->first_ns / 1e9, (double)run->last_ns / 1e9);
}

static void measure(struct run *run)
{
    const struct options *o = run->options;
    struct fault fault = FAULT_NONE;
    struct load *l = NULL;
    const struct load_config config = {.port = (uint16_t)o->port,
                                       .num_connections = (size_t)o->connections,
                                       .num_sources = (size_t)o->sources,
                                       .ca_file = o->ca,
                                       .rate = o->rate,
                                       .keep_body = run->answers ? MIB : 0,
                                       .ctx = run,
                                       .next = next,
                                       .done = done};
    if (load_new(&config, &l, &fault))
        fail(fault.detail);
    int64_t start_ns = mono_ns();
    load_run(l, (int64_t)(o->seconds * 1e9));
    int64_t end_ns = mono_ns();
    struct load_stats in_time = load_stats(l);
    (void)load_drain(l, (int64_t)(DRAIN_S * 1e9)); /* what did not come is told as in flight */
    struct load_stats stats = load_stats(l);
    print_result(run, &stats, &in_time, start_ns, end_ns);
    load_free(l);
}

int main(int argc, char **argv)
{
    struct options o = {.connections = 64, .sources = 1, .seconds = FOREVER_S};
    struct fault fault = FAULT_NONE;
    const char *path = NULL;
    size_t num_paths = 0, size = 0;
    if (config_parse(rows, sizeof rows / sizeof *rows, argc, argv, &o, &path, 1, &num_paths, &fault))
        fail(fault.detail);
    if (num_paths != 1 || !o.port)
        fail("it takes --port and the file of requests");
    struct run *run = calloc(1, sizeof *run);
    char *bytes = read_whole(path, &size);
    if (!run || !(run->sent = calloc((size_t)o.connections, sizeof *run->sent)))
        fail("no memory");
    run->options = &o;
    read_requests(run, bytes, size);
    if (o.answers && !(run->answers = fopen(o.answers, "wb")))
        fail("cannot write the file of answers");
    measure(run);
    if (run->answers && fclose(run->answers) != 0)
        fail("cannot write the file of answers");
    free(run->sent);
    free(run->requests);
    free(run);
    free(bytes);
    return EXIT_SUCCESS;
}
