/* The run spec: defaults, and every field that can be wrong. */
#include "tests/unit/core/lab.h"

#include <math.h>

static const struct {
    const char *changes, *field, *word;
    enum err err;
} bad[] = {
    {"{\"num_rounds\": null}", "num_rounds", "required", ERR_MISSING_FIELD},
    {"{\"model\": null}", "model", "required", ERR_MISSING_FIELD},
    {"{\"training\": null}", "training.learning_rate", "required", ERR_MISSING_FIELD},
    {"{\"training\": {\"learning_rate\": null}}", "training.learning_rate", "required", ERR_MISSING_FIELD},
    {"{\"rounds\": 3}", "rounds", "known", ERR_UNKNOWN_FIELD},
    {"{\"num_rounds\": -1}", "num_rounds", "-1", ERR_INVALID_FIELD},
    {"{\"num_rounds\": 0}", "num_rounds", "0", ERR_INVALID_FIELD},
    {"{\"num_rounds\": 1000001}", "num_rounds", "1000000", ERR_INVALID_FIELD},
    {"{\"num_rounds\": 1.5}", "num_rounds", "integer", ERR_INVALID_FIELD},
    {"{\"num_rounds\": \"2\"}", "num_rounds", "integer", ERR_INVALID_FIELD},
    {"{\"seed\": -1}", "seed", "-1", ERR_INVALID_FIELD},
    {"{\"autostart\": 1}", "autostart", "true or false", ERR_INVALID_FIELD},
    {"{\"name\": 5}", "name", "string", ERR_INVALID_FIELD},
    {"{\"experiment\": \"\"}", "experiment", "empty", ERR_INVALID_FIELD},
    {"{\"dataset\": 5}", "dataset", "string", ERR_INVALID_FIELD},
    {"{\"data\": 5}", "data", "object", ERR_INVALID_FIELD},
    {"{\"model\": 5}", "model", "object", ERR_INVALID_FIELD},
    {"{\"model\": {\"layers\": [{\"type\": \"dense\", \"units\": 0}]}}", "model.layers[0].units", "",
     ERR_INVALID_FIELD},
    {"{\"model\": {\"layers\": [{\"type\": \"conv9\"}]}}", "model.layers[0].type", "conv9",
     ERR_INVALID_FIELD},
    {"{\"model\": {\"layers\": []}}", "model.layers", "", ERR_INVALID_FIELD},
    {"{\"model\": {\"colour\": 1}}", "model.colour", "", ERR_UNKNOWN_FIELD},
    {"{\"strategy\": 5}", "strategy", "object", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"name\": \"fedsgd\"}}", "strategy.name", "\"fedprox\", \"fedavg\"", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"mu\": 1}}", "strategy.mu", "known", ERR_UNKNOWN_FIELD},
    {"{\"strategy\": {\"params\": 5}}", "strategy.params", "object", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_nu\": 1}}}", "strategy.params.proximal_nu", "proximal_mu",
     ERR_UNKNOWN_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": -0.1}}}", "strategy.params.proximal_mu", "0",
     ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": \"1\"}}}", "strategy.params.proximal_mu", "number",
     ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": true}}}", "strategy.params.proximal_mu", "number",
     ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": {\"dyn\": {}}}}}", "strategy.params.proximal_mu",
     "dynamic", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": {\"step\": -1}}}}}",
     "strategy.params.proximal_mu.dynamic.step", "-1", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": {\"patience\": 0}}}}}",
     "strategy.params.proximal_mu.dynamic.patience", "0", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": {\"wait\": 0}}}}}",
     "strategy.params.proximal_mu.dynamic.wait", "", ERR_UNKNOWN_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": {}}}}}", "evaluation.on", "all_devices",
     ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": {}}}}, \"evaluation\": {\"on\": "
     "\"all_devices\", \"every\": 2}}",
     "evaluation.every", "1", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"weighting\": \"size\"}}}", "strategy.params.weighting", "num_examples",
     ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"max_weight_fraction\": 0}}}", "strategy.params.max_weight_fraction", "0",
     ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"max_weight_fraction\": 1.1}}}", "strategy.params.max_weight_fraction",
     "1.1", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"params\": {\"accept_partial\": 1}}}", "strategy.params.accept_partial",
     "true or false", ERR_INVALID_FIELD},
    {"{\"strategy\": {\"name\": \"fedavg\", \"params\": {\"proximal_mu\": 1}}}",
     "strategy.params.proximal_mu", "fedprox", ERR_UNKNOWN_FIELD},
    {"{\"strategy\": {\"name\": \"fedavg\", \"params\": {\"proximal_mu\": null, \"accept_partial\": true}}}",
     "strategy.params.accept_partial", "fedprox", ERR_UNKNOWN_FIELD},
    {"{\"training\": {\"learning_rate\": 0}}", "training.learning_rate", "0", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate\": -0.1}}", "training.learning_rate", "-0.1", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate\": \"NaN\"}}", "training.learning_rate", "number", ERR_INVALID_FIELD},
    {"{\"training\": {\"local_epochs\": 0}}", "training.local_epochs", "0", ERR_INVALID_FIELD},
    {"{\"training\": {\"local_steps\": 5}}", "training.local_steps", "not both", ERR_INVALID_FIELD},
    {"{\"training\": {\"batch_size\": 0}}", "training.batch_size", "0", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"adagrad\"}}", "training.optimizer",
     "must be one of \"sgd\", \"momentum\", \"adam\", \"prox_momentum\", \"prox_adam\", but is \"adagrad\"",
     ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"momentum\", \"momentum\": 1}}", "training.momentum",
     "between 0 and 0.999999, but is 1", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"momentum\", \"momentum\": -0.1}}", "training.momentum",
     "between 0 and 0.999999, but is -0.1", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"prox_momentum\", \"momentum\": \"NaN\"}}", "training.momentum",
     "must be a number", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"adam\", \"beta1\": 1}}", "training.beta1",
     "between 0 and 0.999999, but is 1", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"prox_adam\", \"beta2\": 1}}", "training.beta2",
     "between 0 and 0.999999, but is 1", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"adam\", \"beta2\": true}}", "training.beta2", "must be a number",
     ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"adam\", \"epsilon\": 0}}", "training.epsilon",
     "between 1e-12 and 1, but is 0", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"adam\", \"eps\": 1e-8}}", "training.eps", "no known field",
     ERR_UNKNOWN_FIELD},
    {"{\"training\": {\"momentum\": 0.9}}", "training.momentum",
     "of \"momentum\" and \"prox_momentum\" only, and this is \"sgd\"", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"adam\", \"momentum\": 0.9}}", "training.momentum",
     "and this is \"adam\"", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"momentum\", \"beta1\": 0.9}}", "training.beta1",
     "of \"adam\" and \"prox_adam\" only", ERR_INVALID_FIELD},
    {"{\"training\": {\"optimizer\": \"prox_momentum\", \"epsilon\": 0.1}}", "training.epsilon",
     "and this is \"prox_momentum\"", ERR_INVALID_FIELD},
    {"{\"training\": {\"weight_decay\": -1}}", "training.weight_decay", "between 0 and 1000000, but is -1",
     ERR_INVALID_FIELD},
    {"{\"training\": {\"weight_decay\": \"0.1\"}}", "training.weight_decay", "must be a number",
     ERR_INVALID_FIELD},
    {"{\"training\": {\"clip_norm\": -1}}", "training.clip_norm",
     "between 1e-12 and 1000000000000, but is -1", ERR_INVALID_FIELD},
    {"{\"training\": {\"clip_norm\": 0}}", "training.clip_norm", "between 1e-12 and 1000000000000, but is 0",
     ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": \"cosine\"}}", "training.learning_rate_schedule",
     "an object", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {}}}", "training.learning_rate_schedule.type",
     "\"constant\", \"step\", \"exponential\", \"cosine\"", ERR_MISSING_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"poly\"}}}",
     "training.learning_rate_schedule.type",
     "\"constant\", \"step\", \"exponential\", \"cosine\", but is \"poly\"", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"step\"}}}",
     "training.learning_rate_schedule.step_size", "required", ERR_MISSING_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"step\", \"step_size\": 0}}}",
     "training.learning_rate_schedule.step_size", "between 1 and 1000000", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"step\", \"step_size\": 2, \"gamma\": 1.5}}}",
     "training.learning_rate_schedule.gamma", "between 1e-06 and 1, but is 1.5", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"exponential\"}}}",
     "training.learning_rate_schedule.gamma", "required", ERR_MISSING_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"exponential\", \"gamma\": 0}}}",
     "training.learning_rate_schedule.gamma", "between 1e-06 and 1, but is 0", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"cosine\", \"gamma\": 0.5}}}",
     "training.learning_rate_schedule.gamma", "of \"step\" and \"exponential\" only, and this is \"cosine\"",
     ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"cosine\", \"decay_rounds\": 0}}}",
     "training.learning_rate_schedule.decay_rounds", "between 1 and 1000000", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"cosine\", \"min_learning_rate\": 0.2}}}",
     "training.learning_rate_schedule.min_learning_rate", "at most training.learning_rate, which is 0.1",
     ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"constant\", \"min_learning_rate\": 0}}}",
     "training.learning_rate_schedule.min_learning_rate", "and this is \"constant\"", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"constant\", \"warmup_rounds\": -1}}}",
     "training.learning_rate_schedule.warmup_rounds", "between 0 and 1000000", ERR_INVALID_FIELD},
    {"{\"training\": {\"learning_rate_schedule\": {\"type\": \"constant\", \"warm_up\": 1}}}",
     "training.learning_rate_schedule.warm_up", "no known field", ERR_UNKNOWN_FIELD},
    {"{\"training\": {\"optimizer\": 5}}", "training.optimizer", "sgd", ERR_INVALID_FIELD},
    {"{\"training\": {\"lr\": 1}}", "training.lr", "", ERR_UNKNOWN_FIELD},
    {"{\"selection\": {\"devices_per_round\": 0}}", "selection.devices_per_round", "0", ERR_INVALID_FIELD},
    {"{\"selection\": {\"devices_per_round\": 3}}", "selection.devices_per_round", "population of 2",
     ERR_INVALID_FIELD},
    {"{\"selection\": {\"population\": 1000001}}", "selection.population", "1000000", ERR_INVALID_FIELD},
    {"{\"selection\": {\"population\": 0}}", "selection.population", "0", ERR_INVALID_FIELD},
    {"{\"selection\": {\"over_selection\": 0.5}}", "selection.over_selection", "0.5", ERR_INVALID_FIELD},
    {"{\"selection\": {\"require_labels\": {\"a\": 1}}}", "selection.require_labels", "string",
     ERR_INVALID_FIELD},
    {"{\"selection\": {\"fraction\": 0.1}}", "selection.fraction", "", ERR_UNKNOWN_FIELD},
    {"{\"reporting\": {\"min_updates\": 0}}", "reporting.min_updates", "0", ERR_INVALID_FIELD},
    {"{\"reporting\": {\"min_updates\": 3}}", "reporting.min_updates", "2 devices", ERR_INVALID_FIELD},
    {"{\"reporting\": {\"deadline_s\": -1}}", "reporting.deadline_s", "-1", ERR_INVALID_FIELD},
    {"{\"reporting\": {\"grace_s\": -1}}", "reporting.grace_s", "-1", ERR_INVALID_FIELD},
    {"{\"reporting\": {\"on_too_few\": \"wait\"}}", "reporting.on_too_few", "extend", ERR_INVALID_FIELD},
    {"{\"evaluation\": {\"every\": 0}}", "evaluation.every", "0", ERR_INVALID_FIELD},
    {"{\"evaluation\": {\"on\": \"some\"}}", "evaluation.on", "all_devices", ERR_INVALID_FIELD},
    {"{\"evaluation\": {\"gamma\": \"yes\"}}", "evaluation.gamma", "true or false", ERR_INVALID_FIELD},
    {"{\"systems\": {\"straggler_fraction\": 1.5}}", "systems.straggler_fraction", "1.5", ERR_INVALID_FIELD},
    {"{\"systems\": {\"steps_per_s\": 5}}", "systems.steps_per_s", "only fedlane simulate",
     ERR_INVALID_FIELD},
    {"{\"systems\": {\"down_bytes_per_s\": 5, \"trace\": \"t.csv\"}}", "systems.down_bytes_per_s",
     "only fedlane simulate", ERR_INVALID_FIELD},
    {"{\"systems\": {\"trace\": \"t.csv\"}}", "systems.trace", "only fedlane simulate", ERR_INVALID_FIELD},
    {"{\"systems\": {\"trace\": 5}}", "systems.trace", "string", ERR_INVALID_FIELD},
    {"{\"systems\": {\"stragglers\": 0.5}}", "systems.stragglers", "", ERR_UNKNOWN_FIELD},
    {"{\"retention\": {\"keep_models\": \"last:0\"}}", "retention.keep_models", "last:N", ERR_INVALID_FIELD},
    {"{\"retention\": {\"keep_models\": \"some\"}}", "retention.keep_models", "last:N", ERR_INVALID_FIELD},
    {"{\"retention\": {\"keep_models\": 5}}", "retention.keep_models", "string", ERR_INVALID_FIELD},
    {"{\"retention\": {\"keep_updates\": \"never\"}}", "retention.keep_updates", "round", ERR_INVALID_FIELD},
};

