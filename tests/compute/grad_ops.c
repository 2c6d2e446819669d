/* Gradients: what a backward operation gives, against central differences of the forward operation, of the
 * loss sum(dy * y) with random dy, summed in double.
 *
 * Operands are of the size of 1 and the third derivatives of these operations not much larger, so that a step
 * of 1/64 leaves an error of about 1e-4 by truncation; losses are below 100 and rounded to about 1e-6, which
 * is 1e-4 when divided by two steps. The tolerance is ten times the sum; a wrong gradient is off by about 1.
 */
#include "tests/compute/grad_ops.h"

#include <math.h>
#include <string.h>

#define STEP      (1.0f / 64)
#define TOLERANCE 2e-3
enum { MAX_PLACES = 60 }; /* tried of one operand */

/* What an argument of the backward operation is: one of the forward operation's after it ran, or these. */
enum { DY = 16, SEEN = 17, GRADIENT_OF = 32 };

struct path {
    enum compute_kind forward;
    int out; /* the forward operation's result */
    enum compute_kind backward;
    int from[5];
};

static const struct path dense_x = {
    COMPUTE_DENSE_FORWARD, 3, COMPUTE_DENSE_INPUT_GRADIENT, {DY, 1, GRADIENT_OF + 0}};
static const struct path dense_w = {
    COMPUTE_DENSE_FORWARD, 3, COMPUTE_DENSE_GRADIENT, {0, DY, GRADIENT_OF + 1, GRADIENT_OF + 2}};
static const struct path relu = {COMPUTE_RELU_FORWARD, 1, COMPUTE_RELU_BACKWARD, {1, DY, GRADIENT_OF + 0}};
static const struct path tanh_path = {
    COMPUTE_TANH_FORWARD, 1, COMPUTE_TANH_BACKWARD, {1, DY, GRADIENT_OF + 0}};
static const struct path dropout = {COMPUTE_DROPOUT, 1, COMPUTE_DROPOUT, {DY, GRADIENT_OF + 0}};
static const struct path conv_x = {
    COMPUTE_CONV_FORWARD, 3, COMPUTE_CONV_INPUT_GRADIENT, {DY, SEEN, 1, GRADIENT_OF + 0}};
static const struct path conv_w = {
    COMPUTE_CONV_FORWARD, 3, COMPUTE_CONV_GRADIENT, {0, DY, SEEN, GRADIENT_OF + 1, GRADIENT_OF + 2}};
static const struct path pool = {COMPUTE_POOL_FORWARD, 1, COMPUTE_POOL_BACKWARD, {DY, 2, GRADIENT_OF + 0}};
static const struct path lstm = {COMPUTE_LSTM_FORWARD, 4, COMPUTE_LSTM_BACKWARD, {DY, 0, GRADIENT_OF + 2, 3}};
static const struct path gather = {COMPUTE_GATHER, 2, COMPUTE_SCATTER_ADD, {0, DY, GRADIENT_OF + 1}};

static float *reals(const struct operands *o, int arg)
{
    return (float *)(void *)o->bytes[arg];
}

static double weighted_sum(const float *dy, const float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)dy[i] * (double)y[i];
    return sum;
}

/* The steps before the last one's h weigh nothing where it alone goes on. */
static double last_steps(struct compute *c, const struct compute_op *forward, const float *h, size_t bytes,
                         const float *dy)
{
    struct compute_op op = {.kind = COMPUTE_LAST_STEP, .rows = forward->rows, .lstm = forward->lstm};
    struct operands o;
    make_operands(&op, 1, &o);
    ck_assert_uint_eq(o.info[0].bytes, bytes);
    memcpy(o.bytes[0], h, bytes);
    run_on(c, op, &o, 0);
    double sum = weighted_sum(dy, reals(&o, 1), o.info[1].bytes / 4);
    free_operands(&o);
    return sum;
}

static bool is_cross_entropy(enum compute_kind kind)
{
    return kind == COMPUTE_SOFTMAX_GRADIENT || kind == COMPUTE_SIGMOID_GRADIENT;
}

/* The loss where value i of operand arg is moved by delta. */
static double loss_at(struct compute *c, const struct path *p, const struct compute_op *op,
                      const struct operands *start, const float *dy, int arg, size_t i, float delta)
{
    struct operands o = copy_operands(start);
    double loss = 0;
    reals(&o, arg)[i] += delta;
    run_on(c, *op, &o, 0);
    if (is_cross_entropy(op->kind)) {
        for (size_t r = 0; r < op->rows; r++)
            loss += (double)op->scale * (log((double)reals(&o, 3)[r]) - (double)reals(&o, 4)[r]);
    } else if (op->kind == COMPUTE_LSTM_FORWARD && op->lstm->is_last_only) {
        loss = last_steps(c, op, reals(&o, p->out), o.info[p->out].bytes, dy);
    } else {
        loss = weighted_sum(dy, reals(&o, p->out), o.info[p->out].bytes / 4);
    }
    free_operands(&o);
    return loss;
}

