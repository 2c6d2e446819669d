#include "tests/unit/core/lab.h"

#include <pthread.h>

/* -- the machine ----------------------------------------------------------------------------------------- */

static enum err lab_entropy(void *ctx, void *out, size_t n)
{
    struct lab *lab = ctx;
    unsigned char *bytes = out;
    for (size_t i = 0; i < n; i++) {
        lab->entropy_at = lab->entropy_at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (unsigned char)(lab->entropy_at >> 33);
    }
    return ERR_OK;
}

/* They come from whichever thread commits. */
static pthread_mutex_t topics_lock = PTHREAD_MUTEX_INITIALIZER;

static void lab_notified(void *ctx, const char *topic)
{
    struct lab *lab = ctx;
    pthread_mutex_lock(&topics_lock);
    if (lab->num_topics < LAB_MAX_TOPICS)
        (void)snprintf(lab->topics[lab->num_topics++], sizeof lab->topics[0], "%s", topic);
    pthread_mutex_unlock(&topics_lock);
}

static void core_start(struct lab *lab)
{
    const struct core_config config = {
        .store = lab->store,
        .blobs = lab->blobs,
        .clock = clock_fake(&lab->clock),
        .entropy = {lab_entropy, lab},
        .heartbeat_ms = 10000,
    };
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(core_new(&config, &lab->core), ERR_OK);
    ck_assert_msg(core_recover(lab->core, &fault) == ERR_OK, "%s", fault.detail);
}

void lab_open_over(struct lab *lab, struct store *store, struct blobs *blobs)
{
    *lab = (struct lab){.store = store, .blobs = blobs, .clock = {LAB_START_MS}};
    arena_init(&lab->arena, 256 * MIB);
    lab_open_again(lab);
}

void lab_open(struct lab *lab)
{
    struct store *store;
    struct blobs *blobs;
    ck_assert_int_eq(store_memory_open(&store), ERR_OK);
    ck_assert_int_eq(blobs_memory_open(&blobs), ERR_OK);
    lab_open_over(lab, store, blobs);
}

void lab_close_files(struct lab *lab)
{
    core_free(lab->core);
    lab->store->ops->close(lab->store);
    lab->blobs->ops->close(lab->blobs);
}

void lab_open_again(struct lab *lab)
{
    lab->store->ops->listen(lab->store, lab_notified, lab);
    core_start(lab);
}

void lab_close(struct lab *lab)
{
    lab_close_files(lab);
    arena_release(&lab->arena);
}

void lab_restart(struct lab *lab)
{
    core_free(lab->core);
    core_start(lab);
}

static bool helps_to_retry(enum err e)
{
    return e == ERR_STORAGE_FULL || e == ERR_UNAVAILABLE;
}

int64_t lab_advance(struct lab *lab)
{
    int64_t next_ms;
    enum err e;
    do {
        e = core_advance(lab->core, &next_ms);
        ck_assert_msg(!e || next_ms <= lab->clock.ms + 1000, "after an error it says when to try again");
    } while (helps_to_retry(e));
    ck_assert_int_eq(e, ERR_OK);
    return next_ms;
}

void lab_wait(struct lab *lab, int64_t ms)
{
    lab->clock.ms += ms;
    lab_advance(lab);
}

void lab_topics_clear(struct lab *lab)
{
    lab->num_topics = 0;
}

bool lab_was_notified(const struct lab *lab, const char *kind, const char *id)
{
    char topic[64];
    (void)snprintf(topic, sizeof topic, "%s%s%s", kind, *id ? ":" : "", id);
    for (size_t i = 0; i < lab->num_topics; i++)
        if (strcmp(lab->topics[i], topic) == 0)
            return true;
    return false;
}

struct op_base lab_base(struct lab *lab)
{
    return (struct op_base){.core = lab->core, .arena = &lab->arena, .caller = "tester"};
}

enum err lab_write(struct lab *lab, store_fn fn, void *op)
{
    enum err e;
    do
        e = store_write_wait(lab->store, fn, op);
    while (helps_to_retry(e));
    lab->fault = ((struct op_base *)op)->fault;
    return e;
}

/* -- runs ------------------------------------------------------------------------------------------------ */

json_t *lab_json(const char *text)
{
    json_t *value = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_msg(json_text_parse(text, strlen(text), &value, &fault) == ERR_OK, "%s in %s", fault.detail,
                  text);
    return value;
}

static void lay_over(json_t *base, json_t *changes)
{
    const char *key;
    json_t *value;
    json_object_foreach(changes, key, value)
    {
        json_t *old = json_object_get(base, key);
        if (json_is_null(value))
            json_object_del(base, key);
        else if (json_is_object(value) && json_is_object(old))
            lay_over(old, value);
        else
            json_object_set(base, key, value);
    }
}

json_t *lab_spec(const char *changes)
{
    json_t *spec = lab_json(
        "{\"name\": \"small\", \"seed\": 1, \"num_rounds\": 2, \"dataset\": \"" LAB_DATASET "\","
        "\"model\": {\"input\": [2], \"layers\": [{\"type\": \"dense\", \"units\": 2}], \"init\": \"zeros\"},"
        "\"training\": {\"local_epochs\": 1, \"batch_size\": 1, \"learning_rate\": 0.1},"
        "\"strategy\": {\"name\": \"fedprox\", \"params\": {\"proximal_mu\": 0}},"
        "\"selection\": {\"devices_per_round\": 2, \"population\": 2},"
        "\"evaluation\": {\"on\": \"none\"},"
        "\"reporting\": {\"deadline_s\": 60, \"grace_s\": 5}}");
    json_t *overlay = lab_json(changes);
    lay_over(spec, overlay);
    json_decref(overlay);
    return spec;
}

enum err lab_create(struct lab *lab, const char *changes, struct run_row *out)
{
    struct op_run_create op = {.base = lab_base(lab), .spec = lab_spec(changes)};
    enum err e = lab_write(lab, op_run_create, &op);
    json_decref(op.spec);
    *out = op.out;
    return e;
}

const char *lab_submit(struct lab *lab, const char *changes)
{
    struct run_row run;
    enum err e = lab_create(lab, changes, &run);
    ck_assert_msg(e == ERR_OK, "%s: %s: %s", err_name(e), lab->fault.field, lab->fault.detail);
    lab_advance(lab);
    return run.id;
}

enum err lab_action(struct lab *lab, const char *run_id, enum run_action action)
{
    struct op_run_action op = {.base = lab_base(lab), .run_id = run_id, .action = action};
    enum err e = lab_write(lab, op_run_action, &op);
    lab_advance(lab);
    return e;
}

enum err lab_config(struct lab *lab, const char *run_id, const char *patch)
{
    struct op_run_config op = {.base = lab_base(lab), .run_id = run_id, .patch = lab_json(patch)};
    enum err e = lab_write(lab, op_run_config, &op);
    json_decref(op.patch);
    return e;
}
