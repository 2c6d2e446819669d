/* Whole runs of the paper's experiments [arXiv 1812.06127, section 5], rounds of schedule, trainer and
 * average without a server, against an independent float64 implementation. Fashion-MNIST is left out where
 * its files are not installed. */
#include <math.h>
#include <string.h>
#include "common/data/dataset.h"
#include "common/fl/average.h"
#include "common/fl/proximal.h"
#include "common/fl/schedule.h"
#include "tests/support/unit.h"
#include "worker/trainer.h"

enum { K = 10, EPOCHS = 20, BATCH = 10 };

/* Under a sanitizer, which is slow, only the runs with the least work. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { NUM_SYNTHETIC = 1, NUM_FASHION_MNIST = 1 };
#else
enum { NUM_SYNTHETIC = 3, NUM_FASHION_MNIST = 2 };
#endif

struct experiment {
    const char *data; /* JSON without the seed */
    int features;
    int64_t rounds;
    uint64_t seed;
    double learning_rate, straggler_fraction, mu;
    bool drops_stragglers, has_dynamic_mu;
};

struct result {
    double train_loss, test_accuracy;
};

struct bench {
    const struct experiment *e;
    struct arch *arch;
    struct dataset *data;
    struct trainer *trainer;
    size_t n;
    real *w, *blocks[K];
};

static void open_bench(struct bench *b)
{
    struct fault fault = FAULT_NONE;
    json_t *model = json_pack("{s:[i], s:[{s:s, s:i}], s:s}", "input", b->e->features, "layers", "type",
                              "dense", "units", 10, "init", "zeros");
    ck_assert_int_eq(arch_parse(model, &b->arch, &fault), ERR_OK);
    ck_assert_int_eq(trainer_local.open(b->arch, b->data, BATCH, OPTIMIZER_SGD, &b->trainer, &fault), ERR_OK);
    b->n = (size_t)b->arch->tensors.num_params;
    b->w = calloc(b->n, sizeof *b->w);
    for (size_t i = 0; i < K; i++)
        b->blocks[i] = calloc(b->n, sizeof *b->w);
    json_decref(model);
}

static void close_bench(struct bench *b)
{
    trainer_local.close(b->trainer);
    for (size_t i = 0; i < K; i++)
        free(b->blocks[i]);
    free(b->w);
    dataset_free(b->data);
    arch_free(b->arch);
}

static struct result evaluate(struct bench *b)
{
    double loss = 0, examples = 0, correct = 0, tests = 0;
    for (size_t i = 0; i < dataset_num_devices(b->data); i++) {
        int64_t ordinal = dataset_device(b->data, i)->ordinal;
        struct evaluation train, test;
        ck_assert_int_eq(trainer_local.evaluate(b->trainer, ordinal, SPLIT_TRAIN, b->w, &train), ERR_OK);
        ck_assert_int_eq(trainer_local.evaluate(b->trainer, ordinal, SPLIT_TEST, b->w, &test), ERR_OK);
        loss += train.examples ? train.loss * (double)train.examples : 0;
        examples += (double)train.examples;
        correct += (double)test.correct;
        tests += (double)test.examples;
    }
    return (struct result){loss / examples, correct / tests};
}

static void train(struct bench *b, int64_t round, int64_t ordinal, int64_t steps, double mu, real *out)
{
    const struct train_job job = {.ordinal = ordinal,
                                  .round = round,
                                  .seed = b->e->seed,
                                  .local_steps = steps,
                                  .batch_size = BATCH,
                                  .learning_rate = b->e->learning_rate,
                                  .proximal_mu = mu};
    struct train_progress p;
    bool is_done = false;
    ck_assert_int_eq(trainer_local.begin(b->trainer, &job, b->w, NULL), ERR_OK);
    ck_assert_int_eq(trainer_local.step(b->trainer, steps, &is_done), ERR_OK);
    ck_assert(is_done);
    ck_assert_int_eq(trainer_local.snapshot(b->trainer, out, &p), ERR_OK);
    trainer_local.end(b->trainer);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Positions of the selection that report, as ascending ordinals with their steps. */
static size_t plan_round(struct bench *b, int64_t round, uint32_t *out_ordinals, int64_t *out_steps)
{
    uint32_t selected[K], ranks[K], sorted[K];
    size_t active = schedule_num_active(K, b->e->straggler_fraction), n = 0;
    ck_assert_int_eq(schedule_select(b->e->seed, round, dataset_num_devices(b->data), K, selected), ERR_OK);
    ck_assert_int_eq(schedule_straggler_ranks(b->e->seed, round, K, ranks), ERR_OK);
    memcpy(sorted, selected, sizeof sorted);
    qsort(sorted, K, sizeof *sorted, compare);
    for (size_t s = 0; s < K; s++) {
        size_t i = 0;
        while (selected[i] != sorted[s])
            i++;
        int64_t examples = (int64_t)dataset_find(b->data, sorted[s])->num_train;
        if (ranks[i] >= active && b->e->drops_stragglers)
            continue;
        out_ordinals[n] = sorted[s];
        out_steps[n++] = ranks[i] < active ? schedule_full_steps(examples, BATCH, EPOCHS, 0)
                                           : schedule_straggler_steps(b->e->seed, round, sorted[s], examples,
                                                                      BATCH, EPOCHS, 0);
    }
    return n;
}

static void run_round(struct bench *b, int64_t round, double mu)
{
    uint32_t selected[K];
    int64_t steps[K], ordinals[K], examples[K];
    double weights[K];
    size_t n = plan_round(b, round, selected, steps);
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        ordinals[i] = selected[i];
        examples[i] = (int64_t)dataset_find(b->data, ordinals[i])->num_train;
        train(b, round, ordinals[i], steps[i], mu, b->blocks[i]);
    }
    ck_assert_int_eq(average_weights(WEIGHTING_NUM_EXAMPLES, 1, examples, n, weights, NULL), ERR_OK);
    ck_assert_int_eq(average_blocks(ordinals, weights, (const real *const *)b->blocks, n, b->n, b->w),
                     ERR_OK);
}

