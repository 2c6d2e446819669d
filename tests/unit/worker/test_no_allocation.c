/* Nothing allocates after a trainer is open. The linker sends every allocation of the code under test through
 * here. */
#include <stdatomic.h>
#include <stdlib.h>
#include "tests/support/memory_dataset.h"
#include "tests/support/unit.h"
#include "worker/trainer.h"

static atomic_int allocations;

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);

void *__wrap_malloc(size_t n)
{
    allocations++;
    return __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    allocations++;
    return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    allocations++;
    return __real_aligned_alloc(alignment, n);
}

enum { TRAIN = 200, TEST = 70, BATCH = 40 };

static const struct model_case {
    const char *model;
    size_t features;
    int classes;
    int num_tokens; /* 0: features are no tokens */
} cases[] = {
    {"{\"input\": [60], \"layers\": [{\"type\": \"dense\", \"units\": 70}, {\"type\": \"relu\"},"
     " {\"type\": \"dense\", \"units\": 10}]}",
     60, 10, 0},
    /* Larger than what the own kernels of dense layers take. */
    {"{\"input\": [300], \"layers\": [{\"type\": \"dense\", \"units\": 500}, {\"type\": \"tanh\"},"
     " {\"type\": \"dropout\", \"rate\": 0.5}, {\"type\": \"dense\", \"units\": 10}]}",
     300, 10, 0},
    {"{\"input\": [1, 12, 12], \"layers\": [{\"type\": \"conv2d\", \"filters\": 8, \"kernel\": 5, "
     "\"padding\": \"same\"},"
     " {\"type\": \"relu\"}, {\"type\": \"max_pool2d\", \"size\": 2},"
     " {\"type\": \"conv2d\", \"filters\": 20, \"kernel\": 3}, {\"type\": \"relu\"}, {\"type\": \"flatten\"},"
     " {\"type\": \"dense\", \"units\": 10}]}",
     144, 10, 0},
    {"{\"input\": [3, 9, 11], \"layers\": [{\"type\": \"conv2d\", \"filters\": 5, \"kernel\": [3, 2], "
     "\"stride\": 2,"
     " \"padding\": 1}, {\"type\": \"max_pool2d\", \"size\": 3, \"stride\": 1}, {\"type\": \"tanh\"},"
     " {\"type\": \"flatten\"}, {\"type\": \"dense\", \"units\": 4}]}",
     297, 4, 0},
    {"{\"input\": [12], \"layers\": [{\"type\": \"embedding\", \"vocabulary\": 30, \"dim\": 8},"
     " {\"type\": \"lstm\", \"units\": 20, \"layers\": 2}, {\"type\": \"dense\", \"units\": 30}]}",
     12, 30, 30},
    {"{\"input\": [5, 7], \"layers\": [{\"type\": \"lstm\", \"units\": 9, \"output\": \"all\"},"
     " {\"type\": \"lstm\", \"units\": 16}, {\"type\": \"dense\", \"units\": 6}, {\"type\": \"relu\"},"
     " {\"type\": \"dense\", \"units\": 1}], \"loss\": \"sigmoid_cross_entropy\"}",
     35, 2, 0},
};

static void add_tokens(struct dataset *data, const struct model_case *c)
{
    size_t n = TRAIN + TEST;
    real *x = calloc(n * c->features, sizeof *x);
    int32_t *y = calloc(n, sizeof *y);
    ck_assert(x && y);
    for (size_t i = 0; i < n * c->features; i++)
        x[i] = (real)(i * 7 % (size_t)c->num_tokens);
    for (size_t i = 0; i < n; i++)
        y[i] = (int32_t)(i % (size_t)c->classes);
    memory_dataset_add(data, 1, x, y, TRAIN, TEST);
    free(x);
    free(y);
}

/* All that a trainer does, with more test examples than an evaluation takes at a time. */
static enum err work(struct trainer *t, enum optimizer_kind kind, const float *w, float *out,
                     struct train_progress *p)
{
    struct train_job job = {.ordinal = 1,
                            .local_epochs = 2,
                            .batch_size = BATCH,
                            .learning_rate = 0.01,
                            .proximal_mu = 1,
                            .want_gamma = true};
    struct evaluation e;
    bool is_done = false;
    job.optimizer = optimizer_of(kind);
    job.optimizer.clip_norm = kind == OPTIMIZER_SGD ? 0 : 1;
    enum err err = trainer_local.begin(t, &job, w, NULL);
    while (!err && !is_done)
        err = trainer_local.step(t, 1, &is_done);
    if (!err)
        err = trainer_local.snapshot(t, out, p);
    if (!err)
        err = trainer_local.evaluate(t, 1, SPLIT_TEST, out, &e);
    if (!err)
        err = trainer_local.gradient(t, 1, w, out);
    trainer_local.end(t);
    return err;
}

START_TEST(test_nothing_allocates_after_open)
{
    const struct model_case *c = &cases[_i];
    json_t *model = json_loads(c->model, 0, NULL);
    struct arch *arch = NULL;
    struct trainer *t = NULL;
    struct train_progress p = {0};
    struct dataset *data = memory_dataset_new(c->features, c->classes);
    if (c->num_tokens)
        add_tokens(data, c);
    else
        memory_dataset_add_random(data, 1, TRAIN, TEST);
    ck_assert_int_eq(arch_parse(model, &arch, NULL), ERR_OK);
    size_t n = (size_t)arch->tensors.num_params;
    float *w = calloc(n, sizeof *w), *out = calloc(n, sizeof *out);
    ck_assert(w && out);
    ck_assert_int_eq(arch_init_params(arch, 1, w), ERR_OK);
    int before = allocations;
    ck_assert_int_eq(trainer_local.open(arch, data, BATCH, OPTIMIZER_PROX_ADAM, &t, NULL), ERR_OK);
    ck_assert_int_gt(allocations, before); /* so the counting works */
    before = allocations;
    enum err err = ERR_OK;
    for (int repeat = 0; !err && repeat < 3; repeat++)
        err = work(t, repeat == 1 ? OPTIMIZER_PROX_ADAM : OPTIMIZER_SGD, w, out, &p);
    int after = allocations; /* the assertions allocate, too */
    ck_assert_int_eq(after, before);
    ck_assert_int_eq(err, ERR_OK);
    ck_assert_int_eq(p.steps_done, 2 * TRAIN / BATCH);
    trainer_local.close(t);
    dataset_free(data);
    arch_free(arch);
    json_decref(model);
    free(w);
    free(out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("no_allocation");
    TCase *tc = unit_case("no_allocation");
    tcase_add_loop_test(tc, test_nothing_allocates_after_open, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
