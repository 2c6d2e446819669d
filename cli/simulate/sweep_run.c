/* One run of a sweep. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/csv.h"
#include "cli/simulate/sim_record.h"
#include "cli/simulate/sweep.h"
#include "cli/table.h"
#include "common/base/str.h"

#define RUN_ARENA ((size_t)1 << 30)

/* -- whether it counts ----------------------------------------------------------------------------------- */

static int64_t sum_of(const struct csv *csv, const char *title)
{
    int column = csv_column(csv, title);
    int64_t sum = 0, value;
    for (size_t i = 0; i < csv->num_rows && column >= 0; i++)
        if (str_to_i64(csv_cell(csv, i, column), &value) == ERR_OK)
            sum += value;
    return sum;
}

static void fail(struct sweep_run *run, const char *reason)
{
    run->is_failed = true;
    (void)snprintf(run->reason, sizeof run->reason, "%s", reason);
}

enum err sweep_judge(struct sweep_run *run, char *metrics)
{
    struct arena arena = ARENA_INIT(RUN_ARENA);
    struct csv csv;
    char text[200];
    enum err e = csv_parse(metrics, &arena, &csv, NULL);
    if (!e) {
        run->received = sum_of(&csv, "received");
        run->failed = sum_of(&csv, "failed");
    }
    arena_release(&arena);
    const json_t *loss = json_at(run->final, "train_loss");
    if (!str_eq(json_text_at(run->final, "outcome"), "completed")) {
        fail(run, json_text_at(run->final, "status_reason"));
    } else if (json_is_string(loss)) {
        (void)snprintf(text, sizeof text, "it diverged: the final train loss is %s", json_string_value(loss));
        fail(run, text);
    } else if (run->received == 0 && run->failed > 0) {
        (void)snprintf(text, sizeof text,
                       "it diverged: all %lld updates of devices failed, the model never moved",
                       (long long)run->failed);
        fail(run, text);
    }
    return e;
}

/* -- running --------------------------------------------------------------------------------------------- */

struct following {
    struct sweep *s;
    struct sweep_run *run;
};

static enum err count_round(void *ctx, json_t *round)
{
    struct following *f = ctx;
    (void)round;
    (void)pthread_mutex_lock(&f->s->lock);
    if (f->run->rounds_done < f->run->num_rounds)
        f->run->rounds_done++;
    (void)pthread_mutex_unlock(&f->s->lock);
    return ERR_OK;
}

static bool is_stopping(struct sweep *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool answer = s->is_stopping;
    (void)pthread_mutex_unlock(&s->lock);
    return answer;
}

static enum err put_files(struct sweep *s, struct sweep_run *run, struct sim_record *record,
                          const struct run_row *row, struct fault *fault)
{
    struct arena arena = ARENA_INIT(1 << 16);
    const char *dir = sweep_run_folder(s, run, &arena);
    (void)pthread_mutex_lock(&s->files);
    enum err e = dir ? sim_record_put(record, dir, row, run->final, fault) : ERR_NO_MEMORY;
    (void)pthread_mutex_unlock(&s->files);
    arena_release(&arena);
    return e;
}

static enum err finish(struct sweep *s, struct sweep_run *run, struct sim_record *record, struct fault *fault)
{
    struct arena arena = ARENA_INIT(RUN_ARENA);
    struct run_row row;
    enum err e = sim_record_end(record, &arena, &row, &run->final);
    if (!e && s->cli->options.out_dir)
        e = put_files(s, run, record, &row, fault);
    if (!e)
        e = sweep_judge(run, record->csv.data); /* written: its text may be used up */
    arena_release(&arena);
    return e;
}

static enum err follow(struct sweep *s, struct sweep_run *run, struct sim_record *record,
                       bool *out_is_finished, struct fault *fault)
{
    struct following f = {s, run};
    enum err e = ERR_OK;
    *out_is_finished = false;
    while (!e && !*out_is_finished && !is_stopping(s))
        e = sim_record_step(record, count_round, &f, out_is_finished, fault);
    return e;
}

enum err sweep_do_run(struct sweep *s, struct sweep_run *run, int threads, bool *out_is_done,
                      struct fault *fault)
{
    const struct dataset *data = NULL;
    struct sim *sim = NULL;
    struct sim_record record = {0};
    struct fault of_run = FAULT_NONE;
    enum err e = sweep_data_get(&s->data, run->data, run->spec, &data, &of_run);
    if (!e)
        e = sim_new(run->spec, data, threads, &sim, &of_run);
    if (!e)
        e = sim_record_init(&record, sim);
    if (!e)
        e = follow(s, run, &record, out_is_done, &of_run);
    if (e && e != ERR_NO_MEMORY) {
        fail(run, of_run.detail[0] ? of_run.detail : err_name(e));
        *out_is_done = true;
        e = ERR_OK;
    } else if (!e && *out_is_done) {
        e = finish(s, run, &record, fault);
    }
    sim_record_release(&record);
    sim_free(sim);
    if (!e && *out_is_done)
        sweep_data_done(&s->data, run->data);
    return e;
}