START_TEST(test_a_bad_field_is_named_and_makes_no_run)
{
    struct lab lab;
    struct run_row run;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum err e = lab_create(&lab, bad[i].changes, &run);
        ck_assert_msg(e == bad[i].err, "%s: %s", bad[i].changes, err_name(e));
        ck_assert_msg(strcmp(lab.fault.field, bad[i].field) == 0, "%s: field \"%s\"", bad[i].changes,
                      lab.fault.field);
        ck_assert_msg(*lab.fault.detail && strstr(lab.fault.detail, bad[i].word), "%s: \"%s\"",
                      bad[i].changes, lab.fault.detail);
    }
    ck_assert_uint_eq(lab_count_runs(&lab), 0);
    lab_close(&lab);
}
END_TEST

static const struct {
    const char *section, *field, *json;
} defaults[] = {
    {"", "seed", "0"},
    {"", "experiment", "\"Default\""},
    {"", "autostart", "true"},
    {"strategy", "name", "\"fedprox\""},
    {"strategy", "params",
     "{\"accept_partial\": true, \"max_weight_fraction\": 1.0, \"proximal_mu\": 1.0, \"weighting\": "
     "\"num_examples\"}"},
    {"training", "local_epochs", "1"},
    {"training", "batch_size", "10"},
    {"training", "optimizer", "\"sgd\""},
    {"selection", "devices_per_round", "10"},
    {"selection", "over_selection", "1.0"},
    {"reporting", "min_updates", "1"},
    {"reporting", "deadline_s", "600.0"},
    {"reporting", "grace_s", "5.0"},
    {"reporting", "on_too_few", "\"extend\""},
    {"evaluation", "every", "1"},
    {"evaluation", "on", "\"selected\""},
    {"evaluation", "gamma", "false"},
    {"evaluation", "dissimilarity", "false"},
    {"evaluation", "grad_variance", "false"},
    {"retention", "keep_models", "\"last:5\""},
    {"retention", "keep_updates", "\"round\""},
};

