/* A data directory full of finished runs, made in seconds: to look at and to measure the dashboard and its
 * routes with histories that real training would take days for.
 *
 *     bench/fill_runs DATA-DIR RUNS ROUNDS DEVICES [EVALUATORS]
 *
 * Each run is one of ROUNDS rounds with DEVICES selected in each and EVALUATORS others that only evaluate;
 * their losses, accuracies and steps are made up, their rows are those that the core writes. Start a server
 * on the folder afterwards. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "bench/fill.h"
#include "common/base/limits.h"
#include "common/base/rng.h"
#include "common/base/str.h"
#include "server/core/ops.h"

#define ROUNDS_AT_ONCE  50
#define HEARTBEAT_MS    10000
#define MS_PER_ROUND    2000
#define LATE_PERCENT    2
#define FAILED_PERCENT  1
#define DROPPED_PERCENT 5
#define PARTIAL_PERCENT 40

struct fill {
    struct service *service;
    int64_t num_rounds, num_devices, num_evaluators, start_ms;
    struct run_row run;
    int64_t next_round; /* of the piece that is being written */
};

static void id_of(uint64_t a, uint64_t b, uint64_t c, char out[ID_SIZE])
{
    uint64_t key = rng_key(a, b, c, 0, 0);
    (void)snprintf(out, ID_SIZE, "%016llx%016llx", (unsigned long long)(b << 32 | c),
                   (unsigned long long)key);
}

static double uniform(uint64_t key, uint64_t at)
{
    return (double)(rng_u64(key, at) >> 11) / 9007199254740992.0;
}

/* ---- a round ---- */

static enum err put_metric(struct store_txn *txn, const struct fill *f, const char *name, int64_t ordinal,
                           double value, double weight)
{
    struct metric_row row;
    record_init(RECORD_METRIC, &row);
    row.run_id = f->run.id;
    row.round = f->next_round;
    row.name = name;
    row.ordinal = ordinal;
    row.value = value;
    row.weight = weight;
    row.at = f->start_ms + (f->next_round + 1) * MS_PER_ROUND;
    return store_insert(txn, RECORD_METRIC, &row);
}

/* Of one device (or, with ordinal -1, of all); `lag` is how far from the mean it is. */
static enum err put_metrics(struct store_txn *txn, const struct fill *f, int64_t ordinal, double lag)
{
    double t = (double)f->next_round / (double)f->num_rounds, loss = 2.3 * exp(-3 * t) + 0.2 + 0.1 * lag;
    const struct {
        const char *name;
        double value;
    } all[] = {{"gamma", 0.5 + 0.2 * lag},      {"grad_norm_end", 0.3 + lag},
               {"grad_norm_start", 1.1 + lag},  {"test_accuracy", 1 - 0.9 * exp(-4 * t) - 0.05 * fabs(lag)},
               {"test_loss", loss + 0.1},       {"train_loss", loss},
               {"train_loss_end", loss * 0.8},  {"train_loss_start", loss},
               {"update_norm", 0.1 + fabs(lag)}};
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && !e; i++)
        e = put_metric(txn, f, all[i].name, ordinal, all[i].value, 100);
    static const char *const spread[] = {"test_accuracy_p10", "test_accuracy_p50", "test_accuracy_p90"};
    for (size_t i = 0; i < 3 && ordinal < 0 && !e; i++)
        e = put_metric(txn, f, spread[i], -1, 0.5 + 0.1 * (double)i, (double)f->num_devices);
    return e;
}

static void end_task(struct task_row *task, struct round_row *round, uint64_t key)
{
    double draw = 100 * uniform(key, 0);
    task->steps_done = task->steps_assigned;
    if (draw < LATE_PERCENT) {
        task->status = TASK_LATE;
        round->late++;
    } else if ((draw -= LATE_PERCENT) < FAILED_PERCENT) {
        task->status = TASK_FAILED;
        task->code = "out_of_memory";
        round->failed++;
    } else if ((draw -= FAILED_PERCENT) < DROPPED_PERCENT) {
        task->status = TASK_DROPPED;
        round->dropped++;
    } else {
        task->status = TASK_COMPLETED;
        task->is_partial = draw - DROPPED_PERCENT < PARTIAL_PERCENT;
        round->received++;
        round->partial += task->is_partial;
    }
    if (task->is_partial || task->status != TASK_COMPLETED)
        task->steps_done = (int64_t)((double)task->steps_assigned * uniform(key, 1));
    task->stop_reason = task->is_partial ? "budget" : "completed";
    round->steps_done += task->steps_done;
    round->steps_assigned += task->steps_assigned;
}

