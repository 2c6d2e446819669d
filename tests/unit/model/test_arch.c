#include <math.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/base/str.h"
#include "common/json/alphabet.h"
#include "common/json/json_spec.h"
#include "common/model/arch.h"
#include "tests/support/unit.h"

static enum err parse(const char *text, struct arch **out, struct fault *fault)
{
    json_t *root = NULL;
    *out = NULL;
    *fault = FAULT_NONE;
    ck_assert_int_eq(json_text_parse(text, strlen(text), &root, NULL), ERR_OK);
    enum err err = arch_parse(root, out, fault);
    json_decref(root);
    return err;
}

START_TEST(test_softmax_regression)
{
    struct arch *a;
    struct fault fault;
    ck_assert_int_eq(parse("{\"input\": [784], \"layers\": [{\"type\": \"dense\", \"units\": 10}], "
                           "\"loss\": \"softmax_cross_entropy\", \"init\": \"zeros\"}",
                           &a, &fault),
                     ERR_OK);
    ck_assert(a->has_layers);
    ck_assert_int_eq(a->num_features, 784);
    ck_assert_int_eq(a->num_classes, 10);
    ck_assert_int_eq(a->init, INIT_ZEROS);
    ck_assert_uint_eq(a->tensors.count, 2);
    ck_assert_str_eq(a->tensors.items[0].name, "0.weight");
    ck_assert_int_eq(a->tensors.items[0].shape[0], 10);
    ck_assert_int_eq(a->tensors.items[0].shape[1], 784);
    ck_assert_str_eq(a->tensors.items[1].name, "0.bias");
    ck_assert_int_eq(a->tensors.items[1].offset, 7840);
    ck_assert_int_eq(a->tensors.num_params, 7850);
    arch_free(a);
}
END_TEST

START_TEST(test_mlp_names_follow_positions)
{
    struct arch *a;
    struct fault fault;
    ck_assert_int_eq(
        parse(
            "{\"input\": [28, 28], \"layers\": [{\"type\": \"dense\", \"units\": 200}, {\"type\": \"relu\"}, "
            "{\"type\": \"dense\", \"units\": 10}]}",
            &a, &fault),
        ERR_OK);
    ck_assert_int_eq(a->init, INIT_GLOROT_UNIFORM);
    ck_assert_int_eq(a->loss, LOSS_SOFTMAX_CROSS_ENTROPY);
    ck_assert_int_eq(a->num_input_dims, 2);
    ck_assert_int_eq(a->num_features, 784);
    ck_assert_uint_eq(a->num_layers, 3);
    ck_assert_int_eq(a->layers[1].type, LAYER_RELU);
    ck_assert_int_eq(a->layers[1].weight_tensor, -1);
    ck_assert_int_eq(a->layers[1].num_outputs, 200);
    ck_assert_int_eq(a->layers[2].weight_tensor, 2);
    ck_assert_int_eq(a->layers[2].bias_tensor, 3);
    ck_assert_str_eq(a->tensors.items[2].name, "2.weight");
    ck_assert_str_eq(layer_type_name(a->layers[1].type), "relu");
    arch_free(a);
}
END_TEST

START_TEST(test_tensors_only)
{
    struct arch *a;
    struct fault fault;
    ck_assert_int_eq(parse("{\"tensors\": [{\"name\": \"w\", \"shape\": [3, 2]}, {\"name\": \"n\", "
                           "\"shape\": [], \"dtype\": "
                           "\"I64\"}]}",
                           &a, &fault),
                     ERR_OK);
    ck_assert(!a->has_layers);
    ck_assert_int_eq(a->init, INIT_ZEROS);
    ck_assert_int_eq(a->tensors.num_params, 6);
    ck_assert_int_eq(a->tensors.carried_bytes, 8);
    arch_free(a);
}
END_TEST

