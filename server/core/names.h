/* The API's words for what the store keeps as numbers. */
#ifndef FEDLANE_CORE_NAMES_H
#define FEDLANE_CORE_NAMES_H

#include "server/core/core.h"
#include "server/core/ops.h"

const char *run_status_name(int64_t status);     /* "waiting_for_devices" */
const char *run_outcome_name(int64_t outcome);   /* "completed"; "" for none */
const char *round_type_name(int64_t type);       /* "train", "final" */
const char *round_status_name(int64_t status);   /* "training" */
const char *round_outcome_name(int64_t outcome); /* "completed"; "" for none */
const char *task_type_name(int64_t type);        /* "train", "evaluate" */
const char *task_status_name(int64_t status);    /* "claimed" */
const char *token_role_name(int64_t role);       /* "operator" */
const char *presence_name(enum presence p);      /* "online" */
enum err run_status_parse(const char *name, int64_t *out) MUST_CHECK;
enum err task_status_parse(const char *name, int64_t *out) MUST_CHECK;
enum err token_role_parse(const char *name, int64_t *out) MUST_CHECK;
enum err presence_parse(const char *name, enum presence *out) MUST_CHECK;

#endif
