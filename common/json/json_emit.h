/* JSON values to text: what Jansson writes with JSON_COMPACT | JSON_ENCODE_ANY, byte for byte, at a third of
 * the cost; and text that goes into a document without being parsed. */
#ifndef FEDLANE_JSON_EMIT_H
#define FEDLANE_JSON_EMIT_H

#include <jansson.h>
#include <stdbool.h>
#include "common/base/arena.h"
#include "common/base/buf.h"

/* Behind what `out` holds. Keys in their order of insertion, or sorted: then equal values give equal bytes.
 * ERR_PAYLOAD_TOO_LARGE past the buffer's maximum, ERR_NO_MEMORY; ERR_INTERNAL for what is no JSON value. */
enum err json_emit(const json_t *value, bool is_sorted, struct buf *out) MUST_CHECK;

/* A value that json_emit() writes as a copy of `text`, which must be JSON: for what was stored as text. Only
 * json_emit understands it; to Jansson's own functions it is nothing. It lies in the arena, which must live
 * until the last document that it is in was released; references to it are not counted. NULL when out of
 * memory. */
json_t *json_raw(struct arena *arena, const char *text);

#endif
