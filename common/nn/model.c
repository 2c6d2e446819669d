#include "common/nn/model.h"

#include <math.h>
#include <stdlib.h>
#include "common/base/rng.h"
#include "common/nn/descent.h"
#include "common/nn/loss.h"
#include "common/nn/model_memory.h"
#include "common/nn/model_params.h"

struct model {
    struct compute *compute;
    enum loss_type loss;
    size_t num_outputs, max_rows, batch_stride;
    struct model_memory memory;
    struct compute_buffer *buffer;
    struct model_layers layers;
    size_t *activations; /* offset of what layer i puts out */
    real *staged_x;      /* NULL where the batch lies in the CPU's reach */
    int32_t *staged_labels;
    size_t last_rows;   /* of the last step's batch */
    uint64_t stream;    /* of the job, for dropout */
    uint64_t num_steps; /* done since model_begin */
    bool is_training;   /* a step is under way */
    struct optimizer optimizer;
    size_t num_states; /* for which there is room */
};

/* All that is decided before memory is taken. *out_activations is the caller's to free, also after an error,
 * and so are the layers. */
static enum err plan(const struct arch *arch, const struct compute *compute, size_t max_rows,
                     enum optimizer_kind kind, struct model_layers *layers, struct model_memory *memory,
                     size_t **out_activations, struct fault *fault)
{
    *out_activations = NULL;
    enum err err = model_layers_init(layers, arch, fault);
    if (err)
        return err;
    *out_activations = calloc(layers->count + 1, sizeof **out_activations);
    if (!*out_activations)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for a model's layers");
    return model_memory_plan(arch, compute, max_rows, optimizer_num_states(kind), layers, memory,
                             *out_activations, fault);
}

enum err model_plan(const struct arch *arch, const struct compute *compute, size_t max_rows,
                    enum optimizer_kind kind, struct model_plan *out, struct fault *fault)
{
    struct model_layers layers = {0};
    struct model_memory memory = {0};
    size_t *activations = NULL;
    enum err err = plan(arch, compute, max_rows, kind, &layers, &memory, &activations, fault);
    if (!err)
        *out = (struct model_plan){memory.persistent_bytes, memory.total_bytes - memory.persistent_bytes};
    free(activations);
    model_layers_release(&layers);
    return err;
}

static struct compute_slice at(const struct model *m, size_t offset)
{
    return (struct compute_slice){m->buffer, offset};
}

static struct compute_slice block_slice(const struct model *m, enum model_block block)
{
    return at(m, m->memory.blocks[block]);
}

/* Padding is 0 in every block, so that it adds nothing to sums over blocks. */
static size_t block_floats(const struct model *m)
{
    return m->memory.block_bytes / sizeof(real);
}

static enum err take_memory(struct model *m)
{
    enum err err = compute_alloc(m->compute, m->memory.total_bytes, &m->buffer);
    if (err || compute_host(m->compute, at(m, m->memory.x)))
        return err;
    m->staged_x = calloc(m->max_rows * m->batch_stride, sizeof *m->staged_x);
    m->staged_labels = calloc(m->max_rows, sizeof *m->staged_labels);
    return m->staged_x && m->staged_labels ? ERR_OK : ERR_NO_MEMORY;
}

static void refuse_memory(const struct model *m, struct fault *fault)
{
    const size_t limit = compute_memory_limit(), left = compute_memory_left();
    if (limit > 0 && m->memory.total_bytes > left)
        (void)fault_set(fault, ERR_NO_MEMORY, NULL,
                        "the model needs %zu bytes for training with batches of %zu, and %zu are left of the "
                        "%zu that --memory allows: raise it, or make the model smaller",
                        m->memory.total_bytes, m->max_rows, left, limit);
    else if (m->memory.total_bytes > compute_device_available(m->compute))
        (void)fault_set(
            fault, ERR_NO_MEMORY, NULL,
            "the model needs %zu bytes in one piece for training with batches of %zu, and %zu are left on "
            "%s: make the model or its batches smaller, or train on another device",
            m->memory.total_bytes, m->max_rows, compute_device_available(m->compute),
            compute_description(m->compute));
    else
        (void)fault_set(fault, ERR_NO_MEMORY, NULL,
                        "out of memory: the model needs %zu bytes for training with batches of %zu",
                        m->memory.total_bytes, m->max_rows);
}

enum err model_new(const struct arch *arch, struct compute *compute, size_t max_rows,
                   enum optimizer_kind kind, struct model **out, struct fault *fault)
{
    struct model *m = calloc(1, sizeof *m);
    if (!m)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for a model");
    m->compute = compute;
    m->batch_stride = compute_stride((size_t)arch->num_features);
    m->loss = arch->loss;
    m->num_outputs = arch->num_layers ? (size_t)arch->layers[arch->num_layers - 1].num_outputs : 0;
    m->max_rows = max_rows;
    m->num_states = optimizer_num_states(kind);
    enum err err = plan(arch, compute, max_rows, kind, &m->layers, &m->memory, &m->activations, fault);
    if (!err) {
        err = take_memory(m);
        if (err)
            refuse_memory(m, fault);
    }
    if (err) {
        model_free(m);
        return err;
    }
    *out = m;
    return ERR_OK;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    compute_free(m->compute, m->buffer);
    free(m->staged_x);
    free(m->staged_labels);
    free(m->activations);
    model_layers_release(&m->layers);
    free(m);
}

