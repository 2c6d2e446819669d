/* Models by name. A preset is what it writes out: layers like any others. */
#include <stdio.h>
#include <string.h>
#include "common/json/alphabet.h"
#include "common/json/json_spec.h"
#include "common/model/arch_impl.h"

struct preset_fields {
    const char *preset;
    json_t *input;
    int64_t classes;
    json_t *loss, *init, *vocabulary;
    json_t *own_vocabulary; /* the preset's; owned here */
};

static const struct json_field preset_fields[] = {
    JSON_FIELD(struct preset_fields, preset, JSON_FIELD_TEXT, .is_required = true, .max = LIMIT_NAME),
    JSON_FIELD(struct preset_fields, input, JSON_FIELD_ARRAY),
    JSON_FIELD(struct preset_fields, classes, JSON_FIELD_INT, .min = 2, .max = ARCH_MAX_UNITS),
    JSON_FIELD(struct preset_fields, loss, JSON_FIELD_ANY),
    JSON_FIELD(struct preset_fields, init, JSON_FIELD_ANY),
    JSON_FIELD(struct preset_fields, vocabulary, JSON_FIELD_ANY),
};

static json_t *dense(json_int_t units)
{
    return json_pack("{s:s, s:I}", "type", "dense", "units", units);
}

static json_t *plain(const char *type)
{
    return json_pack("{s:s}", "type", type);
}

static json_t *softmax_layers(json_int_t classes)
{
    return json_pack("[o]", dense(classes));
}

static json_t *mlp_layers(json_int_t classes)
{
    return json_pack("[o, o, o, o, o]", dense(200), plain("relu"), dense(200), plain("relu"), dense(classes));
}

static json_t *convolution(int filters)
{
    return json_pack("{s:s, s:i, s:i, s:s}", "type", "conv2d", "filters", filters, "kernel", 5, "padding",
                     "same");
}

static json_t *halving(void)
{
    return json_pack("{s:s, s:i}", "type", "max_pool2d", "size", 2);
}

static json_t *cnn_layers(json_int_t classes)
{
    return json_pack("[o, o, o, o, o, o, o, o, o, o]", convolution(32), plain("relu"), halving(),
                     convolution(64), plain("relu"), halving(), plain("flatten"), dense(512), plain("relu"),
                     dense(classes));
}

static json_t *lstm(int units)
{
    return json_pack("{s:s, s:i, s:i}", "type", "lstm", "units", units, "layers", 2);
}

/* Predicts the next of the characters that it reads, so there are as many classes. */
static json_t *char_lstm_layers(json_int_t classes)
{
    return json_pack("[{s:s, s:I, s:i}, o, o]", "type", "embedding", "vocabulary", classes, "dim", 8,
                     lstm(100), dense(classes));
}

static json_t *sent_lstm_layers(json_int_t classes)
{
    (void)classes;
    return json_pack("[o, o, o, o]", lstm(256), dense(30), plain("relu"), dense(1));
}

static const struct preset {
    const char *name;
    int64_t input[3];       /* ends at the first 0 */
    int64_t classes;        /* 0: not to be chosen */
    const char *loss;       /* NULL: softmax */
    const char *vocabulary; /* what its classes are, where it predicts characters; else NULL */
    json_t *(*layers)(json_int_t classes);
} presets[] = {
    {"softmax", {784}, 10, NULL, NULL, softmax_layers},
    {"mlp", {784}, 10, NULL, NULL, mlp_layers},
    {"cnn", {1, 28, 28}, 10, NULL, NULL, cnn_layers},
    {"char_lstm", {80}, 80, NULL, alphabet_paper, char_lstm_layers},
    {"sent_lstm", {25, 300}, 0, "sigmoid_cross_entropy", NULL, sent_lstm_layers},
};
#define NUM_PRESETS (sizeof presets / sizeof *presets)

static const struct preset *find(const char *name)
{
    for (size_t i = 0; i < NUM_PRESETS; i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}

static enum err refuse_name(const char *name, struct fault *fault)
{
    char known[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < NUM_PRESETS && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", presets[i].name);
    return fault_set(fault, ERR_INVALID_FIELD, "model.preset",
                     "there is no preset \"%.60s\"; there are %s, and layers of your own", name, known);
}

static json_t *default_input(const struct preset *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < 3 && p->input[i] > 0; i++)
        (void)json_array_append_new(list, json_integer(p->input[i]));
    return list;
}

/* Characters that are named are the classes; with another number of classes nobody knows what they are. */
static enum err settle_vocabulary(const struct preset *p, struct preset_fields *fields, struct fault *fault)
{
    size_t count = 0;
    if (p->vocabulary && !fields->vocabulary && fields->classes == 0)
        fields->vocabulary = fields->own_vocabulary = json_string(p->vocabulary);
    enum err err = p->vocabulary && fields->vocabulary
                       ? arch_count_vocabulary(fields->vocabulary, &count, fault)
                       : ERR_OK;
    if (fields->classes == 0)
        fields->classes = count > 0 ? (int64_t)count : p->classes;
    return err;
}

static json_t *write_out(const struct preset *p, const struct preset_fields *fields)
{
    json_t *input = fields->input ? json_clone(fields->input) : default_input(p);
    json_t *model = json_pack("{s:o, s:o}", "input", input, "layers", p->layers(fields->classes));
    if (model && p->loss)
        (void)json_object_set_new(model, "loss", json_string(p->loss));
    if (model && fields->loss)
        (void)json_object_set(model, "loss", fields->loss);
    if (model && fields->init)
        (void)json_object_set(model, "init", fields->init);
    if (model && fields->vocabulary)
        (void)json_object_set(model, "vocabulary", fields->vocabulary);
    return model;
}

static enum err find_preset(const struct preset_fields *fields, const struct preset **out,
                            struct fault *fault)
{
    *out = find(fields->preset);
    if (!*out)
        return refuse_name(fields->preset, fault);
    if ((*out)->classes == 0 && fields->classes > 0)
        return fault_set(fault, ERR_INVALID_FIELD, "model.classes",
                         "preset \"%s\" tells two classes apart by one output; leave it out", (*out)->name);
    return ERR_OK;
}

enum err arch_expand(json_t *model, json_t **out, struct fault *fault)
{
    struct preset_fields fields = {.preset = ""};
    struct arena arena = ARENA_INIT(LIMIT_JSON_FILE);
    const struct preset *preset = NULL;
    *out = NULL;
    if (!json_object_get(model, "preset")) {
        *out = json_incref(model);
        return ERR_OK;
    }
    enum err err = json_spec_parse(model, preset_fields, sizeof preset_fields / sizeof *preset_fields,
                                   JSON_REFUSE_UNKNOWN, "model.", &arena, &fields, fault);
    if (!err)
        err = find_preset(&fields, &preset, fault);
    if (!err)
        err = settle_vocabulary(preset, &fields, fault);
    if (!err) {
        *out = write_out(preset, &fields);
        if (!*out)
            err = fault_set(fault, ERR_NO_MEMORY, "model", "out of memory for the layers of preset \"%s\"",
                            preset->name);
    }
    json_decref(fields.own_vocabulary);
    arena_release(&arena);
    return err;
}
