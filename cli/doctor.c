/* fedlane doctor: what is in order, and what is not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include "cli/commands.h"
#include "cli/plot/gnuplot.h"
#include "cli/print.h"
#include "cli/rest.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/compute/compute.h"

#define CLOCK_TOLERANCE_S 5
#define LITTLE_SPACE      ((double)GIB)

static const struct table_column columns[] = {
    {"what", "what", CELL_TEXT, 0},
    {"is", "state", CELL_TEXT, 0},
    {"detail", "detail", CELL_TEXT, 0},
};

struct visit {
    struct cli *cli;
    json_t *rows;
    bool server_answers;
};

#define FINE    "fine"
#define WARNING "warning"
#define BAD     "bad"

/* Takes the reference to `detail`. */
static void add(struct visit *v, const char *what, const char *state, json_t *detail)
{
    json_t *row = json_pack("{s:s, s:s, s:o}", "what", what, "state", state, "detail", detail);
    (void)json_array_append_new(v->rows, row);
}

static void bad(struct visit *v, const char *what, enum err e)
{
    add(v, what, BAD, json_string(v->cli->fault.detail[0] ? v->cli->fault.detail : err_name(e)));
    if (exit_status_of(e) > v->cli->status)
        v->cli->status = exit_status_of(e);
    v->cli->fault = FAULT_NONE;
}

/* "Mon, 02 Jan 2006 15:04:05 GMT"; NaN for anything else. */
static double seconds_ahead(const char *date)
{
    struct tm tm = {0};
    const char *end = date ? strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm) : NULL;
    if (!end || *end)
        return NAN;
    return difftime(time(NULL), timegm(&tm));
}

static void check_clock(struct visit *v, const char *date)
{
    double ahead = seconds_ahead(date);
    if (isnan(ahead))
        add(v, "clock", WARNING, json_string("the server's answer has no date"));
    else if (fabs(ahead) <= CLOCK_TOLERANCE_S)
        add(v, "clock", FINE, json_string("agrees with the server's"));
    else
        add(v, "clock", WARNING,
            json_sprintf("this machine is %.0f s %s the server; training does not depend on it, but "
                         "times in the logs will not match",
                         fabs(ahead), ahead > 0 ? "ahead of" : "behind"));
}

static void check_server(struct visit *v)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    const struct http_request request = {.path = "/readyz", .timeout_ms = REST_TIMEOUT_MS};
    enum err e = rest_request(v->cli, &request, &response);
    v->server_answers = response.status > 0;
    if (e) {
        bad(v, "server", e);
    } else {
        add(v, "server", FINE,
            json_sprintf("%s is ready (%lld ms)", v->cli->options.server, (long long)response.duration_ms));
        check_clock(v, http_response_header(&response, "Date"));
    }
    http_response_release(&response);
}

static void check_version(struct visit *v)
{
    json_t *reply = NULL;
    enum err e = rest_get(v->cli, "/api/v1/version", &reply);
    const char *version = json_text_at(reply, "version");
    if (e)
        bad(v, "version", e);
    else if (str_eq(version, PACKAGE_VERSION))
        add(v, "version", FINE, json_sprintf("%s on both sides", version));
    else
        add(v, "version", WARNING,
            json_sprintf("the server is %s, this program %s", version, PACKAGE_VERSION));
    json_decref(reply);
}

static void check_token(struct visit *v)
{
    json_t *reply = NULL;
    enum err e = rest_get(v->cli, "/api/v1/strategies", &reply);
    if (e) {
        bad(v, "token", e);
        return;
    }
    json_decref(reply);
    reply = NULL;
    e = rest_get(v->cli, "/api/v1/runs?limit=1", &reply);
    if (e)
        add(v, "token", WARNING, json_string("the server knows it, but it may not read runs"));
    else
        add(v, "token", FINE, json_string("the server knows it, and it may read runs"));
    v->cli->fault = FAULT_NONE;
    json_decref(reply);
}

