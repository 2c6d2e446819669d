/* Before any training: would each run be accepted, and about how long does it take? */
#include <math.h>
#include "cli/simulate/sim.h"
#include "cli/simulate/sweep.h"
#include "cli/table.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/model/arch.h"

#define CHECK_ARENA ((size_t)1 << 30)

static enum err in_run(struct sweep *s, const struct sweep_run *run, enum err e)
{
    struct fault inner = s->cli->fault;
    if (!e || e == ERR_NO_MEMORY || s->num_axes == 0 || !inner.detail[0])
        return e;
    return fault_set(&s->cli->fault, e, inner.field, "%s (in the run %s)", inner.detail, run->label);
}

static enum err check_spec(struct sweep *s, struct sweep_run *run)
{
    struct arena arena = ARENA_INIT(CHECK_ARENA);
    struct run_row row;
    enum err e = sim_check(run->spec, &arena, &row, &s->cli->fault);
    if (!e) {
        run->filled = json_loads(row.spec, 0, NULL);
        run->num_rounds = row.num_rounds;
        e = run->filled ? ERR_OK : ERR_NO_MEMORY;
    }
    arena_release(&arena);
    return e;
}

/* -- work ------------------------------------------------------------------------------------------------ */

static double num_params(const json_t *spec)
{
    struct arch *arch = NULL;
    if (arch_parse(json_object_get(spec, "model"), &arch, NULL) != ERR_OK)
        return 1;
    double n = (double)arch->tensors.num_params;
    arch_free(arch);
    return n > 1 ? n : 1;
}

static double number_or(const json_t *spec, const char *path, double otherwise)
{
    double value = json_number_at(spec, path);
    return isnan(value) ? otherwise : value;
}

static bool is_on(const json_t *spec, const char *path)
{
    return json_is_true(json_at(spec, path));
}

/* Examples that pass through the model, a step counting three times its examples. Stragglers do half on the
 * mean, or nothing where their work would be dropped. */
static double estimate(const json_t *spec, const struct dataset *data)
{
    double devices = (double)dataset_num_devices(data), train = 0, all = 0;
    for (size_t i = 0; i < dataset_num_devices(data); i++) {
        const struct device_data *d = dataset_device(data, i);
        train += (double)d->num_train;
        all += (double)(d->num_train + d->num_test);
    }
    double k = number_or(spec, "selection.devices_per_round", 10), share = k / devices;
    double steps = number_or(spec, "training.local_steps", 0),
           stragglers = number_or(spec, "systems.straggler_fraction", 0);
    double trained = steps > 0 ? k * steps * number_or(spec, "training.batch_size", 10)
                               : share * train * number_or(spec, "training.local_epochs", 1);
    bool are_dropped = str_eq(json_text_at(spec, "strategy.name"), "fedavg");
    double round = 3 * trained * (1 - stragglers * (are_dropped ? 1 : 0.5));
    const char *on = json_text_at(spec, "evaluation.on");
    round += (str_eq(on, "all_devices") ? all
              : str_eq(on, "selected")  ? share * all
                                        : 0) /
             number_or(spec, "evaluation.every", 1);
    if (is_on(spec, "evaluation.dissimilarity") || is_on(spec, "evaluation.grad_variance"))
        round += 2 * train;
    if (is_on(spec, "evaluation.gamma"))
        round += 4 * share * train;
    return number_or(spec, "num_rounds", 1) * (round + devices) * num_params(spec);
}

/* -- points ---------------------------------------------------------------------------------------------- */

/* With the data of its first seed: that the others differ from it only in their numbers makes no fault. */
static enum err check_point(struct sweep *s, size_t point)
{
    struct sweep_run *first = &s->runs[point * s->num_seeds];
    const struct dataset *data = NULL;
    struct sim *sim = NULL;
    enum err e = sweep_data_get(&s->data, first->data, first->spec, &data, &s->cli->fault);
    if (!e)
        e = sim_new(first->spec, data, 1, &sim, &s->cli->fault);
    sim_free(sim);
    if (e)
        return in_run(s, first, e);
    double work = estimate(first->filled, data);
    for (size_t i = 0; i < s->num_seeds; i++)
        first[i].work = work;
    return ERR_OK;
}

enum err sweep_check(struct sweep *s)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->num_runs && !e; i++) {
        struct sweep_run *run = &s->runs[i];
        /* What is odd about a point is said once. */
        log_init(i % s->num_seeds == 0 ? LOG_WARNING : LOG_ERROR, LOG_TEXT);
        e = in_run(s, run, check_spec(s, run));
        if (!e)
            e = sweep_data_want(&s->data, run->spec, &run->data);
    }
    log_init(LOG_ERROR, LOG_TEXT);
    for (size_t i = 0; i < s->num_points && !e; i++) {
        struct sweep_data_set *set = s->runs[i * s->num_seeds].data,
                              *next = i + 1 < s->num_points ? s->runs[(i + 1) * s->num_seeds].data : NULL;
        e = check_point(s, i);
        /* The check alone must not hold all the data at once. */
        if (set != next && set != s->runs[0].data)
            sweep_data_drop(&s->data, set);
    }
    return e;
}
