/* FedProx [arXiv 1812.06127] and, as its special case mu = 0 without partial work, FedAvg [arXiv 1602.05629].
 * Both share every function but `configure`, so that they cannot drift apart. */
#include "server/core/strategy.h"

#include <math.h>
#include <string.h>
#include "common/fl/proximal.h"
#include "common/fl/schedule.h"
#include "common/json/json_num.h"
#include "common/json/json_spec.h"
#include "server/core/json_defaults.h"

#define PREFIX "strategy.params."

/* Where "proximal_mu" is not given: the value that serves most of the paper's data sets best. */
#define DEFAULT_MU 1.0

static const char *const weightings[] = {"num_examples", "uniform", NULL};

struct raw_params {
    json_t *proximal_mu;
    bool accept_partial;
    int weighting;
    double max_weight_fraction;
};

#define WEIGHT_FIELDS                                                                                        \
    JSON_FIELD(struct raw_params, weighting, JSON_FIELD_CHOICE, .choices = weightings),                      \
        JSON_FIELD(struct raw_params, max_weight_fraction, JSON_FIELD_DOUBLE, .min = 1e-9, .max = 1)

static const struct json_field fedprox_fields[] = {
    JSON_FIELD(struct raw_params, proximal_mu, JSON_FIELD_ANY),
    JSON_FIELD(struct raw_params, accept_partial, JSON_FIELD_BOOL),
    WEIGHT_FIELDS,
};
static const struct json_field fedavg_fields[] = {WEIGHT_FIELDS};

