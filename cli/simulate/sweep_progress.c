#include "cli/simulate/sweep_progress.h"
#include <stdio.h>
#include <unistd.h>
#include "common/base/clock.h"

#define BAR_MIN       10
#define BAR_MAX       40
#define NUMBERS_WIDTH 56    /* what stands beside the bar, at its longest */
#define KNOWN_WORK    0.002 /* before that much is done, nobody knows how long the rest takes */

enum err sweep_progress_begin(struct sweep_progress *p, const struct sweep *s)
{
    *p = (struct sweep_progress){.s = s, .start_ns = mono_ns()};
    p->is_terminal = s->cli->format == FORMAT_TABLE && isatty(STDOUT_FILENO);
    screen_init(&p->screen, stdout);
    size_t num_before = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->num_runs && !e; i++) {
        if (s->runs[i].state != SWEEP_RESUMED)
            continue;
        num_before++;
        p->work_before += s->runs[i].work;
        if (s->cli->format == FORMAT_JSONL)
            e = sweep_print_run_json(s, &s->runs[i]);
    }
    p->num_told = num_before;
    if (num_before > 0)
        (void)fprintf(s->cli->format == FORMAT_TABLE ? stdout : stderr,
                      "%zu of %zu runs are done already in %s, and skipped\n", num_before, s->num_runs,
                      s->cli->options.out_dir);
    return e;
}

void sweep_progress_end(struct sweep_progress *p)
{
    if (p->is_terminal) {
        screen_begin(&p->screen);
        screen_end(&p->screen);
    }
    screen_release(&p->screen);
}

enum err sweep_progress_ended(struct sweep_progress *p, const struct sweep_run *run)
{
    char line[SWEEP_LINE];
    p->num_told++;
    if (p->s->cli->format == FORMAT_JSONL)
        return sweep_print_run_json(p->s, run);
    if (p->s->cli->format != FORMAT_TABLE)
        return ERR_OK;
    sweep_run_line(p->s, run, p->num_told, line);
    if (p->is_terminal)
        screen_message(&p->screen, line);
    else
        (void)puts(line);
    (void)fflush(stdout);
    return ERR_OK;
}

/* -- the bar --------------------------------------------------------------------------------------------- */

struct amounts {
    int64_t rounds, all_rounds;
    double work, all_work;
};

static struct amounts amounts_of(const struct sweep *s)
{
    struct amounts a = {0};
    for (size_t i = 0; i < s->num_runs; i++) {
        const struct sweep_run *run = &s->runs[i];
        bool has_ended = run->state == SWEEP_DONE || run->state == SWEEP_RESUMED;
        int64_t rounds = has_ended ? run->num_rounds : run->rounds_done;
        a.rounds += rounds;
        a.all_rounds += run->num_rounds;
        a.all_work += run->work;
        a.work += run->work * (double)rounds / (double)(run->num_rounds > 0 ? run->num_rounds : 1);
    }
    return a;
}

static void time_text(const struct sweep_progress *p, const struct amounts *a, char *out, size_t size)
{
    double own = a->all_work - p->work_before, done = own > 0 ? (a->work - p->work_before) / own : 0;
    double seconds = (double)(mono_ns() - p->start_ns) / 1e9,
           left = done > 0 ? seconds * (1 - done) / done : 0;
    long long s = (long long)(left + 0.999);
    if (done < KNOWN_WORK)
        (void)snprintf(out, size, "time left ?");
    else if (s >= 3600)
        (void)snprintf(out, size, "%lld:%02lld:%02lld left", s / 3600, s / 60 % 60, s % 60);
    else
        (void)snprintf(out, size, "%lld:%02lld left", s / 60, s % 60);
}

void sweep_progress_paint(struct sweep_progress *p)
{
    if (!p->is_terminal)
        return;
    char left[48];
    struct amounts a = amounts_of(p->s);
    int width = p->screen.width - NUMBERS_WIDTH;
    time_text(p, &a, left, sizeof left);
    screen_begin(&p->screen);
    screen_bar(&p->screen, COLOR_BLUE,
               width < BAR_MIN   ? BAR_MIN
               : width > BAR_MAX ? BAR_MAX
                                 : width,
               a.all_work > 0 ? a.work / a.all_work : 0);
    screen_printf(&p->screen, COLOR_BOLD, "  %zu of %zu runs", p->num_told, p->s->num_runs);
    screen_printf(&p->screen, COLOR_NONE, "  %lld of %lld rounds", (long long)a.rounds,
                  (long long)a.all_rounds);
    screen_printf(&p->screen, COLOR_GREY, "  %s", left);
    screen_newline(&p->screen);
    screen_end(&p->screen);
}
