#include "tests/compute/op_check.h"

#include <math.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/compute/compute_descent.h"

static bool is_label(const struct compute_op *op, int arg)
{
    return (op->kind == COMPUTE_SOFTMAX_GRADIENT || op->kind == COMPUTE_SOFTMAX_LOSS ||
            op->kind == COMPUTE_SOFTMAX_STEP || op->kind == COMPUTE_SIGMOID_GRADIENT ||
            op->kind == COMPUTE_SIGMOID_LOSS) &&
           arg == 1;
}

/* The pool whose places an operand of bytes has; NULL for other operands. */
static const struct compute_pool *pool_of_bytes(const struct compute_op *op, int arg)
{
    static const int in_conv[COMPUTE_KIND_COUNT] = {[COMPUTE_CONV_FORWARD] = 4,
                                                    [COMPUTE_CONV_INPUT_GRADIENT] = 1,
                                                    [COMPUTE_CONV_GRADIENT] = 2,
                                                    [COMPUTE_CONV_UPDATE] = 2};
    if (in_conv[op->kind])
        return arg == in_conv[op->kind] && op->conv->pool.size ? &op->conv->pool : NULL;
    bool is_mine =
        (op->kind == COMPUTE_POOL_FORWARD && arg == 2) || (op->kind == COMPUTE_POOL_BACKWARD && arg == 1);
    return is_mine ? op->pool : NULL;
}

static bool is_conv_weight(const struct compute_op *op, int arg)
{
    switch (op->kind) {
    case COMPUTE_CONV_FORWARD:
        return arg == 1;
    case COMPUTE_CONV_INPUT_GRADIENT:
        return arg == 2;
    case COMPUTE_CONV_GRADIENT:
        return arg == 3;
    case COMPUTE_CONV_UPDATE:
        return arg == 3 || arg == 5;
    default:
        return false;
    }
}

/* Whether value i of an operand of an operation on images is padding. */
static bool is_image_padding(const struct compute_op *op, int arg, size_t i)
{
    if (op->kind == COMPUTE_UNPACK) {
        const struct compute_unpack *g = op->unpack;
        size_t x = i % compute_stride(g->pixels * g->channels), y = i % compute_stride(g->pixels * g->pixel);
        return arg == 0 ? x >= g->pixels * g->channels
                        : y % g->pixel >= g->channels || y / g->pixel >= g->pixels;
    }
    if (pool_of_bytes(op, arg))
        return false;
    if (op->kind == COMPUTE_POOL_FORWARD || op->kind == COMPUTE_POOL_BACKWARD)
        return i % compute_stride(op->pool->channels) >= op->pool->channels;
    const struct compute_conv *g = op->conv;
    if (is_conv_weight(op, arg)) {
        size_t place = i % compute_conv_run(g);
        return place / g->pixel >= g->kernel_width || place % g->pixel >= g->channels;
    }
    if (arg != (op->kind == COMPUTE_CONV_INPUT_GRADIENT ? 3 : 0))
        return i % compute_stride(g->filters) >= g->filters;
    size_t x = i % compute_conv_input(g);
    return x % g->pixel >= g->channels || x / g->pixel >= g->height * g->width;
}

static bool is_table(const struct compute_op *op)
{
    return op->kind == COMPUTE_GATHER || op->kind == COMPUTE_SCATTER_ADD;
}

/* The width of an operand that is a matrix, else 0. */
static size_t matrix_width(const struct compute_op *op, int arg)
{
    const size_t i = op->inputs, o = op->outputs;
    const size_t widths[COMPUTE_KIND_COUNT][COMPUTE_MAX_ARGS] = {
        [COMPUTE_DENSE_FORWARD] = {i, i, o, o},
        [COMPUTE_DENSE_INPUT_GRADIENT] = {o, i, i},
        [COMPUTE_DENSE_GRADIENT] = {i, o, i, o},
        [COMPUTE_DENSE_UPDATE] = {i, o, i, o, i, o},
        [COMPUTE_SOFTMAX_GRADIENT] = {o, 0, o},
        [COMPUTE_SOFTMAX_LOSS] = {o},
        [COMPUTE_SOFTMAX_STEP] = {i, 0, i, o, i, o, o},
        [COMPUTE_SIGMOID_GRADIENT] = {1, 0, 1},
        [COMPUTE_SIGMOID_LOSS] = {1}};
    if (op->kind == COMPUTE_LAST_STEP)
        return op->lstm->units;
    if (is_table(op))
        return arg == 0 ? op->table->steps : op->table->width;
    if (op->kind == COMPUTE_LSTM_FORWARD || op->kind == COMPUTE_LSTM_BACKWARD) {
        const bool is_forward = op->kind == COMPUTE_LSTM_FORWARD;
        return arg == 2 || (is_forward && arg == 1) ? 4 * op->lstm->units : op->lstm->units;
    }
    return widths[op->kind][arg];
}

