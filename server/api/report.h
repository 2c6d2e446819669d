/* What a device says with an update or a failure, gathered from where it says it. */
#ifndef FEDLANE_API_REPORT_H
#define FEDLANE_API_REPORT_H

#include "server/api/context.h"

/* Names of the query parameters that an update may carry, NULL-ended. */
extern const char *const report_query[];

/* What the query said: a value for each of report_query, in its order; NULL: nothing. */
struct report_said {
    const char *values[LIMIT_QUERY_PARAMS];
};
void report_said_in_query(const struct request *rq, struct report_said *out);
/* As text to be kept, and back. In the arena. */
enum err report_said_keep(const struct report_said *said, struct arena *arena,
                          const char **out_text) MUST_CHECK;
enum err report_said_read(const char *text, struct arena *arena, struct report_said *out) MUST_CHECK;

/* From a safetensors header (may be NULL) and the query: the same name in both must have the same value.
 * Unknown metadata is refused, but for "format", which PyTorch's writer adds. */
enum err report_from_header(const struct report_said *said, const struct safetensors_header *header,
                            struct arena *arena, struct task_report *out, struct fault *fault) MUST_CHECK;
/* From a JSON object and the query. `skip`: fields that are not the report's, NULL-ended. */
enum err report_from_json(const struct report_said *said, const json_t *body, const char *const *skip,
                          struct arena *arena, struct task_report *out, struct fault *fault) MUST_CHECK;
/* SHA-256 over the body (its own is given) and the query's metadata: what tells a repeat from another update.
 */
enum err report_digest(const char *sha256, const struct report_said *said, struct arena *arena,
                       char out[SHA256_HEX_SIZE]) MUST_CHECK;

#endif
