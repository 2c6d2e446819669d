/* Threads that help with parts of others' operations: the same bits with any number of them, never more busy
 * threads than cores, never two parts in one seat. */
#include <pthread.h>
#include <stdatomic.h>
#include "common/base/rng.h"
#include "common/compute/compute_descent.h"
#include "common/compute/openblas/tiles.h"
#include "common/json/json_spec.h"
#include "common/nn/model.h"
#include "tests/compute/op_check.h"

#ifdef FEDLANE_SANITIZED
static const size_t cores[] = {3}; /* ten times slower, and after races, which three threads show */
#else
static const size_t cores[] = {2, 3, 5};
#endif
enum { NUM_CORES = sizeof cores / sizeof *cores };

static void start(size_t n)
{
    struct fault fault = FAULT_NONE;
    enum err err = team_start(n, &fault);
    ck_assert_msg(!err, "%s", fault.detail);
    ck_assert_uint_eq(team_seats(), n);
}

static struct operands result_of(const struct compute_op *op, const struct operands *from)
{
    struct compute *c = NULL;
    struct operands o = copy_operands(from);
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    run_on(c, *op, &o, 0);
    compute_close(c);
    return o;
}

/* Too small a shape would prove nothing, so it must be cut. */
static void ck_cut(const struct compute_op *op)
{
    struct operands before;
    make_operands(op, 1, &before);
    ck_assert_uint_eq(tiles_of(op).parts, 1);
    struct operands alone = result_of(op, &before);
    for (size_t i = 0; i < NUM_CORES; i++) {
        start(cores[i]);
        const struct tiles tiles = tiles_of(op);
        ck_assert_msg(tiles.parts > 1 && tiles.count > tiles.unit, "%s is not cut",
                      compute_kind_name(op->kind));
        struct operands together = result_of(op, &before);
        for (int a = 0; a < alone.count; a++)
            ck_assert_msg(memcmp(alone.bytes[a], together.bytes[a], alone.info[a].bytes + 4 * GUARD) == 0,
                          "%s: argument %d differs with %zu cores", compute_kind_name(op->kind), a, cores[i]);
        free_operands(&together);
        team_stop();
    }
    free_operands(&alone);
    free_operands(&before);
}

static void ck_cut_with_and_without_mu(struct compute_op op)
{
    op.learning_rate = 0.125f;
    op.mu = 0.5f;
    ck_cut(&op);
    op.mu = 0;
    op.accumulate = true;
    ck_cut(&op);
}

START_TEST(test_dense)
{
    static const size_t shapes[][3] = {/* rows, inputs, outputs: BLAS and own kernels, by rows and columns */
                                       {53, 709, 613},
                                       {1031, 61, 101},
                                       {1501, 47, 103},
                                       {11, 1021, 523}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int kind = COMPUTE_DENSE_FORWARD; kind <= COMPUTE_DENSE_UPDATE; kind++)
            ck_cut_with_and_without_mu((struct compute_op){.kind = (enum compute_kind)kind,
                                                           .rows = shapes[i][0],
                                                           .inputs = shapes[i][1],
                                                           .outputs = shapes[i][2]});
    }
}
END_TEST

START_TEST(test_vectors)
{
    static const struct compute_descent descents[] = {
        {.rule = COMPUTE_RULE_SGD, .clip_norm = 0.5f},
        {.rule = COMPUTE_RULE_ADAM,
         .keep1 = 0.9f,
         .take1 = 0.1f,
         .keep2 = 0.9f,
         .take2 = 0.1f,
         .unbias1 = 2,
         .unbias2 = 3,
         .epsilon = 0.1f,
         .weight_decay = 0.1f},
    };
    for (int kind = COMPUTE_RELU_FORWARD; kind <= COMPUTE_TANH_BACKWARD; kind++)
        ck_cut(&(struct compute_op){.kind = (enum compute_kind)kind, .rows = 300007});
    for (size_t i = 0; i < sizeof descents / sizeof *descents; i++)
        ck_cut(&(struct compute_op){.kind = COMPUTE_DESCENT,
                                    .rows = 300007,
                                    .learning_rate = 0.1f,
                                    .mu = 1,
                                    .descent = &descents[i]});
}
END_TEST