bool is_padding(const struct compute_op *op, int arg, size_t i)
{
    if (op->kind >= COMPUTE_UNPACK && op->kind <= COMPUTE_POOL_BACKWARD)
        return is_image_padding(op, arg, i);
    size_t width = matrix_width(op, arg);
    return width && i % compute_stride(width) >= width;
}

/* Any place of the window, some of them cut; where the channels end, the first. */
static void make_bytes(const struct compute_op *op, const struct compute_pool *pool, uint64_t key, size_t n,
                       unsigned char *out)
{
    const size_t stride = compute_stride(pool->channels);
    for (size_t i = 0; i < n; i++) {
        bool is_cut = op->kind != COMPUTE_POOL_BACKWARD && op->conv->has_relu && rng_u64(key, i) % 4 == 0;
        out[i] = (unsigned char)(rng_u64(key, i) / 4 % (pool->size * pool->size));
        if (i % stride >= pool->channels)
            out[i] = 0;
        if (is_cut)
            out[i] = COMPUTE_CUT;
    }
}

static void make_operand(const struct compute_op *op, int a, uint64_t key, struct operands *out)
{
    const size_t n = out->info[a].bytes / 4;
    const bool is_out = out->info[a].mode == COMPUTE_OUT;
    const struct compute_pool *pool = pool_of_bytes(op, a);
    for (size_t i = 0; i < n + GUARD; i++) {
        float f = is_out ? 1e6f : (float)(3 * rng_uniform(key, i) - 1.5);
        int32_t label = op->outputs ? (int32_t)(rng_u64(key, i) % op->outputs) : 0;
        if (op->kind == COMPUTE_SIGMOID_GRADIENT || op->kind == COMPUTE_SIGMOID_LOSS)
            label = (int32_t)(rng_u64(key, i) % 2);
        if (op->kind == COMPUTE_DESCENT && a == 4 && !is_out)
            f = fabsf(f); /* a mean of squares */
        if (a == 0 && is_table(op))
            f = (float)(rng_u64(key, i) % op->table->vocabulary);
        if (!is_out && i < n && is_padding(op, a, i))
            f = 0;
        if (is_label(op, a))
            memcpy(out->bytes[a] + 4 * i, &label, 4);
        else
            memcpy(out->bytes[a] + 4 * i, &f, 4);
    }
    if (op->kind == COMPUTE_DESCENT && a == 5 && out->info[a].bytes > 0)
        memcpy(out->bytes[a], &(double){1.7 * (double)op->rows}, sizeof(double));
    if (pool && !is_out)
        make_bytes(op, pool, key, out->info[a].bytes, out->bytes[a]);
}

void make_operands(const struct compute_op *op, uint64_t seed, struct operands *out)
{
    out->count = compute_operands(op, out->info);
    for (int a = 0; a < out->count; a++) {
        out->bytes[a] = calloc(out->info[a].bytes / 4 + GUARD, 4);
        ck_assert_ptr_nonnull(out->bytes[a]);
        make_operand(op, a, rng_key(seed, RNG_MISC, (uint64_t)op->kind, (uint64_t)a, 0), out);
    }
}

struct operands copy_operands(const struct operands *from)
{
    struct operands copy = *from;
    for (int a = 0; a < from->count; a++) {
        size_t bytes = from->info[a].bytes + 4 * GUARD;
        copy.bytes[a] = malloc(bytes);
        ck_assert_ptr_nonnull(copy.bytes[a]);
        memcpy(copy.bytes[a], from->bytes[a], bytes);
    }
    return copy;
}

void free_operands(struct operands *o)
{
    for (int a = 0; a < o->count; a++)
        free(o->bytes[a]);
}

void run_on(struct compute *c, struct compute_op op, struct operands *o, size_t shift)
{
    struct compute_buffer *buffers[COMPUTE_MAX_ARGS], *scratch = NULL;
    ck_assert_int_eq(compute_alloc(c, compute_scratch_bytes(c, &op), &scratch), ERR_OK);
    op.scratch = (struct compute_slice){scratch, 0};
    for (int a = 0; a < o->count; a++) {
        size_t bytes = o->info[a].bytes + 4 * GUARD;
        ck_assert_int_eq(compute_alloc(c, bytes + shift, &buffers[a]), ERR_OK);
        op.arg[a] = (struct compute_slice){buffers[a], shift};
        ck_assert_int_eq(compute_write(c, op.arg[a], o->bytes[a], bytes), ERR_OK);
    }
    ck_assert_int_eq(compute_run(c, &op), ERR_OK);
    for (int a = 0; a < o->count; a++) {
        ck_assert_int_eq(compute_read(c, op.arg[a], o->bytes[a], o->info[a].bytes + 4 * GUARD), ERR_OK);
        compute_free(c, buffers[a]);
    }
    compute_free(c, scratch);
    ck_assert_uint_eq(compute_bytes_in_use(c), 0);
}

