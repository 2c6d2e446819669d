/* The devices of the data, as workers would register them. */
#include <stdio.h>
#include <stdlib.h>
#include "cli/simulate/sim_impl.h"
#include "common/base/str.h"
#include "common/crypto/sha256.h"
#include "worker/device_entry.h"

static json_t *worker_json(const struct dataset *data, size_t first, size_t count, size_t number)
{
    char name[64];
    (void)snprintf(name, sizeof name, "simulated-worker-%zu", number);
    json_t *devices = json_array();
    bool ok = devices != NULL;
    for (size_t i = first; ok && i < first + count; i++)
        ok = json_array_append_new(devices, device_entry("simulated", data, dataset_device(data, i))) == 0;
    json_t *body =
        ok ? json_pack("{s:s, s:s, s:O}", "name", name, "instance_id", name, "devices", devices) : NULL;
    json_decref(devices);
    return body;
}

static enum err register_worker(struct sim *s, size_t first, size_t count, size_t number, struct fault *fault)
{
    struct arena arena = ARENA_INIT(SIM_ARENA_MAX);
    char token_sha256[SHA256_HEX_SIZE];
    json_t *body = worker_json(s->data, first, count, number);
    struct op_worker_register op = {
        .base = {.core = s->core, .arena = &arena, .caller = ""}, .body = body, .token_sha256 = token_sha256};
    /* Nobody calls with it, but tokens are told apart by it. */
    enum err e = sha256_hex(&number, sizeof number, token_sha256);
    if (!e)
        e = body ? store_write_wait(s->store, op_worker_register, &op) : ERR_NO_MEMORY;
    if (!e)
        e = str_copy(s->worker_ids[number], sizeof s->worker_ids[number], op.out.id);
    else if (op.base.fault.err)
        *fault = op.base.fault;
    json_decref(body);
    arena_release(&arena);
    return e;
}

enum err sim_register(struct sim *s, struct fault *fault)
{
    size_t total = dataset_num_devices(s->data);
    s->num_workers = (total + LIMIT_DEVICES_PER_WORKER - 1) / LIMIT_DEVICES_PER_WORKER;
    s->worker_ids = calloc(s->num_workers, sizeof *s->worker_ids);
    enum err e = s->worker_ids || s->num_workers == 0 ? ERR_OK : ERR_NO_MEMORY;
    for (size_t i = 0; i < s->num_workers && !e; i++) {
        size_t first = i * LIMIT_DEVICES_PER_WORKER, rest = total - first;
        e = register_worker(s, first, rest < LIMIT_DEVICES_PER_WORKER ? rest : LIMIT_DEVICES_PER_WORKER, i,
                            fault);
    }
    return e;
}
