/* Time as an argument: logic asks a clock it was given, so tests turn it by hand. */
#ifndef FEDLANE_BASE_CLOCK_H
#define FEDLANE_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct clock {
    int64_t (*now_ms)(
        void *ctx); /* milliseconds since 1970-01-01 UTC; never runs backwards within a process */
    void *ctx;
};

/* The wall clock read once at first use, carried on by the monotonic clock: an administrator who sets the
 * time moves no deadline of a running process. */
struct clock clock_system(void);
struct clock_fake {
    int64_t ms;
};
struct clock clock_fake(struct clock_fake *fake);
static inline int64_t clock_now_ms(const struct clock *c)
{
    return c->now_ms(c->ctx);
}

int64_t mono_ns(void); /* CLOCK_MONOTONIC */

#define TIME_TEXT_SIZE 25
/* "2026-01-02T03:04:05.678Z" */
void time_format(int64_t ms, char out[TIME_TEXT_SIZE]);
enum err time_parse(const char *text, int64_t *out_ms) MUST_CHECK;

#endif
