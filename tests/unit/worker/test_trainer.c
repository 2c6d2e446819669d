/* The in-process trainer against an independent float64 implementation (tiny_golden.json), and the mistakes
 * that others made: docs/algorithms.md lists them. Compiled for float64 it agrees with the golden numbers to
 * 1e-9. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/fl/average.h"
#include "common/fl/dissimilarity.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/unit.h"
#include "worker/trainer.h"

#ifdef FEDLANE_FLOAT64
#define TOLERANCE(float32) 1e-9
#else
#define TOLERANCE(float32) (float32)
#endif

enum { TINY = 15, TINY_SEED = 7 }; /* parameters of the tiny model; the seed whose streams give its batches */

static const struct trainer_ops *const ops = &trainer_local;

static struct arch *make_arch(int features, int hidden, int classes)
{
    struct arch *a = NULL;
    json_t *model =
        hidden ? json_pack("{s:[i], s:[{s:s, s:i}, {s:s}, {s:s, s:i}]}", "input", features, "layers", "type",
                           "dense", "units", hidden, "type", "relu", "type", "dense", "units", classes)
               : json_pack("{s:[i], s:[{s:s, s:i}]}", "input", features, "layers", "type", "dense", "units",
                           classes);
    ck_assert_int_eq(arch_parse(model, &a, NULL), ERR_OK);
    json_decref(model);
    return a;
}

static struct trainer *open_trainer(const struct arch *arch, const struct dataset *data, int64_t batch_size)
{
    struct trainer *t = NULL;
    ck_assert_int_eq(ops->open(arch, data, batch_size, &t, NULL), ERR_OK);
    return t;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_number(value), "golden: no number %s", key);
    return json_number_value(value);
}

static void read_params(const json_t *list, real *out)
{
    ck_assert_uint_eq(json_array_size(list), TINY);
    for (size_t i = 0; i < TINY; i++)
        out[i] = (real)json_number_value(json_array_get(list, i));
}

static void ck_params(const real *got, const json_t *expected, const char *what)
{
    ck_assert_uint_eq(json_array_size(expected), TINY);
    for (size_t i = 0; i < TINY; i++) {
        double e = json_number_value(json_array_get(expected, i));
        ck_assert_msg(fabs((double)got[i] - e) <= TOLERANCE(2e-6), "%s: weight %zu is %.9g, expected %.9g",
                      what, i, (double)got[i], e);
    }
}

struct tiny {
    json_t *golden;
    struct arch *arch;
    struct dataset *data;
    struct trainer *trainer;
};

static struct tiny open_tiny(void)
{
    struct tiny t = {.golden = unit_golden("tiny_golden.json"), .arch = make_arch(4, 0, 3)};
    t.data = memory_dataset_tiny(t.golden);
    t.trainer = open_trainer(t.arch, t.data, 2);
    return t;
}

static void close_tiny(struct tiny *t)
{
    ops->close(t->trainer);
    dataset_free(t->data);
    arch_free(t->arch);
    json_decref(t->golden);
}

/* Before a round: loss, accuracy, gradient norm, variances and dissimilarity of w over all devices. */
static void ck_metrics(struct tiny *t, const real *w, const json_t *expected)
{
    double loss = 0, examples = 0, correct = 0, tests = 0;
    real gradient[TINY];
    struct dissimilarity d;
    struct dissimilarity_result r;
    ck_assert_int_eq(dissimilarity_init(&d, TINY), ERR_OK);
    dissimilarity_begin(&d, TINY);
    for (int64_t k = 0; k < 5; k++) {
        struct evaluation train, test;
        ck_assert_int_eq(ops->evaluate(t->trainer, k, SPLIT_TRAIN, w, &train), ERR_OK);
        ck_assert_int_eq(ops->evaluate(t->trainer, k, SPLIT_TEST, w, &test), ERR_OK);
        ck_assert_int_eq(ops->gradient(t->trainer, k, w, gradient), ERR_OK);
        dissimilarity_add(&d, k, train.examples, gradient);
        loss += train.loss * (double)train.examples;
        examples += (double)train.examples;
        correct += (double)test.correct;
        tests += (double)test.examples;
    }
    dissimilarity_end(&d);
    ck_assert_int_eq(dissimilarity_finish(&d, &r), ERR_OK);
    dissimilarity_release(&d);
    ck_assert_double_eq_tol(loss / examples, number(expected, "train_loss"), TOLERANCE(2e-6));
    ck_assert_double_eq_tol(correct / tests, number(expected, "test_acc"), 1e-12);
    ck_assert_double_eq_tol(r.grad_norm, number(expected, "grad_norm"), TOLERANCE(1e-5));
    ck_assert_double_eq_tol(r.grad_variance_uniform, number(expected, "grad_var_uniform"), TOLERANCE(1e-5));
    ck_assert_double_eq_tol(r.grad_variance_weighted, number(expected, "grad_var_weighted"), TOLERANCE(1e-5));
    ck_assert_double_eq_tol(r.b, number(expected, "B_dissimilarity"), TOLERANCE(1e-5));
}

