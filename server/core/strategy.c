#include "server/core/strategy.h"

#include <stdio.h>
#include <string.h>
#include "server/core/core.h"

static const struct strategy *const strategies[] = {&strategy_fedprox, &strategy_fedavg};
#define NUM_STRATEGIES (sizeof strategies / sizeof *strategies)

const struct strategy *strategy_find(const char *name)
{
    for (size_t i = 0; i < NUM_STRATEGIES; i++)
        if (strcmp(strategies[i]->name, name) == 0)
            return strategies[i];
    return NULL;
}

void strategy_names(char *out, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < NUM_STRATEGIES && len < size; i++) {
        int n = snprintf(out + len, size - len, "%s\"%s\"", i ? ", " : "", strategies[i]->name);
        len += n > 0 ? (size_t)n : 0;
    }
}

json_t *core_strategies_json(void)
{
    json_t *items = json_array();
    for (size_t i = 0; i < NUM_STRATEGIES && items; i++) {
        const struct strategy *s = strategies[i];
        json_t *item = json_pack("{s:s, s:s, s:o}", "name", s->name, "description", s->description, "params",
                                 s->schema());
        if (!item || json_array_append_new(items, item)) {
            json_decref(items);
            return NULL;
        }
    }
    return items ? json_pack("{s:o}", "items", items) : NULL;
}
