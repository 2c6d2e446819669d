#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/fl/schedule.h"
#include "server/core/budget.h"
#include "server/core/events.h"
#include "server/core/population.h"
#include "server/core/round_tasks.h"

bool round_is_evaluated(const struct plan *plan, const struct round_row *round)
{
    const struct evaluation_spec *ev = &plan->spec.evaluation;
    return ev->on != EVALUATE_NONE && (round->type == ROUND_FINAL || round->n % ev->every == 0);
}

bool round_wants_gradients(const struct plan *plan, const struct round_row *round)
{
    const struct evaluation_spec *ev = &plan->spec.evaluation;
    return (ev->dissimilarity || ev->grad_variance) &&
           (round->type == ROUND_FINAL || round->n % ev->every == 0);
}

/* Evaluation within the train task costs no second download; but where it must come first, or the gradient at
 * w_t is asked as well, the device does it in a task of its own. */
static bool evaluates_apart(const struct plan *plan, const struct round_row *round)
{
    return round->type == ROUND_FINAL || plan->spec.strategy->needs_loss(&plan->spec.params) ||
           round_wants_gradients(plan, round);
}

/* A device may have come back with other data since the run began. What the first of all has stands for what
 * all had then, where the model does not say. */
static enum err want_data(struct round_tasks *m)
{
    struct run_device_row *first;
    struct device_row device;
    m->wanted = wanted_data(m->plan->arch);
    if (*m->wanted.vocabulary_sha256 || m->num_devices == 0)
        return ERR_OK;
    enum err e = population_member(m->w, m->run, 0, &first);
    if (!e)
        e = population_device(m->w, m->run, first, &device);
    return e ? e : wanted_from(m->w, &device, &m->wanted);
}

enum err round_tasks_init(struct round_tasks *m, struct work *w, struct run_row *run, struct round_row *round)
{
    *m = (struct round_tasks){.w = w, .run = run, .round = round};
    enum err e = plan_cache_get(&w->core->plans, run, round->config, &m->plan);
    if (e)
        return e;
    m->num_devices = (size_t)run->population;
    const struct selection_spec *spec = &m->plan->spec.selection;
    size_t count = (size_t)ceil((double)spec->devices_per_round * spec->over_selection - 1e-9);
    m->num_selected = count < m->num_devices ? count : m->num_devices;
    m->selected = arena_calloc(w->arena, m->num_selected, sizeof *m->selected);
    if (!m->selected)
        return ERR_NO_MEMORY;
    struct selection s = {(uint64_t)run->seed, round->n, m->num_devices, m->num_selected};
    e = want_data(m);
    return e ? e : m->plan->spec.strategy->select(&s, m->selected);
}

static enum err list_next(struct round_tasks *m, struct task_row **out)
{
    if (m->count == m->capacity) {
        size_t capacity = m->capacity ? m->capacity * 2 : 64;
        struct task_row *bigger = arena_calloc(m->w->arena, capacity, sizeof *bigger);
        if (!bigger)
            return ERR_NO_MEMORY;
        if (m->count > 0)
            memcpy(bigger, m->items, m->count * sizeof *bigger);
        m->items = bigger;
        m->capacity = capacity;
    }
    *out = &m->items[m->count++];
    return ERR_OK;
}

static enum err member_at(struct round_tasks *m, size_t position, struct run_device_row **out)
{
    if (!m->devices)
        return population_member(m->w, m->run, position, out);
    *out = &m->devices[position];
    return ERR_OK;
}

static void fail(struct task_row *t, const char *code, const char *detail)
{
    t->status = TASK_FAILED;
    t->code = code;
    t->detail = detail;
}

static enum err task_make(struct round_tasks *m, size_t position, enum task_type type,
                          struct device_row *out_device, struct task_row **out)
{
    struct task_row *t = NULL;
    struct run_device_row *d = NULL;
    enum err e = member_at(m, position, &d);
    if (!e)
        e = population_device(m->w, m->run, d, out_device);
    if (!e)
        e = list_next(m, &t);
    if (e)
        return e;
    record_init(RECORD_TASK, t);
    t->run_id = m->run->id;
    t->round = m->round->n;
    t->ordinal = d->ordinal;
    t->type = type;
    t->device_id = d->device_id;
    t->worker_id = out_device->worker_id;
    t->model_version = m->round->model_version_in;
    t->num_examples = d->num_examples;
    t->num_test_examples = d->num_test_examples;
    t->created_at = m->w->now_ms;
    t->deadline_at = m->round->deadline_at;
    double deadline_s = m->plan->spec.reporting.deadline_s;
    t->max_seconds = deadline_s > 0 ? deadline_s : NAN;
    *out = t;
    if (out_device->revoked_at) {
        run_not_deterministic(m->run, "a device of the population was revoked");
        fail(t, "device_revoked", "the device was revoked before the round opened");
        return ERR_OK;
    }
    const char *why;
    e = device_other_vocabulary(m->w, out_device, &m->wanted, &why);
    if (!e && *why) {
        run_not_deterministic(m->run, "a device of the population has other data now");
        fail(t, "other_data", why);
        if (!m->has_warned)
            e = event_warn(m->w, m->run, why);
        m->has_warned = true;
    }
    return e;
}

static void deadline_start(struct work *w, const struct plan *plan, struct round_row *round)
{
    const struct reporting_spec *r = &plan->spec.reporting;
    round->deadline_at = round->grace_until = 0;
    if (r->deadline_s > 0) {
        round->deadline_at = w->now_ms + (int64_t)llround(r->deadline_s * 1000);
        round->grace_until = round->deadline_at + (int64_t)llround(r->grace_s * 1000);
    }
}