START_TEST(test_convolutions)
{
    static const struct compute_conv forms[] = {
        {.channels = 3,
         .height = 20,
         .width = 19,
         .pixel = 3,
         .filters = 37,
         .kernel_height = 5,
         .kernel_width = 5,
         .stride = 1,
         .pad_top = 2,
         .pad_left = 2,
         .out_height = 20,
         .out_width = 19,
         .has_relu = true,
         .pool = {.channels = 37,
                  .height = 20,
                  .width = 19,
                  .size = 2,
                  .stride = 2,
                  .out_height = 10,
                  .out_width = 9}},
        {.channels = 17,
         .height = 13,
         .width = 15,
         .pixel = 32,
         .filters = 50,
         .kernel_height = 3,
         .kernel_width = 2,
         .stride = 2,
         .out_height = 6,
         .out_width = 7,
         .has_relu = true},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        for (int kind = COMPUTE_CONV_FORWARD; kind <= COMPUTE_CONV_UPDATE; kind++)
            ck_cut_with_and_without_mu(
                (struct compute_op){.kind = (enum compute_kind)kind, .rows = 23, .conv = &forms[i]});
    }
}
END_TEST

START_TEST(test_lstms)
{
    static const size_t sizes[][3] = {{37, 9, 33}, {71, 5, 100}}; /* rows, steps, units */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int is_last_only = 0; is_last_only < 2; is_last_only++) {
            const struct compute_lstm g = {sizes[i][1], sizes[i][2], is_last_only != 0};
            for (int kind = COMPUTE_LSTM_FORWARD; kind <= COMPUTE_LSTM_BACKWARD; kind++)
                ck_cut(
                    &(struct compute_op){.kind = (enum compute_kind)kind, .rows = sizes[i][0], .lstm = &g});
        }
    }
}
END_TEST

/* -- whole models ---------------------------------------------------------------------------------------- */

enum { ROWS = 23, STEPS = 2 };

struct trained {
    const char *preset;
    real *w;
    size_t n;
};

static void fill_batch(struct model *m, const struct arch *arch)
{
    const size_t features = (size_t)arch->num_features;
    const bool are_tokens = arch->input_shape.kind == SHAPE_TOKENS;
    for (size_t i = 0; i < ROWS * features; i++)
        model_batch_x(m)[i / features * model_batch_stride(m) + i % features] =
            are_tokens ? (real)(rng_u64(11, i) % (uint64_t)arch->layers[0].vocabulary)
                       : (real)rng_normal(11, i);
    for (size_t r = 0; r < ROWS; r++)
        model_batch_labels(m)[r] = (int32_t)(rng_u64(12, r) % (uint64_t)arch->num_classes);
    ck_assert_int_eq(model_batch_ready(m, ROWS), ERR_OK);
}

/* A few steps, and a gradient behind them in *out's second half. */
static void *train(void *ctx)
{
    struct trained *out = ctx;
    struct arch *arch = NULL;
    struct compute *c = NULL;
    struct model *m = NULL;
    json_t *spec = json_pack("{s:s}", "preset", out->preset);
    const struct sgd sgd = {.learning_rate = 0.0625f, .proximal_mu = 0.5f};
    team_enter();
    ck_assert_int_eq(arch_parse(spec, &arch, NULL), ERR_OK);
    json_decref(spec);
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_assert_int_eq(model_new(arch, c, ROWS, OPTIMIZER_SGD, &m, NULL), ERR_OK);
    out->n = (size_t)arch->tensors.num_params;
    out->w = calloc(2 * out->n, sizeof *out->w);
    ck_assert_ptr_nonnull(out->w);
    ck_assert_int_eq(arch_init_params(arch, 1, out->w), ERR_OK);
    ck_assert_int_eq(model_write(m, MODEL_WEIGHTS, out->w), ERR_OK);
    ck_assert_int_eq(model_write(m, MODEL_ANCHOR, out->w), ERR_OK);
    model_begin(m, 1, NULL);
    fill_batch(m, arch);
    for (int i = 0; i < STEPS; i++)
        ck_assert_int_eq(model_step(m, ROWS, &sgd), ERR_OK);
    ck_assert_int_eq(model_gradient(m, MODEL_WEIGHTS, ROWS, 1, false), ERR_OK);
    ck_assert_int_eq(model_read(m, MODEL_WEIGHTS, out->w), ERR_OK);
    ck_assert_int_eq(model_read(m, MODEL_GRADIENT, out->w + out->n), ERR_OK);
    model_free(m);
    compute_close(c);
    arch_free(arch);
    team_leave();
    return NULL;
}

