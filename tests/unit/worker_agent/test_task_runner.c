#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/task_runner.h"

static struct dataset *data;
static struct task_runner *runner;
static float w_t[SUPPORT_NUM_PARAMS];

static void setup(void)
{
    fake_reset();
    data = support_data();
    ck_assert_int_eq(task_runner_new(data, &fake_trainer, &runner), ERR_OK);
    for (size_t i = 0; i < SUPPORT_NUM_PARAMS; i++)
        w_t[i] = (float)i;
}

static void teardown(void)
{
    task_runner_free(runner);
    ck_assert_int_eq(fake_lock()->num_open, 0);
    fake_unlock();
    dataset_free(data);
}

/* Weights after n steps of the double. */
static void check_weights(const struct task_result *r, float n)
{
    ck_assert_ptr_nonnull(r->values);
    for (size_t i = 0; i < SUPPORT_NUM_PARAMS; i++)
        ck_assert_float_eq(r->values[i], (float)i + n);
}

/* Gives `order` once `at` steps are done. */
struct script {
    int64_t at;
    enum task_order order;
    int num_checks, num_waits;
    int64_t waited_ns;
    int64_t last_steps;
    double last_loss;
};

static enum task_order script_check(void *ctx, int64_t steps_done, double train_loss)
{
    struct script *s = ctx;
    s->num_checks++;
    ck_assert_int_ge(steps_done, s->last_steps);
    s->last_steps = steps_done;
    s->last_loss = train_loss;
    return steps_done >= s->at ? s->order : ORDER_GO_ON;
}

static void script_wait(void *ctx, int64_t ns)
{
    struct script *s = ctx;
    ck_assert_int_ge(ns, 0);
    s->num_waits++;
    s->waited_ns += ns;
}

static struct task_control control_of(struct script *s)
{
    return (struct task_control){.ctx = s, .check = script_check, .wait = script_wait};
}

START_TEST(the_whole_job)
{
    struct worker_task t = support_task();
    struct task_result r;
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_int_eq(r.stop, STOP_COMPLETED);
    ck_assert_str_eq(r.code, "");
    ck_assert_int_eq(r.progress.steps_assigned, 100);
    ck_assert_int_eq(r.progress.steps_done, 100);
    ck_assert_int_eq(r.num_examples, (int64_t)dataset_find(data, 0)->num_train);
    ck_assert_int_eq(r.eval.train.examples, -1); /* was not asked for */
    ck_assert(isnan(r.progress.gamma));
    ck_assert(isfinite(r.compute_ms) && isnan(r.download_ms));
    check_weights(&r, 100);
}
END_TEST

START_TEST(the_budget_ends_it)
{
    struct worker_task t = support_task();
    struct task_result r;
    t.max_steps = 37;
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_int_eq(r.stop, STOP_BUDGET);
    ck_assert_int_eq(r.progress.steps_done, 37);
    ck_assert_int_eq(r.progress.samples_seen, 370);
    check_weights(&r, 37);
}
END_TEST

START_TEST(a_budget_of_the_whole_job_completes_it)
{
    struct worker_task t = support_task();
    struct task_result r;
    t.max_steps = 100;
    t.accept_partial = false;
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_int_eq(r.stop, STOP_COMPLETED);
}
END_TEST

START_TEST(a_budget_of_nothing)
{
    struct worker_task t = support_task();
    struct task_result r;
    t.max_steps = 0;
    t.wants_evaluation = t.wants_gamma = true;
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_int_eq(r.stop, STOP_BUDGET);
    ck_assert_int_eq(r.progress.steps_done, 0);
    ck_assert(isnan(r.progress.train_loss_end));
    ck_assert_double_eq(r.eval.train.loss, 0);
    check_weights(&r, 0);
}
END_TEST

START_TEST(no_time_is_a_spent_budget)
{
    struct worker_task t = support_task();
    struct task_result r;
    t.max_seconds = 0;
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_int_eq(r.stop, STOP_BUDGET);
    ck_assert_int_eq(r.progress.steps_done, 0);
}
END_TEST