/* false where the data set is not installed */
static bool run(const struct experiment *e, struct result *out)
{
    struct fault fault = FAULT_NONE;
    struct bench b = {.e = e};
    json_t *data = json_loads(e->data, 0, NULL);
    struct dynamic_mu mu = dynamic_mu_start(e->mu, 0.1, 5);
    ck_assert_ptr_nonnull(data);
    enum err err = dataset_load(data, e->seed, &b.data, &fault);
    json_decref(data);
    if (err && strstr(e->data, "fashion_mnist")) {
        (void)printf("left out: %s\n", fault.detail);
        return false;
    }
    ck_assert_msg(!err, "%s", fault.detail);
    open_bench(&b);
    for (int64_t round = 0; round < e->rounds; round++) {
        if (e->has_dynamic_mu)
            dynamic_mu_observe(&mu, evaluate(&b).train_loss);
        run_round(&b, round, mu.mu);
    }
    *out = evaluate(&b);
    close_bench(&b);
    return true;
}

static struct experiment synthetic(double mu)
{
    return (struct experiment){.data = "{\"source\": \"synthetic\", \"alpha\": 1, \"beta\": 1}",
                               .features = 60,
                               .rounds = 200,
                               .seed = 6,
                               .learning_rate = 0.01,
                               .straggler_fraction = 0.9,
                               .mu = mu};
}

#ifdef FEDLANE_FLOAT64
/* Two hundred rounds to the last digits, or ten. */
START_TEST(test_synthetic_in_float64)
{
    json_t *root = unit_golden("paper_golden.json");
    const json_t *golden = json_object_get(
        json_object_get(json_object_get(json_object_get(root, "datasets"), "synthetic_1_1"), "runs"),
        "fedprox_mu1_strag90");
    struct experiment e = synthetic(1);
    struct result r;
    e.seed = 1;
    e.rounds = unit_is_full() ? 200 : 10;
    const json_t *losses =
        json_object_get(golden, unit_is_full() ? "final_train_loss_per_seed" : "train_loss_round10_per_seed");
    ck_assert(run(&e, &r));
    double expected = json_number_value(json_array_get(losses, 0));
    (void)printf("%lld rounds: loss off by %.2g\n", (long long)e.rounds, r.train_loss - expected);
    ck_assert_msg(fabs(r.train_loss - expected) <= 1e-9, "loss %.15f, expected %.15f", r.train_loss,
                  expected);
    json_decref(root);
}
END_TEST
#else
static void ck_final(const json_t *runs, const char *name, size_t seed_index, const struct experiment *e)
{
    const json_t *golden = json_object_get(runs, name);
    const json_t *losses = json_object_get(golden, "final_train_loss_per_seed");
    const json_t *accuracies = json_object_get(golden, "final_test_acc_per_seed");
    struct result r;
    ck_assert_msg(json_is_array(losses), "golden: no run %s", name);
    if (!run(e, &r))
        return;
    double loss = json_number_value(json_array_get(losses, seed_index));
    double accuracy = json_number_value(json_array_get(accuracies, seed_index));
    (void)printf("%s: loss off by %.2g, accuracy by %.2g\n", name, r.train_loss - loss,
                 r.test_accuracy - accuracy);
    ck_assert_msg(fabs(r.train_loss - loss) <= 2e-4, "%s: loss %.6f, expected %.6f", name, r.train_loss,
                  loss);
    ck_assert_msg(fabs(r.test_accuracy - accuracy) <= 0.0015, "%s: accuracy %.6f, expected %.6f", name,
                  r.test_accuracy, accuracy);
}

START_TEST(test_synthetic)
{
    json_t *root = unit_golden("paper_golden.json");
    const json_t *runs =
        json_object_get(json_object_get(json_object_get(root, "datasets"), "synthetic_1_1"), "runs");
    struct experiment e = synthetic(_i == 1 ? 1 : 0);
    if (_i == 0) {
        e.drops_stragglers = true;
        ck_final(runs, "fedavg_mu0_strag90", 5, &e);
    } else if (_i == 1) {
        ck_final(runs, "fedprox_mu1_strag90", 5, &e);
    } else {
        e.has_dynamic_mu = true;
        ck_final(runs, "fedprox_mudyn0_strag90", 5, &e);
    }
    json_decref(root);
}
END_TEST

START_TEST(test_fashion_mnist)
{
    json_t *root = unit_golden("fmnist_golden.json");
    const json_t *runs = json_object_get(root, "runs");
    struct experiment e = synthetic(_i);
    e.data = "{\"source\": \"fashion_mnist\"}";
    e.features = 784;
    e.rounds = 100;
    e.seed = 1;
    e.learning_rate = 0.03;
    e.drops_stragglers = _i == 0;
    ck_final(runs, _i == 0 ? "fedavg_mu0_strag90" : "fedprox_mu1_strag90", 0, &e);
    json_decref(root);
}
END_TEST

#endif

int main(void)
{
    Suite *suite = suite_create("paper");
    TCase *tc = unit_case("paper");
#ifdef FEDLANE_FLOAT64
    tcase_add_test(tc, test_synthetic_in_float64);
#else
    tcase_add_loop_test(tc, test_synthetic, 0, NUM_SYNTHETIC);
    tcase_add_loop_test(tc, test_fashion_mnist, 0, NUM_FASHION_MNIST);
#endif
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
