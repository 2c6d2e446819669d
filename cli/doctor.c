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

static void check_compute(struct visit *v)
{
    struct compute *compute = NULL;
    enum err e = compute_open(NULL, &compute, &v->cli->fault);
    if (e)
        bad(v, "kernels", e);
    else
        add(v, "kernels", FINE, json_string(compute_description(compute)));
    compute_close(compute);
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
    check_gnuplot(&v);
    enum err e = print_items(cli, columns, sizeof columns / sizeof *columns, v.rows);
    json_decref(v.rows);
    return cli_fail(cli, e, "doctor");
}
