/* test_ops [test|grad|perf] [BACKEND]
 * test: every operation on every backend against the reference, on the same random operands.
 * grad: every backward operation against differences of its forward operation. Without arguments, both.
 * perf: a table of times (./dev bench ops). */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "common/base/rng.h"
#include "tests/compute/descent_ops.h"
#include "tests/compute/grad_ops.h"
#include "tests/compute/image_ops.h"
#include "tests/compute/logit_ops.h"
#include "tests/compute/lstm_ops.h"
#include "tests/compute/perf_ops.h"
#include "tests/compute/sequence_ops.h"
#include "tests/support/elsewhere.h"

static struct compute_op make_op(enum compute_kind kind, size_t rows, size_t inputs, size_t outputs)
{
    return (struct compute_op){.kind = kind,
                               .rows = rows,
                               .inputs = inputs,
                               .outputs = outputs,
                               .learning_rate = 0.125f,
                               .mu = 0.5f,
                               .scale = 0.1f};
}

static void ck_dense_and_softmax(struct compute *c, struct compute *reference, size_t rows, size_t inputs,
                                 size_t outputs)
{
    for (int k = COMPUTE_DENSE_FORWARD; k <= COMPUTE_DENSE_UPDATE; k++) {
        struct compute_op op = make_op((enum compute_kind)k, rows, inputs, outputs);
        ck_op(c, reference, op);
        op.accumulate = true;
        op.mu = 0;
        if (k == COMPUTE_DENSE_GRADIENT || k == COMPUTE_DENSE_UPDATE)
            ck_op(c, reference, op);
    }
    if (outputs == 0)
        return;
    ck_op(c, reference, make_op(COMPUTE_SOFTMAX_GRADIENT, rows, 0, outputs));
    ck_op(c, reference, make_op(COMPUTE_SOFTMAX_LOSS, rows, 0, outputs));
    ck_op(c, reference, make_op(COMPUTE_SIGMOID_GRADIENT, rows, 0, 1));
    ck_op(c, reference, make_op(COMPUTE_SIGMOID_LOSS, rows, 0, 1));
    struct compute_op step = make_op(COMPUTE_SOFTMAX_STEP, rows, inputs, outputs);
    ck_op(c, reference, step);
    step.mu = 0;
    ck_op(c, reference, step);
}

/* Every part-th of the small shapes. */
static void ck_backend_in_part(struct compute *c, size_t part)
{
    static const size_t lengths[] = {0, 1, 3, 8, 31, 1000, 4099};
    struct compute *reference = NULL;
    ck_assert_int_eq(compute_open("reference", &reference, NULL), ERR_OK);
    for (size_t rows = 0; rows <= 40; rows++) {
        for (size_t outputs = rows % part; outputs <= 40; outputs += part)
            ck_dense_and_softmax(c, reference, rows, (19 * rows + 7 * outputs) % 83, outputs);
    }
    for (size_t inputs = 0; inputs <= 130; inputs += part)
        ck_dense_and_softmax(c, reference, 10, inputs, 10);
    ck_dense_and_softmax(c, reference, 7, 521, 5);
    ck_dense_and_softmax(c, reference, 3, 9, 521);
    ck_dense_and_softmax(c, reference, 10, 784, 200);
    ck_dense_and_softmax(c, reference, 13, 1301, 23); /* rows that do not fit the first-level cache */
    ck_dense_and_softmax(c, reference, 64, 301, 101); /* large enough for BLAS */
    ck_dense_and_softmax(c, reference, 129, 48, 62);
    static const size_t many[][3] = {{33, 129, 47}, {131, 150, 50}, {260, 1, 40}, {35, 0, 33}, {300, 40, 7}};
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        ck_dense_and_softmax(c, reference, many[i][0], many[i][1], many[i][2]);
    static const enum compute_kind vectors[] = {
        COMPUTE_RELU_FORWARD,  COMPUTE_RELU_BACKWARD, COMPUTE_TANH_FORWARD,
        COMPUTE_TANH_BACKWARD, COMPUTE_DROPOUT,       COMPUTE_PROX_STEP,
        COMPUTE_PROX_GRADIENT, COMPUTE_DOT,           COMPUTE_SQUARED_DISTANCE,
    };
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            ck_op(c, reference, make_op(vectors[k], lengths[i], 0, 0));
    }
    struct compute_op drop = make_op(COMPUTE_DROPOUT, 1003, 0, 0);
    drop.key = 12345;
    for (size_t i = 0; i < 4; i++) {
        drop.scale = (real[]){0, 0.5f, 0.3f, 0.999f}[i];
        ck_op(c, reference, drop);
    }
    ck_descent_ops(c, reference);
    ck_image_ops(c, reference);
    ck_lstm_ops(c, reference);
    ck_sequence_ops(c, reference);
    compute_close(reference);
    compute_close(c);
}

