#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/fl/dissimilarity.h"
#include "server/core/aggregation.h"
#include "server/core/round_tasks.h"
#include "server/core/tensor_file.h"

#define GRADIENT_PREFIX "grad."

struct gradients {
    const struct tensor_table *table;
    struct tensor_file *files;
    int64_t *ordinals, *num_examples;
    size_t count;
    struct dissimilarity sums;
    float *values;
    void *scratch;
};

static enum err gradients_open(struct gradients *g, struct core *c, const struct aggregation_input *in,
                               struct arena *arena)
{
    struct fault fault = FAULT_NONE;
    enum err e = ERR_OK;
    g->table = &in->plan->arch->tensors;
    g->files = arena_calloc(arena, in->num_evaluations, sizeof *g->files);
    g->ordinals = arena_calloc(arena, in->num_evaluations, sizeof *g->ordinals);
    g->num_examples = arena_calloc(arena, in->num_evaluations, sizeof *g->num_examples);
    g->values = malloc(AGGREGATION_RANGE * sizeof *g->values);
    g->scratch = malloc(AGGREGATION_RANGE * sizeof(float));
    if (!g->files || !g->ordinals || !g->num_examples || !g->values || !g->scratch)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < in->num_evaluations && !e; i++) {
        const struct update_row *u = &in->evaluations[i];
        if (!u->blob_id || u->num_examples <= 0)
            continue;
        g->ordinals[g->count] = u->ordinal;
        g->num_examples[g->count] = u->num_examples;
        e = tensor_file_open(c->blobs, u->blob_id, g->table, GRADIENT_PREFIX, NULL, arena,
                             &g->files[g->count++], &fault);
        if (e == ERR_CORRUPT)
            log_error("core", "run %s round %lld: the gradient of ordinal %lld: %s", in->run.id,
                      (long long)in->round.n, (long long)u->ordinal, fault.detail);
    }
    return e ? e : dissimilarity_init(&g->sums, AGGREGATION_RANGE);
}

static enum err gradients_add(struct gradients *g, size_t tensor, int64_t first, size_t n)
{
    enum err e = ERR_OK;
    dissimilarity_begin(&g->sums, n);
    for (size_t k = 0; k < g->count && !e; k++) {
        e = tensor_file_read(&g->files[k], tensor, first, n, g->scratch, g->values);
        if (!e)
            dissimilarity_add(&g->sums, g->ordinals[k], g->num_examples[k], g->values);
    }
    dissimilarity_end(&g->sums);
    return e;
}

static enum err gradients_sum(struct gradients *g)
{
    enum err e = ERR_OK;
    for (size_t t = 0; t < g->table->count; t++) {
        const struct tensor_spec *spec = &g->table->items[t];
        if (!dtype_is_float(spec->dtype))
            continue;
        for (int64_t at = 0; at < spec->num_elements && !e; at += (int64_t)AGGREGATION_RANGE) {
            int64_t rest = spec->num_elements - at;
            e = gradients_add(g, t, at, rest < (int64_t)AGGREGATION_RANGE ? (size_t)rest : AGGREGATION_RANGE);
        }
    }
    return e;
}

enum err aggregation_gradients(struct core *c, const struct aggregation_input *in, struct arena *arena,
                               struct round_result *out)
{
    const struct evaluation_spec *ev = &in->plan->spec.evaluation;
    struct gradients g = {0};
    struct dissimilarity_result result;
    if (!round_wants_gradients(in->plan, &in->round))
        return ERR_OK;
    enum err e = gradients_open(&g, c, in, arena);
    if (!e)
        e = gradients_sum(&g);
    if (!e)
        e = dissimilarity_finish(&g.sums, &result);
    if (!e && ev->dissimilarity)
        out->dissimilarity_b = result.b;
    if (!e && ev->grad_variance) {
        out->grad_variance_weighted = result.grad_variance_weighted;
        out->grad_variance_uniform = result.grad_variance_uniform;
    }
    /* A measurement that cannot be made is no reason to lose the round. */
    if (e == ERR_INVALID_UPDATE || e == ERR_CORRUPT)
        e = ERR_OK;
    dissimilarity_release(&g.sums);
    free(g.values);
    free(g.scratch);
    return e;
}
