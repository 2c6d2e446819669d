#include "cli/simulate/sim_time.h"
#include <math.h>
#include "worker/upload_time.h"

int64_t sim_seconds(double seconds)
{
    double ns = seconds * 1e9;
    return ns < 9e18 ? (int64_t)llround(ns) : SIM_NEVER;
}

static int64_t add(int64_t a, int64_t b)
{
    return a > SIM_NEVER - b ? SIM_NEVER : a + b;
}

/* The first interval that is not over at from_ns. */
static size_t interval_at(const struct sim_device *d, int64_t from_ns)
{
    size_t low = 0, high = d->num_online;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->online[middle].to_ns <= from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t sim_online_from(const struct sim_device *d, int64_t from_ns)
{
    if (d->num_online == 0)
        return from_ns;
    size_t i = interval_at(d, from_ns);
    if (i == d->num_online)
        return SIM_NEVER;
    return d->online[i].from_ns > from_ns ? d->online[i].from_ns : from_ns;
}

int64_t sim_online_between(const struct sim_device *d, int64_t from_ns, int64_t to_ns)
{
    int64_t sum = 0;
    if (d->num_online == 0)
        return to_ns > from_ns ? to_ns - from_ns : 0;
    for (size_t i = interval_at(d, from_ns); i < d->num_online && d->online[i].from_ns < to_ns; i++) {
        int64_t from = d->online[i].from_ns > from_ns ? d->online[i].from_ns : from_ns,
                to = d->online[i].to_ns < to_ns ? d->online[i].to_ns : to_ns;
        sum += to > from ? to - from : 0;
    }
    return sum;
}

int64_t sim_work_until(const struct sim_device *d, int64_t from_ns, int64_t work_ns)
{
    if (work_ns == 0 || from_ns == SIM_NEVER)
        return from_ns;
    if (d->num_online == 0)
        return add(from_ns, work_ns);
    for (size_t i = interval_at(d, from_ns); i < d->num_online; i++) {
        int64_t from = d->online[i].from_ns > from_ns ? d->online[i].from_ns : from_ns;
        if (work_ns <= d->online[i].to_ns - from)
            return from + work_ns;
        work_ns -= d->online[i].to_ns - from;
    }
    return SIM_NEVER;
}

/* -- one task -------------------------------------------------------------------------------------------- */

static int64_t steps_ns(const struct sim_device *d, int64_t steps)
{
    return sim_seconds((double)steps / d->steps_per_s);
}

/* The fewest steps that take at least avail_ns: the last of them had begun before it was over. */
static int64_t steps_within(const struct sim_device *d, int64_t avail_ns, int64_t at_most)
{
    double guess = ceil((double)avail_ns / 1e9 * d->steps_per_s);
    int64_t steps = guess < (double)at_most ? (int64_t)guess : at_most;
    while (steps > 0 && steps_ns(d, steps - 1) >= avail_ns)
        steps--;
    while (steps < at_most && steps_ns(d, steps) < avail_ns)
        steps++;
    return steps;
}

/* When the worker would stop. */
static int64_t stop_at(const struct sim_timing *t, const struct sim_device *d, int64_t now_ns)
{
    if (t->deadline_ns == SIM_NEVER)
        return SIM_NEVER;
    int64_t left_ns = t->deadline_ns > now_ns ? t->deadline_ns - now_ns : 0;
    return now_ns + (int64_t)(upload_work_ms((double)left_ns / 1e6, d->upload_ms) * 1e6);
}

void sim_timing_start(struct sim_timing *t, const struct sim_device *d, int64_t now_ns)
{
    int64_t down_ns = sim_seconds((double)t->model_bytes / d->down_bytes_per_s),
            up_ns = sim_seconds((double)t->model_bytes / d->up_bytes_per_s);
    int64_t ready_ns = sim_work_until(d, now_ns, down_ns), stop_ns = stop_at(t, d, now_ns), steps = t->steps;
    bool is_in_time = ready_ns <= stop_ns;
    if (!is_in_time)
        steps = 0;
    else if (stop_ns < SIM_NEVER && !isinf(d->steps_per_s))
        steps = steps_within(d, sim_online_between(d, ready_ns, stop_ns), t->steps);
    int64_t compute_ns = steps_ns(d, steps), end_ns = sim_work_until(d, ready_ns, compute_ns);
    /* Whoever is offline when it should stop does so when it is back. */
    if (is_in_time && steps < t->steps) {
        int64_t stopped_ns = sim_online_from(d, stop_ns);
        end_ns = end_ns > stopped_ns ? end_ns : stopped_ns;
    }
    if (!t->accept_partial && steps < t->steps_assigned)
        up_ns = 0;
    t->has_started = true;
    t->deadline_steps = steps < t->steps ? steps : -1;
    t->next_ns = sim_work_until(d, end_ns, up_ns);
    t->download_ms = (double)down_ns / 1e6;
    t->compute_ms = (double)compute_ns / 1e6;
    t->upload_ms = (double)up_ns / 1e6;
}