static json_t *parsed(const char *text)
{
    json_error_t error;
    return json_loads(text, JSON_DECODE_ANY, &error);
}

START_TEST(test_the_stored_spec_holds_every_default)
{
    struct lab lab;
    lab_open(&lab);
    struct op_run_create op = {
        .base = {.core = lab.core, .arena = &lab.arena},
        .spec = lab_json("{\"num_rounds\": 3, \"training\": {\"learning_rate\": 0.5},"
                         "\"model\": {\"input\": [2], \"layers\": [{\"type\": \"dense\", \"units\": 2}]}}")};
    ck_assert_int_eq(store_write_wait(lab.store, op_run_create, &op), ERR_OK);
    json_t *spec = lab_json(op.out.spec);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        const json_t *at = *defaults[i].section ? json_object_get(spec, defaults[i].section) : spec;
        json_t *expected = parsed(defaults[i].json);
        ck_assert_msg(json_equal(json_object_get(at, defaults[i].field), expected), "%s.%s",
                      defaults[i].section, defaults[i].field);
        json_decref(expected);
    }
    ck_assert_ptr_null(json_object_get(json_object_get(spec, "training"), "local_steps"));
    ck_assert_ptr_null(json_object_get(spec, "systems"));
    ck_assert_int_eq(strncmp(op.out.name, "fedprox-", 8), 0);
    ck_assert_str_eq(op.out.experiment_id, "0");
    /* What is in force may be submitted again as it is. */
    struct op_run_create again = {.base = {.core = lab.core, .arena = &lab.arena}, .spec = spec};
    ck_assert_msg(store_write_wait(lab.store, op_run_create, &again) == ERR_OK, "%s %s",
                  again.base.fault.field, again.base.fault.detail);
    ck_assert_str_eq(op.out.spec, again.out.spec);
    ck_assert_str_eq(op.out.config, again.out.config);
    json_decref(spec);
    json_decref(op.spec);
    lab_close(&lab);
}
END_TEST

