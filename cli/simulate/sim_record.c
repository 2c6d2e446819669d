#include "cli/simulate/sim_record.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/out_file.h"
#include "common/base/limits.h"

#define CSV_MAX (256 * MIB)

enum err sim_record_init(struct sim_record *r, struct sim *sim)
{
    *r = (struct sim_record){.sim = sim, .csv = BUF_INIT(CSV_MAX), .last_round = -1};
    sim_targets_init(&r->targets, sim_start_ms(sim));
    return sim_csv_titles(&r->csv);
}

void sim_record_release(struct sim_record *r)
{
    buf_release(&r->csv);
    json_decref(r->last);
    r->last = NULL;
}

/* -- rounds ---------------------------------------------------------------------------------------------- */

static enum err take_round(struct sim_record *r, const struct round_row *row, sim_round_fn on_round,
                           void *ctx)
{
    json_t *round = sim_round_json(row, r->targets.start_ms);
    if (!round)
        return ERR_NO_MEMORY;
    sim_targets_add(&r->targets, row, round);
    if (row->type == ROUND_FINAL && !r->last)
        r->last = json_incref(round);
    r->last_round = row->n;
    enum err e = sim_csv_row(&r->csv, round);
    if (!e && on_round)
        e = on_round(ctx, round);
    json_decref(round);
    return e;
}

enum err sim_record_step(struct sim_record *r, sim_round_fn on_round, void *ctx, bool *out_is_finished,
                         struct fault *fault)
{
    struct arena arena = ARENA_INIT((size_t)1 << 30);
    struct round_row *rows = NULL;
    size_t count = 0;
    enum err e = sim_step(r->sim, out_is_finished, fault);
    if (!e)
        e = sim_rounds(r->sim, r->last_round, &arena, &rows, &count);
    for (size_t i = 0; i < count && !e; i++)
        e = take_round(r, &rows[i], on_round, ctx);
    arena_release(&arena);
    return e;
}

enum err sim_record_end(struct sim_record *r, struct arena *arena, struct run_row *out_run,
                        json_t **out_final)
{
    enum err e = sim_run(r->sim, arena, out_run);
    if (e)
        return e;
    *out_final = sim_final_json(out_run, r->last, &r->targets);
    return *out_final ? ERR_OK : ERR_NO_MEMORY;
}

/* -- files ----------------------------------------------------------------------------------------------- */

enum err sim_make_folder(const char *dir, struct fault *fault)
{
    struct stat st;
    if (!*dir)
        return fault_set(fault, ERR_USAGE, "out", "--out wants the name of a folder");
    char *copy = strdup(dir);
    if (!copy)
        return ERR_NO_MEMORY;
    out_file_folders_above(copy);
    free(copy);
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return fault_set(fault, ERR_BAD_FILE, NULL, "--out %s: cannot be made: %s", dir, strerror(errno));
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return fault_set(fault, ERR_BAD_FILE, NULL, "--out %s: is no directory", dir);
    if (access(dir, W_OK) != 0)
        return fault_set(fault, ERR_BAD_FILE, NULL, "--out %s: cannot be written: %s", dir, strerror(errno));
    return ERR_OK;
}

/* How much of the path, which is cut, is there. */
static size_t length_there(char *path)
{
    struct stat st;
    while (stat(path, &st) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return slash ? 1 : 0;
        *slash = '\0';
    }
    return strlen(path);
}

/* By making it: no look at modes tells all that can be in the way. */
enum err sim_check_folder(const char *dir, struct fault *fault)
{
    char *path = strdup(dir);
    if (!path)
        return ERR_NO_MEMORY;
    size_t there = length_there(path), len = strlen(dir);
    enum err e = sim_make_folder(dir, fault);
    memcpy(path, dir, len + 1);
    for (; len > there; len--) {
        if (len < strlen(dir) && dir[len] != '/')
            continue;
        path[len] = '\0';
        (void)rmdir(path);
    }
    free(path);
    return e;
}

enum err sim_put_file(const char *dir, const char *name, const void *bytes, size_t n, struct fault *fault)
{
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return ERR_NO_MEMORY;
    enum err e = out_file_put(path, bytes, n, fault);
    free(path);
    return e;
}

static enum err put_model(struct sim_record *r, const char *dir, struct fault *fault)
{
    struct buf file = BUF_INIT((size_t)LIMIT_MODEL_BYTES);
    enum err e = sim_model(r->sim, &file);
    if (!e)
        e = sim_put_file(dir, "model.safetensors", file.data, file.len, fault);
    buf_release(&file);
    return e;
}

static enum err put_run(const char *dir, const struct run_row *run, const json_t *final, struct fault *fault)
{
    json_t *json = sim_run_json(run, final);
    char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    enum err e = text ? sim_put_file(dir, "run.json", text, strlen(text), fault) : ERR_NO_MEMORY;
    free(text);
    json_decref(json);
    return e;
}

static void remove_file(const char *dir, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return;
    (void)unlink(path);
    free(path);
}

/* Where locks cannot be had, as on some network drives, -1 is as good. */
static int hold(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX);
    return fd;
}

enum err sim_record_put(struct sim_record *r, const char *dir, const struct run_row *run, const json_t *final,
                        struct fault *fault)
{
    bool was_there = access(dir, F_OK) == 0;
    enum err e = sim_make_folder(dir, fault);
    if (e)
        return e;
    int lock = hold(dir);
    remove_file(dir, "run.json"); /* what another run left does not go with these */
    e = sim_put_file(dir, "metrics.csv", r->csv.data, r->csv.len, fault);
    if (!e)
        e = put_model(r, dir, fault);
    if (!e)
        e = put_run(dir, run, final, fault);
    if (e) {
        remove_file(dir, "model.safetensors");
        remove_file(dir, "metrics.csv");
    }
    if (e && !was_there)
        (void)rmdir(dir);
    if (lock >= 0)
        (void)close(lock);
    return e;
}