static void check_disk(struct visit *v)
{
    struct statvfs fs;
    if (statvfs(".", &fs) != 0) {
        add(v, "disk", WARNING, json_string("the space in this folder is not known"));
        return;
    }
    double free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
    add(v, "disk", free_bytes < LITTLE_SPACE ? WARNING : FINE,
        json_sprintf("%.1f GiB free in this folder", free_bytes / (double)GIB));
}

enum { SMALL_SIDE = 256, LARGE_SIDE = 1024 };
#define LARGE_WHERE_S 0.004 /* where the small product takes less, it says little */

/* Seconds for a product of two side x side matrices: the median of five, after one that warms up. NaN where
 * it cannot be measured. */
static double time_product(struct compute *c, size_t side)
{
    enum { TIMES = 5 };
    const size_t bytes = compute_matrix_bytes(side, side);
    struct compute_buffer *b = NULL;
    double seconds[TIMES];
    if (compute_alloc(c, 3 * bytes + compute_matrix_bytes(1, side), &b))
        return (double)NAN;
    const struct compute_slice x = {b, 0}, w = {b, bytes}, z = {b, 2 * bytes}, bias = {b, 3 * bytes};
    enum err e = ERR_OK;
    for (int i = -1; i < TIMES && !e; i++) {
        int64_t start_ns = mono_ns();
        e = compute_dense_forward(c, side, side, side, x, w, bias, z);
        if (!e)
            e = compute_wait(c);
        double took = (double)(mono_ns() - start_ns) / 1e9;
        int j = i;
        for (; j > 0 && seconds[j - 1] > took; j--)
            seconds[j] = seconds[j - 1];
        if (i >= 0)
            seconds[j] = took;
    }
    compute_free(c, b);
    return e ? (double)NAN : seconds[TIMES / 2];
}

/* What computes, and how fast. */
static json_t *describe_compute(struct compute *c)
{
    size_t side = SMALL_SIDE;
    double seconds = time_product(c, side);
    if (seconds < LARGE_WHERE_S)
        seconds = time_product(c, side = LARGE_SIDE);
    if (isnan(seconds))
        return json_sprintf("%s; a product of %zu x %zu does not work", compute_description(c), side, side);
    return json_sprintf("%s; %.3g GFLOP/s in a product of %zu x %zu", compute_description(c),
                        2 * pow((double)side, 3) / seconds / 1e9, side, side);
}

static void check_compute(struct visit *v)
{
    struct compute *compute = NULL;
    enum err e = compute_open(NULL, &compute, &v->cli->fault);
    if (e)
        bad(v, "kernels", e);
    else
        add(v, "kernels", FINE, describe_compute(compute));
    compute_close(compute);
}

/* One row for each OpenCL device, with what it makes of a matrix product. */
static void check_opencl(struct visit *v)
{
    size_t count = 0;
    if (compute_num_opencl_devices(&count, &v->cli->fault)) {
        add(v, "opencl", FINE, json_sprintf("training uses the processor: %s", v->cli->fault.detail));
        v->cli->fault = FAULT_NONE;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char name[32];
        struct compute *c = NULL;
        (void)snprintf(name, sizeof name, "opencl:%zu", i);
        enum err e = compute_open(name, &c, &v->cli->fault);
        if (e)
            add(v, name, WARNING, json_string(v->cli->fault.detail));
        else
            add(v, name, FINE, describe_compute(c));
        v->cli->fault = FAULT_NONE;
        compute_close(c);
    }
}

static void check_gnuplot(struct visit *v)
{
    if (gnuplot_is_there())
        add(v, "gnuplot", FINE, json_string("metrics plot can draw"));
    else
        add(v, "gnuplot", WARNING, json_string("metrics plot needs it: " GNUPLOT_INSTALL));
}

enum err cmd_doctor(struct cli *cli)
{
    struct visit v = {.cli = cli, .rows = json_array()};
    if (!v.rows)
        return ERR_NO_MEMORY;
    check_server(&v);
    if (v.server_answers) {
        check_version(&v);
        check_token(&v);
    }
    check_disk(&v);
    check_compute(&v);
    check_opencl(&v);
    check_gnuplot(&v);
    enum err e = print_items(cli, columns, sizeof columns / sizeof *columns, v.rows);
    json_decref(v.rows);
    return cli_fail(cli, e, "doctor");
}
