/* A strategy is a table of functions: how its parameters are read, whom a round takes, what an update may be,
 * when the devices' part of a round is over, how updates become the next model, and what it carries from
 * round to round. The engine calls nothing else, so a strategy is one file and one line in strategy.c. */
#ifndef FEDLANE_CORE_STRATEGY_H
#define FEDLANE_CORE_STRATEGY_H

#include <jansson.h>
#include "common/base/arena.h"
#include "common/fl/average.h"
#include "server/store/records.h"

struct strategy_params {
    double proximal_mu; /* the start, where it is dynamic */
    bool is_mu_dynamic;
    double mu_step;
    int64_t mu_patience;
    bool accept_partial;
    enum weighting weighting;
    double max_weight_fraction;
};

/* Whom a round may take: positions 0..population-1 in the frozen population's ascending ordinals. */
struct selection {
    uint64_t seed;
    int64_t round;
    size_t population, count;
};

/* What an update says about its work. */
struct update_facts {
    int64_t steps_assigned, steps_done;
    bool is_partial;
};

struct strategy {
    const char *name, *description;
    /* JSON Schema of "params". New reference. */
    json_t *(*schema)(void);
    /* Reads "params" and fills the defaults into it. Faults name "strategy.params.X". */
    enum err (*configure)(json_t *params, struct arena *arena, struct strategy_params *out,
                          struct fault *fault) MUST_CHECK;
    /* Whether f(w_t) over the devices must be known before training starts. */
    bool (*needs_loss)(const struct strategy_params *p);
    /* Before the training of a round. `state`: what it returned the round before; NULL in the first.
     * train_loss: f(w_t), NaN where it is not known. *out_state: new reference. *out_mu: this round's
     * proximal coefficient. */
    enum err (*begin_round)(const struct strategy_params *p, const json_t *state, double train_loss,
                            json_t **out_state, double *out_mu) MUST_CHECK;
    enum err (*select)(const struct selection *s,
                       uint32_t *out_positions) MUST_CHECK; /* count of them, distinct */
    /* ERR_INVALID_UPDATE where such an update may not count. */
    enum err (*on_update)(const struct strategy_params *p, const struct update_facts *u,
                          struct fault *fault) MUST_CHECK;
    /* Whether the devices' part of the round is over. */
    bool (*is_ready)(const struct round_row *round);
    /* The updates' weights, ascending ordinal. ERR_INVALID_UPDATE where all are 0: the round fails, the model
     * stays. */
    enum err (*weigh)(const struct strategy_params *p, const int64_t *num_examples, size_t num_updates,
                      double *out_weights, struct fault *fault) MUST_CHECK;
    /* Some updates' values of a range of the model, ascending ordinal (as average_add), and then the new
     * values of that range. */
    void (*accumulate)(struct average *a, size_t count, const int64_t *ordinals, const double *weights,
                       const float *const *values, size_t first);
    enum err (*finish)(const struct average *a, float *out) MUST_CHECK;
};

/* NULL where there is none of this name. */
const struct strategy *strategy_find(const char *name);
/* `"fedprox", "fedavg"`, for messages. */
void strategy_names(char *out, size_t size);

extern const struct strategy strategy_fedprox, strategy_fedavg;

#endif