static enum err put_task(struct store_txn *txn, const struct fill *f, struct round_row *round,
                         int64_t ordinal)
{
    struct task_row task;
    char id[ID_SIZE], device[ID_SIZE], update[ID_SIZE];
    uint64_t key = rng_key((uint64_t)f->start_ms, (uint64_t)f->next_round, (uint64_t)ordinal, 7, 0);
    id_of(key, (uint64_t)f->next_round, (uint64_t)ordinal, id);
    id_of(1, 0, (uint64_t)ordinal, device);
    id_of(key + 1, (uint64_t)f->next_round, (uint64_t)ordinal, update);
    record_init(RECORD_TASK, &task);
    task.id = id;
    task.run_id = f->run.id;
    task.round = f->next_round;
    task.ordinal = ordinal;
    task.type = ordinal < f->num_devices ? TASK_TRAIN : TASK_EVALUATE;
    task.device_id = device;
    task.attempt = 1;
    task.model_version = f->next_round;
    task.num_examples = 100;
    task.steps_assigned = task.max_steps = 50 + (int64_t)(150 * uniform(key, 2));
    if (task.type == TASK_TRAIN)
        end_task(&task, round, key);
    else
        task.status = TASK_COMPLETED;
    task.update_id = task.type == TASK_TRAIN && task.status == TASK_COMPLETED ? update : "";
    task.report =
        "{\"attempt\":1,\"content\":\"weights\",\"num_examples\":100,\"steps_assigned\":180,\"steps_done\":"
        "90,"
        "\"samples_seen\":900,\"train_loss_start\":1.2345678901234567,\"train_loss_end\":0.9876543210987654,"
        "\"gamma\":0.4567890123456789,\"update_norm\":0.12345678901234567,\"compute_ms\":812.5,"
        "\"download_ms\":3.25,\"stop_reason\":\"budget\",\"eval_train_loss\":1.2345678901234567,"
        "\"eval_train_examples\":100,\"eval_test_loss\":1.3456789012345678,\"eval_test_examples\":20,"
        "\"eval_test_correct\":13}";
    task.created_at = round->opened_at;
    task.claimed_at = round->opened_at + 20;
    task.downloaded_at = round->opened_at + 40;
    task.trained_at = round->opened_at + 40 + 10 * task.steps_done;
    task.uploaded_at = task.trained_at + 15;
    enum err e = store_insert(txn, RECORD_TASK, &task);
    return e || task.type == TASK_EVALUATE ? e : put_metrics(txn, f, ordinal, uniform(key, 3) - 0.5);
}

static enum err put_round(struct store_txn *txn, const struct fill *f)
{
    struct round_row round;
    record_init(RECORD_ROUND, &round);
    round.run_id = f->run.id;
    round.n = f->next_round;
    round.type = ROUND_TRAIN;
    round.status = ROUND_CLOSED;
    round.outcome = ROUND_COMPLETED;
    round.model_version_in = f->next_round;
    round.model_version_out = f->next_round + 1;
    round.config = f->run.config;
    round.proximal_mu = 0.1;
    round.devices_per_round = round.selected = f->num_devices;
    round.evaluators = round.evaluated = f->num_evaluators;
    round.opened_at = round.training_at = f->start_ms + f->next_round * MS_PER_ROUND;
    round.aggregating_at = round.opened_at + MS_PER_ROUND - 100;
    round.closed_at = round.opened_at + MS_PER_ROUND;
    round.aggregate_sha256 = round.weights_sha256 =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    round.metrics =
        "{\"gamma\":0.51,\"grad_norm_end\":0.3,\"grad_norm_start\":1.1,\"test_accuracy\":0.8123456789,"
        "\"test_accuracy_p10\":0.5,\"test_accuracy_p50\":0.6,\"test_accuracy_p90\":0.7,\"test_loss\":0."
        "5123456789,"
        "\"train_loss\":0.4123456789,\"train_loss_end\":0.33,\"train_loss_start\":0.41,\"update_norm\":0.12}";
    round.mean_gamma = 0.51;
    enum err e = ERR_OK;
    for (int64_t k = 0; k < f->num_devices + f->num_evaluators && !e; k++)
        e = put_task(txn, f, &round, k);
    if (!e)
        e = put_metrics(txn, f, -1, 0);
    return e ? e : store_insert(txn, RECORD_ROUND, &round);
}