/* One participant's steps, each compared; leaves its weights in out_w. */
static void ck_participant(struct tiny *t, const struct train_job *job, const json_t *expected,
                           const real *w_t, real *out_w)
{
    const json_t *steps = json_object_get(expected, "steps");
    struct train_progress p;
    bool is_done = false;
    ck_assert_int_eq(ops->begin(t->trainer, job, w_t, NULL), ERR_OK);
    ck_assert_uint_gt(json_array_size(steps), 0);
    for (size_t s = 0; s < json_array_size(steps); s++) {
        ck_assert(!is_done);
        ck_assert_int_eq(ops->step(t->trainer, 1, &is_done), ERR_OK);
        ck_assert_int_eq(ops->snapshot(t->trainer, out_w, &p), ERR_OK);
        ck_params(out_w, json_array_get(steps, s), "step");
        ck_assert_int_eq(p.steps_done, (int64_t)s + 1);
    }
    ck_assert(is_done);
    ck_assert_int_eq(p.steps_assigned, p.steps_done);
    ck_assert_double_eq_tol(p.gamma, number(expected, "gamma"), TOLERANCE(1e-5));
    ck_assert_double_eq_tol(p.update_norm, number(expected, "dist"), TOLERANCE(1e-5));
    struct evaluation e;
    ck_assert_int_eq(ops->evaluate(t->trainer, job->ordinal, SPLIT_TRAIN, out_w, &e), ERR_OK);
    ck_assert_double_eq_tol(e.loss, number(expected, "F"), TOLERANCE(1e-5));
    ck_assert_double_eq_tol(e.loss + job->proximal_mu / 2 * p.update_norm * p.update_norm,
                            number(expected, "h"), TOLERANCE(1e-5));
    ops->end(t->trainer);
}

static void sort_updates(int64_t *ordinals, double *weights, real (*blocks)[TINY], size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t j = i; j > 0 && ordinals[j] < ordinals[j - 1]; j--) {
            int64_t o = ordinals[j];
            double weight = weights[j];
            real block[TINY];
            memcpy(block, blocks[j], sizeof block);
            ordinals[j] = ordinals[j - 1], weights[j] = weights[j - 1];
            memcpy(blocks[j], blocks[j - 1], sizeof block);
            ordinals[j - 1] = o, weights[j - 1] = weight;
            memcpy(blocks[j - 1], block, sizeof block);
        }
    }
}