/* Every tile and every edge of one: all pairs of rows and outputs, some of them in the short form. */
static void ck_backend(struct compute *c)
{
#ifdef FEDLANE_SANITIZED
    ck_backend_in_part(c, unit_is_full() ? 3 : 17);
#else
    ck_backend_in_part(c, unit_is_full() ? 1 : 5);
#endif
}

START_TEST(test_openblas)
{
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_assert_ptr_nonnull(strstr(compute_description(c), "OpenBLAS"));
    ck_backend(c);
}
END_TEST

START_TEST(test_baseline_kernels)
{
    struct compute *c = NULL;
    ck_assert_int_eq(setenv("FEDLANE_CPU", "baseline", 1), 0);
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_assert_ptr_nonnull(strstr(compute_description(c), "baseline"));
    ck_backend(c);
}
END_TEST

START_TEST(test_avx2_kernels)
{
    struct compute *c = NULL;
    ck_assert_int_eq(setenv("FEDLANE_CPU", "avx2", 1), 0);
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_assert_ptr_null(strstr(compute_description(c), "avx512"));
    ck_backend(c);
}
END_TEST

/* The keyed stream decides what is dropped, so a model drops the same everywhere. */
static void ck_same_bits(struct compute *c, struct compute_op op)
{
    struct compute *reference = NULL;
    struct operands expected;
    ck_assert_int_eq(compute_open("reference", &reference, NULL), ERR_OK);
    make_operands(&op, 1, &expected);
    struct operands got = copy_operands(&expected);
    run_on(reference, op, &expected, 0);
    run_on(c, op, &got, 0);
    ck_assert_mem_eq(got.bytes[1], expected.bytes[1], expected.info[1].bytes);
    free_operands(&expected);
    free_operands(&got);
    compute_close(reference);
}

/* PoCL is an OpenCL device on the CPU (./dev deps check installs it); another one that is here serves as
 * well. The thread sanitizer does not see into its threads, and a leak checker falls over them, hence the
 * end. */
static struct compute *open_opencl(void)
{
    struct compute *c = NULL;
    struct fault fault = FAULT_NONE;
    size_t num_devices = 0;
    if (FAULT_STRIDE > 1)
        _exit(EXIT_SUCCESS);
    if (compute_num_opencl_devices(&num_devices, &fault) && !getenv("CI")) {
        (void)fprintf(stderr, "test_opencl: not run: %s\n", fault.detail);
        _exit(EXIT_SUCCESS);
    }
    ck_assert_msg(!compute_open("opencl", &c, &fault), "%s", fault.detail);
    ck_assert_ptr_nonnull(strstr(compute_description(c), "opencl:"));
    return c;
}

START_TEST(test_opencl_gradients)
{
    ck_gradients(open_opencl());
    _exit(EXIT_SUCCESS);
}
END_TEST

START_TEST(test_gradients)
{
    static const char *const names[] = {"reference", "openblas"};
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open(names[_i], &c, NULL), ERR_OK);
    ck_gradients(c);
    compute_close(c);
}
END_TEST

START_TEST(test_opencl)
{
    struct compute *c = open_opencl();
    for (uint64_t key = 1; key <= 3; key++) {
        struct compute_op op = make_op(COMPUTE_DROPOUT, 4099, 0, 0);
        op.key = UINT64_MAX / key;
        op.scale = 0.3f * (float)key; /* 1 - 0.3f is no float */
        ck_same_bits(c, op);
    }
    ck_descents_by_hand(c);
    ck_backend_in_part(c, unit_is_full() ? 5 : 37); /* a kernel's start takes longer than a small operation */
    _exit(EXIT_SUCCESS);
}
END_TEST

START_TEST(test_memory_elsewhere)
{
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open_backend(&elsewhere_backend, NULL, &c, NULL), ERR_OK);
    ck_assert_str_eq(compute_name(c), "elsewhere");
    struct compute_op forward = make_op(COMPUTE_DENSE_FORWARD, 1, 1, 1), dot = make_op(COMPUTE_DOT, 1, 0, 0);
    ck_assert(compute_supports(c, &forward));
    ck_assert(!compute_supports(c, &dot));
    ck_backend(c);
}
END_TEST

