/* The section "training" of a run spec: a device's work in a round. */
#include <string.h>
#include "common/base/limits.h"
#include "common/fl/proximal.h"
#include "common/json/json_spec.h"
#include "server/core/json_defaults.h"
#include "server/core/run_spec.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define PREFIX   "training."
#define SCHEDULE "learning_rate_schedule"

struct raw_training {
    struct training_spec spec;
    int optimizer;
    json_t *learning_rate_schedule;
};

#define FIELD(member, field_kind, ...)                                                                       \
    {                                                                                                        \
        .name = #member, .kind = (field_kind), .offset = offsetof(struct raw_training, spec.member),         \
        .is_set_offset = -1, __VA_ARGS__                                                                     \
    }
#define SETTING(member, ...)                                                                                 \
    {                                                                                                        \
        .name = #member, .kind = JSON_FIELD_DOUBLE,                                                          \
        .offset = offsetof(struct raw_training, spec.optimizer.member), .is_set_offset = -1, __VA_ARGS__     \
    }

static const struct json_field fields[] = {
    FIELD(local_epochs, JSON_FIELD_INT, .min = 1, .max = LIMIT_EPOCHS),
    FIELD(local_steps, JSON_FIELD_INT, .min = 1, .max = (double)LIMIT_STEPS),
    FIELD(batch_size, JSON_FIELD_INT, .min = 1, .max = (double)LIMIT_BATCH),
    FIELD(learning_rate, JSON_FIELD_DOUBLE, .min = LEARNING_RATE_LEAST, .max = LEARNING_RATE_MOST,
          .is_required = true),
    JSON_FIELD(struct raw_training, learning_rate_schedule, JSON_FIELD_OBJECT, .allow_null = true),
    JSON_FIELD(struct raw_training, optimizer, JSON_FIELD_CHOICE, .choices = optimizer_names),
    SETTING(momentum, .max = OPTIMIZER_MEMORY_MOST),
    SETTING(beta1, .max = OPTIMIZER_MEMORY_MOST),
    SETTING(beta2, .max = OPTIMIZER_MEMORY_MOST),
    SETTING(epsilon, .min = OPTIMIZER_EPSILON_LEAST, .max = OPTIMIZER_EPSILON_MOST),
    SETTING(weight_decay, .max = OPTIMIZER_DECAY_MOST, .allow_null = true),
    SETTING(clip_norm, .min = OPTIMIZER_CLIP_LEAST, .max = OPTIMIZER_CLIP_MOST, .allow_null = true),
};

struct raw_schedule {
    struct rate_schedule schedule;
    int type;
};

#define SCHEDULE_FIELD(member, field_kind, ...)                                                              \
    {                                                                                                        \
        .name = #member, .kind = (field_kind), .offset = offsetof(struct raw_schedule, schedule.member),     \
        .is_set_offset = -1, __VA_ARGS__                                                                     \
    }

static const struct json_field schedule_fields[] = {
    JSON_FIELD(struct raw_schedule, type, JSON_FIELD_CHOICE, .choices = rate_type_names, .is_required = true),
    SCHEDULE_FIELD(warmup_rounds, JSON_FIELD_INT, .max = LIMIT_ROUNDS),
    SCHEDULE_FIELD(min_learning_rate, JSON_FIELD_DOUBLE, .max = LEARNING_RATE_MOST),
    SCHEDULE_FIELD(step_size, JSON_FIELD_INT, .min = 1, .max = LIMIT_ROUNDS),
    SCHEDULE_FIELD(gamma, JSON_FIELD_DOUBLE, .min = 1e-6, .max = 1),
    SCHEDULE_FIELD(decay_rounds, JSON_FIELD_INT, .min = 1, .max = LIMIT_ROUNDS),
};

/* A setting that only some kinds have: `kinds` has their bits, `names` says them to a person. */
struct of_kinds {
    const char *field;
    unsigned kinds;
    const char *names;
    bool is_required;
};

#define BIT(kind) (1u << (kind))
#define MOMENTUM  (BIT(OPTIMIZER_MOMENTUM) | BIT(OPTIMIZER_PROX_MOMENTUM))
#define ADAM      (BIT(OPTIMIZER_ADAM) | BIT(OPTIMIZER_PROX_ADAM))
static const struct of_kinds of_optimizers[] = {
    {"momentum", MOMENTUM, "\"momentum\" and \"prox_momentum\"", false},
    {"beta1", ADAM, "\"adam\" and \"prox_adam\"", false},
    {"beta2", ADAM, "\"adam\" and \"prox_adam\"", false},
    {"epsilon", ADAM, "\"adam\" and \"prox_adam\"", false},
};

static const struct of_kinds of_schedules[] = {
    {"min_learning_rate", BIT(RATE_STEP) | BIT(RATE_EXPONENTIAL) | BIT(RATE_COSINE),
     "\"step\", \"exponential\" and \"cosine\"", false},
    {"step_size", BIT(RATE_STEP), "\"step\"", true},
    {"gamma", BIT(RATE_STEP) | BIT(RATE_EXPONENTIAL), "\"step\" and \"exponential\"", false},
    {"decay_rounds", BIT(RATE_COSINE), "\"cosine\"", false},
};

/* What would have no effect is refused, so that nobody waits for it. */
static enum err check_kinds(const json_t *object, const struct of_kinds *of, size_t n, int kind,
                            const char *const *kinds, struct fault *fault)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(object, of[i].field);
        const bool is_mine = of[i].kinds & BIT(kind);
        if (value && !is_mine)
            return fault_set(fault, ERR_INVALID_FIELD, of[i].field,
                             "is a setting of %s only, and this is \"%s\": leave it out", of[i].names,
                             kinds[kind]);
        if (!value && is_mine && of[i].is_required)
            return fault_set(fault, ERR_MISSING_FIELD, of[i].field, "is required with \"%s\"", kinds[kind]);
    }
    return ERR_OK;
}