struct raw_dynamic {
    double start, step;
    int64_t patience;
};
static const struct json_field dynamic_fields[] = {
    JSON_FIELD(struct raw_dynamic, start, JSON_FIELD_DOUBLE, .min = 0, .max = 1e6),
    JSON_FIELD(struct raw_dynamic, step, JSON_FIELD_DOUBLE, .min = 0, .max = 1e6),
    JSON_FIELD(struct raw_dynamic, patience, JSON_FIELD_INT, .min = 1, .max = 1e6),
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static enum err read_dynamic(json_t *mu, struct arena *arena, struct strategy_params *out,
                             struct fault *fault)
{
    json_t *dynamic = json_object_get(mu, "dynamic");
    if (!dynamic || json_object_size(mu) != 1)
        return fault_set(fault, ERR_INVALID_FIELD, PREFIX "proximal_mu",
                         "must be a number of at least 0, or {\"dynamic\": {\"start\": 0, \"step\": 0.1, "
                         "\"patience\": 5}}");
    struct raw_dynamic raw = {.start = 0, .step = 0.1, .patience = 5};
    enum err e = json_spec_parse(dynamic, dynamic_fields, COUNT(dynamic_fields), JSON_REFUSE_UNKNOWN,
                                 PREFIX "proximal_mu.dynamic.", arena, &raw, fault);
    if (!e)
        e = json_fill_defaults(dynamic, dynamic_fields, COUNT(dynamic_fields), &raw);
    out->is_mu_dynamic = true;
    out->proximal_mu = raw.start;
    out->mu_step = raw.step;
    out->mu_patience = raw.patience;
    return e;
}

static enum err read_mu(json_t *params, json_t *mu, struct arena *arena, struct strategy_params *out,
                        struct fault *fault)
{
    if (!mu) {
        out->proximal_mu = DEFAULT_MU;
        return json_object_set_new(params, "proximal_mu", json_num(DEFAULT_MU)) ? ERR_NO_MEMORY : ERR_OK;
    }
    if (json_is_object(mu))
        return read_dynamic(mu, arena, out, fault);
    out->proximal_mu = json_number_value(mu);
    if (!json_is_number(mu) || !(out->proximal_mu >= 0 && out->proximal_mu <= 1e6))
        return fault_set(fault, ERR_INVALID_FIELD, PREFIX "proximal_mu",
                         "must be a number between 0 and 1000000, or {\"dynamic\": {...}}");
    return ERR_OK;
}

static enum err fedprox_configure(json_t *params, struct arena *arena, struct strategy_params *out,
                                  struct fault *fault)
{
    struct raw_params raw = {.accept_partial = true, .max_weight_fraction = 1};
    *out = (struct strategy_params){0};
    enum err e = json_spec_parse(params, fedprox_fields, COUNT(fedprox_fields), JSON_REFUSE_UNKNOWN, PREFIX,
                                 arena, &raw, fault);
    if (!e)
        e = read_mu(params, raw.proximal_mu, arena, out, fault);
    if (!e)
        e = json_fill_defaults(params, fedprox_fields, COUNT(fedprox_fields), &raw);
    out->accept_partial = raw.accept_partial;
    out->weighting = (enum weighting)raw.weighting;
    out->max_weight_fraction = raw.max_weight_fraction;
    return e;
}

static enum err fedavg_configure(json_t *params, struct arena *arena, struct strategy_params *out,
                                 struct fault *fault)
{
    static const char *const of_fedprox[] = {"proximal_mu", "accept_partial"};
    for (size_t i = 0; i < COUNT(of_fedprox); i++)
        if (json_object_get(params, of_fedprox[i])) {
            (void)fault_set(fault, ERR_UNKNOWN_FIELD, of_fedprox[i],
                            "\"fedavg\" has no such parameter: it is fedprox with proximal_mu 0 and "
                            "accept_partial false. Use "
                            "strategy \"fedprox\" to set it");
            return fault_within(fault, "strategy.params");
        }
    struct raw_params raw = {.max_weight_fraction = 1};
    enum err e = json_spec_parse(params, fedavg_fields, COUNT(fedavg_fields), JSON_REFUSE_UNKNOWN, PREFIX,
                                 arena, &raw, fault);
    if (!e)
        e = json_fill_defaults(params, fedavg_fields, COUNT(fedavg_fields), &raw);
    *out = (struct strategy_params){.weighting = (enum weighting)raw.weighting,
                                    .max_weight_fraction = raw.max_weight_fraction};
    return e;
}

static json_t *weight_properties(void)
{
    return json_pack("{s:{s:[s,s], s:s, s:s}, s:{s:s, s:i, s:i, s:i, s:s}}", "weighting", "enum",
                     "num_examples", "uniform", "default", "num_examples", "description",
                     "what an update weighs in the average", "max_weight_fraction", "type", "number",
                     "exclusiveMinimum", 0, "maximum", 1, "default", 1, "description",
                     "the largest share of the total weight that one device may have");
}

static json_t *object_schema(json_t *properties)
{
    return json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0, "properties",
                     properties);
}

static json_t *fedavg_schema(void)
{
    return object_schema(weight_properties());
}

static json_t *fedprox_schema(void)
{
    json_t *dynamic = json_pack(
        "{s:s, s:b, s:[s], s:{s:{s:s, s:b, s:{s:{s:s, s:i, s:i}, s:{s:s, s:i, s:f}, s:{s:s, s:i, s:i}}}}}",
        "type", "object", "additionalProperties", 0, "required", "dynamic", "properties", "dynamic", "type",
        "object", "additionalProperties", 0, "properties", "start", "type", "number", "minimum", 0, "default",
        0, "step", "type", "number", "minimum", 0, "default", 0.1, "patience", "type", "integer", "minimum",
        1, "default", 5);
    json_t *mu = json_pack("{s:f, s:s, s:[{s:s, s:i}, o]}", "default", DEFAULT_MU, "description",
                           "coefficient of the proximal term (mu/2) ||w - w_t||^2", "oneOf", "type", "number",
                           "minimum", 0, dynamic);
    json_t *properties =
        json_pack("{s:o, s:{s:s, s:b, s:s}}", "proximal_mu", mu, "accept_partial", "type", "boolean",
                  "default", 1, "description", "whether an update with fewer steps than assigned counts");
    json_t *weights = weight_properties();
    if (!properties || !weights || json_object_update(properties, weights)) {
        json_decref(properties);
        properties = NULL;
    }
    json_decref(weights);
    return object_schema(properties);
}

