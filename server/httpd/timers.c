#include "server/httpd/timers.h"
#include <stdlib.h>

void timers_release(struct timers *t)
{
    free(t->heap);
    *t = (struct timers){.heap = NULL};
}

static void place(struct timers *t, size_t i, struct timer *timer)
{
    t->heap[i] = timer;
    timer->place = i + 1;
}

static void sift_up(struct timers *t, size_t i, struct timer *timer)
{
    while (i > 0 && t->heap[(i - 1) / 2]->due_ns > timer->due_ns) {
        place(t, i, t->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(t, i, timer);
}

static void sift_down(struct timers *t, size_t i, struct timer *timer)
{
    for (size_t child; (child = 2 * i + 1) < t->count; i = child) {
        if (child + 1 < t->count && t->heap[child + 1]->due_ns < t->heap[child]->due_ns)
            child++;
        if (t->heap[child]->due_ns >= timer->due_ns)
            break;
        place(t, i, t->heap[child]);
    }
    place(t, i, timer);
}

enum err timer_arm(struct timers *t, struct timer *timer, int64_t due_ns)
{
    timer_disarm(t, timer);
    if (t->count == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        struct timer **heap = realloc(t->heap, cap * sizeof(struct timer *));
        if (!heap)
            return ERR_NO_MEMORY;
        t->heap = heap;
        t->cap = cap;
    }
    timer->due_ns = due_ns;
    sift_up(t, t->count++, timer);
    return ERR_OK;
}

void timer_disarm(struct timers *t, struct timer *timer)
{
    if (!timer->place)
        return;
    size_t i = timer->place - 1;
    timer->place = 0;
    struct timer *last = t->heap[--t->count];
    if (last == timer)
        return;
    sift_up(t, i, last);
    sift_down(t, last->place - 1, last);
}

int64_t timers_next_ns(const struct timers *t)
{
    return t->count ? t->heap[0]->due_ns : INT64_MAX;
}

struct timer *timers_pop(struct timers *t, int64_t now_ns)
{
    if (!t->count || t->heap[0]->due_ns > now_ns)
        return NULL;
    struct timer *timer = t->heap[0];
    timer_disarm(t, timer);
    return timer;
}
