/* One layer of an LSTM. The products over all steps at once are those of a dense layer whose rows are the
 * steps. */
#include "common/nn/layer.h"

static size_t lstm_build(struct layer *l, const struct arch_layer *from, size_t left,
                         struct model_tensor *tensors)
{
    const size_t units = (size_t)from->lstm.units;
    const bool is_top = l->part + 1 == (size_t)from->lstm.layers;
    struct model_tensor *mine = tensors + from->weight_tensor + 4 * l->part;
    (void)left;
    l->tensor = from->weight_tensor + 4 * (int)l->part;
    l->lstm = (struct compute_lstm){l->in.pixels, units, is_top && from->lstm.is_last_only};
    l->out = (struct layout){
        .pixels = l->lstm.is_last_only ? 1 : l->in.pixels, .channels = units, .pixel = compute_stride(units)};
    model_tensor_matrix(&mine[0], 4 * units, l->in.channels);
    model_tensor_matrix(&mine[1], 4 * units, units);
    model_tensor_matrix(&mine[2], 1, 4 * units);
    model_tensor_matrix(&mine[3], 1, 4 * units);
    return 1;
}

/* What is kept from forward to the gradients. */
struct kept {
    struct compute_slice z, cells, h_before, h;
    size_t bytes;
};

static struct kept kept_of(const struct layer *l, size_t rows, struct compute_slice own,
                           struct compute_slice out)
{
    const size_t gates = compute_matrix_bytes(rows * l->lstm.steps, 4 * l->lstm.units),
                 hidden = compute_matrix_bytes(rows * l->lstm.steps, l->lstm.units);
    struct kept k = {.z = own,
                     .cells = compute_at(own, gates),
                     .h_before = compute_at(own, gates + hidden),
                     .h = out,
                     .bytes = gates + 2 * hidden};
    if (l->lstm.is_last_only) {
        k.h = compute_at(own, k.bytes);
        k.bytes += hidden;
    }
    return k;
}

static size_t lstm_own(const struct layer *l, size_t rows)
{
    return kept_of(l, rows, (struct compute_slice){0}, (struct compute_slice){0}).bytes;
}

static size_t lstm_scratch(const struct layer *l, const struct compute *c, size_t rows)
{
    const struct compute_op forward = {.kind = COMPUTE_LSTM_FORWARD, .rows = rows, .lstm = &l->lstm},
                            backward = {.kind = COMPUTE_LSTM_BACKWARD, .rows = rows, .lstm = &l->lstm};
    size_t a = compute_scratch_bytes(c, &forward), b = compute_scratch_bytes(c, &backward);
    return a > b ? a : b;
}

static enum err lstm_forward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    const struct kept k = kept_of(l, p->rows, p->own, p->out);
    enum err err =
        compute_dense_forward(p->compute, p->rows * l->lstm.steps, l->in.channels, 4 * l->lstm.units, p->in,
                              compute_at(params, l->tensors[0]), compute_at(params, l->tensors[2]), k.z);
    if (!err)
        err = compute_lstm_forward(p->compute, p->rows, &l->lstm, compute_at(params, l->tensors[1]),
                                   compute_at(params, l->tensors[3]), k.z, k.cells, k.h, k.h_before,
                                   p->scratch);
    if (!err && l->lstm.is_last_only)
        err = compute_last_step(p->compute, p->rows, &l->lstm, k.h, p->out);
    return err;
}

static enum err lstm_backward(const struct layer *l, const struct layer_pass *p, struct compute_slice params)
{
    const struct kept k = kept_of(l, p->rows, p->own, p->out);
    enum err err = compute_lstm_backward(p->compute, p->rows, &l->lstm, p->d_out,
                                         compute_at(params, l->tensors[1]), k.z, k.cells, p->scratch);
    if (!err && p->wants_d_in)
        err =
            compute_dense_input_gradient(p->compute, p->rows * l->lstm.steps, l->in.channels,
                                         4 * l->lstm.units, k.z, compute_at(params, l->tensors[0]), p->d_in);
    return err;
}

static enum err lstm_gradient(const struct layer *l, const struct layer_pass *p,
                              struct compute_slice gradient, bool accumulate)
{
    const struct kept k = kept_of(l, p->rows, p->own, p->out);
    const size_t rows = p->rows * l->lstm.steps, gates = 4 * l->lstm.units;
    enum err err =
        compute_dense_gradient(p->compute, rows, l->in.channels, gates, accumulate, p->in, k.z,
                               compute_at(gradient, l->tensors[0]), compute_at(gradient, l->tensors[2]));
    return err ? err
               : compute_dense_gradient(p->compute, rows, l->lstm.units, gates, accumulate, k.h_before, k.z,
                                        compute_at(gradient, l->tensors[1]),
                                        compute_at(gradient, l->tensors[3]));
}

/* The weights at `matrix` and `bias`, which met the rows of `x`. */
static enum err update_one(const struct layer *l, const struct layer_pass *p, const struct sgd *sgd,
                           struct compute_slice params, struct compute_slice anchor, size_t matrix,
                           struct compute_slice x, size_t width)
{
    const struct kept k = kept_of(l, p->rows, p->own, p->out);
    const size_t weight = l->tensors[matrix], bias = l->tensors[matrix + 2];
    return compute_dense_update(p->compute, p->rows * l->lstm.steps, width, 4 * l->lstm.units,
                                sgd->learning_rate, sgd->proximal_mu, x, k.z, compute_at(params, weight),
                                compute_at(params, bias), compute_at(anchor, weight),
                                compute_at(anchor, bias));
}

static enum err lstm_update(const struct layer *l, const struct layer_pass *p, const struct sgd *sgd,
                            struct compute_slice params, struct compute_slice anchor)
{
    const struct kept k = kept_of(l, p->rows, p->own, p->out);
    enum err err = update_one(l, p, sgd, params, anchor, 0, p->in, l->in.channels);
    return err ? err : update_one(l, p, sgd, params, anchor, 1, k.h_before, l->lstm.units);
}

const struct layer_ops layer_lstm = {
    .name = "lstm",
    .runs_back = true,
    .build = lstm_build,
    .own_bytes = lstm_own,
    .scratch_bytes = lstm_scratch,
    .forward = lstm_forward,
    .backward = lstm_backward,
    .gradient = lstm_gradient,
    .update = lstm_update,
};
