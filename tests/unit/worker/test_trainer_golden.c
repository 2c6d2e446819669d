/* The in-process trainer against an independent float64 implementation (tiny_golden.json). Compiled for
 * float64 it agrees with the golden numbers to 1e-9. */
#include <math.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/fl/average.h"
#include "common/fl/dissimilarity.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/unit.h"
#include "tests/unit/worker/support.h"

#ifdef FEDLANE_FLOAT64
#define TOLERANCE(float32) 1e-9
#else
#define TOLERANCE(float32) (float32)
#endif

enum { TINY = 15, TINY_SEED = 7 }; /* parameters of the tiny model; the seed whose streams give its batches */

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

int main(void)
{
    const TTest *const tests[] = {test_golden_fedavg_that_drops,       test_golden_fedprox_mu_0,
                                  test_golden_fedprox_mu_half,         test_golden_plain_mean,
                                  test_golden_batches_are_the_streams, test_golden_proximal_gradients};
    return unit_run("trainer_golden", tests, sizeof tests / sizeof *tests);
}
