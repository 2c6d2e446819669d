/* Listening sockets: one per thread on one port. */
#ifndef FEDLANE_HTTPD_LISTEN_H
#define FEDLANE_HTTPD_LISTEN_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

/* `count` sockets that share the port (SO_REUSEPORT), listening, not blocking, closed on exec. port 0: any
 * free one, the same for all. ERR_CONFLICT: another process has it; ERR_USAGE: not a numeric address; ERR_IO.
 * On an error none is left open. *out_port is the actual one. */
enum err listen_open(const char *address, uint16_t port, int *fds, size_t count, uint16_t *out_port,
                     struct fault *fault) MUST_CHECK;

#endif
