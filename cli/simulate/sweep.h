/* Many runs of one spec: a grid of values, times seeds. The command line makes the plan, the plan makes the
 * points and their runs, every run is checked before the first one starts, and then as many run at the same
 * time as there are threads. Nothing of what comes out depends on the threads. */
#ifndef FEDLANE_CLI_SIMULATE_SWEEP_H
#define FEDLANE_CLI_SIMULATE_SWEEP_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include "cli/cli.h"
#include "cli/simulate/sweep_data.h"
#include "common/base/arena.h"

#define SWEEP_MAX_RUNS 4096

/* --sweep PATH=V,V,... */
struct sweep_axis {
    const char *path;
    const char *key; /* the path's last part, or all of it where that would not tell */
    json_t *values;  /* array; no two are equal */
};

/* One choice of a value on every axis. */
struct sweep_point {
    json_t *overrides;  /* path: value, in the order of the axes */
    const char *label;  /* "proximal_mu=0.1", for people */
    const char *folder; /* the same in characters that are safe in a file's name; "" without axes */
};

enum sweep_state { SWEEP_WAITING, SWEEP_RUNNING, SWEEP_DONE, SWEEP_RESUMED /* done by an earlier call */ };

struct sweep_run {
    size_t point;
    int64_t seed;
    const char *name, *label; /* "proximal_mu=0.1,seed=3": of its folder, and for people */
    json_t *spec;             /* with the point's values and the seed */
    json_t *filled;           /* and with every default, as run.json has it */
    int64_t num_rounds;
    double work; /* roughly, in examples times parameters; for the order and the time that is left */
    struct sweep_data_set *data;

    enum sweep_state state;
    int64_t rounds_done;
    json_t *final;  /* its final line; NULL where it did not come to that */
    bool is_failed; /* then it counts in no mean */
    char reason[600];
    int64_t received, failed; /* updates of devices, over all rounds */
};

struct sweep {
    struct cli *cli;
    struct arena arena; /* paths, labels, names */
    json_t *base;       /* the spec; borrowed */
    int threads;

    struct sweep_axis *axes;
    size_t num_axes;
    int64_t *seeds;
    size_t num_seeds;
    bool has_seeds; /* --seeds was given */
    struct sweep_point *points;
    size_t num_points;
    struct sweep_run *runs; /* point by point, in each the seeds */
    size_t num_runs;
    struct sweep_data data;
    int lock_fd; /* of the folder; -1: none */

    /* Of the threads. */
    pthread_mutex_t lock;
    pthread_cond_t run_ended;
    pthread_mutex_t files;    /* one program writes one file at a time */
    struct sweep_run **order; /* those that are to be done, longest first */
    size_t num_order, next;
    struct sweep_run **ended; /* in the order in which they ended */
    size_t num_ended;
    bool is_stopping;
    enum err err; /* of the folder, or of memory: no use to go on */
    struct fault fault;
};

/* sweep_plan.c: reads --seeds and --sweep. ERR_USAGE says what is wrong with which. */
enum err sweep_plan(struct sweep *s, const char *seeds, const struct option_list *sweeps) MUST_CHECK;
/* sweep_grid.c: the points and their runs, with specs and names. */
enum err sweep_grid(struct sweep *s) MUST_CHECK;
/* A value as people write it: 0.1, true, text, {"a":1}. In the arena, or NULL. */
const char *sweep_value_text(struct arena *arena, const json_t *value);
/* sweep_check.c: refuses what any of the runs would be refused for, and estimates their work. */
enum err sweep_check(struct sweep *s) MUST_CHECK;

/* sweep_folder.c: makes the folder, or refuses that of another sweep, and finds the runs in it that are done.
 * Holds it until sweep_folder_leave. */
enum err sweep_folder_enter(struct sweep *s) MUST_CHECK;
void sweep_folder_leave(struct sweep *s);
/* A run's folder; in the arena of the caller. NULL when out of memory. */
const char *sweep_run_folder(const struct sweep *s, const struct sweep_run *run, struct arena *arena);
/* A run's metrics.csv. */
enum err sweep_read_metrics(const struct sweep *s, const struct sweep_run *run, struct arena *arena,
                            char **out_text, struct fault *fault) MUST_CHECK;

/* sweep_run.c: one run from start to end; its outcome is in *run. ERR_OK also where the run failed, or where
 * the sweep is stopping: then it is not done. */
enum err sweep_do_run(struct sweep *s, struct sweep_run *run, int threads, bool *out_is_done,
                      struct fault *fault) MUST_CHECK;
/* Decides from its final line and its metrics.csv, whose text is used up, whether the run counts. */
enum err sweep_judge(struct sweep_run *run, char *metrics) MUST_CHECK;
/* sweep_crew.c: all of them that are not yet done. *out_signal is the signal that stopped it, or 0. */
enum err sweep_crew(struct sweep *s, int *out_signal) MUST_CHECK;

/* sweep_report.c: what is printed. A line for a run that ended, as the number-th of all (table: `out` has
 * room; jsonl prints it itself), and the means at the end. */
#define SWEEP_LINE 1024
void sweep_run_line(const struct sweep *s, const struct sweep_run *run, size_t number, char out[SWEEP_LINE]);
enum err sweep_print_run_json(const struct sweep *s, const struct sweep_run *run) MUST_CHECK;
enum err sweep_print_end(struct sweep *s) MUST_CHECK;

/* sweep_files.c: sweep.csv and mean.csv, and the plots (sweep_plot.c). */
enum err sweep_put_tables(struct sweep *s) MUST_CHECK;

/* Mean and sample standard deviation (n - 1), value by value. */
struct sweep_stat {
    int64_t n;
    double mean, m2;
};
void sweep_stat_add(struct sweep_stat *stat, double value);
double sweep_stat_mean(const struct sweep_stat *stat); /* NaN of none */
double sweep_stat_sd(const struct sweep_stat *stat);   /* NaN of less than two */
/* The figures of a final line that are averaged. */
struct sweep_figure {
    const char *name, *path;
};
extern const struct sweep_figure sweep_figures[];
extern const size_t num_sweep_figures;
/* One of them, over the runs of a point that count; NaN is left out. */
struct sweep_stat sweep_stat_of(const struct sweep *s, size_t point, const char *path);

/* sweep.c: the command, with a spec that was read. */
enum err sweep_simulate(struct cli *cli, json_t *spec, int threads) MUST_CHECK;

#endif
