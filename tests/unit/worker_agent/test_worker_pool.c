/* Threads, orders and reports, with a trainer that waits where the test wants it to. Nothing here measures
 * time. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/api/api.h"
#include "common/base/clock.h"
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/pool.h"
#include "worker/weights.h"

#define MAX_JOBS 40

struct lab {
    struct dataset *data;
    char *dir, *outbox;
    struct weights_cache cache;
    struct weights *weights;
    struct pool *pool;
    struct job *jobs[MAX_JOBS];
    size_t num_jobs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t num_called, num_done; /* on_done calls; jobs taken back */
};

static void on_done(void *ctx)
{
    struct lab *lab = ctx;
    (void)pthread_mutex_lock(&lab->lock);
    lab->num_called++;
    (void)pthread_cond_signal(&lab->changed);
    (void)pthread_mutex_unlock(&lab->lock);
}

/* All weights are 0. */
static struct weights *weights_of_zeros(struct weights_cache *cache)
{
    struct buf file = BUF_INIT(MIB);
    float *zeros = calloc(SUPPORT_NUM_PARAMS, sizeof *zeros);
    struct weights *probe = weights_get(cache, "0", SUPPORT_MODEL, "/w");
    char sha256[SHA256_HEX_SIZE];
    ck_assert_ptr_nonnull(zeros);
    ck_assert_ptr_nonnull(probe);
    ck_assert_int_eq(safetensors_encode(&probe->arch->tensors, "", zeros, NULL, NULL, 0, &file), ERR_OK);
    ck_assert_int_eq(sha256_hex(file.data, file.len, sha256), ERR_OK);
    weights_put(cache, probe);
    struct weights *w = weights_get(cache, sha256, SUPPORT_MODEL, "/w");
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(weights_file_begin(w), ERR_OK);
    ck_assert_int_eq(weights_file_add(w, file.data, file.len), ERR_OK);
    ck_assert_int_eq(weights_file_end(w), ERR_OK);
    buf_release(&file);
    free(zeros);
    return w;
}

static void lab_init(struct lab *lab, int threads, double slowdown)
{
    struct fault fault = FAULT_NONE;
    *lab = (struct lab){.data = support_data(), .dir = support_dir_new()};
    fake_reset();
    ck_assert_int_eq(pthread_mutex_init(&lab->lock, NULL), 0);
    ck_assert_int_eq(pthread_cond_init(&lab->changed, NULL), 0);
    ck_assert_int_eq(outbox_open(lab->dir, &lab->outbox, &fault), ERR_OK);
    lab->weights = weights_of_zeros(&lab->cache);
    const struct pool_config config = {.data = lab->data,
                                       .ops = &fake_trainer,
                                       .threads = threads,
                                       .slowdown = slowdown,
                                       .outbox = lab->outbox,
                                       .on_done = on_done,
                                       .ctx = lab};
    ck_assert_int_eq(pool_new(&config, &lab->pool), ERR_OK);
}

static void lab_release(struct lab *lab)
{
    pool_free(lab->pool);
    for (size_t i = 0; i < lab->num_jobs; i++)
        job_free(lab->jobs[i]);
    weights_put(&lab->cache, lab->weights);
    weights_cache_release(&lab->cache);
    (void)pthread_cond_destroy(&lab->changed);
    (void)pthread_mutex_destroy(&lab->lock);
    free(lab->outbox);
    support_dir_free(lab->dir);
    dataset_free(lab->data);
}

static struct job *job_make(struct lab *lab, enum work_type type)
{
    struct job *job = calloc(1, sizeof *job);
    ck_assert_ptr_nonnull(job);
    ck_assert_uint_lt(lab->num_jobs, MAX_JOBS);
    lab->jobs[lab->num_jobs] = job;
    arena_init(&job->arena, MIB);
    job->task = support_task();
    job->task.type = type;
    job->task.wants_evaluation = type == WORK_EVALUATE;
    job->task.task_id = arena_printf(&job->arena, "%032zx", lab->num_jobs++);
    job->weights = lab->weights;
    job->deadline_ns = INT64_MAX;
    return job;
}

/* Takes back until n are done in all; appends them to `order` (may be NULL). */
static void wait_done(struct lab *lab, size_t n, struct job **order)
{
    while (lab->num_done < n) {
        for (struct job *job = pool_take_done(lab->pool); job; job = job->next_in_pool) {
            if (order)
                order[lab->num_done] = job;
            lab->num_done++;
        }
        (void)pthread_mutex_lock(&lab->lock);
        while (lab->num_done < n && lab->num_called <= lab->num_done)
            (void)pthread_cond_wait(&lab->changed, &lab->lock);
        (void)pthread_mutex_unlock(&lab->lock);
    }
    ck_assert_uint_eq(lab->num_done, n);
}

