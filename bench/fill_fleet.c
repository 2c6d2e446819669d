/* A data directory with many registered devices and a run whose round is open: what a server meets under
 * load, made in seconds.
 *
 *     bench/fill_fleet DATA-DIR FLEET-FILE DEVICES TASKS FEATURES ROUNDS
 *
 * Registers DEVICES single devices of data set "fleet" (labels: site, one of 100; tier; half; a few have
 * "rare", one "last"), of which every second one has not been seen for long, and submits a run over all of
 * them that takes TASKS a round; its model is one dense layer of 10 units over FEATURES. ROUNDS rounds go by
 * in which no device answers; the next is open. FLEET-FILE gets a line "DEVICE-ID TOKEN" for each device.
 * Printed, as JSON: the run's id; how long selecting TASKS of DEVICES took, and each time that a round was
 * closed and the next opened, in ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "bench/fill.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/crypto/token.h"
#include "common/fl/schedule.h"
#include "server/core/ops.h"

#define AT_ONCE        1000 /* devices of one transaction */
#define HEARTBEAT_MS   3600000
#define LONG_AGO_MS    1000000000000
#define RARE_EVERY     10000
#define NUM_SITES      100
#define DEADLINE_S     3600
#define ROUND_MS       ((DEADLINE_S + 1) * 1000)
#define NUM_SELECTIONS 50
#define NUM_EXAMPLES   100

struct fill {
    struct service *service;
    struct clock_fake time;
    int64_t num_devices, num_tasks, num_features, num_rounds;
    int64_t next;
    FILE *list;
};

static json_t *device_body(int64_t k, int64_t num_devices)
{
    json_t *labels =
        json_pack("{s:o, s:s, s:s}", "site", json_sprintf("site-%02lld", (long long)(k % NUM_SITES)), "tier",
                  k % 3 ? "phone" : "desktop", "half", k % 2 ? "silent" : "seen");
    if (labels && k % RARE_EVERY == 0 && json_object_set_new(labels, "rare", json_string("yes")) != 0)
        return NULL;
    if (labels && k == num_devices - 1 && json_object_set_new(labels, "last", json_string("yes")) != 0)
        return NULL;
    return json_pack("{s:s, s:I, s:i, s:i, s:i, s:o, s:{s:i, s:s}}", "dataset", "fleet", "ordinal",
                     (json_int_t)k, "num_examples", NUM_EXAMPLES, "num_test_examples", 20, "classes", 10,
                     "labels", labels, "capabilities", "cores", 4, "os", "linux");
}

static enum err put_device(struct fill *f, struct store_txn *txn, struct arena *arena, int64_t k)
{
    char token[TOKEN_SIZE], sha256[SHA256_HEX_SIZE];
    (void)snprintf(token, sizeof token, "fl_%064llx", (unsigned long long)k);
    enum err e = token_hash(token, sha256);
    struct op_device_register op = {.base = {.core = service_core(f->service), .arena = arena, .caller = ""},
                                    .body = device_body(k, f->num_devices),
                                    .token_sha256 = sha256};
    if (!e)
        e = op.body ? op_device_register(txn, &op) : ERR_NO_MEMORY;
    json_decref(op.body);
    if (e)
        fill_failed("a device", e, op.base.fault.detail);
    (void)fprintf(f->list, "%s %s\n", op.out.id, token);
    op.out.last_seen_at = k % 2 ? LONG_AGO_MS : op.out.last_seen_at + f->num_rounds * ROUND_MS;
    return store_update(txn, RECORD_DEVICE, &op.out);
}

static enum err put_some(struct store_txn *txn, void *arg)
{
    struct fill *f = arg;
    struct arena arena = ARENA_INIT(64 * MIB);
    enum err e = ERR_OK;
    for (int64_t end = f->next + AT_ONCE; f->next < end && f->next < f->num_devices && !e; f->next++)
        e = put_device(f, txn, &arena, f->next);
    arena_release(&arena);
    return e;
}