/* ORDER_RETURN and ORDER_DEADLINE, before the work and in it. */
START_TEST(what_there_is_is_returned)
{
    enum task_order order = _i & 1 ? ORDER_RETURN : ORDER_DEADLINE;
    struct script s = {.at = _i & 2 ? 1 : 0, .order = order};
    struct task_control c = control_of(&s);
    struct worker_task t = support_task();
    struct task_result r;
    t.wants_evaluation = true;
    task_run(runner, &t, w_t, &c, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_int_eq(r.stop, order == ORDER_RETURN ? STOP_ASKED : STOP_DEADLINE);
    ck_assert_int_eq(r.progress.steps_done, s.at); /* the first slice is one step */
    ck_assert_double_eq(r.eval.train.loss, 0);     /* evaluated all the same */
    check_weights(&r, (float)s.at);
}
END_TEST

START_TEST(cancelled_work_says_nothing)
{
    struct script s = {.at = _i, .order = ORDER_CANCEL};
    struct task_control c = control_of(&s);
    struct worker_task t = support_task();
    struct task_result r;
    t.wants_evaluation = true;
    task_run(runner, &t, w_t, &c, &r);
    ck_assert_int_eq(r.outcome, WORK_CANCELLED);
    ck_assert_ptr_null(r.values);
    ck_assert_int_eq(s.last_steps, _i);
    ck_assert_int_eq(fake_lock()->num_evaluated, _i ? 2 : 0);
    fake_unlock();
    /* The runner is as good as new. */
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    check_weights(&r, 100);
}
END_TEST

START_TEST(partial_work_that_is_not_accepted)
{
    struct worker_task t = support_task();
    struct task_result r;
    t.accept_partial = false;
    t.max_steps = 12;
    t.wants_evaluation = true;
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_DROPPED);
    ck_assert_str_eq(r.code, "incomplete");
    ck_assert_ptr_nonnull(strstr(r.detail, "12 of 100"));
    ck_assert_ptr_null(r.values);
    ck_assert_int_eq(r.progress.steps_done, 12);
    ck_assert_double_eq(r.progress.train_loss_end, 1 / 12.0);
    ck_assert_double_eq(r.eval.train.loss, 0);
}
END_TEST

START_TEST(dropped_work_may_be_skipped)
{
    struct worker_task t = support_task();
    struct task_control c = {.skip_dropped_work = true};
    struct task_result r;
    t.accept_partial = false;
    t.max_steps = 12;
    t.wants_evaluation = true;
    fake_lock()->step_err = ERR_INTERNAL; /* a step would show */
    fake_unlock();
    task_run(runner, &t, w_t, &c, &r);
    ck_assert_int_eq(r.outcome, WORK_DROPPED);
    ck_assert_str_eq(r.code, "incomplete");
    ck_assert_int_eq(r.stop, STOP_BUDGET);
    ck_assert_int_eq(r.progress.steps_done, 12);
    ck_assert_int_eq(r.progress.steps_assigned, 100);
    ck_assert(isnan(r.progress.train_loss_end));
    ck_assert_double_eq(r.eval.train.loss, 0);
    /* Partial work that counts, and a whole job, are done. */
    fake_lock()->step_err = ERR_OK;
    fake_unlock();
    t.accept_partial = true;
    task_run(runner, &t, w_t, &c, &r);
    check_weights(&r, 12);
    t.accept_partial = false;
    t.max_steps = 100;
    task_run(runner, &t, w_t, &c, &r);
    check_weights(&r, 100);
}
END_TEST