static void ck_round(struct tiny *t, int64_t round, double mu, enum weighting weighting,
                     const json_t *expected, real *w)
{
    const json_t *clients = json_object_get(expected, "clients");
    int64_t ordinals[5], examples[5];
    double weights[5];
    real blocks[5][TINY];
    const real *values[5];
    size_t n = json_array_size(clients);
    ck_assert_uint_gt(n, 0);
    for (size_t i = 0; i < n; i++) {
        const json_t *client = json_array_get(clients, i);
        ordinals[i] = json_integer_value(json_object_get(client, "client"));
        examples[i] = (int64_t)dataset_find(t->data, ordinals[i])->num_train;
        const struct train_job job = {.ordinal = ordinals[i],
                                      .round = round,
                                      .seed = TINY_SEED,
                                      .local_epochs = json_integer_value(json_object_get(client, "epochs")),
                                      .batch_size = 2,
                                      .learning_rate = 0.1,
                                      .proximal_mu = mu,
                                      .want_gamma = true};
        ck_participant(t, &job, client, w, blocks[i]);
    }
    ck_assert_int_eq(average_weights(weighting, 1, examples, n, weights, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++)
        ck_assert(weights[i] == number(json_array_get(clients, i), "weight"));
    sort_updates(ordinals, weights, blocks, n);
    for (size_t i = 0; i < n; i++)
        values[i] = blocks[i];
    ck_assert_int_eq(average_blocks(ordinals, weights, values, n, TINY, w), ERR_OK);
    ck_params(w, json_object_get(expected, "global_weights"), "aggregate");
    ck_metrics(t, w, json_object_get(expected, "metrics"));
}

static void ck_run(const char *name, double mu, enum weighting weighting)
{
    struct tiny t = open_tiny();
    const json_t *run = json_object_get(json_object_get(t.golden, "runs"), name);
    const json_t *rounds = json_object_get(run, "rounds");
    real w[TINY];
    read_params(json_object_get(t.golden, "w0"), w);
    ck_metrics(&t, w, json_object_get(run, "init_metrics"));
    ck_assert_uint_eq(json_array_size(rounds), 3);
    for (size_t r = 0; r < 3; r++)
        ck_round(&t, (int64_t)r, mu, weighting, json_array_get(rounds, r), w);
    close_tiny(&t);
}

START_TEST(test_golden_fedavg_that_drops)
{
    ck_run("fedavg_drop", 0, WEIGHTING_NUM_EXAMPLES);
}
END_TEST

START_TEST(test_golden_fedprox_mu_0)
{
    ck_run("fedprox_mu0", 0, WEIGHTING_NUM_EXAMPLES);
}
END_TEST

START_TEST(test_golden_fedprox_mu_half)
{
    ck_run("fedprox_mu0.5", 0.5, WEIGHTING_NUM_EXAMPLES);
}
END_TEST

START_TEST(test_golden_plain_mean)
{
    ck_run("fedprox_mu0.5_simple_average", 0.5, WEIGHTING_UNIFORM);
}
END_TEST

/* The golden's explicit batches are the ones that seed 7's streams give. */
START_TEST(test_golden_batches_are_the_streams)
{
    json_t *golden = unit_golden("tiny_golden.json");
    const json_t *schedule = json_object_get(golden, "schedule");
    for (size_t round = 0; round < json_array_size(schedule); round++) {
        const char *ordinal;
        json_t *epochs;
        json_object_foreach(json_object_get(json_array_get(schedule, round), "batches"), ordinal, epochs)
        {
            for (size_t e = 0; e < json_array_size(epochs); e++) {
                uint32_t order[8];
                size_t at = 0, b, i, n = 0;
                json_t *batch, *index;
                json_array_foreach(json_array_get(epochs, e), b, batch) n += json_array_size(batch);
                ck_assert_int_eq(
                    rng_permutation(rng_key(TINY_SEED, RNG_BATCHES, round, strtoull(ordinal, NULL, 10), e),
                                    order, n),
                    ERR_OK);
                json_array_foreach(json_array_get(epochs, e), b, batch)
                {
                    json_array_foreach(batch, i, index)
                        ck_assert_int_eq(order[at++], json_integer_value(index));
                }
            }
        }
    }
    json_decref(golden);
}
END_TEST

START_TEST(test_golden_proximal_gradients)
{
    struct tiny t = open_tiny();
    const json_t *checks = json_object_get(t.golden, "prox_gradient_checks");
    ck_assert_uint_eq(json_array_size(checks), 5);
    for (size_t c = 0; c < 5; c++) {
        const json_t *check = json_array_get(checks, c);
        const json_t *grad_f = json_object_get(check, "grad_F"), *grad_h = json_object_get(check, "grad_h");
        real w[TINY], w_t[TINY], gradient[TINY];
        double mu = number(check, "mu"), h = 0, start = 0, distance = 0;
        int64_t ordinal = json_integer_value(json_object_get(check, "client"));
        struct evaluation e;
        read_params(json_object_get(check, "w"), w);
        read_params(json_object_get(check, "w_t"), w_t);
        ck_assert_int_eq(ops->gradient(t.trainer, ordinal, w, gradient), ERR_OK);
        for (size_t i = 0; i < TINY; i++) {
            double difference = (double)w[i] - (double)w_t[i], here = (double)gradient[i] + mu * difference;
            ck_assert_double_eq_tol((double)gradient[i], json_number_value(json_array_get(grad_f, i)),
                                    TOLERANCE(2e-6));
            ck_assert_double_eq_tol(here, json_number_value(json_array_get(grad_h, i)), TOLERANCE(2e-6));
            h += here * here;
            distance += difference * difference;
        }
        ck_assert_int_eq(ops->evaluate(t.trainer, ordinal, SPLIT_TRAIN, w, &e), ERR_OK);
        ck_assert_double_eq_tol(e.loss, number(check, "F"), TOLERANCE(1e-5));
        ck_assert_double_eq_tol(e.loss + mu / 2 * distance, number(check, "h"), TOLERANCE(1e-5));
        ck_assert_double_eq_tol(sqrt(h), number(check, "norm_grad_h_w"), TOLERANCE(1e-5));
        ck_assert_int_eq(ops->gradient(t.trainer, ordinal, w_t, gradient), ERR_OK);
        for (size_t i = 0; i < TINY; i++)
            start += (double)gradient[i] * (double)gradient[i];
        ck_assert_double_eq_tol(sqrt(start), number(check, "norm_grad_h_wt"), TOLERANCE(1e-5));
        ck_assert_double_eq_tol(sqrt(h / start), number(check, "gamma"),
                                TOLERANCE(1e-5) * (1 + number(check, "gamma")));
    }
    close_tiny(&t);
}
END_TEST

/* ---- behaviour, on random data ---- */

enum { FEATURES = 12, CLASSES = 5 };

static const size_t train_sizes[] = {23, 40, 1, 0, 130};
enum { NUM_DEVICES = 5 };

struct bed {
    struct arch *arch;
    struct dataset *data;
    struct trainer *trainer;
    size_t n;
    real *w0, *w;
};

static struct bed open_bed(int hidden)
{
    struct bed b = {.arch = make_arch(FEATURES, hidden, CLASSES),
                    .data = memory_dataset_new(FEATURES, CLASSES)};
    for (size_t k = 0; k < NUM_DEVICES; k++)
        memory_dataset_add_random(b.data, (int64_t)(10 * k), train_sizes[k], k == 2 ? 0 : 9);
    b.n = (size_t)b.arch->tensors.num_params;
    b.w0 = calloc(b.n, sizeof *b.w0);
    b.w = calloc(b.n, sizeof *b.w);
    float *initial = calloc(b.n, sizeof *initial);
    ck_assert(b.w0 && b.w && initial);
    ck_assert_int_eq(arch_init_params(b.arch, 1, initial), ERR_OK);
    for (size_t i = 0; i < b.n; i++)
        b.w0[i] = initial[i];
    free(initial);
    b.trainer = open_trainer(b.arch, b.data, 10);
    return b;
}

static void close_bed(struct bed *b)
{
    ops->close(b->trainer);
    dataset_free(b->data);
    arch_free(b->arch);
    free(b->w0);
    free(b->w);
}

static struct train_job make_job(int64_t ordinal, int64_t epochs, int64_t steps, double mu)
{
    return (struct train_job){.ordinal = ordinal,
                              .round = 3,
                              .seed = 5,
                              .local_epochs = epochs,
                              .local_steps = steps,
                              .batch_size = 10,
                              .learning_rate = 0.1,
                              .proximal_mu = mu};
}

/* A whole job in pieces of `piece` steps. */
static struct train_progress run_job(struct bed *b, struct train_job job, int64_t piece, real *out_w)
{
    struct train_progress p;
    bool is_done = false;
    ck_assert_int_eq(ops->begin(b->trainer, &job, b->w0, NULL), ERR_OK);
    while (!is_done)
        ck_assert_int_eq(ops->step(b->trainer, piece, &is_done), ERR_OK);
    ck_assert_int_eq(ops->snapshot(b->trainer, out_w, &p), ERR_OK);
    ops->end(b->trainer);
    return p;
}

START_TEST(test_mu_shows_from_the_second_step_on)
{
    struct bed b = open_bed(_i);
    real *other = calloc(b.n, sizeof *other);
    struct train_progress free_run, held;
    run_job(&b, make_job(0, 0, 1, 0), 1, b.w);
    run_job(&b, make_job(0, 0, 1, 0.5), 1, other);
    for (size_t i = 0; i < b.n; i++)
        ck_assert(b.w[i] == other[i]); /* at the anchor the term is 0 */
    free_run = run_job(&b, make_job(0, 0, 2, 0), 1, b.w);
    held = run_job(&b, make_job(0, 0, 2, 0.5), 1, other);
    ck_assert(memcmp(b.w, other, b.n * sizeof *other) != 0);
    ck_assert_double_lt(held.update_norm, free_run.update_norm);
    /* also in steps that come after many (counted in steps or in epochs), and the anchor does not follow */
    held = run_job(&b, make_job(0, 20, 0, 5), 7, other);
    free_run = run_job(&b, make_job(0, 20, 0, 0), 7, b.w);
    ck_assert_double_lt(held.update_norm, 0.5 * free_run.update_norm);
    held = run_job(&b, make_job(0, 0, 60, 5), 7, b.w);
    ck_assert_mem_eq(b.w, other, b.n * sizeof *other); /* 20 epochs of 23 examples are 60 steps */
    free(other);
    close_bed(&b);
}
END_TEST

/* Two steps by hand: the second has mu (w1 - w0), elementwise in every tensor. */
START_TEST(test_the_term_is_elementwise)
{
    struct bed b = open_bed(6);
    real *plain = calloc(b.n, sizeof *plain), *first = calloc(b.n, sizeof *first);
    run_job(&b, make_job(40, 0, 1, 0), 1, first);
    run_job(&b, make_job(40, 0, 2, 0), 1, plain);
    run_job(&b, make_job(40, 0, 2, 0.75), 1, b.w);
    for (size_t i = 0; i < b.n; i++) {
        double term = 0.75 * ((double)first[i] - (double)b.w0[i]);
        ck_assert_double_eq_tol((double)b.w[i], (double)plain[i] - 0.1 * term, 5e-7);
    }
    free(plain);
    free(first);
    close_bed(&b);
}
END_TEST

START_TEST(test_pieces_and_snapshots_do_not_change_the_bits)
{
    struct bed b = open_bed(6);
    real *whole = calloc(b.n, sizeof *whole);
    struct train_job job = make_job(10, 3, 0, 0.5);
    struct evaluation e;
    struct train_progress p;
    bool is_done = false;
    run_job(&b, job, 1000, whole);
    run_job(&b, job, 1, b.w);
    ck_assert_mem_eq(b.w, whole, b.n * sizeof *whole);
    job.want_gamma = true;
    ck_assert_int_eq(ops->begin(b.trainer, &job, b.w0, NULL), ERR_OK);
    while (!is_done) {
        ck_assert_int_eq(ops->step(b.trainer, 1, &is_done), ERR_OK);
        ck_assert_int_eq(ops->snapshot(b.trainer, b.w, &p), ERR_OK);
        ck_assert_int_eq(ops->evaluate(b.trainer, 40, SPLIT_TRAIN, b.w0, &e), ERR_OK);
        ck_assert_int_eq(ops->gradient(b.trainer, 40, b.w0, b.w), ERR_OK);
    }
    ck_assert_int_eq(ops->snapshot(b.trainer, b.w, &p), ERR_OK);
    ck_assert_mem_eq(b.w, whole, b.n * sizeof *whole);
    ck_assert_int_eq(p.steps_done, 12);
    ops->end(b.trainer);
    free(whole);
    close_bed(&b);
}
END_TEST

START_TEST(test_a_trainer_keeps_nothing_between_jobs)
{
    struct bed b = open_bed(6), fresh = open_bed(6);
    real *w = calloc(b.n, sizeof *w);
    run_job(&b, make_job(40, 2, 0, 0.1), 5, w);
    run_job(&b, make_job(0, 2, 0, 0.5), 5, w);
    run_job(&fresh, make_job(0, 2, 0, 0.5), 5, fresh.w);
    ck_assert_mem_eq(w, fresh.w, b.n * sizeof *w);
    free(w);
    close_bed(&b);
    close_bed(&fresh);
}
END_TEST

START_TEST(test_work_is_counted_in_steps)
{
    struct bed b = open_bed(0);
    struct train_progress p =
        run_job(&b, make_job(0, 2, 0, 0), 100, b.w); /* 23 examples: 3 batches an epoch */
    ck_assert(p.steps_assigned == 6 && p.steps_done == 6 && p.samples_seen == 46);
    p = run_job(&b, make_job(0, 2, 4, 0), 100,
                b.w); /* local_steps before local_epochs; on into the second epoch */
    ck_assert(p.steps_assigned == 4 && p.steps_done == 4 && p.samples_seen == 33);
    p = run_job(&b, make_job(20, 3, 0, 0), 100, b.w); /* one example */
    ck_assert(p.steps_done == 3 && p.samples_seen == 3);
    const struct train_job job = make_job(0, 2, 0, 0);
    ck_assert_int_eq(train_job_steps(&job, 23), 6);
    ck_assert_int_eq(train_job_steps(&job, 0), 0);
    close_bed(&b);
}
END_TEST

START_TEST(test_a_job_can_stop_anywhere)
{
    struct bed b = open_bed(0);
    struct train_job job = make_job(0, 20, 0, 0.5);
    struct train_progress p;
    bool is_done = true;
    job.want_gamma = true;
    ck_assert_int_eq(ops->begin(b.trainer, &job, b.w0, NULL), ERR_OK);
    ck_assert_int_eq(ops->snapshot(b.trainer, b.w, &p), ERR_OK);
    ck_assert_mem_eq(b.w, b.w0, b.n * sizeof *b.w);
    ck_assert(p.steps_done == 0 && p.update_norm == 0 && p.gamma == 1);
    ck_assert(isnan(p.train_loss_start) && isnan(p.train_loss_end));
    ck_assert_int_eq(ops->step(b.trainer, 0, &is_done), ERR_OK);
    ck_assert(!is_done);
    ck_assert_int_eq(ops->step(b.trainer, 17, &is_done), ERR_OK);
    ck_assert(!is_done);
    ops->progress(b.trainer, &p);
    ck_assert(p.steps_done == 17 && p.steps_assigned == 60);
    ck_assert(p.train_loss_end < p.train_loss_start);
    ck_assert_int_eq(ops->snapshot(b.trainer, b.w, &p), ERR_OK);
    ck_assert(p.gamma > 0 && p.gamma < 1 && p.update_norm > 0);
    ck_assert_double_eq_tol(p.gamma, p.grad_norm_end / p.grad_norm_start, 1e-15);
    ops->end(b.trainer);
    /* the losses are those of the first and the last batch: the first is that of w_t */
    struct train_job first = make_job(20, 0, 1, 0); /* one example, so its batch is its data */
    struct evaluation e;
    p = run_job(&b, first, 1, b.w);
    ck_assert_int_eq(ops->evaluate(b.trainer, 20, SPLIT_TRAIN, b.w0, &e), ERR_OK);
    ck_assert_double_eq_tol(p.train_loss_start, e.loss, 1e-6);
    ck_assert(isnan(p.gamma));
    close_bed(&b);
}
END_TEST

START_TEST(test_devices_without_examples)
{
    struct bed b = open_bed(0);
    struct train_job job = make_job(30, 5, 0, 0.5);
    struct evaluation e;
    job.want_gamma = true;
    struct train_progress p = run_job(&b, job, 1, b.w);
    ck_assert(p.steps_assigned == 0 && p.steps_done == 0 && p.gamma == 0);
    ck_assert_mem_eq(b.w, b.w0, b.n * sizeof *b.w);
    ck_assert_int_eq(ops->evaluate(b.trainer, 30, SPLIT_TRAIN, b.w0, &e), ERR_OK);
    ck_assert(e.examples == 0 && e.correct == 0 && isnan(e.loss));
    ck_assert_int_eq(ops->evaluate(b.trainer, 20, SPLIT_TEST, b.w0, &e), ERR_OK);
    ck_assert(e.examples == 0 && isnan(e.loss));
    ck_assert_int_eq(ops->gradient(b.trainer, 30, b.w0, b.w), ERR_OK);
    for (size_t i = 0; i < b.n; i++)
        ck_assert(b.w[i] == 0);
    close_bed(&b);
}
END_TEST

/* Mean over examples, not over batches and not a sum of batch means over the examples: 130 examples are three
 * batches. */
START_TEST(test_the_loss_is_the_mean_over_examples)
{
    struct bed b = open_bed(0);
    struct evaluation e;
    double total = 0;
    int64_t correct = 0;
    const struct device_data *device = dataset_find(b.data, 40);
    for (size_t i = 0; i < device->num_train; i++) {
        real x[FEATURES];
        int32_t y;
        double z[CLASSES], sum = 0;
        int best = 0;
        dataset_gather(b.data, device, SPLIT_TRAIN, i, NULL, 1, x, &y);
        for (int c = 0; c < CLASSES; c++) {
            z[c] = (double)b.w0[CLASSES * FEATURES + c];
            for (int j = 0; j < FEATURES; j++)
                z[c] += (double)b.w0[c * FEATURES + j] * (double)x[j];
            sum += exp(z[c]);
            best = z[c] > z[best] ? c : best;
        }
        total += log(sum) - z[y];
        correct += best == y;
    }
    ck_assert_int_eq(ops->evaluate(b.trainer, 40, SPLIT_TRAIN, b.w0, &e), ERR_OK);
    ck_assert_int_eq(e.examples, 130);
    ck_assert_int_eq(e.correct, correct);
    ck_assert_double_eq_tol(e.loss, total / 130, 1e-6);
    close_bed(&b);
}
END_TEST

START_TEST(test_what_is_refused)
{
    struct bed b = open_bed(0);
    struct fault fault = FAULT_NONE;
    struct trainer *t = NULL;
    struct train_job job = make_job(7, 1, 0, 0);
    struct arch *narrow = make_arch(FEATURES - 1, 0, CLASSES), *few = make_arch(FEATURES, 0, CLASSES - 1);
    ck_assert_int_eq(ops->open(narrow, b.data, 10, &t, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "model.input");
    ck_assert(strstr(fault.detail, "11 features") && strstr(fault.detail, "has 12"));
    ck_assert_int_eq(ops->open(few, b.data, 10, &t, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "model.layers");
    ck_assert_int_eq(ops->open(b.arch, b.data, 0, &t, &fault), ERR_INVALID_FIELD);
    ck_assert_int_eq(ops->begin(b.trainer, &job, b.w0, &fault), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(fault.detail, "no device 7"));
    job = make_job(0, 1, 0, 0);
    job.batch_size = 11;
    ck_assert_int_eq(ops->begin(b.trainer, &job, b.w0, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "training.batch_size");
    job = make_job(0, 1, 0, (double)NAN);
    ck_assert_int_eq(ops->begin(b.trainer, &job, b.w0, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "proximal_mu");
    job = make_job(0, 1, 0, 0);
    job.learning_rate = 0;
    ck_assert_int_eq(ops->begin(b.trainer, &job, b.w0, &fault), ERR_INVALID_FIELD);
    job = make_job(0, 0, 0, 0);
    ck_assert_int_eq(ops->begin(b.trainer, &job, b.w0, &fault), ERR_INVALID_FIELD);
    arch_free(narrow);
    arch_free(few);
    close_bed(&b);
}
END_TEST

START_TEST(test_a_huge_batch_size_costs_no_memory)
{
    struct bed b = open_bed(6);
    struct trainer *t = open_trainer(b.arch, b.data, LIMIT_BATCH);
    struct trainer_plan small, large;
    ops->plan(b.trainer, &small);
    ops->plan(t, &large);
    ck_assert_uint_eq(small.persistent_bytes, large.persistent_bytes);
    ck_assert_uint_lt(large.ephemeral_bytes, 5 * small.ephemeral_bytes);
    ck_assert_uint_ge(small.persistent_bytes, 4 * 4 * b.n);
    struct train_job job = make_job(40, 1, 0, 0);
    struct train_progress p;
    bool is_done = false;
    job.batch_size = LIMIT_BATCH;
    ck_assert_int_eq(ops->begin(t, &job, b.w0, NULL), ERR_OK);
    ck_assert_int_eq(ops->step(t, 5, &is_done), ERR_OK);
    ck_assert_int_eq(ops->snapshot(t, b.w, &p), ERR_OK);
    ck_assert(is_done && p.steps_done == 1 && p.samples_seen == 130);
    ops->close(t);
    close_bed(&b);
}
END_TEST

START_TEST(test_the_reference_agrees)
{
    struct bed b = open_bed(20);
    real *w = calloc(b.n, sizeof *w);
    run_job(&b, make_job(40, 2, 0, 0.3), 5, b.w);
    ck_assert_int_eq(setenv("FEDLANE_COMPUTE", "reference", 1), 0);
    struct bed plain = open_bed(20);
    run_job(&plain, make_job(40, 2, 0, 0.3), 5, w);
    for (size_t i = 0; i < b.n; i++)
        ck_assert_double_eq_tol((double)b.w[i], (double)w[i], 2e-6);
    free(w);
    close_bed(&plain);
    close_bed(&b);
}
END_TEST

struct thread_job {
    struct bed *bed;
    real *w;
};

static void *train_on_thread(void *arg)
{
    struct thread_job *job = arg;
    struct bed mine = *job->bed;
    mine.trainer = open_trainer(mine.arch, mine.data, 10);
    for (int repeat = 0; repeat < 20; repeat++)
        run_job(&mine, make_job(40, 2, 0, 0.3), 3, job->w);
    ops->close(mine.trainer);
    return NULL;
}

START_TEST(test_threads_train_alike)
{
    struct bed b = open_bed(60);
    struct thread_job jobs[3];
    pthread_t threads[3];
    run_job(&b, make_job(40, 2, 0, 0.3), 3, b.w);
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct thread_job){&b, calloc(b.n, sizeof *b.w)};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, train_on_thread, &jobs[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_mem_eq(jobs[i].w, b.w, b.n * sizeof *b.w);
        free(jobs[i].w);
    }
    close_bed(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trainer");
    TCase *tc = tcase_create("trainer");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_golden_fedavg_that_drops);
    tcase_add_test(tc, test_golden_fedprox_mu_0);
    tcase_add_test(tc, test_golden_fedprox_mu_half);
    tcase_add_test(tc, test_golden_plain_mean);
    tcase_add_test(tc, test_golden_batches_are_the_streams);
    tcase_add_test(tc, test_golden_proximal_gradients);
    tcase_add_loop_test(tc, test_mu_shows_from_the_second_step_on, 0, 7);
    tcase_add_test(tc, test_the_term_is_elementwise);
    tcase_add_test(tc, test_pieces_and_snapshots_do_not_change_the_bits);
    tcase_add_test(tc, test_a_trainer_keeps_nothing_between_jobs);
    tcase_add_test(tc, test_work_is_counted_in_steps);
    tcase_add_test(tc, test_a_job_can_stop_anywhere);
    tcase_add_test(tc, test_devices_without_examples);
    tcase_add_test(tc, test_the_loss_is_the_mean_over_examples);
    tcase_add_test(tc, test_what_is_refused);
    tcase_add_test(tc, test_a_huge_batch_size_costs_no_memory);
    tcase_add_test(tc, test_the_reference_agrees);
    tcase_add_test(tc, test_threads_train_alike);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