START_TEST(all_jobs_become_reports_on_disk)
{
    struct lab lab;
    struct arena arena = ARENA_INIT(MIB);
    struct fault fault = FAULT_NONE;
    char(*ids)[ID_SIZE];
    size_t count = 0;
    lab_init(&lab, 3, 1);
    for (int i = 0; i < MAX_JOBS; i++)
        pool_submit(lab.pool, job_make(&lab, i % 2 ? WORK_TRAIN : WORK_EVALUATE));
    wait_done(&lab, MAX_JOBS, NULL);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        const struct job *job = lab.jobs[i];
        ck_assert_int_eq(job->outcome, WORK_UPDATE);
        ck_assert(job->is_stored);
        ck_assert_str_eq(job->report.task_id, job->task.task_id);
        ck_assert_int_eq(job->report.route, REPORT_UPDATE);
        ck_assert_str_eq(job->report.media_type, i % 2 ? MEDIA_SAFETENSORS : MEDIA_JSON);
    }
    ck_assert_int_eq(outbox_list(lab.outbox, &arena, &ids, &count, &fault), ERR_OK);
    ck_assert_uint_eq(count, MAX_JOBS);
    arena_release(&arena);
    lab_release(&lab);
}
END_TEST

START_TEST(training_goes_before_evaluation)
{
    struct lab lab;
    struct job *order[3];
    lab_init(&lab, 1, 1);
    fake_hold();
    struct job *first = job_make(&lab, WORK_TRAIN), *evaluation = job_make(&lab, WORK_EVALUATE),
               *second = job_make(&lab, WORK_TRAIN);
    pool_submit(lab.pool, first);
    fake_wait_for(1);
    pool_submit(lab.pool, evaluation);
    pool_submit(lab.pool, second);
    fake_release();
    wait_done(&lab, 3, order);
    ck_assert_ptr_eq(order[0], first);
    ck_assert_ptr_eq(order[1], second);
    ck_assert_ptr_eq(order[2], evaluation);
    lab_release(&lab);
}
END_TEST

START_TEST(a_queued_job_is_cancelled_at_once)
{
    struct lab lab;
    struct job *order[2];
    lab_init(&lab, 1, 1);
    fake_hold();
    struct job *busy = job_make(&lab, WORK_TRAIN), *queued = job_make(&lab, WORK_TRAIN);
    pool_submit(lab.pool, busy);
    fake_wait_for(1);
    pool_submit(lab.pool, queued);
    pool_order(lab.pool, queued, ORDER_CANCEL, true);
    wait_done(&lab, 1, order);
    ck_assert_ptr_eq(order[0], queued);
    ck_assert_int_eq(queued->outcome, WORK_CANCELLED);
    ck_assert(queued->is_released);
    ck_assert_ptr_null(queued->report.body);
    fake_release();
    wait_done(&lab, 2, order);
    ck_assert_int_eq(busy->outcome, WORK_UPDATE);
    lab_release(&lab);
}
END_TEST

START_TEST(a_running_job_hears_its_order)
{
    struct lab lab;
    enum task_order order = _i == 0 ? ORDER_CANCEL : ORDER_RETURN;
    int64_t steps = 0;
    double loss;
    lab_init(&lab, 1, 1);
    fake_hold();
    struct job *job = job_make(&lab, WORK_TRAIN);
    pool_submit(lab.pool, job);
    fake_wait_for(1);
    pool_order(lab.pool, job, order, false);
    pool_order(lab.pool, job, ORDER_RETURN, false); /* cannot take a cancel back */
    fake_release();
    wait_done(&lab, 1, NULL);
    pool_progress(lab.pool, job, &steps, &loss);
    ck_assert_int_eq(steps, 1); /* the slice that was under way */
    ck_assert_double_eq(loss, 1);
    ck_assert_int_eq(job->outcome, order == ORDER_CANCEL ? WORK_CANCELLED : WORK_UPDATE);
    lab_release(&lab);
}
END_TEST

/* A worker that stops releases what it cannot finish, but not what the server has cancelled before. */
START_TEST(the_first_cancel_holds)
{
    struct lab lab;
    bool is_released = _i == 1;
    lab_init(&lab, 1, 1);
    fake_hold();
    struct job *job = job_make(&lab, WORK_TRAIN);
    pool_submit(lab.pool, job);
    fake_wait_for(1);
    pool_order(lab.pool, job, ORDER_CANCEL, is_released);
    pool_order(lab.pool, job, ORDER_CANCEL, !is_released);
    fake_release();
    wait_done(&lab, 1, NULL);
    ck_assert_int_eq(job->outcome, WORK_CANCELLED);
    ck_assert(job->is_released == is_released);
    lab_release(&lab);
}
END_TEST