enum err model_write(struct model *m, enum model_block block, const real *params)
{
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < m->layers.num_tensors; i++)
        err = model_params_write(m->compute, &m->layers.tensors[i], block_slice(m, block), params);
    return err;
}

enum err model_read(struct model *m, enum model_block block, real *out_params)
{
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < m->layers.num_tensors; i++)
        err = model_params_read(m->compute, &m->layers.tensors[i], block_slice(m, block), out_params);
    return err;
}

real *model_batch_x(struct model *m)
{
    return m->staged_x ? m->staged_x : compute_host(m->compute, at(m, m->memory.x));
}

size_t model_batch_stride(const struct model *m)
{
    return m->batch_stride;
}

int32_t *model_batch_labels(struct model *m)
{
    return m->staged_labels ? m->staged_labels : compute_host(m->compute, at(m, m->memory.labels));
}

enum err model_batch_ready(struct model *m, size_t rows)
{
    if (rows > m->max_rows)
        bug("a batch of %zu rows in a model planned for %zu", rows, m->max_rows);
    if (!m->staged_x)
        return ERR_OK;
    enum err err =
        compute_write(m->compute, at(m, m->memory.x), m->staged_x, rows * m->batch_stride * sizeof(real));
    if (!err)
        err = compute_write(m->compute, at(m, m->memory.labels), m->staged_labels, rows * sizeof(int32_t));
    return err;
}

static struct layer_pass layer_pass_of(const struct model *m, size_t rows, size_t i)
{
    return (struct layer_pass){.compute = m->compute,
                               .rows = rows,
                               .in = at(m, i == 0 ? m->memory.x : m->activations[i - 1]),
                               .out = at(m, m->activations[i]),
                               .own = at(m, m->layers.items[i].own),
                               .scratch = at(m, m->memory.scratch),
                               .wants_d_in = i > m->layers.first_trained,
                               .is_training = m->is_training,
                               .stream = rng_key(m->stream, m->num_steps, m->layers.items[i].place, 0, 0)};
}

static enum err forward(struct model *m, size_t rows, struct compute_slice params)
{
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < m->layers.count; i++) {
        const struct layer *l = &m->layers.items[i];
        const struct layer_pass pass = layer_pass_of(m, rows, i);
        err = l->ops->forward(l, &pass, params);
    }
    return err;
}

/* What to do with each layer's gradient: step with it, or write it down. */
struct backward_goal {
    struct compute_slice params;
    const struct sgd *sgd; /* NULL: write it down */
    bool accumulate;
};

static enum err use_gradient(struct model *m, const struct layer *l, const struct layer_pass *pass,
                             const struct backward_goal *goal)
{
    if (!l->ops->gradient)
        return ERR_OK;
    if (goal->sgd)
        return l->ops->update(l, pass, goal->sgd, goal->params, block_slice(m, MODEL_ANCHOR));
    return l->ops->gradient(l, pass, block_slice(m, MODEL_GRADIENT), goal->accumulate);
}

/* From the gradient of the logits, in deltas[0], down to the first layer with weights. A layer's input
 * gradient is taken before its weights change. */
static enum err backward(struct model *m, size_t rows, const struct backward_goal *goal)
{
    enum err err = ERR_OK;
    int current = 0;
    for (size_t i = m->layers.count; !err && i-- > m->layers.first_trained;) {
        const struct layer *l = &m->layers.items[i];
        int next = l->ops->can_be_in_place ? current : 1 - current;
        struct layer_pass pass = layer_pass_of(m, rows, i);
        pass.d_out = at(m, m->memory.deltas[current]);
        pass.d_in = at(m, m->memory.deltas[next]);
        if (pass.wants_d_in || l->ops->runs_back)
            err = l->ops->backward(l, &pass, goal->params);
        if (!err)
            err = use_gradient(m, l, &pass, goal);
        current = next;
    }
    return err;
}

static struct compute_slice logits(const struct model *m)
{
    return at(m, m->activations[m->layers.count - 1]);
}

/* The whole step of a model of one dense layer in one operation. */
static enum err step_of_one_layer(struct model *m, size_t rows, const struct sgd *sgd)
{
    const struct layer *l = &m->layers.items[0];
    struct compute_slice params = block_slice(m, MODEL_WEIGHTS), anchor = block_slice(m, MODEL_ANCHOR),
                         losses = at(m, m->memory.step_losses);
    return compute_softmax_step(m->compute, rows, l->in.channels, l->out.channels, 1 / (real)rows,
                                sgd->learning_rate, sgd->proximal_mu, at(m, m->memory.x),
                                at(m, m->memory.labels), compute_at(params, l->tensors[0]),
                                compute_at(params, l->tensors[1]), compute_at(anchor, l->tensors[0]),
                                compute_at(anchor, l->tensors[1]), at(m, m->memory.deltas[0]), losses,
                                compute_at(losses, rows * sizeof(real)));
}

