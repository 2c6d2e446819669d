#include "server/core/aggregation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "server/core/model_writer.h"
#include "server/core/tensor_file.h"

enum err aggregation_read(struct store_txn *txn, struct plan_cache *plans, struct arena *arena,
                          const char *run_id, int64_t round, struct aggregation_input *out)
{
    struct fault fault;
    struct work w = {.txn = txn, .arena = arena, .fault = &fault, .caller = ""};
    enum err e = run_load(&w, run_id, &out->run);
    if (!e)
        e = round_load(&w, run_id, round, &out->round);
    if (!e)
        e = plan_cache_get(plans, &out->run, out->round.config, &out->plan);
    record_init(RECORD_MODEL, &out->model_in);
    out->model_in.run_id = run_id;
    out->model_in.version = out->round.model_version_in;
    if (!e)
        e = store_get(txn, RECORD_MODEL, arena, &out->model_in);
    if (!e)
        e = store_find(txn, QUERY_UPDATES_BY_ROUND, arena, 0, &out->updates, &out->num_updates,
                       store_text(run_id), store_int(round), store_int(TASK_TRAIN));
    if (!e)
        e = store_find(txn, QUERY_UPDATES_BY_ROUND, arena, 0, &out->evaluations, &out->num_evaluations,
                       store_text(run_id), store_int(round), store_int(TASK_EVALUATE));
    return e;
}

/* The files and buffers of one aggregation. */
struct mixer {
    const struct aggregation_input *in;
    const struct strategy *strategy;
    const struct tensor_table *table;
    struct tensor_file model; /* w_t */
    struct tensor_file *files;
    double *weights;
    struct average average;
    float *values[AVERAGE_GROUP], *base; /* a range each */
    void *scratch;
    struct model_writer writer;
    bool is_finite;
};

static void mixer_release(struct mixer *m)
{
    average_release(&m->average);
    for (size_t i = 0; i < AVERAGE_GROUP; i++)
        free(m->values[i]);
    free(m->base);
    free(m->scratch);
    model_writer_release(&m->writer);
}

static enum err mixer_init(struct mixer *m, struct core *c, const struct aggregation_input *in,
                           struct arena *arena, struct fault *fault)
{
    m->in = in;
    m->strategy = in->plan->spec.strategy;
    m->table = &in->plan->arch->tensors;
    m->is_finite = true;
    bool has_memory = true;
    for (size_t i = 0; i < AVERAGE_GROUP; i++) {
        m->values[i] = malloc(AGGREGATION_RANGE * sizeof *m->values[i]);
        has_memory = has_memory && m->values[i];
    }
    m->base = malloc(AGGREGATION_RANGE * sizeof *m->base);
    m->scratch = malloc(AGGREGATION_RANGE * sizeof(float));
    m->files = arena_calloc(arena, in->num_updates, sizeof *m->files);
    m->weights = arena_calloc(arena, in->num_updates, sizeof *m->weights);
    int64_t *examples = arena_calloc(arena, in->num_updates, sizeof *examples);
    if (!has_memory || !m->base || !m->scratch || !m->files || !m->weights || !examples)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < in->num_updates; i++)
        examples[i] = in->updates[i].num_examples;
    enum err e = m->strategy->weigh(&in->plan->spec.params, examples, in->num_updates, m->weights, fault);
    if (!e)
        e = average_init(&m->average, AGGREGATION_RANGE);
    if (!e)
        e = tensor_file_open(c->blobs, in->model_in.blob_id, m->table, "", NULL, arena, &m->model, fault);
    for (size_t i = 0; i < in->num_updates && !e; i++)
        e = tensor_file_open(c->blobs, in->updates[i].blob_id, m->table, "", &m->model, arena, &m->files[i],
                             fault);
    return e ? e : model_writer_begin(&m->writer, c->blobs, m->table);
}

