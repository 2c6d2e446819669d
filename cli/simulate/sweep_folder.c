/* The folder of a sweep: sweep.json says whose it is, and each run has a folder in it. A run is done when its
 * run.json is there, which is written last. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "cli/csv.h"
#include "cli/simulate/sim_record.h"
#include "cli/simulate/sweep.h"
#include "cli/table.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/crypto/sha256.h"
#include "common/json/json_spec.h"

#define METRICS_MAX  (256 * MIB)
#define FOLDER_ARENA ((size_t)1 << 30)

static const char *path_in(struct arena *arena, const char *dir, const char *name)
{
    return arena_printf(arena, "%s/%s", dir, name);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

const char *sweep_run_folder(const struct sweep *s, const struct sweep_run *run, struct arena *arena)
{
    return path_in(arena, s->cli->options.out_dir, run->name);
}

enum err sweep_read_metrics(const struct sweep *s, const struct sweep_run *run, struct arena *arena,
                            char **out_text, struct fault *fault)
{
    struct buf file = BUF_INIT(METRICS_MAX);
    const char *path = arena_printf(arena, "%s/%s/metrics.csv", s->cli->options.out_dir, run->name);
    enum err e = path ? file_read(path, &file, fault) : ERR_NO_MEMORY;
    if (!e) {
        *out_text = arena_strndup(arena, file.data ? file.data : "", file.len);
        e = *out_text ? ERR_OK : ERR_NO_MEMORY;
    }
    buf_release(&file);
    return e;
}

/* -- whose folder it is ---------------------------------------------------------------------------------- */

static json_t *sweep_json(const struct sweep *s)
{
    json_t *axes = json_array(), *seeds = json_array();
    bool is_ok = axes && seeds;
    for (size_t i = 0; i < s->num_axes && is_ok; i++)
        is_ok = json_array_append_new(
                    axes, json_pack("{s:s, s:O}", "path", s->axes[i].path, "values", s->axes[i].values)) == 0;
    for (size_t i = 0; i < s->num_seeds && is_ok; i++)
        is_ok = json_array_append_new(seeds, json_integer(s->seeds[i])) == 0;
    json_t *all = is_ok ? json_pack("{s:O, s:O, s:O}", "spec", s->base, "sweep", axes, "seeds", seeds) : NULL;
    json_decref(axes);
    json_decref(seeds);
    return all;
}

static const char *short_text(struct arena *arena, const json_t *value)
{
    const char *text = value ? sweep_value_text(arena, value) : "nothing";
    return text ? arena_printf(arena, "%.80s%s", text, strlen(text) > 80 ? "..." : "") : NULL;
}

/* The first member in which they differ; NULL where they are equal, or out of memory. */
static const char *difference(struct arena *arena, const char *path, json_t *there, json_t *here)
{
    const char *key, *found = NULL;
    json_t *value;
    if (json_equal(there, here))
        return NULL;
    if (json_is_object(there) && json_is_object(here)) {
        for (int pass = 0; pass < 2 && !found; pass++) {
            json_object_foreach(pass ? here : there, key, value)
            {
                const char *inner = arena_printf(arena, "%s%s%s", path, *path ? "." : "", key);
                if (inner && !found)
                    found = difference(arena, inner, json_object_get(there, key), json_object_get(here, key));
            }
        }
        return found;
    }
    const char *a = short_text(arena, there), *b = short_text(arena, here);
    return a && b ? arena_printf(arena, "%s is %s there and %s here", path, a, b) : NULL;
}

static enum err compare(struct sweep *s, const char *path, json_t *here)
{
    struct arena arena = ARENA_INIT(FOLDER_ARENA);
    json_t *there = NULL;
    enum err e = json_file_parse(path, &there, &s->cli->fault);
    const char *what = e ? NULL : difference(&arena, "", there, here);
    if (!e && !json_equal(there, here))
        e = fault_set(&s->cli->fault, ERR_BAD_FILE, NULL,
                      "--out %s: holds another sweep: %s; give another folder, or the same command as then",
                      s->cli->options.out_dir, what ? what : "their sweep.json differ");
    json_decref(there);
    arena_release(&arena);
    return e;
}

static enum err claim(struct sweep *s)
{
    const char *dir = s->cli->options.out_dir, *path = path_in(&s->arena, dir, "sweep.json"),
               *single = path_in(&s->arena, dir, "run.json");
    json_t *here = sweep_json(s);
    char *text = here ? json_dumps(here, JSON_INDENT(2)) : NULL;
    enum err e = text && path && single ? ERR_OK : ERR_NO_MEMORY;
    if (!e && is_there(path))
        e = compare(s, path, here);
    else if (!e && is_there(single))
        e = fault_set(&s->cli->fault, ERR_BAD_FILE, NULL,
                      "--out %s: holds a single run (run.json); give another folder", dir);
    else if (!e)
        e = sim_put_file(dir, "sweep.json", text, strlen(text), &s->cli->fault);
    free(text);
    json_decref(here);
    return e;
}