static json_t *run_spec(const struct fill *f)
{
    return json_pack("{s:s, s:s, s:i, s:i, s:{s:[I], s:[{s:s, s:i}], s:s}, s:{s:s, s:{s:f}}, s:{s:i, s:f}, "
                     "s:{s:I, s:I}, s:{s:f}, s:{s:i, s:i, s:s}}",
                     "dataset", "fleet", "name", "load", "seed", 1, "num_rounds", 1000, "model", "input",
                     (json_int_t)f->num_features, "layers", "type", "dense", "units", 10, "init", "zeros",
                     "strategy", "name", "fedprox", "params", "proximal_mu", 1.0, "training", "local_epochs",
                     1, "learning_rate", 0.03, "selection", "devices_per_round", (json_int_t)f->num_tasks,
                     "population", (json_int_t)f->num_devices, "systems", "straggler_fraction", 0.0,
                     "reporting", "deadline_s", DEADLINE_S, "grace_s", 0, "on_too_few", "skip");
}

static double advance_ms(struct fill *f)
{
    int64_t next_ms, start_ns = mono_ns();
    enum err e = core_advance(service_core(f->service), &next_ms);
    if (e)
        fill_failed("opening a round", e, "");
    return (double)(mono_ns() - start_ns) / 1e6;
}

static void select_some(const struct fill *f)
{
    uint32_t *selected = malloc((size_t)f->num_tasks * sizeof *selected);
    int64_t start_ns = mono_ns();
    for (int64_t round = 0; round < NUM_SELECTIONS; round++) {
        enum err e = selected
                         ? schedule_select(1, round, (size_t)f->num_devices, (size_t)f->num_tasks, selected)
                         : ERR_NO_MEMORY;
        if (e)
            fill_failed("selecting", e, "");
    }
    (void)printf(", \"select_ms\": %.3f", (double)(mono_ns() - start_ns) / 1e6 / NUM_SELECTIONS);
    free(selected);
}

/* The devices are silent until the round's time is over, again and again. */
static void open_rounds(struct fill *f)
{
    struct arena arena = ARENA_INIT(64 * MIB);
    struct op_run_create op = {.base = {.core = service_core(f->service), .arena = &arena, .caller = ""},
                               .spec = run_spec(f)};
    enum err e = op.spec ? store_write_wait(service_store(f->service), op_run_create, &op) : ERR_NO_MEMORY;
    if (e)
        fill_failed("the run", e, op.base.fault.detail);
    (void)printf("{\"run\": \"%s\", \"start_ms\": %.0f", op.out.id, advance_ms(f));
    select_some(f);
    (void)printf(", \"rounds_ms\": [");
    for (int64_t i = 0; i < f->num_rounds; i++) {
        f->time.ms += ROUND_MS;
        (void)printf("%s%.2f", i ? ", " : "", advance_ms(f));
    }
    (void)printf("]}\n");
    json_decref(op.spec);
    arena_release(&arena);
}

int main(int argc, char **argv)
{
    struct fill f = {0};
    if (argc != 7 || str_to_i64(argv[3], &f.num_devices) || str_to_i64(argv[4], &f.num_tasks) ||
        str_to_i64(argv[5], &f.num_features) || str_to_i64(argv[6], &f.num_rounds) || f.num_devices < 1 ||
        f.num_tasks < 1 || f.num_features < 1 || f.num_rounds < 0) {
        (void)fputs("usage: bench/fill_fleet DATA-DIR FLEET-FILE DEVICES TASKS FEATURES ROUNDS\n", stderr);
        return 4;
    }
    (void)umask(0077);
    f.list = fopen(argv[2], "we");
    if (!f.list)
        fill_failed(argv[2], ERR_IO, "cannot be written");
    /* Started so long ago that its last round's deadline is still to come. */
    struct clock now = clock_system();
    f.time.ms = clock_now_ms(&now) - f.num_rounds * ROUND_MS;
    f.service = fill_service(argv[1], clock_fake(&f.time), HEARTBEAT_MS);
    while (f.next < f.num_devices) {
        enum err e = store_write_wait(service_store(f.service), put_some, &f);
        if (e)
            fill_failed("the devices", e, "");
    }
    if (fclose(f.list))
        fill_failed(argv[2], ERR_IO, "cannot be written");
    open_rounds(&f);
    (void)service_stop(f.service, 0);
    return 0;
}
