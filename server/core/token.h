/* Tokens: rows that say whose a secret is. The secrets themselves never come here, only their SHA-256. */
#ifndef FEDLANE_CORE_TOKEN_H
#define FEDLANE_CORE_TOKEN_H

#include "server/core/work.h"

/* The row of a secret, also one that has ended. */
enum err token_find(struct work *w, const char *sha256, struct token_row *out, bool *out_found) MUST_CHECK;
/* Fills id, created_by, created_at and inserts. ERR_CONFLICT where the secret is in use. */
enum err token_insert(struct work *w, struct token_row *row) MUST_CHECK;
/* The caller's token admits one more worker or device. ERR_FORBIDDEN when it has admitted as many as it may.
 * Other roles admit any number. */
enum err token_use(struct work *w) MUST_CHECK;
/* Revokes; one that already was keeps its time and reason. */
enum err token_end(struct work *w, struct token_row *row, const char *reason) MUST_CHECK;
enum err tokens_end_of_worker(struct work *w, const char *worker_id, const char *reason) MUST_CHECK;
enum err tokens_end_of_device(struct work *w, const char *device_id, const char *reason) MUST_CHECK;

#endif