static void delete_foreign(json_t *object, const struct of_kinds *of, size_t n, int kind)
{
    for (size_t i = 0; i < n; i++)
        if (!(of[i].kinds & BIT(kind)))
            (void)json_object_del(object, of[i].field);
}

void training_forget(json_t *training, const char *optimizer)
{
    enum optimizer_kind kind;
    if (optimizer_find(optimizer, &kind))
        delete_foreign(training, of_optimizers, COUNT(of_optimizers), (int)kind);
}

/* Without them a cosine ends with the run. */
static int64_t decay_rounds(int64_t num_rounds, int64_t warmup_rounds)
{
    return num_rounds > warmup_rounds ? num_rounds - warmup_rounds : 1;
}

static enum err schedule_parse(json_t *schedule, double learning_rate, int64_t num_rounds,
                               struct arena *arena, struct rate_schedule *out, struct fault *fault)
{
    struct raw_schedule raw = {.schedule = {.gamma = 0.1}};
    enum err e = json_spec_parse(schedule, schedule_fields, COUNT(schedule_fields), JSON_REFUSE_UNKNOWN, "",
                                 arena, &raw, fault);
    if (!e)
        e = check_kinds(schedule, of_schedules, COUNT(of_schedules), raw.type, rate_type_names, fault);
    if (!e && raw.type == RATE_EXPONENTIAL && !json_object_get(schedule, "gamma"))
        e = fault_set(fault, ERR_MISSING_FIELD, "gamma",
                      "is required with \"exponential\": a round's rate by that of the round before");
    if (!e && raw.schedule.min_learning_rate > learning_rate)
        e = fault_set(fault, ERR_INVALID_FIELD, "min_learning_rate",
                      "must be at most training.learning_rate, which is %g, but is %g", learning_rate,
                      raw.schedule.min_learning_rate);
    if (e)
        return fault ? fault_within(fault, PREFIX SCHEDULE) : e;
    if (!raw.schedule.decay_rounds)
        raw.schedule.decay_rounds = decay_rounds(num_rounds, raw.schedule.warmup_rounds);
    *out = raw.schedule;
    out->type = (enum rate_type)raw.type;
    e = json_fill_defaults(schedule, schedule_fields, COUNT(schedule_fields), &raw);
    delete_foreign(schedule, of_schedules, COUNT(of_schedules), raw.type);
    return e;
}

/* Which optimizer the rest speaks of; what is no name the field table refuses. */
static enum optimizer_kind kind_of(const json_t *training)
{
    enum optimizer_kind kind = OPTIMIZER_SGD;
    return optimizer_find(json_string_value(json_object_get(training, "optimizer")), &kind) ? kind
                                                                                            : OPTIMIZER_SGD;
}

/* What is off by default is left out where nobody speaks of it. What was switched off says so: in a config it
 * lies over what the spec has on. */
static enum err fill_defaults(json_t *training, const struct raw_training *raw)
{
    const struct optimizer *o = &raw->spec.optimizer;
    const bool has_decay = json_object_get(training, "weight_decay"),
               has_clip = json_object_get(training, "clip_norm");
    enum err e = json_fill_defaults(training, fields, COUNT(fields), raw);
    if (!e && has_clip && !(o->clip_norm > 0))
        e = json_object_set_new(training, "clip_norm", json_null()) ? ERR_NO_MEMORY : ERR_OK;
    if (!has_clip)
        (void)json_object_del(training, "clip_norm");
    if (!has_decay)
        (void)json_object_del(training, "weight_decay");
    (void)json_object_del(training, raw->spec.local_steps > 0 ? "local_epochs" : "local_steps");
    training_forget(training, optimizer_name(o->kind));
    return e;
}

enum err training_spec_parse(json_t *training, int64_t num_rounds, struct arena *arena,
                             struct training_spec *out, struct fault *fault)
{
    struct raw_training raw = {.spec = {.local_epochs = 1, .batch_size = 10}};
    raw.spec.optimizer = optimizer_of(kind_of(training));
    enum err e =
        json_spec_parse(training, fields, COUNT(fields), JSON_REFUSE_UNKNOWN, PREFIX, arena, &raw, fault);
    if (e)
        return e;
    e = check_kinds(training, of_optimizers, COUNT(of_optimizers), raw.optimizer, optimizer_names, fault);
    if (e)
        return fault ? fault_within(fault, "training") : e;
    if (raw.spec.local_steps > 0 && json_object_get(training, "local_epochs"))
        return fault_set(fault, ERR_INVALID_FIELD, "training.local_steps",
                         "stands in place of local_epochs: give one of them, not both");
    if (raw.spec.local_steps > 0)
        raw.spec.local_epochs = 0;
    if (raw.learning_rate_schedule)
        e = schedule_parse(raw.learning_rate_schedule, raw.spec.learning_rate, num_rounds, arena,
                           &raw.spec.schedule, fault);
    *out = raw.spec;
    return e ? e : fill_defaults(training, &raw);
}

double training_rate(const struct training_spec *t, int64_t round)
{
    return learning_rate_of_round(t->learning_rate, &t->schedule, round);
}

bool training_may_diverge(const struct training_spec *t, double mu)
{
    return !optimizer_is_prox(t->optimizer.kind) && proximal_is_unstable(t->learning_rate, mu);
}
