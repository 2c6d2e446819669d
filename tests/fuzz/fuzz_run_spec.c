/* Run specs: what is taken has every default filled in, so that reading it again changes nothing; so with the
 * part that may change while a run goes on. Input: the spec, and after a line "---" a change to it. */
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/json/json_spec.h"
#include "common/model/arch.h"
#include "server/core/run_spec.h"
#include "tests/fuzz/fuzz.h"

static json_t *parse(const struct fuzz_input *in)
{
    json_t *doc = NULL;
    struct fault fault = FAULT_NONE;
    enum err e = json_text_parse((const char *)in->at, in->left, &doc, &fault);
    fuzz_prove_told(e, &fault);
    return doc;
}

static void prove_arch(const json_t *model)
{
    struct arch *arch = NULL;
    struct fault fault = FAULT_NONE;
    enum err e = arch_parse(model, &arch, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || err_http_status(e) == 400);
    if (e)
        return;
    PROVE(arch->tensors.count <= LIMIT_TENSORS && arch->tensors.num_params >= 0);
    PROVE(arch->tensors.num_params * 4 + arch->tensors.carried_bytes <= LIMIT_MODEL_BYTES);
    PROVE(!arch->has_layers || arch->num_classes > 0);
    arch_free(arch);
}

static void prove_bounds(const struct run_spec *s)
{
    PROVE(s->num_rounds >= 1 && s->num_rounds <= LIMIT_ROUNDS && s->seed >= 0);
    PROVE((s->training.local_steps > 0) != (s->training.local_epochs > 0));
    PROVE(s->training.batch_size >= 1 && s->training.learning_rate > 0);
    PROVE(s->selection.devices_per_round >= 1);
    PROVE(s->selection.population == 0 || s->selection.devices_per_round <= s->selection.population);
    PROVE(s->reporting.min_updates <= s->selection.devices_per_round);
}

/* True where it was taken; the document is then whole. */
static bool read_spec(json_t *doc)
{
    struct arena arena = ARENA_INIT(MIB);
    struct run_spec spec, again;
    struct fault fault = FAULT_NONE;
    char *text = NULL, *text_again = NULL;
    enum err e = run_spec_parse(doc, &arena, &spec, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || err_http_status(e) == 400);
    if (!e) {
        prove_bounds(&spec);
        prove_arch(spec.model);
        PROVE(!json_text(doc, &text));
        e = run_spec_parse(doc, &arena, &again, &fault);
        if (e)
            bug("a spec that was filled in is refused: %s: %s: %s", fault.field, fault.detail, text);
        PROVE(!json_text(doc, &text_again));
        if (strcmp(text, text_again) != 0)
            bug("a spec that was filled in changes:\n%s\n%s", text, text_again);
        free(text);
        free(text_again);
    }
    arena_release(&arena);
    return !e;
}

static void apply_change(json_t *doc, const json_t *patch)
{
    struct fault fault = FAULT_NONE;
    json_t *former = json_deep_copy(doc);
    PROVE(former != NULL);
    enum err e = run_config_apply(doc, patch, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || err_http_status(e) == 400);
    if (!e && read_spec(doc)) {
        /* What may not change is as it was. */
        static const char *const fixed[] = {"model", "seed", "num_rounds", "selection", "dataset", "name"};
        for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
            const json_t *is = json_object_get(doc, fixed[i]), *was = json_object_get(former, fixed[i]);
            PROVE(is == was || json_equal(is, was));
        }
    }
    json_decref(former);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_input spec = fuzz_until(&in, "\n---\n");
    json_t *doc = parse(&spec), *patch = NULL;
    if (!doc)
        return 0;
    if (read_spec(doc)) {
        json_t *config = run_config_of(doc);
        PROVE(config != NULL);
        apply_change(doc, config);
        json_decref(config);
        patch = in.left ? parse(&in) : NULL;
        if (patch)
            apply_change(doc, patch);
    }
    json_decref(patch);
    json_decref(doc);
    return 0;
}
