#include "server/login_link.h"

#include <stdio.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/base/config.h"
#include "common/base/str.h"
#include "server/api/login_code.h"
#include "server/core/names.h"
#include "server/data_dir.h"
#include "server/options.h"
#include "server/store/records.h"

struct link_options {
    const char *data_dir, *role, *url, *listen;
    int64_t minutes, session_hours;
    bool help;
};

#define AT(member) offsetof(struct link_options, member)
static const struct option_row rows[] = {
    {"data-dir", 'd', OPTION_STRING, AT(data_dir), "DIR", "the server's data (default ./fedlane-data)",
     "FEDLANE_DATA_DIR", 0, 0},
    {"role", 'r', OPTION_STRING, AT(role), "ROLE", "admin, operator or viewer (default admin)", NULL, 0, 0},
    {"minutes", 'm', OPTION_INT, AT(minutes), "N", "how long the link may wait to be opened (default 10)",
     NULL, 1, 7 * 24 * 60},
    {"session-hours", 0, OPTION_INT, AT(session_hours), "N",
     "how long who opens it stays signed in (default 12)", NULL, 1, LOGIN_SESSION_HOURS_MAX},
    {"url", 'u', OPTION_STRING, AT(url), "URL",
     "where the browser finds the server (default: where the one on this data directory listens)", NULL, 0,
     0},
    {"listen", 'l', OPTION_STRING, AT(listen), "ADDRESS:PORT",
     "where the server will listen, while none runs (default 127.0.0.1:8080)", "FEDLANE_LISTEN", 0, 0},
    {"help", 'h', OPTION_FLAG, AT(help), NULL, "print this and end", NULL, 0, 0},
};
#define NUM_ROWS (sizeof rows / sizeof rows[0])

static enum err read_role(const char *name, int64_t *out, struct fault *fault)
{
    if (token_role_parse(name, out) == ERR_OK && (*out & (ROLE_ADMIN | ROLE_OPERATOR | ROLE_VIEWER)))
        return ERR_OK;
    return fault_set(fault, ERR_USAGE, "role", "--role must be admin, operator or viewer.");
}

/* A browser on this machine reaches a server that listens everywhere by the loopback address. */
static void print_url(const char *url, const char *code)
{
    static const struct {
        const char *everywhere, *here;
    } hosts[] = {{"http://0.0.0.0:", "http://127.0.0.1:"},
                 {"http://[::]:", "http://[::1]:"},
                 {"https://0.0.0.0:", "https://127.0.0.1:"},
                 {"https://[::]:", "https://[::1]:"}};
    const char *start = "";
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (str_has_prefix(url, hosts[i].everywhere)) {
            start = hosts[i].here;
            url += strlen(hosts[i].everywhere);
            fprintf(stderr,
                    "The server listens on all addresses; for another machine's browser give --url.\n");
        }
    int n = (int)strlen(url);
    while (n > 0 && url[n - 1] == '/')
        n--;
    printf("%s%.*s/#/login/%s\n", start, n, url, code);
}

static enum err find_url(const struct link_options *o, char out[SERVER_URL_SIZE], struct fault *fault)
{
    char address[64];
    uint16_t port;
    if (o->url) {
        if ((!str_has_prefix(o->url, "http://") && !str_has_prefix(o->url, "https://")) ||
            strpbrk(o->url, "#? ") || str_copy(out, SERVER_URL_SIZE, o->url) != ERR_OK)
            return fault_set(fault, ERR_USAGE, "url",
                             "--url must be like https://fedlane.example.org, without ? and #.");
        return ERR_OK;
    }
    if (data_dir_url(o->data_dir, out))
        return ERR_OK;
    enum err e = listen_parse(o->listen, address, &port, fault);
    if (e == ERR_OK && port == 0)
        return fault_set(
            fault, ERR_USAGE, "listen",
            "With port 0 the server chooses its port when it starts: start it first, or give --url.");
    if (e == ERR_OK) {
        bool is_v6 = strchr(address, ':') != NULL;
        (void)snprintf(out, SERVER_URL_SIZE, "http://%s%s%s:%u", is_v6 ? "[" : "", address, is_v6 ? "]" : "",
                       (unsigned)port);
        fprintf(stderr,
                "No server runs on %s now. Start it, then open the link; it is for a server that listens on "
                "%s: where it will be elsewhere, give --listen or --url.\n",
                o->data_dir, o->listen);
    }
    return e;
}

static void print_help(void)
{
    printf("fedlane-server login-link: prints a link that signs a browser in to the dashboard, once.\n\n"
           "usage: fedlane-server login-link [options]\n\n");
    config_print_help(rows, NUM_ROWS);
    printf("\nIt works beside the running server, for who may write to its data directory.\n");
}

enum err login_link(int argc, char **argv, struct fault *fault)
{
    struct link_options o = {.data_dir = "./fedlane-data",
                             .role = "admin",
                             .listen = "127.0.0.1:8080",
                             .minutes = 10,
                             .session_hours = 12};
    size_t positional;
    char url[SERVER_URL_SIZE], code[LOGIN_CODE_SIZE];
    struct login_grant grant;
    enum err e = config_parse(rows, NUM_ROWS, argc, argv, &o, NULL, 0, &positional, fault);
    if (e == ERR_OK && o.help) {
        print_help();
        return ERR_OK;
    }
    if (e == ERR_OK)
        e = read_role(o.role, &grant.role, fault);
    if (e == ERR_OK)
        e = find_url(&o, url, fault);
    if (e != ERR_OK)
        return e;
    const struct clock clock = clock_system();
    grant.made_at = clock_now_ms(&clock);
    grant.expires_at = grant.made_at + o.minutes * 60 * 1000;
    grant.session_ms = o.session_hours * 3600 * 1000;
    if ((e = login_code_make(o.data_dir, &grant, code, fault)) != ERR_OK)
        return e;
    fprintf(stderr, "Open it once within %lld minute%s; it signs in as %s for %lld hour%s.\n",
            (long long)o.minutes, o.minutes == 1 ? "" : "s", o.role, (long long)o.session_hours,
            o.session_hours == 1 ? "" : "s");
    print_url(url, code);
    return ERR_OK;
}