START_TEST(test_presets_are_layers)
{
    static const struct {
        const char *json;
        size_t layers, tensors;
        int64_t params, features, classes;
    } cases[] = {
        {"{\"preset\": \"softmax\"}", 1, 2, 7850, 784, 10},
        {"{\"preset\": \"mlp\", \"init\": \"he_normal\"}", 5, 6, 199210, 784, 10},
        {"{\"preset\": \"cnn\"}", 10, 8, 832 + 51264 + 1606144 + 5130, 784, 10},
        {"{\"preset\": \"cnn\", \"input\": [3, 32, 32], \"classes\": 62}", 10, 8,
         2432 + 51264 + 4096 * 512 + 512 + 62 * 513, 3072, 62},
        {"{\"preset\": \"char_lstm\"}", 3, 11, 640 + 400 * 110 + 400 * 202 + 80 * 101, 80, 80},
        {"{\"preset\": \"sent_lstm\"}", 4, 12, 1024 * 558 + 1024 * 514 + 30 * 257 + 31, 7500, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arch *a;
        struct fault fault;
        ck_assert_int_eq(parse(cases[i].json, &a, &fault), ERR_OK);
        ck_assert_uint_eq(a->num_layers, cases[i].layers);
        ck_assert_uint_eq(a->tensors.count, cases[i].tensors);
        ck_assert_int_eq(a->tensors.num_params, cases[i].params);
        ck_assert_int_eq(a->num_features, cases[i].features);
        ck_assert_int_eq(a->num_classes, cases[i].classes);
        arch_free(a);
    }
}
END_TEST

/* What tokens stand for: the paper's characters where a preset says nothing else, and a hash of them in any
 * case. */
START_TEST(test_vocabularies)
{
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    static const struct {
        const char *json, *text, *sha256; /* NULL: of the paper's characters */
        int64_t classes;
    } cases[] = {
        {"{'preset': 'char_lstm'}", alphabet_paper, NULL, 80},
        {"{'preset': 'char_lstm', 'vocabulary': 'paper'}", alphabet_paper, NULL, 80},
        {"{'preset': 'char_lstm', 'classes': 80}", NULL, "", 80},
        {"{'preset': 'char_lstm', 'vocabulary': 'abc'}", "abc", ABC, 3},
        {"{'preset': 'char_lstm', 'vocabulary': ['a', 'b', 'c'], 'classes': 9}", "abc", ABC, 9},
        {"{'preset': 'char_lstm', 'vocabulary': 'sha256:" ABC "'}", NULL, ABC, 80},
        {"{'preset': 'sent_lstm', 'vocabulary': 'sha256:" ABC "'}", NULL, ABC, 2},
        {"{'preset': 'sent_lstm'}", NULL, "", 2},
        {"{'input': [4], 'layers': [{'type': 'embedding', 'vocabulary': 3, 'dim': 2}, {'type': 'flatten'}, "
         "{'type': 'dense', 'units': 2}], 'vocabulary': 'abc'}",
         "abc", ABC, 2},
    };
    char paper[SHA256_HEX_SIZE], json[400];
    ck_assert_uint_eq(strlen(alphabet_paper), 80);
    ck_assert_int_eq(sha256_hex(alphabet_paper, 80, paper), ERR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arch *a;
        struct fault fault;
        ck_assert_int_eq(str_copy(json, sizeof json, cases[i].json), ERR_OK);
        for (char *at = json; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        ck_assert_msg(parse(json, &a, &fault) == ERR_OK, "%s: %s", json, fault.detail);
        ck_assert_msg(str_eq(a->vocabulary, cases[i].text), "%s", json);
        ck_assert_str_eq(a->vocabulary_sha256, cases[i].sha256 ? cases[i].sha256 : paper);
        ck_assert_int_eq(a->num_classes, cases[i].classes);
        arch_free(a);
    }
}
END_TEST

START_TEST(test_shapes_flow)
{
    struct arch *a;
    struct fault fault;
    char text[SHAPE_TEXT_SIZE];
    ck_assert_int_eq(
        parse("{\"input\": [9, 8], \"layers\": [{\"type\": \"relu\"}, {\"type\": \"conv2d\", \"filters\": "
              "4, \"kernel\": [4, 3], \"stride\": 2, \"padding\": 1}, {\"type\": \"max_pool2d\", "
              "\"size\": 3, \"stride\": 1}, {\"type\": \"flatten\"}, {\"type\": \"dense\", \"units\": 2}]}",
              &a, &fault),
        ERR_OK);
    ck_assert_str_eq(shape_text(&a->layers[1].in, text), "an image of 1 x 9 x 8");
    ck_assert_str_eq(shape_text(&a->layers[1].out, text), "an image of 4 x 4 x 4");
    ck_assert_str_eq(shape_text(&a->layers[2].out, text), "an image of 4 x 2 x 2");
    ck_assert_str_eq(shape_text(&a->layers[3].out, text), "a vector of 16");
    ck_assert_str_eq(a->tensors.items[0].name, "1.weight");
    const int64_t oihw[] = {4, 1, 4, 3};
    ck_assert_mem_eq(a->tensors.items[0].shape, oihw, sizeof oihw);
    arch_free(a);
}
END_TEST

#define EMBEDDING "{\"type\": \"embedding\", \"vocabulary\": 5, \"dim\": 2}"
#define CONV      "{\"type\": \"conv2d\", \"filters\": 2, \"kernel\": 5}"

START_TEST(test_faults_name_the_field)
{
    static const struct {
        const char *json, *field;
        enum err err;
    } cases[] = {
        {"{}", "model.input", ERR_MISSING_FIELD},
        {"[]", NULL, ERR_INVALID_FIELD},
        {"{\"input\": [4]}", "model.layers", ERR_MISSING_FIELD},
        {"{\"input\": [], \"layers\": [{\"type\": \"dense\", \"units\": 3}]}", "model.input",
         ERR_INVALID_FIELD},
        {"{\"input\": [0], \"layers\": [{\"type\": \"dense\", \"units\": 3}]}", "model.input",
         ERR_INVALID_FIELD},
        {"{\"input\": [4.5], \"layers\": [{\"type\": \"dense\", \"units\": 3}]}", "model.input",
         ERR_INVALID_FIELD},
        {"{\"input\": [100000, 100000], \"layers\": [{\"type\": \"dense\", \"units\": 3}]}", "model.input",
         ERR_INVALID_FIELD},
        {"{\"input\": [4], \"layers\": []}", "model.layers", ERR_INVALID_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"dense\"}]}", "model.layers[0].units", ERR_MISSING_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"relu\"}, {\"type\": \"dense\", \"units\": 0}]}",
         "model.layers[1].units", ERR_INVALID_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"relu\", \"units\": 4}]}", "model.layers[0].units",
         ERR_UNKNOWN_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"conv\"}]}", "model.layers[0].type", ERR_INVALID_FIELD},
        {"{\"input\": [4], \"layers\": [" CONV "]}", "model.input", ERR_INVALID_FIELD},
        {"{\"input\": [1, 2, 3, 4], \"layers\": [" CONV "]}", "model.input", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [" CONV ", {\"type\": \"dense\", \"units\": 3}]}",
         "model.layers[1]", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"flatten\"}, " CONV "]}", "model.layers[1]",
         ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"dense\", \"units\": 3}, {\"type\": \"max_pool2d\", "
         "\"size\": 2}]}",
         "model.layers[1]", ERR_INVALID_FIELD},
        {"{\"input\": [4, 8], \"layers\": [" CONV "]}", "model.layers[0].kernel", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"filters\": 1, \"kernel\": [3]}]}",
         "model.layers[0].kernel", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"filters\": 1, \"kernel\": 0}]}",
         "model.layers[0].kernel", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"filters\": 1, \"kernel\": \"5\"}]}",
         "model.layers[0].kernel", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"filters\": 1, \"kernel\": 3, "
         "\"padding\": -1}]}",
         "model.layers[0].padding", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"filters\": 1, \"kernel\": 3, "
         "\"padding\": "
         "\"valid\"}]}",
         "model.layers[0].padding", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"filters\": 1, \"kernel\": 3, \"stride\": "
         "2, "
         "\"padding\": \"same\"}]}",
         "model.layers[0].padding", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"filters\": 1, \"kernel\": 3, \"stride\": "
         "0}]}",
         "model.layers[0].stride", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"kernel\": 3}]}",
         "model.layers[0].filters", ERR_MISSING_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"conv2d\", \"filters\": 1000000000, \"kernel\": 3}]}",
         "model.layers[0].filters", ERR_INVALID_FIELD},
        {"{\"input\": [8, 8], \"layers\": [{\"type\": \"max_pool2d\", \"size\": 9}]}", "model.layers[0].size",
         ERR_INVALID_FIELD},
        {"{\"input\": [30000, 30000], \"layers\": [{\"type\": \"conv2d\", \"filters\": 2, \"kernel\": 1}]}",
         "model.layers[0]", ERR_INVALID_FIELD},
        {"{\"input\": [8], \"layers\": [{\"type\": \"lstm\", \"units\": 3}]}", "model.input",
         ERR_INVALID_FIELD},
        {"{\"input\": [8, 2], \"layers\": [" EMBEDDING "]}", "model.input", ERR_INVALID_FIELD},
        {"{\"input\": [8], \"layers\": [{\"type\": \"relu\"}, " EMBEDDING "]}", "model.layers[1]",
         ERR_INVALID_FIELD},
        {"{\"input\": [8], \"layers\": [" EMBEDDING ", {\"type\": \"dense\", \"units\": 3}]}",
         "model.layers[1]", ERR_INVALID_FIELD},
        {"{\"input\": [8], \"layers\": [{\"type\": \"dense\", \"units\": 3}, {\"type\": \"lstm\", \"units\": "
         "3}]}",
         "model.layers[1]", ERR_INVALID_FIELD},
        {"{\"input\": [8, 2], \"layers\": [{\"type\": \"lstm\", \"units\": 3, \"output\": \"first\"}]}",
         "model.layers[0].output", ERR_INVALID_FIELD},
        {"{\"input\": [8, 2], \"layers\": [{\"type\": \"lstm\", \"units\": 3, \"layers\": 0}]}",
         "model.layers[0].layers", ERR_INVALID_FIELD},
        {"{\"input\": [8], \"layers\": [{\"type\": \"dropout\", \"rate\": 1}]}", "model.layers[0].rate",
         ERR_INVALID_FIELD},
        {"{\"input\": [8], \"layers\": [{\"type\": \"dense\", \"units\": 2}], \"loss\": "
         "\"sigmoid_cross_entropy\"}",
         "model.layers", ERR_INVALID_FIELD},
        {"{\"preset\": \"sent_lstm\", \"classes\": 2}", "model.classes", ERR_INVALID_FIELD},
        {"{\"preset\": \"char_lstm\", \"input\": [80, 8]}", "model.input", ERR_INVALID_FIELD},
        {"{\"preset\": \"char_lstm\", \"vocabulary\": \"aba\"}", "model.vocabulary", ERR_INVALID_FIELD},
        {"{\"preset\": \"char_lstm\", \"vocabulary\": \"data\"}", "model.vocabulary", ERR_INVALID_FIELD},
        {"{\"preset\": \"char_lstm\", \"vocabulary\": \"sha256:abc\"}", "model.vocabulary",
         ERR_INVALID_FIELD},
        {"{\"preset\": \"char_lstm\", \"vocabulary\": \"abcd\", \"classes\": 3}", "model.vocabulary",
         ERR_INVALID_FIELD},
        {"{\"preset\": \"cnn\", \"vocabulary\": \"abcd\"}", "model.vocabulary", ERR_INVALID_FIELD},
        {"{\"preset\": \"char_lstm\", \"vocabulary\": 5}", "model.vocabulary", ERR_INVALID_FIELD},
        {"{\"preset\": \"char_lstm\", \"vocabulary\": [\"a\", \"bc\"]}", "model.vocabulary",
         ERR_INVALID_FIELD},
        {"{\"preset\": \"resnet\"}", "model.preset", ERR_INVALID_FIELD},
        {"{\"preset\": 3}", "model.preset", ERR_INVALID_FIELD},
        {"{\"preset\": \"cnn\", \"classes\": 1}", "model.classes", ERR_INVALID_FIELD},
        {"{\"preset\": \"cnn\", \"input\": [784]}", "model.input", ERR_INVALID_FIELD},
        {"{\"preset\": \"cnn\", \"layers\": []}", "model.layers", ERR_UNKNOWN_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"relu\"}]}", "model.layers", ERR_INVALID_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"dense\", \"units\": 1}]}", "model.layers",
         ERR_INVALID_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"dense\", \"units\": 4}, {\"type\": \"relu\"}]}",
         "model.layers", ERR_INVALID_FIELD},
        {"{\"input\": [1000000], \"layers\": [{\"type\": \"dense\", \"units\": 1000000}]}",
         "model.layers[0].units", ERR_INVALID_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"dense\", \"units\": 3}], \"lr\": 1}", "model.lr",
         ERR_UNKNOWN_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"dense\", \"units\": 3}], \"init\": \"ones\"}",
         "model.init", ERR_INVALID_FIELD},
        {"{\"input\": [4], \"layers\": [{\"type\": \"dense\", \"units\": 3}], \"loss\": \"mse\"}",
         "model.loss", ERR_INVALID_FIELD},
        {"{\"tensors\": [{\"name\": \"w\", \"shape\": [3]}], \"input\": [3]}", "model.input",
         ERR_UNKNOWN_FIELD},
        {"{\"tensors\": [{\"name\": \"w\", \"shape\": [3]}, {\"name\": \"w\", \"shape\": [3]}]}",
         "model.tensors[1].name", ERR_INVALID_FIELD},
        {"{\"tensors\": [{\"name\": \"w\", \"shape\": [-3]}]}", "model.tensors[0].shape", ERR_INVALID_FIELD},
        {"{\"tensors\": [{\"name\": \"w\", \"shape\": [3], \"dtype\": \"F16\"}]}", "model.tensors[0].dtype",
         ERR_INVALID_FIELD},
        {"{\"tensors\": [{\"name\": \"w\", \"shape\": [3], \"dtype\": \"FP32\"}]}", "model.tensors[0].dtype",
         ERR_INVALID_FIELD},
        {"{\"tensors\": [{\"shape\": [3]}]}", "model.tensors[0].name", ERR_MISSING_FIELD},
        {"{\"tensors\": [{\"name\": \"n\", \"shape\": [3], \"dtype\": \"I64\"}]}", "model.tensors",
         ERR_INVALID_FIELD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arch *a;
        struct fault fault;
        enum err err = parse(cases[i].json, &a, &fault);
        ck_assert_msg(err == cases[i].err, "%s: %s", cases[i].json, err_name(err));
        ck_assert_ptr_null(a);
        if (cases[i].field)
            ck_assert_msg(strcmp(fault.field, cases[i].field) == 0, "%s: field %s", cases[i].json,
                          fault.field);
        ck_assert_uint_gt(strlen(fault.detail), 0);
    }
}
END_TEST

static float *init_of(const char *init, uint64_t seed, struct arch **out)
{
    char text[256];
    struct fault fault;
    (void)snprintf(text, sizeof text,
                   "{\"input\": [300], \"layers\": [{\"type\": \"dense\", \"units\": 40}, {\"type\": "
                   "\"relu\"}, {\"type\": "
                   "\"dense\", \"units\": 10}], \"init\": \"%s\"}",
                   init);
    ck_assert_int_eq(parse(text, out, &fault), ERR_OK);
    float *params = malloc((size_t)(*out)->tensors.num_params * sizeof *params);
    ck_assert_ptr_nonnull(params);
    ck_assert_int_eq(arch_init_params(*out, seed, params), ERR_OK);
    return params;
}

START_TEST(test_zeros)
{
    struct arch *a;
    float *params = init_of("zeros", 1, &a);
    for (int64_t i = 0; i < a->tensors.num_params; i++)
        ck_assert(params[i] == 0);
    free(params);
    arch_free(a);
}
END_TEST

START_TEST(test_glorot_uniform)
{
    struct arch *a;
    float *params = init_of("glorot_uniform", 5, &a);
    const struct tensor_spec *second = tensor_table_find(&a->tensors, "2.weight");
    double bound = sqrt(6.0 / 340), sum = 0, square = 0;
    for (int i = 0; i < 12000; i++) {
        ck_assert(fabs((double)params[i]) <= bound);
        sum += (double)params[i];
        square += (double)params[i] * (double)params[i];
    }
    ck_assert_double_lt(fabs(sum / 12000), 0.01 * bound);
    ck_assert_double_lt(fabs(square / 12000 / (bound * bound / 3) - 1), 0.03);
    for (int i = 12000; i < 12040; i++)
        ck_assert(params[i] == 0);
    double u = rng_uniform(rng_key(5, RNG_INIT_WEIGHTS, 2, 0, 0), 7);
    ck_assert(params[second->offset + 7] == (float)(sqrt(6.0 / 50) * (2 * u - 1)));
    free(params);
    arch_free(a);
}
END_TEST

START_TEST(test_he_normal)
{
    struct arch *a;
    float *params = init_of("he_normal", 5, &a);
    double square = 0;
    for (int i = 0; i < 12000; i++)
        square += (double)params[i] * (double)params[i];
    ck_assert_double_lt(fabs(square / 12000 / (2.0 / 300) - 1), 0.03);
    double z = rng_normal(rng_key(5, RNG_INIT_WEIGHTS, 0, 0, 0), 3);
    ck_assert(params[3] == (float)(sqrt(2.0 / 300) * z));
    free(params);
    arch_free(a);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_softmax_regression,    test_mlp_names_follow_positions,
                                  test_tensors_only,          test_presets_are_layers,
                                  test_vocabularies,          test_shapes_flow,
                                  test_faults_name_the_field, test_zeros,
                                  test_glorot_uniform,        test_he_normal};
    return unit_run("arch", tests, sizeof tests / sizeof *tests);
}
