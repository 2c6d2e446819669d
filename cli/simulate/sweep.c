#include "cli/simulate/sweep.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define SWEEP_ARENA ((size_t)1 << 28)

static void init(struct sweep *s, struct cli *cli, json_t *spec, int threads)
{
    *s = (struct sweep){
        .cli = cli, .arena = ARENA_INIT(SWEEP_ARENA), .base = spec, .threads = threads, .lock_fd = -1};
    sweep_data_init(&s->data);
    if (pthread_mutex_init(&s->lock, NULL) != 0 || pthread_mutex_init(&s->files, NULL) != 0 ||
        pthread_cond_init(&s->run_ended, NULL) != 0)
        bug("a mutex or a condition variable could not be made");
}

static void release(struct sweep *s)
{
    sweep_folder_leave(s);
    for (size_t i = 0; i < s->num_axes; i++)
        json_decref(s->axes[i].values);
    for (size_t i = 0; s->points && i < s->num_points; i++)
        json_decref(s->points[i].overrides);
    for (size_t i = 0; s->runs && i < s->num_runs; i++) {
        json_decref(s->runs[i].spec);
        json_decref(s->runs[i].filled);
        json_decref(s->runs[i].final);
    }
    sweep_data_release(&s->data);
    free(s->seeds);
    (void)pthread_cond_destroy(&s->run_ended);
    (void)pthread_mutex_destroy(&s->files);
    (void)pthread_mutex_destroy(&s->lock);
    arena_release(&s->arena);
}

static void say_interrupted(const struct sweep *s)
{
    size_t num_done = 0;
    for (size_t i = 0; i < s->num_runs; i++)
        num_done += s->runs[i].state == SWEEP_DONE || s->runs[i].state == SWEEP_RESUMED;
    (void)fprintf(stderr, "fedlane: stopped; %zu of %zu runs are done%s\n", num_done, s->num_runs,
                  s->cli->options.out_dir ? ", and the same command goes on from there"
                                          : "; with --out DIR they would have been kept");
}

static enum err finish(struct sweep *s)
{
    enum err e = s->cli->options.out_dir ? sweep_put_tables(s) : ERR_OK;
    if (!e)
        e = sweep_print_end(s);
    for (size_t i = 0; i < s->num_runs && !e; i++)
        if (s->runs[i].is_failed)
            s->cli->status = STATUS_FAILED;
    return e;
}

enum err sweep_simulate(struct cli *cli, json_t *spec, int threads)
{
    struct sweep s;
    int signal_number = 0;
    init(&s, cli, spec, threads);
    enum err e = sweep_plan(&s, cli->options.seeds, &cli->options.sweep);
    if (!e)
        e = sweep_grid(&s);
    if (!e)
        e = sweep_check(&s);
    if (!e)
        e = sweep_folder_enter(&s);
    if (!e)
        e = sweep_crew(&s, &signal_number);
    if (!e && signal_number)
        say_interrupted(&s);
    else if (!e)
        e = finish(&s);
    release(&s);
    if (!e && signal_number) {
        /* So that a shell's loop ends, too. */
        cli->status = STATUS_FAILED;
        (void)fflush(stdout);
        (void)raise(signal_number);
    }
    return e;
}