START_TEST(an_evaluation)
{
    struct worker_task t = support_task();
    struct script s = {.at = 0, .order = ORDER_RETURN}; /* has no meaning here */
    struct task_control c = control_of(&s);
    struct task_result r;
    t.type = WORK_EVALUATE;
    t.wants_evaluation = true;
    w_t[0] = 2.5F;
    task_run(runner, &t, w_t, &c, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_ptr_null(r.values);
    ck_assert_double_eq(r.eval.train.loss, 2.5);
    ck_assert_int_eq(r.eval.train.examples, (int64_t)dataset_find(data, 0)->num_train);
    ck_assert_int_eq(r.eval.test.examples, (int64_t)dataset_find(data, 0)->num_test);
    ck_assert_int_eq(r.progress.steps_done, -1);
    ck_assert_int_eq(r.num_examples, (int64_t)dataset_find(data, 0)->num_train);
}
END_TEST

START_TEST(a_gradient_with_and_without_evaluation)
{
    struct worker_task t = support_task();
    struct task_result r;
    t.type = WORK_EVALUATE;
    t.wants_gradient = true;
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    check_weights(&r, 0.5F);
    ck_assert_int_eq(r.eval.train.examples, -1);
    t.wants_evaluation = true;
    task_run(runner, &t, w_t, NULL, &r);
    check_weights(&r, 0.5F);
    ck_assert_int_gt(r.eval.train.examples, 0);
}
END_TEST

START_TEST(gamma_only_when_wanted)
{
    struct worker_task t = support_task();
    struct task_result r;
    t.wants_gamma = true;
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_double_eq(r.progress.gamma, 0.5);
    ck_assert_double_eq(r.progress.grad_norm_start, 2);
    ck_assert_double_eq(r.progress.grad_norm_end, 1);
}
END_TEST

START_TEST(a_slow_machine_waits_and_gives_the_same)
{
    struct script s = {.at = INT64_MAX, .order = ORDER_GO_ON};
    struct task_control c = control_of(&s);
    struct worker_task t = support_task();
    struct task_result r;
    c.slowdown = 1000;
    t.wants_evaluation = true;
    task_run(runner, &t, w_t, &c, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    check_weights(&r, 100);
    ck_assert_int_gt(s.num_waits, 1);
    ck_assert_int_gt(s.waited_ns, 0);
    ck_assert_double_gt(s.last_loss, 0);
}
END_TEST

/* Also the last slice, which is the only one of a short job. */
START_TEST(slowdown_counts_for_a_single_step)
{
    struct script s = {.at = INT64_MAX, .order = ORDER_GO_ON};
    struct task_control c = control_of(&s);
    struct worker_task t = support_task();
    struct task_result r;
    c.slowdown = 4;
    t.wants_evaluation = false;
    t.local_epochs = 0;
    t.local_steps = t.max_steps = 1;
    task_run(runner, &t, w_t, &c, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_int_eq(s.num_waits, 1);
}
END_TEST

/* -- failures -------------------------------------------------------------------------------------------- */

static void must_fail(const struct worker_task *t, const char *code, const char *word)
{
    struct task_result r;
    task_run(runner, t, w_t, NULL, &r);
    ck_assert_int_eq(r.outcome, WORK_FAILED);
    ck_assert_str_eq(r.code, code);
    ck_assert_msg(strstr(r.detail, word) != NULL, "\"%s\" is not in \"%s\"", word, r.detail);
    ck_assert_ptr_null(r.values);
}

struct beginning {
    int num_begun, num_checks_before;
    struct script script;
};

static enum task_order beginning_check(void *ctx, int64_t steps_done, double train_loss)
{
    struct beginning *b = ctx;
    b->num_checks_before += b->num_begun == 0;
    return script_check(&b->script, steps_done, train_loss);
}

/* The caller may do with w_t what it likes from now on. */
static void beginning_begun(void *ctx)
{
    struct beginning *b = ctx;
    b->num_begun++;
    ck_assert_int_eq(b->script.last_steps, 0);
    for (size_t i = 0; i < SUPPORT_NUM_PARAMS; i++)
        w_t[i] = NAN;
}

START_TEST(it_says_when_it_has_the_weights)
{
    struct worker_task t = support_task();
    struct beginning b = {.script = {.at = INT64_MAX}};
    const struct task_control c = {.ctx = &b, .check = beginning_check, .begun = beginning_begun};
    struct task_result r;
    t.type = WORK_EVALUATE;
    t.wants_evaluation = true;
    task_run(runner, &t, w_t, &c, &r);
    ck_assert_int_eq(b.num_begun, 0); /* nothing begins */
    t.type = WORK_TRAIN;
    task_run(runner, &t, w_t, &c, &r);
    ck_assert_int_eq(r.outcome, WORK_UPDATE);
    ck_assert_int_eq(b.num_begun, 1);
    ck_assert_int_ge(b.num_checks_before, 1);
    ck_assert_double_eq(r.eval.train.loss, 0);
    check_weights(&r, 100);
}
END_TEST

START_TEST(what_cannot_be_done_is_named)
{
    struct worker_task t = support_task();
    t.ordinal = 30;
    must_fail(&t, "no_such_device", "30");
    t = support_task();
    t.optimizer = "adagrad";
    must_fail(&t, "optimizer_unsupported", "adagrad");
    must_fail(&t, "optimizer_unsupported", "it has sgd, momentum, adam, prox_momentum, prox_adam");
    t = support_task();
    t.model = "{\"tensors\":[{\"dtype\":\"F32\",\"name\":\"w\",\"shape\":[3]}]}";
    must_fail(&t, "model_unsupported", "layers");
    t.model = "{\"input\":[60],\"layers\":[{\"type\":\"gru\",\"units\":10}]}";
    must_fail(&t, "model_unsupported", "gru");
    t.model = "not JSON";
    must_fail(&t, "model_unsupported", "line 1");
}
END_TEST

static void set_errors(enum err open_err, enum err begin_err, enum err step_err, enum err evaluate_err)
{
    struct fake_hooks *h = fake_lock();
    h->open_err = open_err;
    h->begin_err = begin_err;
    h->step_err = step_err;
    h->evaluate_err = evaluate_err;
    fake_unlock();
}

START_TEST(errors_of_the_trainer)
{
    struct worker_task t = support_task();
    set_errors(ERR_INVALID_FIELD, ERR_OK, ERR_OK, ERR_OK);
    must_fail(&t, "data_mismatch", "told not to open");
    set_errors(ERR_NO_MEMORY, ERR_OK, ERR_OK, ERR_OK);
    must_fail(&t, "out_of_memory", "told not to open");
    set_errors(ERR_UNAVAILABLE, ERR_OK, ERR_OK, ERR_OK);
    must_fail(&t, "internal", "told not to open");
    set_errors(ERR_OK, ERR_NO_MEMORY, ERR_OK, ERR_OK);
    must_fail(&t, "out_of_memory", "told not to begin");
    set_errors(ERR_OK, ERR_OK, ERR_INTERNAL, ERR_OK);
    must_fail(&t, "internal", "training");
    t.wants_evaluation = true;
    set_errors(ERR_OK, ERR_OK, ERR_OK, ERR_NO_MEMORY);
    must_fail(&t, "out_of_memory", "evaluating");
}
END_TEST

START_TEST(weights_that_are_not_finite)
{
    struct worker_task t = support_task();
    fake_lock()->gives_nan = true;
    fake_unlock();
    must_fail(&t, "non_finite", "learning_rate");
}
END_TEST

/* -- many models ----------------------------------------------------------------------------------------- */

START_TEST(trainers_are_kept_and_bounded)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6};
    struct worker_task t = support_task();
    struct task_result r;
    for (int round = 0; round < 3; round++)
        task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(fake_lock()->num_opened, 1);
    fake_unlock();
    for (size_t i = 0; i < 6; i++) {
        t.batch_size = sizes[i];
        task_run(runner, &t, w_t, NULL, &r);
        check_weights(&r, 100);
    }
    ck_assert_int_eq(fake_lock()->num_open, 4);
    fake_unlock();
    ck_assert_int_eq(fake_lock()->num_opened, 7);
    fake_unlock();
    t.batch_size = 6; /* the last one is still there */
    task_run(runner, &t, w_t, NULL, &r);
    ck_assert_int_eq(fake_lock()->num_opened, 7);
    fake_unlock();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {the_whole_job,
                                  the_budget_ends_it,
                                  a_budget_of_the_whole_job_completes_it,
                                  a_budget_of_nothing,
                                  no_time_is_a_spent_budget,
                                  partial_work_that_is_not_accepted,
                                  dropped_work_may_be_skipped,
                                  an_evaluation,
                                  a_gradient_with_and_without_evaluation,
                                  gamma_only_when_wanted,
                                  a_slow_machine_waits_and_gives_the_same,
                                  slowdown_counts_for_a_single_step,
                                  it_says_when_it_has_the_weights,
                                  what_cannot_be_done_is_named,
                                  errors_of_the_trainer,
                                  weights_that_are_not_finite,
                                  trainers_are_kept_and_bounded};
    Suite *suite = suite_create("task_runner");
    TCase *tc = unit_case("task_runner");
    tcase_add_checked_fixture(tc, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tc, tests[i]);
    tcase_add_loop_test(tc, what_there_is_is_returned, 0, 4);
    tcase_add_loop_test(tc, cancelled_work_says_nothing, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner_of_tests = srunner_create(suite);
    srunner_run_all(runner_of_tests, CK_NORMAL);
    int failed = srunner_ntests_failed(runner_of_tests);
    srunner_free(runner_of_tests);
    return failed != 0;
}