double nmse(const float *got, const float *expected, size_t n)
{
    double error = 0, power = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)got[i] - (double)expected[i];
        error += d * d;
        power += (double)expected[i] * (double)expected[i];
    }
    return error / (power + 1e-3 * (double)(n + 1));
}

static void ck_padding(const struct compute_op *op, const struct operands *o, int arg)
{
    const float *values = (const float *)(const void *)o->bytes[arg];
    size_t n = o->info[arg].bytes / 4;
    for (size_t i = 0; i < n; i++) {
        if (values[i] != 0 && is_padding(op, arg, i)) /* an assertion for each would take most of the time */
            ck_abort_msg("%s, argument %d, %zu x %zu x %zu: %g at %zu", compute_kind_name(op->kind), arg,
                         op->rows, op->inputs, op->outputs, (double)values[i], i);
    }
}

/* Where no channel is, no place means anything. */
static void ck_places(const struct compute_op *op, int arg, const struct operands *got,
                      const struct operands *expected)
{
    const struct compute_pool *pool = pool_of_bytes(op, arg);
    const size_t stride = compute_stride(pool->channels);
    for (size_t i = 0; i < got->info[arg].bytes; i++) {
        if (i % stride < pool->channels && got->bytes[arg][i] != expected->bytes[arg][i])
            ck_abort_msg("%s: place %d at %zu, not %d", compute_kind_name(op->kind), got->bytes[arg][i], i,
                         expected->bytes[arg][i]);
    }
}

static bool is_correct(const struct compute_op *op, int arg)
{
    return (op->kind == COMPUTE_SOFTMAX_LOSS || op->kind == COMPUTE_SIGMOID_LOSS) && arg == 4;
}

static void ck_same(const struct compute_op *op, const struct operands *got, const struct operands *expected)
{
    for (int a = 0; a < got->count; a++) {
        size_t bytes = got->info[a].bytes;
        ck_assert_mem_eq(got->bytes[a] + bytes, expected->bytes[a] + bytes, 4 * GUARD);
        if (got->info[a].mode == COMPUTE_IN || is_correct(op, a)) {
            ck_assert_mem_eq(got->bytes[a], expected->bytes[a], bytes);
        } else if (pool_of_bytes(op, a)) {
            ck_places(op, a, got, expected);
        } else if (op->kind == COMPUTE_DOT || op->kind == COMPUTE_SQUARED_DISTANCE) {
            double x, y;
            memcpy(&x, got->bytes[a], sizeof x);
            memcpy(&y, expected->bytes[a], sizeof y);
            ck_assert_double_le(fabs(x - y), 1e-9 * (1 + fabs(y)));
        } else if (!(op->kind == COMPUTE_SOFTMAX_LOSS && a == 0) &&
                   !(op->kind == COMPUTE_SOFTMAX_STEP && a == 6) &&
                   !(op->kind == COMPUTE_LSTM_BACKWARD && a == 3)) { /* scratch */
            double error = nmse((const float *)(const void *)got->bytes[a],
                                (const float *)(const void *)expected->bytes[a], bytes / 4);
            ck_assert_msg(error <= 1e-10, "%s, argument %d, %zu x %zu x %zu: nmse %g",
                          compute_kind_name(op->kind), a, op->rows, op->inputs, op->outputs, error);
            ck_padding(op, got, a);
            ck_padding(op, expected, a);
        }
    }
}

/* Copies, and sums in an order that everybody has: on the CPU they have the reference's bits. */
static bool is_exact(const struct compute *c, const struct compute_op *op)
{
    return strcmp(compute_name(c), "openblas") == 0 &&
           (op->kind == COMPUTE_DROPOUT || op->kind == COMPUTE_UNPACK || op->kind == COMPUTE_LAST_STEP ||
            op->kind == COMPUTE_GATHER || op->kind == COMPUTE_SCATTER_ADD);
}

void ck_op(struct compute *c, struct compute *reference, struct compute_op op)
{
    struct operands start;
    make_operands(&op, 1, &start);
    struct operands got = copy_operands(&start), expected = copy_operands(&start);
    run_on(reference, op, &expected, 0);
    run_on(c, op, &got, 0);
    ck_same(&op, &got, &expected);
    for (int a = 0; is_exact(c, &op) && a < got.count; a++)
        ck_assert_mem_eq(got.bytes[a], expected.bytes[a], got.info[a].bytes);
    for (size_t shift = 8; shift < 64; shift += 24) { /* bits do not depend on alignment */
        struct operands shifted = copy_operands(&start);
        run_on(c, op, &shifted, shift);
        for (int a = 0; a < got.count; a++)
            ck_assert_mem_eq(shifted.bytes[a], got.bytes[a], got.info[a].bytes + 4 * GUARD);
        free_operands(&shifted);
    }
    free_operands(&start);
    free_operands(&got);
    free_operands(&expected);
}
