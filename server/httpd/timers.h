/* A heap of deadlines. Each thread has its own. */
#ifndef FEDLANE_HTTPD_TIMERS_H
#define FEDLANE_HTTPD_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

/* A member of what is to be woken. */
struct timer {
    int64_t due_ns;
    size_t place; /* 1 + index in the heap; 0: not armed */
};

struct timers {
    struct timer **heap;
    size_t count, cap;
};

void timers_release(struct timers *t);
/* Armed anew when it already is. ERR_NO_MEMORY. */
enum err timer_arm(struct timers *t, struct timer *timer, int64_t due_ns) MUST_CHECK;
void timer_disarm(struct timers *t, struct timer *timer); /* idempotent */
int64_t timers_next_ns(const struct timers *t);           /* INT64_MAX: none */
/* The earliest that is due, disarmed; NULL: none. */
struct timer *timers_pop(struct timers *t, int64_t now_ns);

#endif
