#include "tests/unit/worker_agent/support.h"
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct dataset *support_data(void)
{
    struct dataset *data = NULL;
    struct fault fault = FAULT_NONE;
    json_t *json = json_pack("{s:s, s:i}", "source", "synthetic", "seed", 6);
    ck_assert_msg(dataset_load(json, 0, &data, &fault) == ERR_OK, "%s", fault.detail);
    json_decref(json);
    return data;
}

struct worker_task support_task(void)
{
    struct worker_task t;
    worker_task_init(&t);
    t.task_id = SUPPORT_TASK_ID;
    t.run_id = SUPPORT_RUN_ID;
    t.model = SUPPORT_MODEL;
    t.attempt = 1;
    t.seed = 6;
    t.local_steps = 100;
    t.batch_size = 10;
    t.learning_rate = 0.01;
    t.proximal_mu = 1;
    return t;
}

/* -- the double ------------------------------------------------------------------------------------------ */

struct trainer {
    const struct dataset *data;
    int64_t num_params;
    float *weights;
    struct train_progress progress;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct fake_hooks hooks;

void fake_reset(void)
{
    (void)fake_lock();
    hooks = (struct fake_hooks){0};
    fake_unlock();
}

struct fake_hooks *fake_lock(void)
{
    (void)pthread_mutex_lock(&lock);
    return &hooks;
}

void fake_unlock(void)
{
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

void fake_hold(void)
{
    fake_lock()->is_held = true;
    fake_unlock();
}

void fake_release(void)
{
    fake_lock()->is_held = false;
    fake_unlock();
}

void fake_wait_for(int n)
{
    (void)fake_lock();
    while (hooks.num_waiting < n)
        (void)pthread_cond_wait(&changed, &lock);
    fake_unlock();
}

static enum err fake_open(const struct arch *arch, const struct dataset *data, int64_t batch_size,
                          enum optimizer_kind kind, struct trainer **out, struct fault *fault)
{
    (void)kind;
    enum err e = fake_lock()->open_err;
    hooks.num_opened += e == ERR_OK;
    hooks.num_open += e == ERR_OK;
    fake_unlock();
    if (e)
        return fault_set(fault, e, "model", "the double was told not to open");
    struct trainer *t = calloc(1, sizeof *t);
    ck_assert_ptr_nonnull(t);
    ck_assert_int_ge(batch_size, 1);
    t->data = data;
    t->num_params = arch->tensors.num_params;
    t->weights = calloc((size_t)t->num_params, sizeof *t->weights);
    ck_assert_ptr_nonnull(t->weights);
    *out = t;
    return ERR_OK;
}

static void fake_close(struct trainer *t)
{
    fake_lock()->num_open--;
    fake_unlock();
    free(t->weights);
    free(t);
}

static void fake_plan(const struct trainer *t, struct trainer_plan *out)
{
    *out = (struct trainer_plan){.persistent_bytes = (size_t)t->num_params * sizeof *t->weights};
}

static enum err fake_begin(struct trainer *t, const struct train_job *job, const float *w_t,
                           struct fault *fault)
{
    enum err e = fake_lock()->begin_err;
    fake_unlock();
    if (e)
        return fault_set(fault, e, NULL, "the double was told not to begin");
    memcpy(t->weights, w_t, (size_t)t->num_params * sizeof *w_t);
    t->progress = (struct train_progress){.steps_assigned = job->local_steps,
                                          .train_loss_start = NAN,
                                          .train_loss_end = NAN,
                                          .grad_norm_start = job->want_gamma ? 2 : NAN,
                                          .grad_norm_end = NAN,
                                          .gamma = NAN};
    return ERR_OK;
}

static enum err fake_step(struct trainer *t, int64_t max_steps, bool *out_is_done)
{
    struct train_progress *p = &t->progress;
    (void)fake_lock();
    hooks.num_waiting++;
    (void)pthread_cond_broadcast(&changed);
    while (hooks.is_held && hooks.num_free == 0)
        (void)pthread_cond_wait(&changed, &lock);
    if (hooks.num_free > 0)
        hooks.num_free--;
    hooks.num_waiting--;
    enum err e = hooks.step_err;
    bool gives_nan = hooks.gives_nan;
    fake_unlock();
    for (int64_t s = 0; s < max_steps && p->steps_done < p->steps_assigned && !e; s++) {
        for (int64_t i = 0; i < t->num_params; i++)
            t->weights[i] += 1;
        p->steps_done++;
        p->samples_seen += 10;
        p->train_loss_end = 1 / (double)p->steps_done;
        if (p->steps_done == 1)
            p->train_loss_start = p->train_loss_end;
    }
    if (gives_nan) {
        t->weights[3] = NAN;
        p->train_loss_end = NAN;
    }
    *out_is_done = p->steps_done >= p->steps_assigned;
    return e;
}

static enum err fake_snapshot(struct trainer *t, float *out_weights, struct train_progress *out)
{
    memcpy(out_weights, t->weights, (size_t)t->num_params * sizeof *out_weights);
    *out = t->progress;
    if (!isnan(out->grad_norm_start)) {
        out->grad_norm_end = 1;
        out->gamma = 0.5;
    }
    out->update_norm = (double)t->progress.steps_done;
    return ERR_OK;
}

static void fake_progress(const struct trainer *t, struct train_progress *out)
{
    *out = t->progress;
}

static void fake_end(struct trainer *t)
{
    (void)t;
}

static enum err fake_evaluate(struct trainer *t, int64_t ordinal, enum data_split split, const float *w,
                              struct evaluation *out)
{
    const struct device_data *d = dataset_find(t->data, ordinal);
    enum err e = fake_lock()->evaluate_err;
    hooks.num_evaluated++;
    fake_unlock();
    *out = (struct evaluation){.loss = (double)w[0],
                               .examples = (int64_t)(split == SPLIT_TRAIN ? d->num_train : d->num_test),
                               .correct = 1};
    return e;
}

static enum err fake_gradient(struct trainer *t, int64_t ordinal, const float *w, float *out_gradient)
{
    (void)ordinal;
    for (int64_t i = 0; i < t->num_params; i++)
        out_gradient[i] = w[i] + 0.5F;
    return ERR_OK;
}

const struct trainer_ops fake_trainer = {.name = "fake",
                                         .open = fake_open,
                                         .plan = fake_plan,
                                         .begin = fake_begin,
                                         .step = fake_step,
                                         .snapshot = fake_snapshot,
                                         .progress = fake_progress,
                                         .end = fake_end,
                                         .evaluate = fake_evaluate,
                                         .gradient = fake_gradient,
                                         .close = fake_close};

/* -- directories ----------------------------------------------------------------------------------------- */

char *support_dir_new(void)
{
    char *dir = strdup("/tmp/fedlane-test-XXXXXX");
    ck_assert_ptr_nonnull(dir);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    return dir;
}

void support_dir_free(char *dir)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)execlp("rm", "rm", "-rf", dir, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    free(dir);
}