/* The stored "training" of a run that asks for `training`; the caller decrefs. */
static json_t *stored_training(struct lab *lab, const char *training)
{
    struct run_row run;
    char changes[400];
    (void)snprintf(changes, sizeof changes,
                   "{\"num_rounds\": 10, \"training\": {\"local_epochs\": null, \"batch_size\": null, %s}}",
                   training);
    enum err e = lab_create(lab, changes, &run);
    ck_assert_msg(!e, "%s: %s %s", training, lab->fault.field, lab->fault.detail);
    json_t *spec = lab_json(run.spec), *section = json_incref(json_object_get(spec, "training"));
    json_decref(spec);
    return section;
}

#define REST "\"local_epochs\": 1, \"batch_size\": 10, \"learning_rate\": 0.1"
static const struct {
    const char *given, *stored;
} trainings[] = {
    {"\"optimizer\": \"momentum\"", "\"optimizer\": \"momentum\", \"momentum\": 0.9"},
    {"\"optimizer\": \"prox_momentum\", \"momentum\": 0",
     "\"optimizer\": \"prox_momentum\", \"momentum\": 0"},
    {"\"optimizer\": \"adam\", \"beta1\": 0.5",
     "\"optimizer\": \"adam\", \"beta1\": 0.5, \"beta2\": 0.999, \"epsilon\": 1e-8"},
    {"\"weight_decay\": 0", "\"optimizer\": \"sgd\", \"weight_decay\": 0"},
    {"\"weight_decay\": 0.5, \"clip_norm\": 2.5",
     "\"optimizer\": \"sgd\", \"weight_decay\": 0.5, \"clip_norm\": 2.5"},
    {"\"learning_rate_schedule\": {\"type\": \"cosine\", \"warmup_rounds\": 2}",
     "\"optimizer\": \"sgd\", \"learning_rate_schedule\": {\"type\": \"cosine\", \"warmup_rounds\": 2, "
     "\"min_learning_rate\": 0.0, \"decay_rounds\": 8}"},
    {"\"learning_rate_schedule\": {\"type\": \"step\", \"step_size\": 3}",
     "\"optimizer\": \"sgd\", \"learning_rate_schedule\": {\"type\": \"step\", \"warmup_rounds\": 0, "
     "\"min_learning_rate\": 0.0, \"step_size\": 3, \"gamma\": 0.1}"},
    {"\"learning_rate_schedule\": {\"type\": \"constant\"}",
     "\"optimizer\": \"sgd\", \"learning_rate_schedule\": {\"type\": \"constant\", \"warmup_rounds\": 0}"},
};