/* Without the order this would wait for hours. */
START_TEST(the_pause_of_a_slow_machine_is_interrupted)
{
    struct lab lab;
    lab_init(&lab, 2, 1e6);
    struct job *returned = job_make(&lab, WORK_TRAIN), *cancelled = job_make(&lab, WORK_TRAIN);
    returned->task.local_steps = cancelled->task.local_steps = (int64_t)1 << 30;
    pool_submit(lab.pool, returned);
    pool_submit(lab.pool, cancelled);
    pool_order(lab.pool, returned, ORDER_RETURN, false);
    pool_order(lab.pool, cancelled, ORDER_CANCEL, false);
    wait_done(&lab, 2, NULL);
    ck_assert_int_eq(returned->outcome, WORK_UPDATE);
    ck_assert_int_eq(cancelled->outcome, WORK_CANCELLED);
    lab_release(&lab);
}
END_TEST

START_TEST(the_end_does_not_wait_for_work)
{
    struct lab lab;
    lab_init(&lab, 2, 1e6);
    for (int i = 0; i < 6; i++) {
        struct job *job = job_make(&lab, WORK_TRAIN);
        job->task.local_steps = (int64_t)1 << 30;
        pool_submit(lab.pool, job);
    }
    lab_release(&lab); /* pool_free with jobs running and queued */
}
END_TEST

START_TEST(a_passed_deadline_returns_nothing_done)
{
    struct lab lab;
    lab_init(&lab, 1, 1);
    struct job *job = job_make(&lab, WORK_TRAIN), *dropped = job_make(&lab, WORK_TRAIN);
    job->deadline_ns = dropped->deadline_ns = mono_ns();
    dropped->task.accept_partial = false;
    pool_submit(lab.pool, job);
    pool_submit(lab.pool, dropped);
    wait_done(&lab, 2, NULL);
    ck_assert_int_eq(job->outcome, WORK_UPDATE);
    ck_assert_int_eq(job->report.route, REPORT_UPDATE);
    ck_assert_int_eq(dropped->outcome, WORK_DROPPED);
    ck_assert_int_eq(dropped->report.route, REPORT_FAIL);
    ck_assert_ptr_nonnull(strstr(dropped->report.body, "\"incomplete\""));
    lab_release(&lab);
}
END_TEST

/* Four jobs on one thread: the first gets a quarter of the time to the deadline, the last all that is left.
 */
START_TEST(the_time_to_the_deadline_is_shared)
{
    struct lab lab;
    const int64_t hour_ns = (int64_t)3600 * 1000000000;
    lab_init(&lab, 1, 1);
    fake_hold();
    struct job *blocker = job_make(&lab, WORK_TRAIN);
    pool_submit(lab.pool, blocker);
    fake_wait_for(1);
    int64_t now_ns = mono_ns();
    for (int i = 0; i < 4; i++) {
        struct job *job = job_make(&lab, WORK_TRAIN);
        job->deadline_ns = now_ns + hour_ns;
        pool_submit(lab.pool, job);
    }
    fake_release();
    wait_done(&lab, 5, NULL);
    for (int i = 0; i < 4; i++) {
        double share = (double)(lab.jobs[1 + i]->stop_ns - now_ns) / (double)hour_ns;
        ck_assert_double_eq_tol(share, 1.0 / (4 - i),
                                0.05); /* of an hour: minutes are no question of speed */
    }
    ck_assert_int_eq(blocker->stop_ns, INT64_MAX);
    lab_release(&lab);
}
END_TEST

START_TEST(weights_that_never_came_are_a_failure)
{
    struct lab lab;
    struct fault fault = FAULT_NONE;
    lab_init(&lab, 1, 1);
    struct job *job = job_make(&lab, WORK_TRAIN);
    struct weights *lost = weights_get(&lab.cache, "1", SUPPORT_MODEL, "/lost");
    (void)fault_set(&fault, ERR_NOT_FOUND, NULL, "the model is gone");
    weights_fail(lost, "download_failed", &fault);
    job->weights = lost;
    pool_submit(lab.pool, job);
    wait_done(&lab, 1, NULL);
    ck_assert_int_eq(job->outcome, WORK_FAILED);
    ck_assert_int_eq(job->report.route, REPORT_FAIL);
    ck_assert_ptr_nonnull(strstr(job->report.body, "download_failed"));
    ck_assert_ptr_nonnull(strstr(job->report.body, "the model is gone"));
    weights_put(&lab.cache, lost);
    lab_release(&lab);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        all_jobs_become_reports_on_disk,    training_goes_before_evaluation,
        a_queued_job_is_cancelled_at_once,  the_pause_of_a_slow_machine_is_interrupted,
        the_end_does_not_wait_for_work,     a_passed_deadline_returns_nothing_done,
        the_time_to_the_deadline_is_shared, weights_that_never_came_are_a_failure};
    Suite *suite = suite_create("pool");
    TCase *tc = unit_case("pool");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tc, tests[i]);
    tcase_add_loop_test(tc, a_running_job_hears_its_order, 0, 2);
    tcase_add_loop_test(tc, the_first_cancel_holds, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
