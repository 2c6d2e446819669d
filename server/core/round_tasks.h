/* The tasks that a round gives out: S_t with its budgets, and who evaluates. */
#ifndef FEDLANE_CORE_ROUND_TASKS_H
#define FEDLANE_CORE_ROUND_TASKS_H

#include "server/core/misfit.h"
#include "server/core/round.h"

/* Tasks in the making; everything lies in the operation's arena. */
struct round_tasks {
    struct work *w;
    struct run_row *run;
    struct round_row *round;
    const struct plan *plan;
    struct wanted_data wanted;
    bool has_warned; /* of other data; once a round */
    struct run_device_row
        *devices; /* the population, ascending ordinal; NULL unless all of it is looked at */
    size_t num_devices;
    uint32_t *selected; /* S_t: positions in the population, in selection order */
    size_t num_selected;
    struct task_row *items;
    size_t count, capacity;
};

/* Selects S_t. */
enum err round_tasks_init(struct round_tasks *m, struct work *w, struct run_row *run,
                          struct round_row *round) MUST_CHECK;
/* The evaluate tasks that stand by themselves: in a final round, where the evaluation comes first, or where
 * gradients are asked, of everybody who evaluates; else of those who are not selected. Counts them in the
 * round and starts its deadline. */
enum err round_tasks_evaluate(struct round_tasks *m) MUST_CHECK;
/* The train tasks, with budgets. Counts them in the round, which is then training, and starts its deadline.
 */
enum err round_tasks_train(struct round_tasks *m) MUST_CHECK;
/* Gives what was made its ids, inserts it and notifies the devices. The round's row must be there. */
enum err round_tasks_insert(struct round_tasks *m) MUST_CHECK;

/* Whether evaluation is due in this round, and whether gradients are. */
bool round_is_evaluated(const struct plan *plan, const struct round_row *round);
bool round_wants_gradients(const struct plan *plan, const struct round_row *round);

#endif