static void ck_trained(const struct trained *got, const struct trained *expected, size_t n)
{
    ck_assert_msg(got->n == expected->n && memcmp(got->w, expected->w, 2 * got->n * sizeof *got->w) == 0,
                  "%s differs with %zu cores", got->preset, n);
    free(got->w);
}

/* Alone on several cores, and beside another one, which leaves its core early or late. */
START_TEST(test_presets)
{
    static const char *const presets[] = {"softmax", "mlp", "cnn", "char_lstm", "sent_lstm"};
    struct trained alone = {.preset = presets[_i]};
    (void)train(&alone);
    for (size_t i = 0; i < NUM_CORES; i++) {
        struct trained one = {.preset = alone.preset}, two[2] = {one, one};
        pthread_t threads[2];
        start(cores[i]);
        (void)train(&one);
        ck_trained(&one, &alone, cores[i]);
        for (int t = 0; t < 2; t++)
            ck_assert_int_eq(pthread_create(&threads[t], NULL, train, &two[t]), 0);
        for (int t = 0; t < 2; t++) {
            ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
            ck_trained(&two[t], &alone, cores[i]);
        }
        team_stop();
    }
    free(alone.w);
}
END_TEST

/* -- cores ----------------------------------------------------------------------------------------------- */

enum { CORES = 3, JOBS = 3, TURNS = 200, ITEMS = 97 };

static atomic_int num_busy; /* threads at work */

struct items {
    atomic_bool is_seat_taken[TEAM_MAX_SEATS];
    unsigned char done[ITEMS];
};

static void ck_cores(int change)
{
    const int busy = atomic_fetch_add(&num_busy, change) + change;
    ck_assert_int_ge(busy, 0);
    ck_assert_int_le(busy, CORES);
}

static void do_items(const void *ctx, const struct team_part *part)
{
    struct items *items = *(struct items *const *)ctx;
    if (part->seat > 0) /* the caller is counted since it entered */
        ck_cores(1);
    ck_assert_uint_lt(part->seat, team_seats());
    ck_assert(!atomic_exchange(&items->is_seat_taken[part->seat], true));
    for (size_t i = part->from; i < part->to; i++)
        items->done[i]++;
    atomic_store(&items->is_seat_taken[part->seat], false);
    if (part->seat > 0)
        ck_cores(-1);
}

static void *come_and_go(void *ctx)
{
    const size_t seed = *(const size_t *)ctx;
    for (size_t turn = 0; turn < TURNS; turn++) {
        struct items items = {.done = {0}}, *shared = &items;
        team_enter();
        ck_cores(1);
        for (size_t i = 0; i <= rng_u64(seed, turn) % 3; i++)
            team_run(ITEMS, 3, 1 + rng_u64(seed + 100, turn) % 20, do_items, &shared);
        ck_cores(-1);
        team_leave();
        for (size_t i = 1; i < ITEMS; i++)
            ck_assert_uint_eq(items.done[i], items.done[0]);
        ck_assert_uint_eq(items.done[0], 1 + rng_u64(seed, turn) % 3);
    }
    return NULL;
}

START_TEST(test_never_more_threads_than_cores)
{
    pthread_t threads[JOBS];
    size_t seeds[JOBS];
    start(CORES);
    for (size_t t = 0; t < JOBS; t++) {
        seeds[t] = t + 1;
        ck_assert_int_eq(pthread_create(&threads[t], NULL, come_and_go, &seeds[t]), 0);
    }
    for (int t = 0; t < JOBS; t++)
        ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
    team_stop();
}
END_TEST

START_TEST(test_without_a_team)
{
    struct items items = {.done = {0}}, *shared = &items;
    team_stop();
    ck_assert_uint_eq(team_seats(), 1);
    team_enter();
    atomic_store(&num_busy, 1);
    team_run(ITEMS, 1, ITEMS, do_items, &shared);
    team_run(0, 1, 4, do_items, &shared);
    team_leave();
    for (size_t i = 0; i < ITEMS; i++)
        ck_assert_uint_eq(items.done[i], 1);
}
END_TEST

int main(void)
{
    TCase *tc = unit_case("tiles");
    tcase_add_test(tc, test_dense);
    tcase_add_test(tc, test_vectors);
    tcase_add_test(tc, test_convolutions);
    tcase_add_test(tc, test_lstms);
    tcase_add_loop_test(tc, test_presets, 0, 5);
    tcase_add_test(tc, test_never_more_threads_than_cores);
    tcase_add_test(tc, test_without_a_team);
    return unit_run_case("tiles", tc);
}
