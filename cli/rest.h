/* Calls of the server. All faults land in cli->fault. */
#ifndef FEDLANE_CLI_REST_H
#define FEDLANE_CLI_REST_H

#include <jansson.h>
#include "cli/cli.h"
#include "common/base/buf.h"

#define REST_TIMEOUT_MS 30000

/* "/api/v1" and the segments, percent-encoded; the last argument is NULL. The caller releases the buffer. */
#define rest_path(path, ...) rest_path_of((path), (const char *const[]){__VA_ARGS__, NULL})
enum err rest_path_of(struct buf *path, const char *const *segments) MUST_CHECK;

/* The client, made on first use from --server, --token-file, FEDLANE_TOKEN and --cacert, --cert, --key.
 * Borrowed. */
enum err rest_client(struct cli *cli, struct http_client **out) MUST_CHECK;
/* A request with a reply in memory. Adds to a fault of authentication what to do about it. */
enum err rest_request(struct cli *cli, const struct http_request *request,
                      struct http_response *out) MUST_CHECK;

/* `path` with its query. The caller decrefs *out. */
enum err rest_get(struct cli *cli, const char *path, json_t **out) MUST_CHECK;
/* Sends a POST with an Idempotency-Key, so that trying again does nothing twice; `key` NULL makes one. body
 * may be NULL. */
enum err rest_post(struct cli *cli, const char *path, const json_t *body, const char *key,
                   json_t **out) MUST_CHECK;
enum err rest_delete(struct cli *cli, const char *path) MUST_CHECK;
/* All pages of a list, at most `limit` items (0: all), as one array. The caller decrefs. */
enum err rest_list(struct cli *cli, const char *path, int64_t limit, json_t **out) MUST_CHECK;

/* The id of the object that `ref` names in the list `kind` ("runs", "workers", ...): an id, or the name of
 * exactly one. In cli->arena. ERR_USAGE says which there are. */
enum err rest_resolve(struct cli *cli, const char *kind, const char *ref, const char **out_id) MUST_CHECK;

#endif
