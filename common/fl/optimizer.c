#include "common/fl/optimizer.h"

#include "common/base/str.h"

const char *const optimizer_names[OPTIMIZER_COUNT + 1] = {[OPTIMIZER_SGD] = "sgd",
                                                          [OPTIMIZER_MOMENTUM] = "momentum",
                                                          [OPTIMIZER_ADAM] = "adam",
                                                          [OPTIMIZER_PROX_MOMENTUM] = "prox_momentum",
                                                          [OPTIMIZER_PROX_ADAM] = "prox_adam"};

struct optimizer optimizer_of(enum optimizer_kind kind)
{
    struct optimizer o = {.kind = kind};
    if (optimizer_has_momentum(kind))
        o.momentum = OPTIMIZER_MOMENTUM_DEFAULT;
    if (optimizer_has_betas(kind)) {
        o.beta1 = OPTIMIZER_BETA1_DEFAULT;
        o.beta2 = OPTIMIZER_BETA2_DEFAULT;
        o.epsilon = OPTIMIZER_EPSILON_DEFAULT;
    }
    return o;
}

const char *optimizer_name(enum optimizer_kind kind)
{
    return optimizer_names[kind];
}

bool optimizer_find(const char *name, enum optimizer_kind *out)
{
    for (int i = 0; i < OPTIMIZER_COUNT; i++) {
        if (str_eq(name, optimizer_names[i])) {
            *out = (enum optimizer_kind)i;
            return true;
        }
    }
    return false;
}

bool optimizer_has_momentum(enum optimizer_kind kind)
{
    return kind == OPTIMIZER_MOMENTUM || kind == OPTIMIZER_PROX_MOMENTUM;
}

bool optimizer_has_betas(enum optimizer_kind kind)
{
    return kind == OPTIMIZER_ADAM || kind == OPTIMIZER_PROX_ADAM;
}

bool optimizer_is_prox(enum optimizer_kind kind)
{
    return kind == OPTIMIZER_PROX_MOMENTUM || kind == OPTIMIZER_PROX_ADAM;
}

size_t optimizer_num_states(enum optimizer_kind kind)
{
    return optimizer_has_betas(kind) ? 2 : optimizer_has_momentum(kind) ? 1 : 0;
}

bool optimizer_is_plain(const struct optimizer *o)
{
    return o->kind == OPTIMIZER_SGD && !(o->weight_decay > 0) && !(o->clip_norm > 0);
}

enum err optimizer_check(const struct optimizer *o, struct fault *fault)
{
    const bool has_momentum = optimizer_has_momentum(o->kind), has_betas = optimizer_has_betas(o->kind);
    const bool clips = o->clip_norm < 0 || !(o->clip_norm <= 0); /* also where it is NaN */
    const struct {
        const char *field;
        bool is_used;
        double value, least, most;
    } settings[] = {
        {"training.momentum", has_momentum, o->momentum, 0, OPTIMIZER_MEMORY_MOST},
        {"training.beta1", has_betas, o->beta1, 0, OPTIMIZER_MEMORY_MOST},
        {"training.beta2", has_betas, o->beta2, 0, OPTIMIZER_MEMORY_MOST},
        {"training.epsilon", has_betas, o->epsilon, OPTIMIZER_EPSILON_LEAST, OPTIMIZER_EPSILON_MOST},
        {"training.weight_decay", true, o->weight_decay, 0, OPTIMIZER_DECAY_MOST},
        {"training.clip_norm", clips, o->clip_norm, OPTIMIZER_CLIP_LEAST, OPTIMIZER_CLIP_MOST},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (settings[i].is_used &&
            !(settings[i].value >= settings[i].least && settings[i].value <= settings[i].most))
            return fault_set(fault, ERR_INVALID_FIELD, settings[i].field,
                             "must be between %g and %.15g, not %g", settings[i].least, settings[i].most,
                             settings[i].value);
    return ERR_OK;
}