static enum err make_train(struct round_tasks *m, size_t i, bool is_straggler, int64_t wants)
{
    struct task_row *t = NULL;
    struct device_row device;
    enum err e = task_make(m, m->selected[i], TASK_TRAIN, &device, &t);
    if (e)
        return e;
    t->wants = wants;
    t->is_straggler = is_straggler;
    budget_set(m->plan, m->run, t, device.steps_per_second);
    m->round->selected++;
    m->round->steps_assigned += t->steps_assigned;
    if (t->status == TASK_FAILED)
        m->round->failed++;
    return ERR_OK;
}

enum err round_tasks_train(struct round_tasks *m)
{
    const struct run_spec *spec = &m->plan->spec;
    struct round_row *round = m->round;
    enum err e = ERR_OK;
    uint32_t *ranks = arena_calloc(m->w->arena, m->num_selected, sizeof *ranks);
    if (!ranks)
        return ERR_NO_MEMORY;
    size_t num_active = m->num_selected;
    if (spec->systems.has_stragglers) {
        num_active = schedule_num_active(m->num_selected, spec->systems.straggler_fraction);
        e = schedule_straggler_ranks((uint64_t)m->run->seed, round->n, m->num_selected, ranks);
    }
    deadline_start(m->w, m->plan, round);
    round->status = ROUND_TRAINING;
    round->training_at = m->w->now_ms;
    int64_t wants =
        round_is_evaluated(m->plan, round) && !evaluates_apart(m->plan, round) ? WANT_EVALUATION : 0;
    if (spec->evaluation.gamma && round->n % spec->evaluation.every == 0)
        wants |= WANT_GAMMA;
    for (size_t i = 0; i < m->num_selected && !e; i++)
        e = make_train(m, i, ranks[i] >= num_active, wants);
    return e;
}

static enum err make_evaluate(struct round_tasks *m, size_t position, int64_t wants)
{
    struct task_row *t = NULL;
    struct device_row device;
    enum err e = task_make(m, position, TASK_EVALUATE, &device, &t);
    if (e)
        return e;
    t->wants = wants;
    m->round->evaluators++;
    if (t->status == TASK_FAILED)
        m->round->evaluated++;
    return ERR_OK;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Of the selected alone: the others need not be looked at. */
static enum err evaluate_selected(struct round_tasks *m)
{
    uint32_t *positions = arena_memdup(m->w->arena, m->selected, m->num_selected * sizeof *positions);
    enum err e = positions ? ERR_OK : ERR_NO_MEMORY;
    if (!e)
        qsort(positions, m->num_selected, sizeof *positions, ascending);
    for (size_t i = 0; i < m->num_selected && !e; i++)
        e = make_evaluate(m, positions[i], WANT_EVALUATION);
    return e;
}

/* Looks at the whole population: a round of few devices must not cost what all of them do. */
static enum err evaluate_population(struct round_tasks *m, bool is_due, int64_t gradient)
{
    bool is_apart = evaluates_apart(m->plan, m->round),
         on_all = m->plan->spec.evaluation.on == EVALUATE_ALL_DEVICES;
    bool *is_selected = arena_calloc(m->w->arena, m->num_devices, sizeof *is_selected);
    enum err e = is_selected ? population_load(m->w, m->run, &m->devices, &m->num_devices) : ERR_NO_MEMORY;
    for (size_t i = 0; i < m->num_selected && !e; i++)
        is_selected[m->selected[i]] = true;
    for (size_t i = 0; i < m->num_devices && !e; i++) {
        bool evaluates = is_due && (is_apart ? on_all || is_selected[i] : on_all && !is_selected[i]);
        int64_t wants = (evaluates ? WANT_EVALUATION : 0) | (m->devices[i].num_examples > 0 ? gradient : 0);
        if (wants)
            e = make_evaluate(m, i, wants);
    }
    return e;
}

enum err round_tasks_evaluate(struct round_tasks *m)
{
    bool is_due = round_is_evaluated(m->plan, m->round),
         on_all = m->plan->spec.evaluation.on == EVALUATE_ALL_DEVICES;
    int64_t gradient = round_wants_gradients(m->plan, m->round) ? WANT_GRADIENT : 0;
    deadline_start(m->w, m->plan, m->round);
    if (gradient || (is_due && on_all))
        return evaluate_population(m, is_due, gradient);
    return is_due && evaluates_apart(m->plan, m->round) ? evaluate_selected(m) : ERR_OK;
}

static int by_ordinal(const void *a, const void *b)
{
    const struct task_row *x = a, *y = b;
    return x->ordinal != y->ordinal ? (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal)
                                    : (x->type > y->type) - (x->type < y->type);
}

/* In the order in which they are listed and given to a worker, so that those that are read and changed one
 * after the other lie so in the file. */
enum err round_tasks_insert(struct round_tasks *m)
{
    if (m->count)
        qsort(m->items, m->count, sizeof *m->items, by_ordinal);
    for (size_t i = 0; i < m->count; i++) {
        struct task_row *t = &m->items[i];
        enum err e = work_id(m->w, &t->id);
        if (!e)
            e = store_insert(m->w->txn, RECORD_TASK, t);
        if (!e && t->status == TASK_READY)
            e = *t->worker_id ? notify_topic(m->w, "worker", t->worker_id)
                              : notify_topic(m->w, "device", t->device_id);
        if (e)
            return e;
    }
    return ERR_OK;
}
