/* What the programs that fill a data directory share. */
#ifndef FEDLANE_BENCH_FILL_H
#define FEDLANE_BENCH_FILL_H

#include "server/service.h"

/* Says what failed, and ends the program. */
_Noreturn void fill_failed(const char *what, enum err e, const char *detail);
/* A server's service on this folder, which is made where there is none, with the tokens of a first start; it
 * does not listen. */
struct service *fill_service(const char *dir, struct clock clock, int64_t heartbeat_ms);

#endif
