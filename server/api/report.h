/* What a device says with an update or a failure, gathered from where it says it. */
#ifndef FEDLANE_API_REPORT_H
#define FEDLANE_API_REPORT_H

#include "server/api/context.h"

/* Names of the query parameters that an update may carry, NULL-ended. */
extern const char *const report_query[];

/* From a safetensors header (may be NULL) and the query: the same name in both must have the same value.
 * Unknown metadata is refused, but for "format", which PyTorch's writer adds. */
enum err report_from_header(const struct request *rq, const struct safetensors_header *header,
                            struct arena *arena, struct task_report *out, struct fault *fault) MUST_CHECK;
/* From a JSON object and the query. `skip`: fields that are not the report's, NULL-ended. */
enum err report_from_json(const struct request *rq, const json_t *body, const char *const *skip,
                          struct arena *arena, struct task_report *out, struct fault *fault) MUST_CHECK;
/* SHA-256 over the body and the query's metadata: what tells a repeat from another update. */
enum err report_digest(struct request *rq, char out[SHA256_HEX_SIZE]) MUST_CHECK;

#endif