/* Defaults are of the optimizer and the schedule that are asked for; what is off is left out. */
START_TEST(test_defaults_of_optimizers_and_schedules)
{
    struct lab lab;
    lab_open(&lab);
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
        char text[400];
        (void)snprintf(text, sizeof text, "{" REST ", %s}", trainings[i].stored);
        json_t *stored = stored_training(&lab, trainings[i].given), *expected = parsed(text);
        char *got = json_dumps(stored, JSON_SORT_KEYS);
        ck_assert_msg(json_equal(stored, expected), "%s: %s", trainings[i].given, got);
        free(got);
        json_decref(stored);
        json_decref(expected);
    }
    lab_close(&lab);
}
END_TEST

START_TEST(test_defaults_that_follow_other_fields)
{
    struct lab lab;
    struct run_row run;
    lab_open(&lab);
    /* A small population. */
    ck_assert_int_eq(
        lab_create(&lab, "{\"selection\": {\"devices_per_round\": null, \"population\": 3}}", &run), ERR_OK);
    json_t *spec = lab_json(run.spec);
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(spec, "selection"), "devices_per_round")), 3);
    json_decref(spec);
    /* The data set of the data. */
    ck_assert_int_eq(
        lab_create(&lab, "{\"dataset\": null, \"data\": {\"source\": \"synthetic\", \"alpha\": 1}}", &run),
        ERR_OK);
    ck_assert_str_eq(run.dataset, "synthetic");
    ck_assert_int_eq(
        lab_create(&lab, "{\"dataset\": null, \"data\": {\"source\": \"idx\", \"name\": \"mine\"}}", &run),
        ERR_OK);
    ck_assert_str_eq(run.dataset, "mine");
    ck_assert_int_eq(lab_create(&lab, "{\"dataset\": \"other\", \"data\": {\"source\": \"idx\"}}", &run),
                     ERR_OK);
    ck_assert_str_eq(run.dataset, "other");
    /* A dynamic mu compares losses over the same devices. */
    ck_assert_int_eq(
        lab_create(&lab,
                   "{\"strategy\": {\"params\": {\"proximal_mu\": {\"dynamic\": {}}}}, \"evaluation\": null}",
                   &run),
        ERR_OK);
    spec = lab_json(run.spec);
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(spec, "evaluation"), "on")),
                     "all_devices");
    json_t *dynamic = json_object_get(
        json_object_get(json_object_get(json_object_get(spec, "strategy"), "params"), "proximal_mu"),
        "dynamic");
    ck_assert_int_eq(json_integer_value(json_object_get(dynamic, "patience")), 5);
    json_decref(spec);
    lab_close(&lab);
}
END_TEST