START_TEST(test_names)
{
    struct compute *c = NULL;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(compute_open("abacus", &c, &fault), ERR_INVALID_FIELD);
    ck_assert_ptr_nonnull(strstr(fault.detail, "reference, openblas, opencl"));
    ck_assert_int_eq(compute_open("openblas:0", &c, &fault), ERR_INVALID_FIELD);
    ck_assert_int_eq(compute_open("openbla", &c, &fault), ERR_INVALID_FIELD);
    ck_assert_int_eq(setenv("FEDLANE_COMPUTE", "reference", 1), 0);
    ck_assert_int_eq(compute_open(NULL, &c, NULL), ERR_OK);
    ck_assert_str_eq(compute_name(c), "reference");
    compute_close(c);
    ck_assert_int_eq(setenv("FEDLANE_COMPUTE", "", 1), 0);
    ck_assert_int_eq(compute_open(NULL, &c, NULL), ERR_OK);
    ck_assert_str_eq(compute_name(c), "openblas");
    compute_close(c);
}
END_TEST

START_TEST(test_buffers_are_counted_and_zero)
{
    struct compute *c = NULL;
    struct compute_buffer *a = NULL, *b = NULL;
    char bytes[100];
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_assert_int_eq(compute_alloc(c, 100, &a), ERR_OK);
    ck_assert_int_eq(compute_alloc(c, 0, &b), ERR_OK);
    ck_assert_uint_eq(compute_bytes_in_use(c), 100);
    ck_assert_int_eq(compute_read(c, (struct compute_slice){a, 0}, bytes, 100), ERR_OK);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(bytes[i], 0);
    compute_free(c, a);
    compute_free(c, b);
    compute_free(c, NULL);
    ck_assert_int_eq(compute_alloc(c, SIZE_MAX - 7, &a), ERR_NO_MEMORY);
    ck_assert_uint_eq(compute_bytes_in_use(c), 0);
    compute_close(c);
}
END_TEST

START_TEST(test_a_slice_too_small_is_a_bug)
{
    struct compute *c = NULL;
    struct compute_buffer *b = NULL;
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    ck_assert_int_eq(compute_alloc(c, 64, &b), ERR_OK);
    struct compute_slice s = {b, 4};
    enum err err = compute_relu_forward(c, 16, s, s);
    ck_abort_msg("an operand past its buffer gave %s", err_name(err));
}
END_TEST

START_TEST(test_logits)
{
    ck_exponentials_are_exact_enough();
    ck_non_finite_logits_show();
    ck_ties_go_to_the_first();
}
END_TEST

/* `all` rows at once, and then `part` of them at a time. */
static void ck_rows_are_independent(size_t all, size_t part, size_t inputs, size_t outputs)
{
    struct compute *c = NULL;
    struct compute_op op = make_op(COMPUTE_DENSE_FORWARD, all, inputs, outputs);
    struct operands together;
    const size_t x_row = compute_matrix_bytes(1, inputs), z_row = compute_matrix_bytes(1, outputs);
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    make_operands(&op, 1, &together);
    run_on(c, op, &together, 0);
    op.rows = part;
    for (size_t r = 0; r + part <= all; r += part) {
        struct operands some = copy_operands(&together);
        some.info[0].bytes = part * x_row;
        some.info[3].bytes = part * z_row;
        memcpy(some.bytes[0], together.bytes[0] + r * x_row, part * x_row);
        run_on(c, op, &some, 0);
        ck_assert_mem_eq(some.bytes[3], together.bytes[3] + r * z_row, part * z_row);
        free_operands(&some);
    }
    free_operands(&together);
    compute_close(c);
}

/* A row's results do not depend on which rows stand beside it, for products that BLAS does not do: few, and
 * many. */
START_TEST(test_rows_are_independent)
{
    ck_rows_are_independent(17, 1, 61, 13);
    ck_rows_are_independent(115, 33, 45, 61);
}
END_TEST

/* By a plainly written loop in double, over three steps from states of nothing. */
START_TEST(test_descents_by_hand)
{
    static const char *const backends[] = {"reference", "openblas"};
    for (size_t i = 0; i < 2; i++) {
        struct compute *c = NULL;
        ck_assert_int_eq(compute_open(backends[i], &c, NULL), ERR_OK);
        ck_descents_by_hand(c);
        compute_close(c);
    }
}
END_TEST

/* The same sum on every kind of CPU, since products are exact and the order is fixed. */
START_TEST(test_dots_are_equal_on_all_cpus)
{
    static const char *const cpus[] = {"baseline", "avx2", ""};
    const struct compute_op op = make_op(COMPUTE_DOT, 4099, 0, 0);
    struct operands first;
    make_operands(&op, 1, &first);
    ck_assert_int_eq(setenv("FEDLANE_CPU", cpus[_i], 1), 0);
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    run_on(c, op, &first, 0);
    double sums[16] = {0}, got;
    const float *a = (const float *)(const void *)first.bytes[0],
                *b = (const float *)(const void *)first.bytes[1];
    for (size_t k = 0; k < op.rows; k++)
        sums[k % 16] += (double)a[k] * (double)b[k];
    for (size_t half = 8; half > 0; half /= 2) {
        for (size_t k = 0; k < half; k++)
            sums[k] += sums[k + half];
    }
    memcpy(&got, first.bytes[2], sizeof got);
    ck_assert_mem_eq(&got, &sums[0], sizeof got);
    free_operands(&first);
    compute_close(c);
}
END_TEST