static enum err put_piece(struct store_txn *txn, void *arg)
{
    struct fill *f = arg;
    int64_t start = f->next_round, end = start + ROUNDS_AT_ONCE;
    enum err e = ERR_OK;
    for (; f->next_round < end && f->next_round < f->num_rounds && !e; f->next_round++)
        e = put_round(txn, f);
    return e;
}

/* ---- a run ---- */

static enum err put_devices(struct store_txn *txn, void *arg)
{
    struct fill *f = arg;
    enum err e = ERR_OK;
    for (int64_t k = 0; k < f->num_devices && !e; k++) {
        char device[ID_SIZE];
        struct run_device_row row;
        id_of(1, 0, (uint64_t)k, device);
        record_init(RECORD_RUN_DEVICE, &row);
        row.run_id = f->run.id;
        row.ordinal = row.position = k;
        row.device_id = device;
        row.num_examples = 100;
        row.num_test_examples = 20;
        e = store_insert(txn, RECORD_RUN_DEVICE, &row);
    }
    f->run.status = RUN_FINISHED;
    f->run.outcome = RUN_COMPLETED;
    f->run.status_reason = "all rounds are done";
    f->run.population = f->num_devices;
    f->run.round = f->run.model_version = f->num_rounds;
    f->run.started_at = f->start_ms;
    f->run.finished_at = f->start_ms + f->num_rounds * MS_PER_ROUND;
    return e ? e : store_update(txn, RECORD_RUN, &f->run);
}

static void write_all(struct fill *f, store_fn fn, const char *what)
{
    enum err e = store_write_wait(service_store(f->service), fn, f);
    if (e)
        fill_failed(what, e, "");
}

static void fill_run(struct fill *f, int64_t number)
{
    struct arena arena = ARENA_INIT(4 * MIB);
    json_t *spec = json_pack(
        "{s:s, s:o, s:I, s:I, s:b, s:{s:[i], s:[{s:s, s:i}]}, s:{s:s, s:{s:f}}, s:{s:f}, s:{s:I}}", "dataset",
        "made-up", "name", json_sprintf("made up %lld", (long long)number), "seed", (json_int_t)number,
        "num_rounds", (json_int_t)f->num_rounds, "autostart", 0, "model", "input", 2, "layers", "type",
        "dense", "units", 2, "strategy", "name", "fedprox", "params", "proximal_mu", 0.1 * (double)number,
        "training", "learning_rate", 0.03, "selection", "devices_per_round", (json_int_t)f->num_devices);
    struct op_run_create op = {.base = {.core = service_core(f->service), .arena = &arena, .caller = ""},
                               .spec = spec};
    enum err e = spec ? store_write_wait(service_store(f->service), op_run_create, &op) : ERR_NO_MEMORY;
    if (e)
        fill_failed("a run", e, op.base.fault.detail);
    f->run = op.out;
    f->start_ms = f->run.created_at - f->num_rounds * MS_PER_ROUND + number;
    write_all(f, put_devices, "a run");
    for (f->next_round = 0; f->next_round < f->num_rounds;)
        write_all(f, put_piece, "rounds");
    printf("%s\n", f->run.id);
    json_decref(spec);
    arena_release(&arena);
}

int main(int argc, char **argv)
{
    struct fill f = {0};
    int64_t num_runs;
    if (argc < 5 || argc > 6 || str_to_i64(argv[2], &num_runs) || str_to_i64(argv[3], &f.num_rounds) ||
        str_to_i64(argv[4], &f.num_devices) || f.num_rounds < 1 || f.num_devices < 1 ||
        (argc == 6 && str_to_i64(argv[5], &f.num_evaluators))) {
        (void)fprintf(stderr, "usage: bench/fill_runs DATA-DIR RUNS ROUNDS DEVICES [EVALUATORS]\n");
        return 4;
    }
    (void)umask(0077);
    f.service = fill_service(argv[1], clock_system(), HEARTBEAT_MS);
    for (int64_t i = 0; i < num_runs; i++)
        fill_run(&f, i);
    (void)service_stop(f.service, 0);
    return 0;
}