START_TEST(test_an_unstable_step_is_a_warning)
{
    struct lab lab;
    struct run_row run;
    lab_open(&lab);
    ck_assert_int_eq(lab_create(&lab, "{\"strategy\": {\"params\": {\"proximal_mu\": 19}}}", &run), ERR_OK);
    ck_assert_uint_eq(lab_count_events(&lab, run.id, "warning"), 0);
    ck_assert_int_eq(lab_create(&lab, "{\"strategy\": {\"params\": {\"proximal_mu\": 20}}}", &run), ERR_OK);
    json_t *event = lab_event(&lab, run.id, "warning");
    ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(event, "detail")), "diverge"));
    json_decref(event);
    lab_close(&lab);
}
END_TEST

START_TEST(test_experiments)
{
    struct lab lab;
    struct run_row one, two;
    lab_open(&lab);
    ck_assert_int_eq(lab_create(&lab, "{\"experiment\": \"fashion\"}", &one), ERR_OK);
    ck_assert_int_eq(lab_create(&lab, "{\"experiment\": \"fashion\"}", &two), ERR_OK);
    ck_assert_str_eq(one.experiment_id, "1");
    ck_assert_str_eq(two.experiment_id, "1");
    ck_assert_int_eq(lab_create(&lab, "{\"experiment\": \"1\"}", &two), ERR_OK); /* by its id */
    ck_assert_str_eq(two.experiment_id, "1");
    struct op_experiment op = {.base = {.core = lab.core, .arena = &lab.arena},
                               .body = lab_json("{\"name\": \"fashion\"}")};
    ck_assert_int_eq(store_write_wait(lab.store, op_experiment_create, &op), ERR_CONFLICT);
    ck_assert_str_eq(op.base.fault.field, "name");
    json_decref(op.body);
    op.body = lab_json("{\"name\": \"digits\", \"description\": \"MNIST\"}");
    ck_assert_int_eq(store_write_wait(lab.store, op_experiment_create, &op), ERR_OK);
    ck_assert_str_eq(op.out.id, "2");
    json_decref(op.body);
    op.id = "2";
    op.body = lab_json("{\"description\": \"new\"}");
    ck_assert_int_eq(store_write_wait(lab.store, op_experiment_patch, &op), ERR_OK);
    ck_assert_str_eq(op.out.name, "digits");
    ck_assert_str_eq(op.out.description, "new");
    json_decref(op.body);
    op.body = lab_json("{\"name\": \"fashion\"}");
    ck_assert_int_eq(store_write_wait(lab.store, op_experiment_patch, &op), ERR_CONFLICT);
    json_decref(op.body);
    op.body = lab_json("{\"owner\": \"me\"}");
    ck_assert_int_eq(store_write_wait(lab.store, op_experiment_patch, &op), ERR_UNKNOWN_FIELD);
    op.id = "77";
    ck_assert_int_eq(store_write_wait(lab.store, op_experiment_patch, &op), ERR_NOT_FOUND);
    json_decref(op.body);
    lab_close(&lab);
}
END_TEST