static enum err read_update(struct mixer *m, size_t k, size_t tensor, int64_t first, size_t n, bool *has_base,
                            float *out)
{
    enum err e = tensor_file_read(&m->files[k], tensor, first, n, m->scratch, out);
    if (e || strcmp(m->in->updates[k].content, "delta") != 0)
        return e;
    if (!*has_base)
        e = tensor_file_read(&m->model, tensor, first, n, m->scratch, m->base);
    *has_base = true;
    for (size_t i = 0; i < n && !e; i++)
        out[i] = (float)((double)m->base[i] + (double)out[i]);
    return e;
}

static enum err mix_range(struct mixer *m, size_t tensor, int64_t first, size_t n)
{
    bool has_base = false;
    enum err e = ERR_OK;
    average_begin(&m->average, n);
    for (size_t k = 0; k < m->in->num_updates && !e; k += AVERAGE_GROUP) {
        const float *values[AVERAGE_GROUP];
        int64_t ordinals[AVERAGE_GROUP];
        size_t count = 0;
        for (; count < AVERAGE_GROUP && k + count < m->in->num_updates && !e; count++) {
            values[count] = m->values[count];
            ordinals[count] = m->in->updates[k + count].ordinal;
            e = read_update(m, k + count, tensor, first, n, &has_base, m->values[count]);
        }
        if (!e)
            m->strategy->accumulate(&m->average, count, ordinals, m->weights + k, values, 0);
    }
    float *mixed = m->values[0];
    if (!e)
        e = m->strategy->finish(&m->average, mixed);
    if (e)
        return e;
    m->is_finite = m->is_finite && params_are_finite(mixed, (int64_t)n);
    return model_writer_params(&m->writer, mixed, n);
}

static enum err copy_carried(struct mixer *m, size_t tensor)
{
    const struct tensor_spec *t = &m->table->items[tensor];
    int64_t size = t->num_elements * (int64_t)dtype_size(t->dtype),
            step = (int64_t)(AGGREGATION_RANGE * sizeof(float));
    enum err e = ERR_OK;
    for (int64_t at = 0; at < size && !e; at += step) {
        size_t n = (size_t)(size - at < step ? size - at : step);
        e = tensor_file_read_bytes(&m->model, tensor, at, n, m->scratch);
        if (!e)
            e = model_writer_carried(&m->writer, m->scratch, n);
    }
    return e;
}

static enum err mix_tensors(struct mixer *m)
{
    enum err e = ERR_OK;
    for (size_t t = 0; t < m->table->count && !e; t++) {
        const struct tensor_spec *spec = &m->table->items[t];
        if (!dtype_is_float(spec->dtype)) {
            e = copy_carried(m, t);
            continue;
        }
        for (int64_t at = 0; at < spec->num_elements && !e; at += (int64_t)AGGREGATION_RANGE) {
            int64_t rest = spec->num_elements - at;
            e = mix_range(m, t, at, rest < (int64_t)AGGREGATION_RANGE ? (size_t)rest : AGGREGATION_RANGE);
        }
    }
    return e;
}

static void result_model(struct round_result *out, const struct model_file *file)
{
    out->has_model = true;
    out->blob_id = file->blob_id;
    out->size_bytes = file->size_bytes;
    memcpy(out->weights_sha256, file->weights_sha256, sizeof out->weights_sha256);
    memcpy(out->aggregate_sha256, file->aggregate_sha256, sizeof out->aggregate_sha256);
}

static void result_set(struct round_result *out, enum round_outcome outcome, const char *reason)
{
    out->outcome = outcome;
    (void)snprintf(out->reason, sizeof out->reason, "%s", reason);
}

