/* The thread that does the core's due work: when the store says so, and by the clock. */
#ifndef FEDLANE_SERVER_CONDUCTOR_H
#define FEDLANE_SERVER_CONDUCTOR_H

#include "server/core/core.h"

struct conductor;

/* `core` is borrowed. `clock` is the core's: due times are told in it. */
enum err conductor_new(struct core *core, struct clock clock, struct conductor **out) MUST_CHECK;
enum err conductor_start(struct conductor *c) MUST_CHECK;
void conductor_wake(struct conductor *c); /* any thread, from conductor_new() to conductor_free(); quick */
void conductor_stop(struct conductor *c); /* waits for the piece of work at hand; harmless when not started */
void conductor_free(
    struct conductor *c); /* after conductor_stop(), when nobody can wake it any more; NULL is fine */

#endif
