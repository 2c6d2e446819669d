/* Heartbeats read without building a document: what the scanner takes, the parser takes, with the same
 * values. */
#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"
#include "common/json/json_spec.h"
#include "server/api/beat_scan.h"
#include "tests/fuzz/fuzz.h"

static bool is_json(const char *text, size_t n)
{
    json_t *json = NULL;
    bool is_good = json_text_parse(text, n, &json, NULL) == ERR_OK;
    json_decref(json);
    return is_good;
}

static void prove_task(const struct beat_task *t, const json_t *json)
{
    const json_t *steps = json_object_get(json, "steps_done"), *loss = json_object_get(json, "train_loss");
    PROVE(strcmp(t->id, json_string_value(json_object_get(json, "task_id"))) == 0 && id_is_valid(t->id));
    PROVE(t->steps_done == json_integer_value(steps) && t->steps_done >= 0);
    PROVE(t->has_loss == (loss != NULL));
    double expected = json_number_value(loss);
    PROVE(!loss || (json_is_number(loss) && !(t->train_loss < expected) && !(t->train_loss > expected)));
}

static void prove_same(const struct beat_scan *s, const json_t *doc)
{
    const json_t *tasks = json_object_get(doc, "tasks");
    PROVE(json_is_object(doc) && s->num_tasks <= BEAT_TASKS && s->num_tasks == json_array_size(tasks));
    PROVE((s->resources != NULL) == json_is_object(json_object_get(doc, "resources")));
    for (size_t i = 0; i < s->num_tasks; i++)
        prove_task(&s->tasks[i], json_array_get(tasks, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct beat_scan s;
    json_t *doc = NULL;
    struct fault fault = FAULT_NONE;
    char *text = fuzz_text(&in);
    if (beat_scan(text, size, &s) && (!s.resources || is_json(s.resources, s.resources_size))) {
        if (json_text_parse(text, size, &doc, &fault) != ERR_OK)
            bug("the parser refuses what the scanner takes: %s", fault.detail);
        prove_same(&s, doc);
    }
    json_decref(doc);
    free(text);
    return 0;
}
