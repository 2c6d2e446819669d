#include "worker/trainer_cache.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"

void trainer_cache_init(struct trainer_cache *c, const struct dataset *data, const struct trainer_ops *ops)
{
    *c = (struct trainer_cache){.ops = ops, .data = data};
}

static void slot_release(const struct trainer_ops *ops, struct trainer_slot *s)
{
    if (s->trainer)
        ops->close(s->trainer);
    arch_free(s->arch);
    update_block_release(&s->block);
    free(s->model);
    *s = (struct trainer_slot){0};
}

void trainer_cache_release(struct trainer_cache *c)
{
    while (c->num_slots > 0)
        slot_release(c->ops, &c->slots[--c->num_slots]);
}

static void evict(struct trainer_cache *c, size_t slot)
{
    slot_release(c->ops, &c->slots[slot]);
    c->slots[slot] = c->slots[--c->num_slots];
    c->slots[c->num_slots] = (struct trainer_slot){0};
}

static void evict_oldest(struct trainer_cache *c)
{
    size_t oldest = 0;
    for (size_t i = 1; i < c->num_slots; i++) {
        if (c->slots[i].last_use < c->slots[oldest].last_use)
            oldest = i;
    }
    evict(c, oldest);
}

/* A trainer whose device failed is not used again: the device may be back, but not for what was open on it.
 */
static void evict_broken(struct trainer_cache *c)
{
    for (size_t i = c->num_slots; c->ops->trouble && i-- > 0;) {
        if (c->ops->trouble(c->slots[i].trainer)[0] != '\0')
            evict(c, i);
    }
}

static size_t bytes_in_use(const struct trainer_cache *c)
{
    size_t sum = 0;
    for (size_t i = 0; i < c->num_slots; i++)
        sum += c->slots[i].bytes;
    return sum;
}

static enum err parse_model(const char *model, struct arch **out, struct fault *fault)
{
    json_t *json = NULL;
    enum err e = json_text_parse(model, strlen(model), &json, fault);
    if (!e)
        e = arch_parse(json, out, fault);
    if (!e && !(*out)->has_layers)
        e = fault_set(fault, ERR_INVALID_FIELD, "model",
                      "names tensors but no layers; this worker trains only models whose layers it knows");
    json_decref(json);
    return e;
}

static const char *code_of(enum err e, const char *otherwise)
{
    if (e == ERR_NO_MEMORY)
        return "out_of_memory";
    return e == ERR_INVALID_FIELD || e == ERR_UNKNOWN_FIELD || e == ERR_MISSING_FIELD ||
                   e == ERR_MALFORMED_JSON
               ? otherwise
               : "internal";
}

static enum err slot_open(const struct trainer_cache *c, const char *model, int64_t batch_size,
                          enum optimizer_kind optimizer, struct trainer_slot *s, const char **out_code,
                          struct fault *fault)
{
    struct trainer_plan plan;
    s->batch_size = batch_size;
    s->optimizer = optimizer;
    enum err e = parse_model(model, &s->arch, fault);
    *out_code = code_of(e, "model_unsupported");
    if (e)
        return e;
    e = c->ops->open(s->arch, c->data, batch_size, optimizer, &s->trainer, fault);
    *out_code = code_of(e, "data_mismatch");
    if (e)
        return e;
    c->ops->plan(s->trainer, &plan);
    s->bytes = plan.persistent_bytes + plan.ephemeral_bytes;
    log_info(
        "worker",
        "a model of %lld parameters, batches of %lld: planned %zu bytes, %zu persistent and %zu ephemeral",
        (long long)s->arch->tensors.num_params, (long long)batch_size, s->bytes, plan.persistent_bytes,
        plan.ephemeral_bytes);
    s->model = strdup(model);
    *out_code = "out_of_memory";
    return s->model ? ERR_OK : fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory for a model");
}

static enum err make_block(struct trainer_slot *s, const char **out_code, struct fault *fault)
{
    *out_code = "out_of_memory";
    if (update_block_ready(&s->block, &s->arch->tensors) == ERR_OK)
        return ERR_OK;
    return fault_set(fault, ERR_NO_MEMORY, NULL,
                     "not enough memory for the %lld parameters that come out of a task",
                     (long long)s->arch->tensors.num_params);
}

enum err trainer_cache_get(struct trainer_cache *c, const char *model, int64_t batch_size,
                           enum optimizer_kind optimizer, struct trainer_slot **out, const char **out_code,
                           struct fault *fault)
{
    struct trainer_slot *s = NULL;
    evict_broken(c);
    for (size_t i = 0; i < c->num_slots && !s; i++) {
        if (c->slots[i].batch_size == batch_size && c->slots[i].optimizer == optimizer &&
            str_eq(c->slots[i].model, model))
            s = &c->slots[i];
    }
    if (!s) {
        while (c->num_slots == TRAINER_CACHE_SLOTS ||
               (c->num_slots > 0 && bytes_in_use(c) > TRAINER_CACHE_BYTES))
            evict_oldest(c);
        struct trainer_slot fresh = {0};
        enum err e = slot_open(c, model, batch_size, optimizer, &fresh, out_code, fault);
        while (e == ERR_NO_MEMORY && c->num_slots > 0) { /* what is only kept for later gives way */
            slot_release(c->ops, &fresh);
            evict_oldest(c);
            e = slot_open(c, model, batch_size, optimizer, &fresh, out_code, fault);
        }
        if (e) {
            slot_release(c->ops, &fresh);
            return e;
        }
        s = &c->slots[c->num_slots++];
        *s = fresh;
    }
    s->last_use = ++c->uses;
    *out = s;
    return make_block(s, out_code, fault);
}
