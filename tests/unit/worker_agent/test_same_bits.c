/* With the real trainer: how the work is cut, watched, slowed down or spread over threads never changes a
 * bit. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "tests/support/unit.h"
#include "tests/unit/worker_agent/support.h"
#include "worker/task_runner.h"

#define NUM_DEVICES 12

static enum task_order go_on(void *ctx, int64_t steps_done, double train_loss)
{
    (void)steps_done;
    (void)train_loss;
    ++*(long *)ctx;
    return ORDER_GO_ON;
}

static void no_wait(void *ctx, int64_t ns)
{
    (void)ctx;
    (void)ns;
}

/* The same trainer, one step at a time whatever it is asked for: as many slices as there can be. */
static enum err single_step(struct trainer *t, int64_t max_steps, bool *out_is_done)
{
    enum err e = ERR_OK;
    for (int64_t i = 0; i < max_steps && !e; i++) {
        e = trainer_local.step(t, 1, out_is_done);
        if (*out_is_done)
            break;
    }
    return e;
}

static struct worker_task task_of(int64_t ordinal)
{
    struct worker_task t = support_task();
    t.ordinal = ordinal;
    t.local_steps = 0;
    t.local_epochs = 3;
    t.round = 5;
    t.max_steps = ordinal % 3 ? 17 : -1; /* some partial, some whole */
    t.wants_evaluation = t.wants_gamma = true;
    return t;
}

static void run_one(struct task_runner *r, int64_t ordinal, const struct task_control *c, struct buf *out)
{
    static const float w_t[SUPPORT_NUM_PARAMS];
    struct worker_task t = task_of(ordinal);
    struct task_result result;
    char *file = NULL;
    size_t size = 0;
    task_run(r, &t, w_t, c, &result);
    ck_assert_msg(result.outcome == WORK_UPDATE, "%s: %s", result.code, result.detail);
    result.compute_ms = result.download_ms = 0; /* all that may differ */
    buf_clear(out);
    ck_assert_int_eq(task_result_file(&t, &result, &file, &size), ERR_OK);
    ck_assert_int_eq(buf_append(out, file, size), ERR_OK);
    free(file);
}

struct files {
    struct buf items[NUM_DEVICES];
};

static void run_all(const struct dataset *data, const struct trainer_ops *ops, const struct task_control *c,
                    struct files *out)
{
    struct task_runner *r = NULL;
    ck_assert_int_eq(task_runner_new(data, ops, &r), ERR_OK);
    for (int64_t k = 0; k < NUM_DEVICES; k++) {
        buf_init(&out->items[k], MIB);
        run_one(r, k, c, &out->items[k]);
    }
    task_runner_free(r);
}

static void must_equal(const struct files *a, const struct files *b)
{
    for (size_t k = 0; k < NUM_DEVICES; k++) {
        ck_assert_uint_eq(a->items[k].len, b->items[k].len);
        ck_assert_mem_eq(a->items[k].data, b->items[k].data, a->items[k].len);
    }
}

static void files_release(struct files *f)
{
    for (size_t k = 0; k < NUM_DEVICES; k++)
        buf_release(&f->items[k]);
}

START_TEST(slices_change_nothing)
{
    struct dataset *data = support_data();
    struct trainer_ops single = trainer_local;
    struct files plain, watched;
    long num_checks = 0;
    const struct task_control control = {.ctx = &num_checks, .check = go_on, .wait = no_wait, .slowdown = 4};
    single.step = single_step;
    run_all(data, &trainer_local, NULL, &plain);
    run_all(data, &single, &control, &watched);
    ck_assert_int_gt(num_checks, NUM_DEVICES);
    must_equal(&plain, &watched);
    files_release(&plain);
    files_release(&watched);
    dataset_free(data);
}
END_TEST

struct part {
    pthread_t thread;
    const struct dataset *data;
    int first, step;
    struct files *out;
};

static void *run_part(void *ctx)
{
    struct part *p = ctx;
    struct task_runner *r = NULL;
    ck_assert_int_eq(task_runner_new(p->data, &trainer_local, &r), ERR_OK);
    for (int k = p->first; k < NUM_DEVICES; k += p->step)
        run_one(r, k, NULL, &p->out->items[k]);
    task_runner_free(r);
    return NULL;
}

START_TEST(threads_change_nothing)
{
    struct dataset *data = support_data();
    struct files plain, parallel;
    struct part parts[3];
    run_all(data, &trainer_local, NULL, &plain);
    for (int k = 0; k < NUM_DEVICES; k++)
        buf_init(&parallel.items[k], MIB);
    for (int i = 0; i < 3; i++) {
        parts[i] = (struct part){.data = data, .first = i, .step = 3, .out = &parallel};
        ck_assert_int_eq(pthread_create(&parts[i].thread, NULL, run_part, &parts[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_join(parts[i].thread, NULL), 0);
    must_equal(&plain, &parallel);
    files_release(&plain);
    files_release(&parallel);
    dataset_free(data);
}
END_TEST

START_TEST(a_model_of_another_shape_is_a_data_mismatch)
{
    struct dataset *data = support_data();
    struct task_runner *r = NULL;
    struct worker_task t = support_task();
    struct task_result result;
    static const float w_t[784 * 10 + 10];
    ck_assert_int_eq(task_runner_new(data, &trainer_local, &r), ERR_OK);
    t.model = "{\"input\":[784],\"layers\":[{\"type\":\"dense\",\"units\":10}]}";
    task_run(r, &t, w_t, NULL, &result);
    ck_assert_int_eq(result.outcome, WORK_FAILED);
    ck_assert_str_eq(result.code, "data_mismatch");
    ck_assert_ptr_nonnull(strstr(result.detail, "784"));
    ck_assert_ptr_nonnull(strstr(result.detail, "60"));
    task_runner_free(r);
    dataset_free(data);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {slices_change_nothing, threads_change_nothing,
                                  a_model_of_another_shape_is_a_data_mismatch};
    return unit_run("same_bits", tests, sizeof tests / sizeof *tests);
}