static bool has_kinks(const struct compute_op *op)
{
    return op->kind == COMPUTE_RELU_FORWARD || op->kind == COMPUTE_POOL_FORWARD ||
           (op->kind == COMPUTE_CONV_FORWARD && (op->conv->has_relu || op->conv->pool.size));
}

/* Linear but for kinks: where the slopes on both sides differ, one lies within the step, and the place is
 * left out. */
static void ck_gradient_of(struct compute *c, const struct path *p, const struct compute_op *op,
                           const struct operands *start, const float *dy, int arg, const float *gradient)
{
    const size_t n = start->info[arg].bytes / 4, every = n / MAX_PLACES + 1;
    size_t tried = 0, left_out = 0;
    for (size_t i = 0; i < n; i += every) {
        if (is_padding(op, arg, i))
            continue;
        double up = loss_at(c, p, op, start, dy, arg, i, STEP);
        double down = loss_at(c, p, op, start, dy, arg, i, -STEP);
        double slope = (up - down) / (2 * (double)STEP), got = (double)gradient[i];
        tried++;
        if (has_kinks(op)) {
            double here = loss_at(c, p, op, start, dy, arg, i, 0);
            if (fabs(up - 2 * here + down) > TOLERANCE * (double)STEP) {
                left_out++;
                continue;
            }
        }
        if (!(fabs(slope - got) <= TOLERANCE * (1 + fabs(slope))))
            ck_abort_msg("%s on %s: gradient of argument %d at %zu is %g, differences say %g",
                         compute_kind_name(p->backward), compute_name(c), arg, i, got, slope);
    }
    ck_assert_uint_gt(tried, 0);
    ck_assert_msg(3 * left_out <= tried, "%s: %zu of %zu places of argument %d lie at kinks",
                  compute_kind_name(p->forward), left_out, tried, arg);
}

/* Which of the forward operation's operands argument a of the backward one is; -1 for none. */
static int source_of(const struct path *p, const struct compute_op *op, int a)
{
    if (p->from[a] == SEEN)
        return op->conv->pool.size ? 4 : 3;
    return p->from[a] >= GRADIENT_OF ? p->from[a] - GRADIENT_OF : p->from[a];
}

/* Runs forward and backward from start; dy is that of `back`. */
static void run_path(struct compute *c, const struct path *p, const struct compute_op *op,
                     const struct operands *start, struct operands *back, float **out_dy)
{
    struct operands after = copy_operands(start);
    struct compute_op backward = *op;
    backward.kind = p->backward;
    make_operands(&backward, 2, back);
    run_on(c, *op, &after, 0);
    for (int a = 0; a < back->count; a++) {
        const size_t bytes = back->info[a].bytes;
        if (p->from[a] == DY) {
            *out_dy = malloc(bytes + 4);
            ck_assert_ptr_nonnull(*out_dy);
            memcpy(*out_dy, back->bytes[a], bytes);
        } else if (back->info[a].mode != COMPUTE_OUT && bytes > 0) {
            const int k = source_of(p, op, a);
            ck_assert_uint_eq(bytes, after.info[k].bytes);
            memcpy(back->bytes[a], after.bytes[k], bytes);
        }
    }
    run_on(c, backward, back, 0);
    free_operands(&after);
}

static void ck_path(struct compute *c, const struct path *p, struct compute_op op)
{
    struct operands start, back;
    float *dy = NULL;
    op.kind = p->forward;
    make_operands(&op, 1, &start);
    run_path(c, p, &op, &start, &back, &dy);
    for (int a = 0; a < back.count; a++) {
        if (p->from[a] < GRADIENT_OF)
            continue;
        const int k = p->from[a] - GRADIENT_OF;
        ck_assert_uint_eq(back.info[a].bytes, start.info[k].bytes);
        ck_gradient_of(c, p, &op, &start, dy, k, reals(&back, a));
    }
    free(dy);
    free_operands(&start);
    free_operands(&back);
}

