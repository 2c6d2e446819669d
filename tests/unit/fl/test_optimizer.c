/* Optimizers by name and range, and the learning rate of each round. */
#include <math.h>
#include <string.h>
#include "common/fl/learning_rate.h"
#include "common/fl/optimizer.h"
#include "tests/support/unit.h"

START_TEST(test_names_and_what_they_keep)
{
    static const struct {
        const char *name;
        size_t states;
        bool is_prox;
    } kinds[OPTIMIZER_COUNT] = {{"sgd", 0, false},
                                {"momentum", 1, false},
                                {"adam", 2, false},
                                {"prox_momentum", 1, true},
                                {"prox_adam", 2, true}};
    for (int i = 0; i < OPTIMIZER_COUNT; i++) {
        enum optimizer_kind found = OPTIMIZER_COUNT;
        ck_assert(optimizer_find(kinds[i].name, &found) && (int)found == i);
        ck_assert_str_eq(optimizer_name(found), kinds[i].name);
        ck_assert_uint_eq(optimizer_num_states(found), kinds[i].states);
        ck_assert(optimizer_is_prox(found) == kinds[i].is_prox);
        const struct optimizer o = optimizer_of(found);
        ck_assert_int_eq(optimizer_check(&o, NULL), ERR_OK);
        ck_assert(optimizer_is_plain(&o) == (i == OPTIMIZER_SGD));
    }
    enum optimizer_kind none;
    ck_assert(!optimizer_find("Adam", &none) && !optimizer_find("", &none) && !optimizer_find(NULL, &none));
    const struct optimizer zero = {.kind = OPTIMIZER_SGD}, clips = {.clip_norm = 1},
                           decays = {.weight_decay = 1};
    ck_assert(optimizer_is_plain(&zero) && !optimizer_is_plain(&clips) && !optimizer_is_plain(&decays));
}
END_TEST

START_TEST(test_what_is_out_of_range_is_named)
{
    const struct optimizer momentum = optimizer_of(OPTIMIZER_MOMENTUM),
                           adam = optimizer_of(OPTIMIZER_PROX_ADAM);
    static const double bad[] = {-0.1, 1, 1.5};
    struct optimizer o;
    struct fault fault;
    for (size_t i = 0; i < 4; i++) {
        const double value = i < 3 ? bad[i] : (double)NAN;
        o = momentum, o.momentum = value;
        ck_assert_int_eq(optimizer_check(&o, &fault), ERR_INVALID_FIELD);
        ck_assert_str_eq(fault.field, "training.momentum");
        ck_assert_ptr_nonnull(strstr(fault.detail, "between 0 and 0.999999"));
        o = adam, o.beta1 = value;
        ck_assert_int_eq(optimizer_check(&o, &fault), ERR_INVALID_FIELD);
        ck_assert_str_eq(fault.field, "training.beta1");
        o = adam, o.beta2 = value;
        ck_assert_int_eq(optimizer_check(&o, &fault), ERR_INVALID_FIELD);
        ck_assert_str_eq(fault.field, "training.beta2");
    }
    o = adam, o.epsilon = 0;
    ck_assert_int_eq(optimizer_check(&o, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "training.epsilon");
    o = momentum, o.weight_decay = -1e-9;
    ck_assert_int_eq(optimizer_check(&o, &fault), ERR_INVALID_FIELD);
    ck_assert_str_eq(fault.field, "training.weight_decay");
    const double norms[] = {-1, 1e-13, (double)INFINITY, (double)NAN};
    for (size_t i = 0; i < 4; i++) {
        o = momentum, o.clip_norm = norms[i];
        ck_assert_int_eq(optimizer_check(&o, &fault), ERR_INVALID_FIELD);
        ck_assert_str_eq(fault.field, "training.clip_norm");
    }
    o = momentum, o.beta1 = 7; /* not its own */
    ck_assert_int_eq(optimizer_check(&o, &fault), ERR_OK);
}
END_TEST

static void ck_rates(double base, struct rate_schedule s, const double *expected, int64_t n)
{
    for (int64_t t = 0; t < n; t++)
        ck_assert_double_eq_tol(learning_rate_of_round(base, &s, t), expected[t], 1e-12 * base);
}

START_TEST(test_rates)
{
    const struct rate_schedule none = {0};
    for (int64_t t = 0; t < 5; t++)
        ck_assert(learning_rate_of_round(0.1, &none, t) == 0.1);
    ck_rates(8, (struct rate_schedule){.type = RATE_STEP, .step_size = 2, .gamma = 0.5},
             (const double[]){8, 8, 4, 4, 2, 2, 1}, 7);
    ck_rates(8, (struct rate_schedule){.type = RATE_EXPONENTIAL, .gamma = 0.5, .min_learning_rate = 1.5},
             (const double[]){8, 4, 2, 1.5, 1.5}, 5);
    ck_rates(
        1, (struct rate_schedule){.type = RATE_COSINE, .decay_rounds = 4, .min_learning_rate = 0.2},
        (const double[]){1, 0.2 + 0.8 * (1 + sqrt(0.5)) / 2, 0.6, 0.2 + 0.8 * (1 - sqrt(0.5)) / 2, 0.2, 0.2},
        6);
    ck_rates(4, (struct rate_schedule){.warmup_rounds = 3}, (const double[]){1, 2, 3, 4, 4}, 5);
    ck_rates(4, (struct rate_schedule){.type = RATE_STEP, .warmup_rounds = 1, .step_size = 1, .gamma = 0.1},
             (const double[]){2, 4, 0.4, 0.04}, 4);
}
END_TEST

/* What a step takes is a positive number, however long a run is. */
START_TEST(test_rates_never_vanish)
{
    const struct rate_schedule sinking[] = {
        {.type = RATE_EXPONENTIAL, .gamma = 0.1},
        {.type = RATE_STEP, .gamma = 0.1, .step_size = 1},
        {.type = RATE_COSINE, .decay_rounds = 10},
        {.warmup_rounds = 1000000},
    };
    for (size_t i = 0; i < sizeof sinking / sizeof *sinking; i++) {
        ck_assert(learning_rate_of_round(1e-9, &sinking[i], 999999) >= LEARNING_RATE_LEAST);
        ck_assert(learning_rate_of_round(1e-9, &sinking[i], 0) >= LEARNING_RATE_LEAST);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_names_and_what_they_keep, test_what_is_out_of_range_is_named,
                                  test_rates, test_rates_never_vanish};
    return unit_run("optimizer", tests, sizeof tests / sizeof *tests);
}
