/* A model's architecture as the run spec's "model" object says it, without any arithmetic: which layers in
 * which order, their shapes, the tensors they own and how those start. The server reads it to know a run's
 * tensors; common/nn builds trainable layers from it. A model may instead only name its tensors, for trainers
 * that bring their own code. docs/run-spec.md has the layers and their fields. */
#ifndef FEDLANE_MODEL_ARCH_H
#define FEDLANE_MODEL_ARCH_H

#include <jansson.h>
#include "common/crypto/sha256.h"
#include "common/model/shape.h"
#include "common/tensor/tensor.h"

enum layer_type {
    LAYER_DENSE,
    LAYER_CONV2D,
    LAYER_MAX_POOL2D,
    LAYER_FLATTEN,
    LAYER_RELU,
    LAYER_TANH,
    LAYER_DROPOUT,
    LAYER_EMBEDDING,
    LAYER_LSTM,
    LAYER_TYPE_COUNT
};
enum loss_type { LOSS_SOFTMAX_CROSS_ENTROPY, LOSS_SIGMOID_CROSS_ENTROPY };
enum init_type { INIT_ZEROS, INIT_GLOROT_UNIFORM, INIT_HE_NORMAL };

struct arch_conv {
    int64_t kernel_height, kernel_width, stride;
    int64_t pad_top, pad_left; /* zeros around the image; below and right as the output's size wants them */
};

struct arch_pool {
    int64_t size, stride;
};

struct arch_lstm {
    int64_t units, layers;
    bool is_last_only; /* puts out a vector, its last layer's last step */
};

struct arch_layer {
    enum layer_type type;
    struct example_shape in, out;
    int64_t num_inputs, num_outputs; /* elements of in, out */
    int weight_tensor, bias_tensor;  /* index in tensors; -1 where the layer has none. An lstm has from
                                        weight_tensor on weight_ih, weight_hh, bias_ih, bias_hh of each of its
                                        layers */
    struct arch_conv conv;           /* of a conv2d */
    struct arch_pool pool;           /* of a max_pool2d */
    struct arch_lstm lstm;           /* of an lstm */
    int64_t vocabulary;              /* of an embedding */
    double rate;                     /* of a dropout */
};

struct arch {
    struct tensor_table tensors; /* names follow PyTorch's Sequential: "0.weight", "0.bias". dense [out, in],
                                    conv2d [filters, channels, height, width] */
    enum init_type init;
    bool has_layers; /* false: tensors only; then nothing below is set */
    int num_input_dims;
    int64_t input[LIMIT_TENSOR_DIMS];
    int64_t num_features;             /* product of input */
    struct example_shape input_shape; /* as the first layer that minds takes it */
    struct arch_layer *layers;
    size_t num_layers;
    enum loss_type loss;
    int64_t num_classes; /* outputs of the last layer; 2 with a sigmoid */
    /* What the tokens stand for, which data must agree in. */
    char *vocabulary; /* the characters in the order of their tokens, UTF-8; NULL: not named, or by hash alone
                       */
    char vocabulary_sha256[SHA256_HEX_SIZE]; /* of them, or of a file of word vectors; "": not named */
};

/* {"input": [784], "layers": [{"type": "dense", "units": 10}], "loss": "softmax_cross_entropy", "init":
 * "zeros"}, {"preset": "cnn"} as arch_expand takes it, or {"tensors": [{"name", "shape", "dtype"}], "init"}.
 * `init` defaults to "glorot_uniform" with layers, "zeros" without; `loss` to softmax_cross_entropy.
 * "vocabulary", beside layers: an alphabet (common/json/alphabet.h), or "sha256:" and 64 digits. Faults
 * name the field: "model.layers[1].units". Unknown fields are refused. */
enum err arch_parse(const json_t *model, struct arch **out, struct fault *fault) MUST_CHECK;
void arch_free(struct arch *a);
/* The model with its preset written out as layers, a new reference: {"preset", "input", "classes", "loss",
 * "init", "vocabulary"}, all but the first optional. A model without a preset comes back as it is. */
enum err arch_expand(json_t *model, json_t **out, struct fault *fault) MUST_CHECK;
const char *layer_type_name(enum layer_type t);
/* The initial parameters under a seed: streams RNG_INIT_WEIGHTS, a = tensor index. Tensors of one dimension
 * or less (biases) start at 0. fan_in = product of shape[1..], fan_out = shape[0]. zeros; glorot_uniform
 * U(-s, s), s = sqrt(6 / (fan_in + fan_out)); he_normal N(0, 2 / fan_in). Carried tensors start at 0 and are
 * not written here. */
enum err arch_init_params(const struct arch *a, uint64_t seed, float *out_params) MUST_CHECK;
/* The same for one parameter tensor, so that a large model need not be there as a whole. */
void arch_init_tensor(const struct arch *a, uint64_t seed, size_t tensor, float *out_values);
/* Whether all of it is zeros. */
bool arch_begins_with_zeros(const struct arch *a, size_t tensor);

#endif