/* The loss of a row is what the operation itself gives beside its gradient. */
static void ck_cross_entropy(struct compute *c, enum compute_kind kind, size_t rows, size_t outputs)
{
    const struct path p = {.forward = kind, .backward = kind};
    const struct compute_op op = {.kind = kind, .rows = rows, .outputs = outputs, .scale = 0.5f};
    struct operands start;
    make_operands(&op, 1, &start);
    struct operands after = copy_operands(&start);
    run_on(c, op, &after, 0);
    ck_gradient_of(c, &p, &op, &start, NULL, 0, reals(&after, 2));
    free_operands(&start);
    free_operands(&after);
}

/* Of w_hh and b_hh: the dense operation, from the gates' gradients and h of the step before. */
static void ck_recurrent_weights(struct compute *c, struct compute_op op)
{
    const size_t units = op.lstm->units;
    struct compute_op dense = {.kind = COMPUTE_DENSE_GRADIENT,
                               .rows = op.rows * op.lstm->steps,
                               .inputs = units,
                               .outputs = 4 * units};
    struct operands start, back, weights;
    float *dy = NULL;
    op.kind = COMPUTE_LSTM_FORWARD;
    make_operands(&op, 1, &start);
    make_operands(&dense, 1, &weights);
    run_path(c, &lstm, &op, &start, &back, &dy);
    struct operands after = copy_operands(&start);
    run_on(c, op, &after, 0);
    ck_assert_uint_eq(weights.info[0].bytes, after.info[5].bytes);
    ck_assert_uint_eq(weights.info[1].bytes, back.info[2].bytes);
    memcpy(weights.bytes[0], after.bytes[5], after.info[5].bytes);
    memcpy(weights.bytes[1], back.bytes[2], back.info[2].bytes);
    run_on(c, dense, &weights, 0);
    ck_gradient_of(c, &lstm, &op, &start, dy, 0, reals(&weights, 2));
    ck_gradient_of(c, &lstm, &op, &start, dy, 1, reals(&weights, 3));
    free(dy);
    free_operands(&start);
    free_operands(&back);
    free_operands(&after);
    free_operands(&weights);
}

static void ck_image_gradients(struct compute *c)
{
    for (int form = 0; form < 4; form++) {
        struct compute_conv g = {.channels = 2,
                                 .height = 5,
                                 .width = 6,
                                 .pixel = form % 2 ? 2 : compute_stride(2),
                                 .filters = 3,
                                 .kernel_height = 3,
                                 .kernel_width = 3,
                                 .stride = 1,
                                 .pad_top = 1,
                                 .pad_left = 1,
                                 .out_height = 5,
                                 .out_width = 6,
                                 .has_relu = form / 2 == 1};
        if (form % 2)
            g.pool = (struct compute_pool){3, 5, 6, 2, 2, 2, 3};
        const struct compute_op op = {.rows = 2, .conv = &g};
        ck_path(c, &conv_x, op);
        ck_path(c, &conv_w, op);
    }
    const struct compute_pool overlapping = {3, 7, 5, 3, 2, 3, 2};
    ck_path(c, &pool, (struct compute_op){.rows = 2, .pool = &overlapping});
}

static void ck_sequence_gradients(struct compute *c)
{
    for (int is_last_only = 0; is_last_only < 2; is_last_only++) {
        const struct compute_lstm g = {.steps = 3, .units = 5, .is_last_only = is_last_only != 0};
        const struct compute_op op = {.rows = 2, .lstm = &g};
        ck_path(c, &lstm, op);
        ck_recurrent_weights(c, op);
    }
    const struct compute_table table = {.steps = 4, .vocabulary = 5, .width = 3};
    ck_path(c, &gather, (struct compute_op){.rows = 3, .table = &table});
}

void ck_gradients(struct compute *c)
{
    static const size_t dense[][3] = {{1, 1, 1}, {3, 7, 5}, {10, 33, 17}};
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++) {
        const struct compute_op op = {.rows = dense[i][0], .inputs = dense[i][1], .outputs = dense[i][2]};
        ck_path(c, &dense_x, op);
        ck_path(c, &dense_w, op);
        ck_cross_entropy(c, COMPUTE_SOFTMAX_GRADIENT, op.rows, op.outputs);
        ck_cross_entropy(c, COMPUTE_SIGMOID_GRADIENT, op.rows, 1);
    }
    const struct compute_op vector = {.rows = 37, .scale = 0.3f, .key = 12345};
    ck_path(c, &relu, vector);
    ck_path(c, &tanh_path, vector);
    ck_path(c, &dropout, vector);
    ck_image_gradients(c);
    ck_sequence_gradients(c);
}