static enum err mix(struct core *c, const struct aggregation_input *in, struct arena *arena,
                    struct round_result *out)
{
    struct mixer m = {0};
    struct model_file file;
    struct fault fault = FAULT_NONE;
    enum err e = mixer_init(&m, c, in, arena, &fault);
    if (!e)
        e = mix_tensors(&m);
    if (e == ERR_INVALID_UPDATE) {
        result_set(out, ROUND_FAILED,
                   "the updates have no weight: no device has training examples; the model stays");
        e = ERR_OK;
    } else if (e == ERR_CORRUPT) {
        log_error("core", "run %s round %lld: a stored update or the model is damaged%s%s", in->run.id,
                  (long long)in->round.n, fault.detail[0] ? ": " : "", fault.detail);
        result_set(out, ROUND_FAILED, "a stored update or the model cannot be read; the model stays");
        e = ERR_OK;
    } else if (!e && !m.is_finite) {
        result_set(out, ROUND_FAILED, "the average of the updates is not finite; the model stays");
    } else if (!e) {
        e = model_writer_end(&m.writer, &file);
        if (!e)
            result_model(out, &file);
    }
    mixer_release(&m);
    return e;
}

enum err aggregation_run(struct core *c, const struct aggregation_input *in, struct arena *arena,
                         struct round_result *out)
{
    const struct reporting_spec *r = &in->plan->spec.reporting;
    char reason[120];
    *out = (struct round_result){
        .dissimilarity_b = NAN, .grad_variance_weighted = NAN, .grad_variance_uniform = NAN};
    result_set(out, ROUND_COMPLETED, "");
    enum err e = aggregation_gradients(c, in, arena, out);
    if (e || in->round.type == ROUND_FINAL)
        return e;
    if (in->round.received < r->min_updates || in->num_updates == 0) {
        (void)snprintf(reason, sizeof reason, "%lld updates, at least %lld are needed; the model stays",
                       (long long)in->round.received, (long long)r->min_updates);
        result_set(out, r->on_too_few == TOO_FEW_FAIL ? ROUND_FAILED : ROUND_SKIPPED, reason);
        return ERR_OK;
    }
    return mix(c, in, arena, out);
}

static enum err write_zeros(struct model_writer *w, const struct tensor_spec *spec)
{
    static const float zeros[4096];
    bool is_float = dtype_is_float(spec->dtype);
    int64_t size = spec->num_elements * (int64_t)(is_float ? sizeof *zeros : dtype_size(spec->dtype));
    enum err e = ERR_OK;
    for (int64_t at = 0; at < size && !e; at += (int64_t)sizeof zeros) {
        size_t n = size - at < (int64_t)sizeof zeros ? (size_t)(size - at) : sizeof zeros;
        e = is_float ? model_writer_params(w, zeros, n / sizeof *zeros) : model_writer_carried(w, zeros, n);
    }
    return e;
}

static enum err write_random(struct model_writer *w, const struct plan *plan, size_t tensor)
{
    size_t n = (size_t)plan->arch->tensors.items[tensor].num_elements;
    float *values = malloc(n * sizeof *values);
    if (!values)
        return ERR_NO_MEMORY;
    arch_init_tensor(plan->arch, (uint64_t)plan->spec.seed, tensor, values);
    enum err e = model_writer_params(w, values, n);
    free(values);
    return e;
}

static enum err write_initial(struct model_writer *w, const struct plan *plan)
{
    const struct tensor_table *table = &plan->arch->tensors;
    enum err e = ERR_OK;
    for (size_t t = 0; t < table->count && !e; t++)
        e = arch_begins_with_zeros(plan->arch, t) ? write_zeros(w, &table->items[t])
                                                  : write_random(w, plan, t);
    return e;
}

enum err aggregation_init_model(struct core *c, const struct plan *plan, struct round_result *out)
{
    struct model_writer writer = {0};
    struct model_file file;
    enum err e = model_writer_begin(&writer, c->blobs, &plan->arch->tensors);
    if (!e)
        e = write_initial(&writer, plan);
    if (!e)
        e = model_writer_end(&writer, &file);
    if (!e)
        result_model(out, &file);
    model_writer_release(&writer);
    return e;
}