void model_begin(struct model *m, uint64_t stream, const struct optimizer *optimizer)
{
    m->stream = stream;
    m->num_steps = 0;
    m->optimizer = optimizer ? *optimizer : optimizer_of(OPTIMIZER_SGD);
    if (optimizer_num_states(m->optimizer.kind) > m->num_states)
        bug("a model with room for %zu states of an optimizer begins with %s", m->num_states,
            optimizer_name(m->optimizer.kind));
}

/* The optimizer's step with GRADIENT, over all layers at once. */
static enum err descend(struct model *m, const struct sgd *sgd)
{
    const struct compute_descent d = descent_of(&m->optimizer, m->num_steps + 1);
    const struct compute_slice gradient = block_slice(m, MODEL_GRADIENT), norm = at(m, m->memory.scalar),
                               states[] = {at(m, m->memory.states[0]), at(m, m->memory.states[1])};
    enum err err = ERR_OK;
    if (d.clip_norm > 0)
        err = compute_dot(m->compute, block_floats(m), gradient, gradient, norm);
    return err ? err
               : compute_descent(m->compute, block_floats(m), &d, sgd->learning_rate, sgd->proximal_mu,
                                 gradient, block_slice(m, MODEL_WEIGHTS), block_slice(m, MODEL_ANCHOR),
                                 states, norm);
}

static enum err step(struct model *m, size_t rows, const struct sgd *sgd)
{
    const bool is_plain = optimizer_is_plain(&m->optimizer);
    const struct backward_goal goal = {.params = block_slice(m, MODEL_WEIGHTS), .sgd = is_plain ? sgd : NULL};
    enum err err = forward(m, rows, goal.params);
    if (!err)
        err =
            loss_gradient(m->compute, m->loss, rows, m->num_outputs, 1 / (real)rows, logits(m),
                          at(m, m->memory.labels), at(m, m->memory.deltas[0]), at(m, m->memory.step_losses));
    if (!err)
        err = backward(m, rows, &goal);
    return err || is_plain ? err : descend(m, sgd);
}

enum err model_step(struct model *m, size_t rows, const struct sgd *sgd)
{
    const bool is_one_layer = m->layers.count == 1 && m->layers.items[0].ops == &layer_dense &&
                              m->loss == LOSS_SOFTMAX_CROSS_ENTROPY && optimizer_is_plain(&m->optimizer);
    if (rows == 0)
        return ERR_OK;
    m->last_rows = rows;
    m->is_training = true;
    enum err err = is_one_layer ? step_of_one_layer(m, rows, sgd) : step(m, rows, sgd);
    m->is_training = false;
    m->num_steps++;
    return err;
}

enum err model_last_loss(struct model *m, double *out)
{
    double sum = 0;
    enum err err = loss_sum(m->compute, m->last_rows, at(m, m->memory.step_losses), &sum);
    if (!err)
        *out = sum / (double)m->last_rows;
    return err;
}

enum err model_evaluate(struct model *m, enum model_block block, size_t rows, double *out_loss_sum,
                        int64_t *out_num_correct)
{
    enum err err = forward(m, rows, block_slice(m, block));
    if (!err)
        err = loss_evaluate(m->compute, m->loss, rows, m->num_outputs, logits(m), at(m, m->memory.labels),
                            at(m, m->memory.losses), at(m, m->memory.correct), out_loss_sum, out_num_correct);
    return err;
}

enum err model_gradient(struct model *m, enum model_block block, size_t rows, real scale, bool accumulate)
{
    const struct backward_goal goal = {.params = block_slice(m, block), .accumulate = accumulate};
    enum err err = forward(m, rows, goal.params);
    if (!err)
        err = loss_gradient(m->compute, m->loss, rows, m->num_outputs, scale, logits(m),
                            at(m, m->memory.labels), at(m, m->memory.deltas[0]), at(m, m->memory.losses));
    if (!err)
        err = backward(m, rows, &goal);
    return err;
}

enum err model_add_proximal(struct model *m, real mu)
{
    return compute_prox_gradient(m->compute, block_floats(m), mu, block_slice(m, MODEL_GRADIENT),
                                 block_slice(m, MODEL_WEIGHTS), block_slice(m, MODEL_ANCHOR));
}

static enum err read_root(struct model *m, double *out)
{
    enum err err = compute_read(m->compute, at(m, m->memory.scalar), out, sizeof *out);
    *out = sqrt(*out);
    return err;
}

enum err model_gradient_norm(struct model *m, double *out)
{
    struct compute_slice gradient = block_slice(m, MODEL_GRADIENT);
    *out = 0;
    enum err err = compute_dot(m->compute, block_floats(m), gradient, gradient, at(m, m->memory.scalar));
    return err ? err : read_root(m, out);
}

enum err model_distance(struct model *m, double *out)
{
    *out = 0;
    enum err err = compute_squared_distance(m->compute, block_floats(m), block_slice(m, MODEL_WEIGHTS),
                                            block_slice(m, MODEL_ANCHOR), at(m, m->memory.scalar));
    return err ? err : read_root(m, out);
}
