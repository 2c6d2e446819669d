#include "bench/fill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/crypto/random.h"
#include "server/data_dir.h"

_Noreturn void fill_failed(const char *what, enum err e, const char *detail)
{
    (void)fprintf(stderr, "%s: %s: %s %s\n", program_invocation_short_name, what, err_name(e), detail);
    exit(EXIT_FAILURE);
}

struct service *fill_service(const char *dir, struct clock clock, int64_t heartbeat_ms)
{
    struct fault fault = FAULT_NONE;
    struct service *s = NULL;
    struct service_config config = {
        .clock = clock, .entropy = entropy_system(), .heartbeat_ms = heartbeat_ms};
    enum err e = data_dir_open(dir, &config.store, &config.blobs, &fault);
    if (!e)
        e = service_open(&config, &s, &fault);
    if (!e)
        e = data_dir_tokens(dir, service_store(s), service_core(s), &fault);
    if (e)
        fill_failed(dir, e, fault.detail);
    return s;
}
