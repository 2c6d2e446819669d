/* The server's command line. */
#ifndef FEDLANE_SERVER_OPTIONS_H
#define FEDLANE_SERVER_OPTIONS_H

#include "common/base/config.h"
#include "common/base/log.h"

struct options {
    const char *data_dir, *listen, *log_level, *log_format, *web_dir;
    const char *tls_cert, *tls_key, *client_ca;
    int64_t threads, auth_failures, connections_per_address;
    double heartbeat_s;
    bool insecure, version, help;
    /* taken apart by options_read() */
    char address[64];
    uint16_t port;
    enum log_level level;
    enum log_format format;
};

/* Command line and environment, checked. ERR_USAGE says which option and what is allowed. */
enum err options_read(int argc, char **argv, struct options *out, struct fault *fault) MUST_CHECK;
void options_print_help(void);
/* "127.0.0.1:8080", "[::1]:8080", "localhost:8080": numeric address and port. */
enum err listen_parse(const char *text, char out_address[64], uint16_t *out_port,
                      struct fault *fault) MUST_CHECK;
bool address_is_loopback(const char *address);

#endif