static bool fedprox_needs_loss(const struct strategy_params *p)
{
    return p->is_mu_dynamic;
}

static enum err dynamic_from_state(const json_t *state, struct dynamic_mu *d)
{
    const json_t *loss = json_object_get(state, "last_loss");
    d->falls = json_integer_value(json_object_get(state, "falls"));
    d->has_last = loss != NULL;
    if (json_num_read(json_object_get(state, "proximal_mu"), &d->mu) ||
        (loss && json_num_read(loss, &d->last_loss)))
        return ERR_CORRUPT;
    return ERR_OK;
}

static enum err fedprox_begin_round(const struct strategy_params *p, const json_t *state, double train_loss,
                                    json_t **out_state, double *out_mu)
{
    *out_mu = p->proximal_mu;
    *out_state = json_object();
    if (!*out_state)
        return ERR_NO_MEMORY;
    if (!p->is_mu_dynamic)
        return ERR_OK;
    struct dynamic_mu d = dynamic_mu_start(p->proximal_mu, p->mu_step, p->mu_patience);
    /* A run whose mu was fixed before carries an empty state. */
    enum err e = json_object_get(state, "proximal_mu") ? dynamic_from_state(state, &d) : ERR_OK;
    if (e)
        return e;
    dynamic_mu_observe(&d, train_loss);
    *out_mu = d.mu;
    if (json_object_set_new(*out_state, "proximal_mu", json_num(d.mu)) ||
        json_object_set_new(*out_state, "falls", json_integer(d.falls)) ||
        (d.has_last && json_object_set_new(*out_state, "last_loss", json_num(d.last_loss))))
        return ERR_NO_MEMORY;
    return ERR_OK;
}

static enum err fedprox_select(const struct selection *s, uint32_t *out_positions)
{
    return schedule_select(s->seed, s->round, s->population, s->count, out_positions);
}

static enum err fedprox_on_update(const struct strategy_params *p, const struct update_facts *u,
                                  struct fault *fault)
{
    if (!u->is_partial || p->accept_partial)
        return ERR_OK;
    return fault_set(
        fault, ERR_INVALID_UPDATE, "steps_done",
        "%lld of %lld steps are done and this run takes no partial work: report the task as failed with code "
        "\"incomplete\" (POST .../fail)",
        (long long)u->steps_done, (long long)u->steps_assigned);
}

static bool fedprox_is_ready(const struct round_row *r)
{
    return r->received + r->dropped + r->failed + r->late >= r->selected ||
           r->received >= r->devices_per_round;
}

static enum err fedprox_weigh(const struct strategy_params *p, const int64_t *num_examples,
                              size_t num_updates, double *out_weights, struct fault *fault)
{
    return average_weights(p->weighting, p->max_weight_fraction, num_examples, num_updates, out_weights,
                           fault);
}

const struct strategy strategy_fedprox = {
    .name = "fedprox",
    .description = "FedProx (arXiv 1812.06127): a proximal term keeps unequal amounts of local work "
                   "together; partial work counts.",
    .schema = fedprox_schema,
    .configure = fedprox_configure,
    .needs_loss = fedprox_needs_loss,
    .begin_round = fedprox_begin_round,
    .select = fedprox_select,
    .on_update = fedprox_on_update,
    .is_ready = fedprox_is_ready,
    .weigh = fedprox_weigh,
    .accumulate = average_add,
    .finish = average_finish,
};

const struct strategy strategy_fedavg = {
    .name = "fedavg",
    .description = "FedAvg (arXiv 1602.05629): a weighted average of the devices that did all their work; "
                   "others are dropped.",
    .schema = fedavg_schema,
    .configure = fedavg_configure,
    .needs_loss = fedprox_needs_loss,
    .begin_round = fedprox_begin_round,
    .select = fedprox_select,
    .on_update = fedprox_on_update,
    .is_ready = fedprox_is_ready,
    .weigh = fedprox_weigh,
    .accumulate = average_add,
    .finish = average_finish,
};
