#include "server/core/names.h"

#include <string.h>

static const char *const run_statuses[] = {"pending", "waiting_for_devices", "running", "paused", "finished",
                                           NULL};
static const char *const run_outcomes[] = {"", "completed", "failed", "stopped", NULL};
static const char *const round_types[] = {"train", "final", NULL};
static const char *const round_statuses[] = {"selecting", "training", "aggregating", "closed", NULL};
static const char *const round_outcomes[] = {"", "completed", "skipped", "failed", NULL};
static const char *const task_types[] = {"train", "evaluate", NULL};
static const char *const task_statuses[] = {"ready",  "claimed", "completed", "dropped",
                                            "failed", "late",    "cancelled", NULL};
static const char *const presences[] = {"online", "suspect", "offline", "revoked", NULL};
/* Roles are bits: the word of bit i. */
static const char *const token_roles[] = {"admin", "operator", "viewer", "worker", "enrollment", NULL};

static const char *name_of(const char *const *names, int64_t value)
{
    for (int64_t i = 0; names[i]; i++)
        if (i == value)
            return names[i];
    return "";
}

static enum err index_of(const char *const *names, const char *name, int64_t *out)
{
    for (int64_t i = 0; name && names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = i;
            return ERR_OK;
        }
    }
    return ERR_INVALID_FIELD;
}

const char *run_status_name(int64_t status)
{
    return name_of(run_statuses, status);
}

const char *run_outcome_name(int64_t outcome)
{
    return name_of(run_outcomes, outcome);
}

const char *round_type_name(int64_t type)
{
    return name_of(round_types, type);
}

const char *round_status_name(int64_t status)
{
    return name_of(round_statuses, status);
}

const char *round_outcome_name(int64_t outcome)
{
    return name_of(round_outcomes, outcome);
}

const char *task_type_name(int64_t type)
{
    return name_of(task_types, type);
}

const char *task_status_name(int64_t status)
{
    return name_of(task_statuses, status);
}

const char *token_role_name(int64_t role)
{
    for (int64_t bit = 0; token_roles[bit]; bit++)
        if (role == (int64_t)1 << bit)
            return token_roles[bit];
    return "";
}

const char *presence_name(enum presence p)
{
    return name_of(presences, (int64_t)p);
}

enum err run_status_parse(const char *name, int64_t *out)
{
    return index_of(run_statuses, name, out);
}

enum err task_status_parse(const char *name, int64_t *out)
{
    return index_of(task_statuses, name, out);
}

enum err token_role_parse(const char *name, int64_t *out)
{
    int64_t bit = 0;
    enum err e = index_of(token_roles, name, &bit);
    if (!e)
        *out = (int64_t)1 << bit;
    return e;
}

enum err presence_parse(const char *name, enum presence *out)
{
    int64_t i = 0;
    enum err e = index_of(presences, name, &i);
    if (!e)
        *out = (enum presence)i;
    return e;
}
