/* What the commands about runs share. */
#ifndef FEDLANE_CLI_RUN_H
#define FEDLANE_CLI_RUN_H

#include <jansson.h>
#include "cli/cli.h"

/* GET /runs/ID. */
enum err run_get(struct cli *cli, const char *id, json_t **out) MUST_CHECK;
/* By id or by name. */
enum err run_find(struct cli *cli, const char *ref, json_t **out) MUST_CHECK;
/* All rounds of a run, or its last `limit` ones. */
enum err run_rounds(struct cli *cli, const json_t *run, int64_t limit, json_t **out) MUST_CHECK;
/* Follows runs until all have ended (watch/watch.c); sets cli->status. */
enum err run_watch(struct cli *cli, const char *const *ids, size_t num_ids) MUST_CHECK;

#endif
