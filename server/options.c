#include "server/options.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/base/str.h"

static const struct option_row rows[] = {
    {"data-dir", 'd', OPTION_STRING, offsetof(struct options, data_dir), "DIR",
     "where everything is kept (default ./fedlane-data)", "FEDLANE_DATA_DIR", 0, 0},
    {"listen", 'l', OPTION_STRING, offsetof(struct options, listen), "ADDRESS:PORT",
     "where to listen; port 0 takes a free one (default 127.0.0.1:8080)", "FEDLANE_LISTEN", 0, 0},
    {"insecure", 0, OPTION_FLAG, offsetof(struct options, insecure), NULL,
     "listen on other addresses than loopback without encryption: tokens and weights can be read on the way",
     NULL, 0, 0},
    {"tls-cert", 0, OPTION_STRING, offsetof(struct options, tls_cert), "FILE",
     "answer https with this certificate (PEM, its chain behind it); SIGHUP reads the files anew",
     "FEDLANE_TLS_CERT", 0, 0},
    {"tls-key", 0, OPTION_STRING, offsetof(struct options, tls_key), "FILE", "its private key (PEM)",
     "FEDLANE_TLS_KEY", 0, 0},
    {"client-ca", 0, OPTION_STRING, offsetof(struct options, client_ca), "FILE",
     "answer only who shows a certificate signed by one of these authorities (PEM)", "FEDLANE_CLIENT_CA", 0,
     0},
    {"threads", 't', OPTION_INT, offsetof(struct options, threads), "N",
     "threads that serve requests (default: one per core, at most 4)", "FEDLANE_THREADS", 1, 64},
    {"connections-per-address", 0, OPTION_INT, offsetof(struct options, connections_per_address), "N",
     "connections that one address may have open at once; behind NAT many machines share one (default 15000)",
     "FEDLANE_CONNECTIONS_PER_ADDRESS", 1, LIMIT_CONNECTIONS},
    {"auth-failures", 0, OPTION_INT, offsetof(struct options, auth_failures), "N",
     "failures to show a good token that one address may have at once; one a second is forgotten (default "
     "60)",
     "FEDLANE_AUTH_FAILURES", 1, 1e9},
    {"heartbeat-s", 0, OPTION_DOUBLE, offsetof(struct options, heartbeat_s), "SECONDS",
     "how often workers report; silent for 3 of them they are suspect, for 12 offline (default 10)",
     "FEDLANE_HEARTBEAT_S", 0.05, 3600},
    {"log-level", 0, OPTION_STRING, offsetof(struct options, log_level), "LEVEL",
     "debug, info, warning or error (default info)", "FEDLANE_LOG_LEVEL", 0, 0},
    {"log-format", 0, OPTION_STRING, offsetof(struct options, log_format), "FORMAT",
     "text or json (default text)", "FEDLANE_LOG_FORMAT", 0, 0},
    {"web-dir", 0, OPTION_STRING, offsetof(struct options, web_dir), "DIR",
     "the dashboard's files are read from DIR at each request, for work on them (default: those built in)",
     "FEDLANE_WEB_DIR", 0, 0},
    {"version", 'V', OPTION_FLAG, offsetof(struct options, version), NULL, "print the version and end", NULL,
     0, 0},
    {"help", 'h', OPTION_FLAG, offsetof(struct options, help), NULL, "print this and end", NULL, 0, 0},
};
#define NUM_ROWS (sizeof rows / sizeof rows[0])

static enum err split_listen(const char *text, char out_address[64], const char **out_port)
{
    const char *colon = strrchr(text, ':'), *end = colon;
    if (!colon)
        return ERR_USAGE;
    if (text[0] == '[') {
        text++;
        if (colon == text || *--end != ']')
            return ERR_USAGE;
    } else if (strchr(text, ':') != colon) {
        return ERR_USAGE; /* an IPv6 address without brackets: where does its port begin? */
    }
    size_t n = (size_t)(end - text);
    if (n == 0 || n >= 64)
        return ERR_USAGE;
    memcpy(out_address, text, n);
    out_address[n] = '\0';
    *out_port = colon + 1;
    return str_eq(out_address, "localhost") ? str_copy(out_address, 64, "127.0.0.1") : ERR_OK;
}

