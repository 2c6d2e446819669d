/* The run spec: one experiment's every setting. Reading checks everything that can be checked before devices
 * are known, and fills in the defaults, so that what is stored says what was in force. docs/openapi.json has
 * the fields. */
#ifndef FEDLANE_CORE_RUN_SPEC_H
#define FEDLANE_CORE_RUN_SPEC_H

#include "common/fl/learning_rate.h"
#include "common/fl/optimizer.h"
#include "server/core/strategy.h"

struct training_spec {
    int64_t local_epochs, local_steps; /* local_steps > 0 stands in place of the epochs */
    int64_t batch_size;
    double learning_rate; /* before its schedule */
    struct rate_schedule schedule;
    struct optimizer optimizer;
};

struct selection_spec {
    int64_t devices_per_round;
    int64_t population; /* 0: who is registered at the start */
    double over_selection;
    json_t *require_labels; /* borrowed from the spec; NULL or an object of texts */
};

enum on_too_few { TOO_FEW_EXTEND, TOO_FEW_SKIP, TOO_FEW_FAIL };
struct reporting_spec {
    int64_t min_updates;
    double deadline_s; /* 0: none */
    double grace_s;
    int on_too_few;
};

enum evaluate_on { EVALUATE_SELECTED, EVALUATE_ALL_DEVICES, EVALUATE_NONE };
struct evaluation_spec {
    int64_t every;
    int on;
    bool gamma, dissimilarity, grad_variance;
};

/* What differs from device to device: median * exp(sigma * z), z a standard normal of the device's own. */
struct spread {
    double median; /* NaN: not given, and then there is no limit */
    double sigma;  /* 0: all alike */
};

struct systems_spec {
    bool has_stragglers; /* budgets by straggler_fraction */
    double straggler_fraction;
    /* Simulated time: what the devices of a simulation are like. */
    bool is_timed; /* any of the following is given */
    struct spread steps_per_s, up_bytes_per_s, down_bytes_per_s;
    const char *trace; /* a CSV file; "": none */
};

struct retention_spec {
    int64_t keep_models; /* the newest so many; 0: all */
    bool keep_updates;   /* after their round, too */
};

struct run_spec {
    const char *experiment, *name, *dataset; /* "" where not given */
    int64_t seed, num_rounds;
    bool autostart;
    json_t *model; /* borrowed from the spec */
    const struct strategy *strategy;
    struct strategy_params params;
    struct training_spec training;
    struct selection_spec selection;
    struct reporting_spec reporting;
    struct evaluation_spec evaluation;
    struct systems_spec systems;
    struct retention_spec retention;
};

/* Reads `doc` and fills its defaults in. Texts lie in the arena, objects in doc, which must live as long as
 * *out. The model is checked by whoever parses the architecture. Faults: ERR_INVALID_FIELD,
 * ERR_UNKNOWN_FIELD, ERR_MISSING_FIELD. */
enum err run_spec_parse(json_t *doc, struct arena *arena, struct run_spec *out,
                        struct fault *fault) MUST_CHECK;

/* The section "systems" of `doc`; a part of the above. */
enum err systems_spec_parse(json_t *doc, struct arena *arena, struct systems_spec *out,
                            struct fault *fault) MUST_CHECK;
/* The first field of "systems" that needs a virtual clock; NULL where there is none. */
const char *systems_timed_field(const json_t *doc);

/* The section "training", likewise. */
enum err training_spec_parse(json_t *training, int64_t num_rounds, struct arena *arena,
                             struct training_spec *out, struct fault *fault) MUST_CHECK;
/* Takes the settings out of such a section that an optimizer does not have. */
void training_forget(json_t *training, const char *optimizer);
/* The learning rate of a round. */
double training_rate(const struct training_spec *t, int64_t round);
/* Whether the proximal term alone makes steps diverge at the largest rate of all rounds. False where it goes
 * through the optimizer's state, where another condition holds. */
bool training_may_diverge(const struct training_spec *t, double mu);

/* The part of a spec that may change while a run goes on: training, strategy.params, reporting, evaluation.
 * New reference. */
json_t *run_config_of(const json_t *doc);
/* Lays such a part over the spec, field by field. ERR_UNKNOWN_FIELD for a part that may not change. A
 * strategy's params and the sections keep the fields that the patch does not name; local_steps and
 * local_epochs take each other's place. */
enum err run_config_apply(json_t *doc, const json_t *patch, struct fault *fault) MUST_CHECK;

#endif