START_TEST(test_the_schemas_of_the_strategies)
{
    json_t *list = core_strategies_json(), *items = json_object_get(list, "items");
    ck_assert_uint_eq(json_array_size(items), 2);
    const json_t *prox = json_array_get(items, 0), *avg = json_array_get(items, 1);
    ck_assert_str_eq(json_string_value(json_object_get(prox, "name")), "fedprox");
    ck_assert_str_eq(json_string_value(json_object_get(avg, "name")), "fedavg");
    const json_t *prox_fields = json_object_get(json_object_get(prox, "params"), "properties");
    const json_t *avg_fields = json_object_get(json_object_get(avg, "params"), "properties");
    static const char *const names[] = {"proximal_mu", "accept_partial", "weighting", "max_weight_fraction"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_ptr_nonnull(json_object_get(json_object_get(prox_fields, names[i]), "default"));
        ck_assert_int_eq(json_object_get(avg_fields, names[i]) != NULL, i >= 2);
    }
    json_decref(list);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        test_a_bad_field_is_named_and_makes_no_run, test_the_stored_spec_holds_every_default,
        test_defaults_of_optimizers_and_schedules,  test_defaults_that_follow_other_fields,
        test_an_unstable_step_is_a_warning,         test_experiments,
        test_the_schemas_of_the_strategies};
    return unit_run("run_spec", tests, sizeof tests / sizeof *tests);
}