enum err listen_parse(const char *text, char out_address[64], uint16_t *out_port, struct fault *fault)
{
    const char *port_text;
    uint64_t port;
    unsigned char binary[16];
    bool is_fine = split_listen(text, out_address, &port_text) == ERR_OK &&
                   str_to_u64(port_text, &port) == ERR_OK && port <= UINT16_MAX;
    is_fine = is_fine &&
              (inet_pton(AF_INET, out_address, binary) == 1 || inet_pton(AF_INET6, out_address, binary) == 1);
    if (!is_fine)
        return fault_set(
            fault, ERR_USAGE, "listen",
            "--listen %.60s is not a numeric address and a port. Examples: 127.0.0.1:8080, [::1]:8080, "
            "0.0.0.0:8080 (all addresses; with --insecure).",
            text);
    *out_port = (uint16_t)port;
    return ERR_OK;
}

bool address_is_loopback(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static enum err check_tls(const struct options *o, struct fault *fault)
{
    if (o->tls_cert && !o->tls_key)
        return fault_set(fault, ERR_USAGE, "tls-key",
                         "--tls-cert needs --tls-key, the certificate's private key.");
    if (o->tls_key && !o->tls_cert)
        return fault_set(fault, ERR_USAGE, "tls-cert", "--tls-key needs --tls-cert, the key's certificate.");
    if (o->client_ca && !o->tls_cert)
        return fault_set(fault, ERR_USAGE, "client-ca",
                         "--client-ca needs --tls-cert and --tls-key: certificates are shown over TLS only.");
    if (o->insecure && o->tls_cert)
        return fault_set(
            fault, ERR_USAGE, "insecure",
            "--insecure and --tls-cert exclude each other: with a certificate all is encrypted.");
    return ERR_OK;
}

static enum err check(struct options *o, struct fault *fault)
{
    enum err e = listen_parse(o->listen, o->address, &o->port, fault);
    if (e == ERR_OK)
        e = check_tls(o, fault);
    if (e != ERR_OK)
        return e;
    if (!o->insecure && !o->tls_cert && !address_is_loopback(o->address))
        return fault_set(
            fault, ERR_USAGE, "listen",
            "%s is not a loopback address, and what goes over it is not encrypted: tokens and weights can be "
            "read on the way. Give --tls-cert and --tls-key (fedlane-server init-tls makes some), listen on "
            "127.0.0.1 behind a proxy that speaks TLS, or say --insecure where the network is trusted.",
            o->address);
    if (log_level_parse(o->log_level, &o->level) != ERR_OK)
        return fault_set(fault, ERR_USAGE, "log-level", "--log-level must be debug, info, warning or error.");
    if (log_format_parse(o->log_format, &o->format) != ERR_OK)
        return fault_set(fault, ERR_USAGE, "log-format", "--log-format must be text or json.");
    return ERR_OK;
}

enum err options_read(int argc, char **argv, struct options *out, struct fault *fault)
{
    *out = (struct options){.data_dir = "./fedlane-data",
                            .listen = "127.0.0.1:8080",
                            .log_level = "info",
                            .log_format = "text",
                            .heartbeat_s = 10};
    size_t positional;
    enum err e = config_parse(rows, NUM_ROWS, argc, argv, out, NULL, 0, &positional, fault);
    if (e != ERR_OK || out->help || out->version)
        return e;
    return check(out, fault);
}

void options_print_help(void)
{
    printf("fedlane-server: owns the rounds of federated training and serves the API under /api/v1.\n\n"
           "usage: fedlane-server [options]\n       fedlane-server login-link [options]    a link that signs "
           "in to the dashboard, once\n"
           "       fedlane-server init-tls [options]      an authority of your own, and certificates\n"
           "       fedlane-server backup --to DIR         a copy of all that is kept, also while the server "
           "runs\n"
           "       fedlane-server restore --from DIR      a data directory of such a copy\n"
           "       fedlane-server compact                 gives the disk back what removed weights left\n\n");
    config_print_help(rows, NUM_ROWS);
    printf("\nOptions can be given in the environment, too, under the names in brackets. The first start "
           "writes\n"
           "admin.token and enrollment.token into the data directory. SIGTERM and SIGINT end the server in "
           "order.\n");
}
