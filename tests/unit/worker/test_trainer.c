/* The in-process trainer on random data, and the mistakes that others made: docs/algorithms.md lists them. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "tests/support/memory_dataset.h"
#include "tests/support/unit.h"
#include "tests/unit/worker/support.h"

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
    ck_assert_int_eq(ops->open(narrow, b.data, 10, OPTIMIZER_SGD, &t, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "model.input");
    ck_assert(strstr(fault.detail, "11 features") && strstr(fault.detail, "has 12"));
    ck_assert_int_eq(ops->open(few, b.data, 10, OPTIMIZER_SGD, &t, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "model.layers");
    ck_assert_int_eq(ops->open(b.arch, b.data, 0, OPTIMIZER_SGD, &t, &fault), ERR_INVALID_FIELD);
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

/* Tokens are looked up in a table, so all of them are looked at before any training. */
START_TEST(test_tokens_outside_of_the_vocabulary)
{
    static const real bad[] = {5, -1, (real)1.5, (real)NAN};
    static const char text[] =
        "{\"input\": [3], \"layers\": [{\"type\": \"embedding\", \"vocabulary\": 5, \"dim\": 2}, "
        "{\"type\": \"lstm\", \"units\": 3}, {\"type\": \"dense\", \"units\": 2}]}";
    json_t *model = json_loads(text, 0, NULL);
    struct arch *arch = NULL;
    ck_assert_int_eq(arch_parse(model, &arch, NULL), ERR_OK);
    for (size_t i = 0; i <= 4; i++) {
        real x[4][3] = {{0, 1, 2}, {3, 4, 0}, {1, 1, 1}, {4, 4, 4}};
        const int32_t y[4] = {0, 1, 0, 1};
        struct dataset *data = memory_dataset_new(3, 2);
        struct trainer *t = NULL;
        struct fault fault = FAULT_NONE;
        if (i < 4)
            x[3][1] = bad[i];
        memory_dataset_add(data, 7, x[0], y, 3, 1);
        enum err err = trainer_local.open(arch, data, 2, OPTIMIZER_SGD, &t, &fault);
        ck_assert_int_eq(err, i < 4 ? ERR_INVALID_FIELD : ERR_OK);
        if (i < 4) {
            ck_assert_str_eq(fault.field, "model.layers[0].vocabulary");
            ck_assert_ptr_nonnull(strstr(fault.detail, "(device 7 of \"memory\", test example 0)"));
            ck_assert_ptr_nonnull(strstr(fault.detail, "position 1 is "));
        }
        trainer_local.close(t);
        dataset_free(data);
    }
    arch_free(arch);
    json_decref(model);
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
    TCase *tc = unit_case("trainer");
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
    tcase_add_test(tc, test_tokens_outside_of_the_vocabulary);
    tcase_add_test(tc, test_the_reference_agrees);
    tcase_add_test(tc, test_threads_train_alike);
    return unit_run_case("trainer", tc);
}
