/* A whole core over the memory store, with a clock turned by hand and devices that make up their updates. */
#ifndef FEDLANE_TESTS_UNIT_CORE_LAB_H
#define FEDLANE_TESTS_UNIT_CORE_LAB_H

#include <string.h>
#include "common/crypto/sha256.h"
#include "common/json/json_spec.h"
#include "server/core/core.h"
#include "server/core/names.h"
#include "server/core/ops.h"
#include "tests/support/unit.h"

#define LAB_DEVICES    64
#define LAB_PARAMS     6 /* of the model of lab_spec: "0.weight" [2, 2] and "0.bias" [2] */
#define LAB_DATASET    "hand"
#define LAB_START_MS   1000000
#define LAB_MAX_TOPICS 256

struct lab {
    struct store *store;
    struct blobs *blobs;
    struct core *core;
    struct clock_fake clock;
    uint64_t entropy_at;
    struct arena arena; /* of everything that operations give out */
    struct fault fault; /* of the last operation */
    char devices[LAB_DEVICES][ID_SIZE];
    int64_t examples[LAB_DEVICES];
    const void *carried;             /* of the next files; NULL where the model carries nothing */
    char topics[LAB_MAX_TOPICS][64]; /* notified since lab_topics_clear */
    size_t num_topics;
};

void lab_open(struct lab *lab);
/* Over a store and blobs of the test's own; lab_close closes them. Operations that such a store refuses with
 * ERR_STORAGE_FULL or ERR_UNAVAILABLE are tried again, as clients do. */
void lab_open_over(struct lab *lab, struct store *store, struct blobs *blobs);
void lab_close(struct lab *lab);
/* The process ends, files and all; lab->store and lab->blobs are then set anew by the test, and it starts
 * again. */
void lab_close_files(struct lab *lab);
void lab_open_again(struct lab *lab);
/* A new core on what the old one left, as after a crash of the process. */
void lab_restart(struct lab *lab);

/* Of an operation by "tester". */
struct op_base lab_base(struct lab *lab);
/* Runs the operation, trying again as clients do; its fault is in lab->fault then. */
enum err lab_write(struct lab *lab, store_fn fn, void *op);

/* A small run of `changes` (JSON text, keys laid over deeply, null takes a key away). New reference. */
json_t *lab_spec(const char *changes);
json_t *lab_json(const char *text);
enum err lab_create(struct lab *lab, const char *changes, struct run_row *out);
const char *lab_submit(struct lab *lab, const char *changes); /* must be taken; returns the run's id */
enum err lab_action(struct lab *lab, const char *run_id, enum run_action action);
enum err lab_config(struct lab *lab, const char *run_id, const char *patch);

/* A device without a worker, with examples training examples and 2 test examples. */
enum err lab_register(struct lab *lab, int64_t ordinal, int64_t examples);
enum err lab_register_tests(struct lab *lab, int64_t ordinal, int64_t examples, int64_t test_examples);
void lab_devices(struct lab *lab, int count, int64_t examples); /* ordinals 0.. ; all must be taken */

/* A worker with its devices. body: JSON text, as of WORKER. */
enum err lab_enrol(struct lab *lab, const char *body, struct op_worker_register *op);
#define DEVICE(k, n)                                                                                         \
    "{\"dataset\": \"hand\", \"ordinal\": " #k ", \"num_examples\": " #n ", \"num_test_examples\": 2}"
#define WORKER(instance, devices)                                                                            \
    "{\"name\": \"w\", \"instance_id\": \"" instance "\", \"devices\": [" devices "]}"
const char *lab_secret(struct lab *lab); /* the SHA-256 of a new token, so to say */

/* core_advance; returns when there is work by the clock next. */
int64_t lab_advance(struct lab *lab);
void lab_wait(struct lab *lab, int64_t ms); /* turns the clock, then lab_advance */

/* The device's next task. False: nothing to do. */
bool lab_claim(struct lab *lab, int64_t ordinal, struct task_offer *out);

/* Puts a file as a device of this task would upload it. */
int64_t lab_put_file(struct lab *lab, const struct task_offer *offer, const float values[LAB_PARAMS],
                     char out_sha[SHA256_HEX_SIZE], int64_t *out_size);
/* Initial weights of a run; offer->model says its model. */
enum err lab_put_weights(struct lab *lab, const char *run_id, const struct task_offer *offer,
                         const float values[LAB_PARAMS]);
/* What a device that did `steps` of its work reports: everything echoed. */
struct task_report lab_report(struct lab *lab, const struct task_offer *offer, int64_t steps);
/* Uploads weights (or, for evaluate tasks that want it, a gradient) whose every parameter is `value`. */
enum err lab_send(struct lab *lab, const struct task_offer *offer, const struct task_report *report,
                  float value, struct op_task_update *out);
/* The same with all steps of the budget, values given, content "weights". */
enum err lab_send_values(struct lab *lab, const struct task_offer *offer, const struct task_report *report,
                         const float values[LAB_PARAMS], struct op_task_update *out);
enum err lab_fail(struct lab *lab, const struct task_offer *offer, const char *code,
                  const struct task_report *report);
/* Does the whole budget: weights of `value`, and where asked an evaluation with train loss `loss`, test loss
 * loss / 2 and one right of two. A dropped straggler says so. Must be taken. */
void lab_answer(struct lab *lab, const struct task_offer *offer, float value, double loss);
void lab_work(struct lab *lab, int64_t ordinal, float value, double loss); /* claims, then answers */
/* Lets every device of 0..count-1 answer whatever it has to until nothing is left. value(ordinal, round) =
 * ordinal + round. */
void lab_work_all(struct lab *lab, int count);

enum directive lab_directive(struct lab *lab, const struct task_offer *offer);

struct run_row lab_run(struct lab *lab, const char *run_id);
struct round_row lab_round(struct lab *lab, const char *run_id, int64_t n); /* must be there */
bool lab_has_round(struct lab *lab, const char *run_id, int64_t n);
struct model_row lab_model(struct lab *lab, const char *run_id, int64_t version);
void lab_params(struct lab *lab, const char *run_id, int64_t version, float out[LAB_PARAMS]);
size_t lab_tasks(struct lab *lab, const char *run_id, int64_t round, struct task_row **out);
const char *lab_said(struct lab *lab, const char *update_id); /* the report of an update */
double lab_metric(struct lab *lab, const char *run_id, int64_t round, const char *name,
                  int64_t ordinal); /* NaN if none */
size_t lab_count_runs(struct lab *lab);
size_t lab_count_events(struct lab *lab, const char *run_id, const char *type);
json_t *lab_event(struct lab *lab, const char *run_id,
                  const char *type); /* data of the last one; new reference or NULL */
struct token_row lab_token(struct lab *lab, const char *sha256); /* must be there */
void lab_topics_clear(struct lab *lab);
bool lab_was_notified(const struct lab *lab, const char *kind, const char *id);

#endif
