#ifndef FEDLANE_API_OFFER_H
#define FEDLANE_API_OFFER_H

#include "server/api/context.h"

/* What a device is told about a task: all that it needs. NULL: out of memory. The arena
 * outlives it. */
json_t *offer_json(struct arena *arena, const struct task_offer *offer);
json_t *offers_json(struct arena *arena, const struct task_offer *offers, size_t n); /* {"items": [...]} */
json_t *wants_json(int64_t wants); /* ["evaluation", "gradient"] */
/* "/api/v1/runs/ID/models/3/weights" */
json_t *weights_url_json(const char *run_id, int64_t version);

#endif
