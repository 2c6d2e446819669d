#include "cli/cli.h"
#include <stdio.h>

enum exit_status exit_status_of(enum err e)
{
    switch (e) {
    case ERR_OK:
        return STATUS_FINE;
    case ERR_NETWORK:
    case ERR_TIMEOUT:
    case ERR_UNAUTHORIZED:
    case ERR_TOKEN_REVOKED:
    case ERR_TOKEN_EXPIRED:
    case ERR_FORBIDDEN:
    case ERR_UNAVAILABLE:
    case ERR_TOO_MANY_WAITERS:
    case ERR_RATE_LIMITED:
        return STATUS_CONNECTION;
    case ERR_USAGE:
    case ERR_BAD_FILE:
        return STATUS_USAGE;
    case ERR_DIGEST_MISMATCH:
        return STATUS_FAILED;
    default:
        /* A conflict is about how things are now, not about what was asked. */
        return err_http_status(e) >= 400 && err_http_status(e) < 500 && err_http_status(e) != 409
                   ? STATUS_USAGE
                   : STATUS_FAILED;
    }
}

void cli_complain(const struct fault *fault, enum err e)
{
    const char *detail = fault->detail[0] ? fault->detail : err_name(e);
    bool has_field = fault->field[0] && e != ERR_USAGE;
    (void)fprintf(stderr, "fedlane: %s%s%s\n", has_field ? fault->field : "", has_field ? ": " : "", detail);
}

enum err cli_fail(struct cli *cli, enum err e, const char *what)
{
    if (e && !cli->fault.detail[0])
        (void)fault_set(&cli->fault, e, NULL, "%s: %s", what,
                        e == ERR_NO_MEMORY ? "not enough memory" : err_name(e));
    return e;
}
