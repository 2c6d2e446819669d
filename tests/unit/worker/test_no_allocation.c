/* Nothing allocates after a trainer is open. The linker sends every allocation of the code under test through
 * here. */
#include <stdatomic.h>
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

START_TEST(test_nothing_allocates_after_open)
{
    enum { FEATURES = 60, HIDDEN = 70, CLASSES = 10 };
    static float w[HIDDEN * FEATURES + HIDDEN + CLASSES * HIDDEN + CLASSES], out[sizeof w / sizeof *w];
    json_t *model =
        json_pack("{s:[i], s:[{s:s, s:i}, {s:s}, {s:s, s:i}]}", "input", FEATURES, "layers", "type", "dense",
                  "units", HIDDEN, "type", "relu", "type", "dense", "units", CLASSES);
    struct arch *arch = NULL;
    struct trainer *t = NULL;
    struct train_job job = {.ordinal = 1,
                            .local_epochs = 3,
                            .batch_size = 64,
                            .learning_rate = 0.1,
                            .proximal_mu = 1,
                            .want_gamma = true};
    struct train_progress p;
    struct evaluation e;
    bool has_failed = false;
    struct dataset *data = memory_dataset_new(FEATURES, CLASSES);
    memory_dataset_add_random(data, 1, 200, 30);
    ck_assert_int_eq(arch_parse(model, &arch, NULL), ERR_OK);
    ck_assert_int_eq(arch_init_params(arch, 1, w), ERR_OK);
    int before = allocations;
    ck_assert_int_eq(trainer_local.open(arch, data, 64, &t, NULL), ERR_OK);
    ck_assert_int_gt(allocations, before); /* so the counting works */
    before = allocations;
    for (int repeat = 0; repeat < 3; repeat++) {
        bool is_done = false;
        has_failed |= trainer_local.begin(t, &job, w, NULL) != ERR_OK;
        while (!is_done && !has_failed)
            has_failed |= trainer_local.step(t, 1, &is_done) != ERR_OK;
        has_failed |= trainer_local.snapshot(t, out, &p) != ERR_OK;
        has_failed |= trainer_local.evaluate(t, 1, SPLIT_TEST, out, &e) != ERR_OK;
        has_failed |= trainer_local.gradient(t, 1, w, out) != ERR_OK;
        trainer_local.end(t);
    }
    int after = allocations; /* the assertions allocate, too */
    ck_assert_int_eq(after, before);
    ck_assert(!has_failed);
    ck_assert_int_eq(p.steps_done, 12);
    trainer_local.close(t);
    dataset_free(data);
    arch_free(arch);
    json_decref(model);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_nothing_allocates_after_open};
    return unit_run("no_allocation", tests, 1);
}
