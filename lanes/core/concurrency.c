#include "lanes/core/concurrency.h"

void concurrency_reset(struct lanes_device *d)
{
    d->concurrent = 1;
    d->wait = CONCURRENCY_WINDOW;
    d->until_trial = CONCURRENCY_WINDOW;
    d->window = 0;
    for (int k = 0; k <= LANES_MAX_CONCURRENT; k++)
        d->work_rate[k] = k == 1 ? 1 : 0;
}

static void begin_window(struct lanes_device *d, int64_t now_ns)
{
    d->window = 0;
    d->window_work_ns = 0;
    d->window_began_ns = now_ns;
}

void concurrency_begin(struct scheduler *s, struct lanes_job *job)
{
    struct lanes_device *d = &s->devices[job->device];
    job->is_alone = d->num_running == 0;
    for (size_t i = 0; !job->is_alone && i < s->num_present; i++)
        if (s->present[i]->state == LANES_RUNNING && s->present[i]->device == job->device)
            s->present[i]->is_alone = false;
}

/* The window is full: does the last lane stay? */
static void judge(struct lanes_device *d, int64_t now_ns)
{
    double rate = (double)d->window_work_ns / (double)(now_ns - d->window_began_ns + 1);
    double least = d->work_rate[d->concurrent - 1] * (100 + CONCURRENCY_GAIN_PERCENT) / 100;
    begin_window(d, now_ns);
    if (d->concurrent == 1)
        return;
    if (rate >= least) {
        d->work_rate[d->concurrent] = rate;
        return;
    }
    d->concurrent--;
    d->wait = 2 * d->wait < CONCURRENCY_MOST_WAIT ? 2 * d->wait : CONCURRENCY_MOST_WAIT;
    d->until_trial = d->wait;
}

void concurrency_done(struct scheduler *s, struct lanes_job *job, int64_t duration_ns)
{
    struct lanes_device *d = &s->devices[job->device];
    if (job->is_alone)
        job->alone_ns = duration_ns;
    d->until_trial -= d->until_trial > 0;
    if (d->concurrent == 1)
        return;
    double rate = d->work_rate[d->concurrent];
    if (job->alone_ns == 0 && rate <= 0) {
        begin_window(d, s->now_ns); /* a first trial of what nothing is known of */
        return;
    }
    /* One that never ran alone says nothing for or against. */
    d->window_work_ns +=
        job->alone_ns > 0 ? job->alone_ns : (int64_t)((double)duration_ns * rate / d->concurrent);
    if (++d->window >= CONCURRENCY_WINDOW)
        judge(d, s->now_ns);
}

/* Lanes with a job whose iterations were measured alone: what a trial could compare. */
static int measured_lanes(const struct scheduler *s, int device)
{
    bool is_measured[LANES_MAX_LANES] = {false};
    int n = 0;
    for (size_t i = 0; i < s->num_present; i++) {
        const struct lanes_job *job = s->present[i];
        if (job->device == device && job->alone_ns > 0)
            is_measured[job->lane] = true;
    }
    for (int l = 0; l < LANES_MAX_LANES; l++)
        n += is_measured[l];
    return n;
}

bool concurrency_settled(struct scheduler *s, int device)
{
    struct lanes_device *d = &s->devices[device];
    if (d->concurrent > 1 && d->num_running < (size_t)d->concurrent)
        begin_window(d, s->now_ns); /* lanes stood empty: it would measure that */
    bool may_try = d->concurrent < s->config.max_concurrent && d->until_trial == 0 &&
                   d->num_running == (size_t)d->concurrent;
    if (!may_try || measured_lanes(s, device) <= d->concurrent)
        return false;
    d->concurrent++;
    begin_window(d, s->now_ns);
    d->until_trial = CONCURRENCY_WINDOW;
    return true;
}
