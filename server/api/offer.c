#include "server/api/offer.h"

#include <math.h>
#include "server/api/fields.h"
#include "server/core/names.h"

json_t *wants_json(int64_t wants)
{
    static const struct {
        int64_t bit;
        const char *name;
    } names[] = {{WANT_EVALUATION, "evaluation"}, {WANT_GAMMA, "gamma"}, {WANT_GRADIENT, "gradient"}};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((wants & names[i].bit) && json_array_append_new(list, json_string(names[i].name)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *weights_url_json(const char *run_id, int64_t version)
{
    return json_sprintf(API_PREFIX "/runs/%s/models/%lld/weights", run_id, (long long)version);
}

/* All of them, null where the optimizer has none, so that no device can overlook one. */
static void put_settings(struct obj *o, const struct optimizer *s)
{
    const bool has_momentum = optimizer_has_momentum(s->kind), has_betas = optimizer_has_betas(s->kind);
    obj_num_or_null(o, "momentum", has_momentum ? s->momentum : NAN);
    obj_num_or_null(o, "beta1", has_betas ? s->beta1 : NAN);
    obj_num_or_null(o, "beta2", has_betas ? s->beta2 : NAN);
    obj_num_or_null(o, "epsilon", has_betas ? s->epsilon : NAN);
    obj_num(o, "weight_decay", s->weight_decay);
    obj_num_or_null(o, "clip_norm", s->clip_norm > 0 ? s->clip_norm : NAN);
}

static json_t *config_json(const struct task_offer *f)
{
    struct obj o = obj_new();
    obj_int(&o, "local_epochs", f->local_epochs);
    obj_int(&o, "local_steps", f->local_steps);
    obj_int(&o, "batch_size", f->batch_size);
    obj_num(&o, "learning_rate", f->learning_rate);
    obj_num_or_null(&o, "proximal_mu", f->proximal_mu);
    obj_text(&o, "optimizer", f->optimizer);
    put_settings(&o, &f->settings);
    obj_int(&o, "seed", f->seed);
    obj_int(&o, "round", f->task.round);
    obj_int(&o, "ordinal", f->task.ordinal);
    obj_bool(&o, "accept_partial", f->accept_partial);
    return obj_end(&o);
}

static json_t *budget_json(const struct task_row *t)
{
    struct obj o = obj_new();
    obj_int(&o, "max_steps", t->max_steps);
    obj_num_or_null(&o, "max_seconds", t->max_seconds);
    return obj_end(&o);
}

json_t *offer_json(struct arena *arena, const struct task_offer *offer)
{
    const struct task_row *t = &offer->task;
    struct obj o = obj_new();
    obj_text(&o, "task_id", t->id);
    obj_text(&o, "run_id", t->run_id);
    obj_text(&o, "device_id", t->device_id);
    obj_int(&o, "round", t->round);
    obj_int(&o, "ordinal", t->ordinal);
    obj_int(&o, "attempt", t->attempt);
    obj_text(&o, "type", task_type_name(t->type));
    obj_text(&o, "dataset", offer->dataset);
    obj_int(&o, "num_examples", t->num_examples);
    obj_int(&o, "num_test_examples", t->num_test_examples);
    obj_int(&o, "model_version", t->model_version);
    obj_take(&o, "weights_url", weights_url_json(t->run_id, t->model_version));
    obj_text(&o, "weights_sha256", offer->weights_sha256);
    obj_raw(&o, arena, "model", offer->model);
    obj_take(&o, "config", config_json(offer));
    obj_int(&o, "steps_assigned", t->steps_assigned);
    obj_take(&o, "budget", budget_json(t));
    obj_take(&o, "want", wants_json(t->wants));
    obj_time(&o, "deadline_at", t->deadline_at);
    obj_int_or_null(&o, "time_left_ms", offer->time_left_ms);
    return obj_end(&o);
}

json_t *offers_json(struct arena *arena, const struct task_offer *offers, size_t n)
{
    json_t *items = json_array();
    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(items, offer_json(arena, &offers[i])) != 0) {
            json_decref(items);
            return NULL;
        }
    }
    return items ? json_pack("{s:o}", "items", items) : NULL;
}