/* -- which runs are done --------------------------------------------------------------------------------- */

/* Rounds go into mean.csv and a script of gnuplot as they stand, and a folder may come from elsewhere. */
static bool are_numbers(const struct csv *csv, int column)
{
    int64_t number;
    for (size_t i = 0; i < csv->num_rows; i++)
        if (str_to_i64(csv_cell(csv, i, column), &number) != ERR_OK)
            return false;
    return true;
}

/* Somebody may have changed or cut it; the means are taken from it. */
static bool is_whole(const char *metrics, const json_t *final, struct arena *arena)
{
    struct csv csv;
    struct fault ignored = FAULT_NONE;
    char *text = arena_strdup(arena, metrics);
    if (!text || csv_parse(text, arena, &csv, &ignored) != ERR_OK)
        return false;
    int round = csv_column(&csv, "round"), type = csv_column(&csv, "type");
    bool has_final = str_eq(json_text_at(final, "outcome"), "completed");
    int64_t rounds = json_integer_value(json_object_get(final, "rounds"));
    if (round < 0 || type < 0 || !are_numbers(&csv, round))
        return false;
    if (rounds < 0 || csv.num_rows < (size_t)rounds + has_final)
        return false;
    return !has_final || str_eq(csv_cell(&csv, csv.num_rows - 1, type), "final");
}

/* The numbers of the model's file, which stand behind its header, are those that the final line names. */
static bool is_its_model(const char *path, const json_t *final)
{
    struct buf file = BUF_INIT((size_t)LIMIT_MODEL_BYTES);
    struct fault ignored = FAULT_NONE;
    char hash[SHA256_HEX_SIZE] = "";
    uint64_t header = 0;
    if (file_read(path, &file, &ignored) == ERR_OK && file.len >= 8) {
        for (int i = 0; i < 8; i++)
            header |= (uint64_t)(uint8_t)file.data[i] << 8 * i;
        if (header <= file.len - 8 && sha256_hex(file.data + 8 + header, file.len - 8 - header, hash))
            hash[0] = '\0';
    }
    buf_release(&file);
    return *hash && str_eq(hash, json_text_at(final, "aggregate_sha256"));
}

/* What cannot be read, or came from other defaults, is done again. */
static enum err resume_run(struct sweep *s, struct sweep_run *run)
{
    struct arena arena = ARENA_INIT(FOLDER_ARENA);
    struct fault ignored = FAULT_NONE;
    json_t *done = NULL;
    char *metrics = NULL;
    const char *dir = sweep_run_folder(s, run, &arena), *path = dir ? path_in(&arena, dir, "run.json") : NULL,
               *model = dir ? path_in(&arena, dir, "model.safetensors") : NULL;
    enum err e = path && model ? ERR_OK : ERR_NO_MEMORY;
    bool is_done = !e && is_there(path) && json_file_parse(path, &done, &ignored) == ERR_OK &&
                   json_equal(json_object_get(done, "spec"), run->filled) &&
                   json_is_object(json_object_get(done, "final")) &&
                   sweep_read_metrics(s, run, &arena, &metrics, &ignored) == ERR_OK &&
                   is_whole(metrics, json_object_get(done, "final"), &arena) &&
                   is_its_model(model, json_object_get(done, "final"));
    if (is_done) {
        run->final = json_incref(json_object_get(done, "final"));
        if (sweep_judge(run, metrics) == ERR_OK) {
            run->state = SWEEP_RESUMED;
        } else {
            json_decref(run->final);
            run->final = NULL;
            run->is_failed = false;
        }
    }
    json_decref(done);
    arena_release(&arena);
    return e;
}

static enum err hold(struct sweep *s)
{
    const char *dir = s->cli->options.out_dir;
    s->lock_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->lock_fd < 0)
        return fault_set(&s->cli->fault, ERR_BAD_FILE, NULL, "--out %s: cannot be opened: %s", dir,
                         strerror(errno));
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fault_set(&s->cli->fault, ERR_CONFLICT, NULL,
                         "--out %s: another fedlane simulate is at work there", dir);
    return ERR_OK;
}

enum err sweep_folder_enter(struct sweep *s)
{
    if (!s->cli->options.out_dir)
        return ERR_OK;
    const char *dir = s->cli->options.out_dir;
    bool was_there = is_there(dir);
    enum err e = sim_make_folder(dir, &s->cli->fault);
    if (!e)
        e = hold(s);
    if (!e) {
        e = claim(s);
        if (e && !was_there)
            (void)rmdir(dir);
    }
    for (size_t i = 0; i < s->num_runs && !e; i++)
        e = resume_run(s, &s->runs[i]);
    return e;
}

void sweep_folder_leave(struct sweep *s)
{
    if (s->lock_fd >= 0)
        (void)close(s->lock_fd);
    s->lock_fd = -1;
}