struct job {
    struct operands o;
    struct compute_op op;
};

static void *run_job(void *arg)
{
    struct job *job = arg;
    struct compute *c = NULL;
    ck_assert_int_eq(compute_open("openblas", &c, NULL), ERR_OK);
    run_on(c, job->op, &job->o, 0);
    compute_close(c);
    return NULL;
}

START_TEST(test_threads_do_not_change_the_bits)
{
    struct job alone = {.op = make_op(COMPUTE_DENSE_FORWARD, 64, 301, 101)};
    make_operands(&alone.op, 3, &alone.o);
    run_job(&alone);
    for (int repeat = 0; repeat < 10; repeat++) {
        struct job jobs[2];
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) {
            jobs[i].op = alone.op;
            make_operands(&jobs[i].op, 3, &jobs[i].o);
            ck_assert_int_eq(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
            ck_assert_mem_eq(jobs[i].o.bytes[3], alone.o.bytes[3], alone.o.info[3].bytes);
            free_operands(&jobs[i].o);
        }
    }
    free_operands(&alone.o);
}
END_TEST

/* Whose races the thread sanitizer is after; of the rest it would only take minutes. */
#ifdef __SANITIZE_THREAD__
enum { ONLY_THREADS = true };
#else
enum { ONLY_THREADS = false };
#endif

static Suite *make_tests(void)
{
    Suite *suite = suite_create("test");
    TCase *tc = unit_case("threads");
    tcase_add_test(tc, test_threads_do_not_change_the_bits);
    suite_add_tcase(suite, tc);
    if (ONLY_THREADS)
        return suite;
    tc = unit_case("compute");
    tcase_add_test(tc, test_memory_elsewhere);
    tcase_add_test(tc, test_names);
    tcase_add_test(tc, test_buffers_are_counted_and_zero);
    tcase_add_test_raise_signal(tc, test_a_slice_too_small_is_a_bug, SIGABRT);
    tcase_add_test(tc, test_logits);
    tcase_add_test(tc, test_descents_by_hand);
    tcase_add_loop_test(tc, test_dots_are_equal_on_all_cpus, 0, 3);
    tcase_add_test(tc, test_rows_are_independent);
    suite_add_tcase(suite, tc);
    tc = unit_case("openblas");
    tcase_add_test(tc, test_openblas);
    tcase_add_test(tc, test_baseline_kernels);
    tcase_add_test(tc, test_avx2_kernels);
    suite_add_tcase(suite, tc);
    tc = unit_case("opencl");
    tcase_add_exit_test(tc, test_opencl, EXIT_SUCCESS);
    suite_add_tcase(suite, tc);
    return suite;
}

static Suite *make_gradients(void)
{
    Suite *suite = suite_create("grad");
    TCase *tc = unit_case("reference");
    tcase_add_loop_test(tc, test_gradients, 0, 1);
    suite_add_tcase(suite, tc);
    tc = unit_case("openblas");
    tcase_add_loop_test(tc, test_gradients, 1, 2);
    suite_add_tcase(suite, tc);
    tc = unit_case("opencl");
    tcase_add_exit_test(tc, test_opencl_gradients, EXIT_SUCCESS);
    suite_add_tcase(suite, tc);
    return suite;
}

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"test", "grad", "perf"}, *const backends[] = {"reference", "openblas",
                                                                                      "opencl"};
    const char *mode = argc > 1 ? argv[1] : NULL, *backend = argc > 2 ? argv[2] : NULL;
    if (argc > 3 || (mode && !is_one_of(mode, modes, 3)) || (backend && !is_one_of(backend, backends, 3)) ||
        (mode && backend && strcmp(mode, "test") == 0 && strcmp(backend, "reference") == 0)) {
        (void)fputs("usage: test_ops [test|grad|perf] [reference|openblas|opencl]\n"
                    "test takes no \"reference\": it is what the others are tested against.\n",
                    stderr);
        return 2;
    }
    if (mode && strcmp(mode, "perf") == 0)
        return perf_ops(backend);
    SRunner *runner = srunner_create(make_tests());
    if (!ONLY_THREADS)
        srunner_add_suite(runner, make_gradients());
    srunner_run(runner, mode, backend, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
