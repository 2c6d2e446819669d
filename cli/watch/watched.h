/* What is known about a run that is watched: read from the run once, then kept up to date by its events. */
#ifndef FEDLANE_CLI_WATCH_WATCHED_H
#define FEDLANE_CLI_WATCH_WATCHED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/ids.h"

enum lane_state { LANE_OPEN, LANE_COMPLETED, LANE_PARTIAL, LANE_DROPPED, LANE_FAILED, LANE_LATE };

/* One device's work in the round that is open, or was last. */
struct lane {
    int64_t ordinal, steps_done, steps_assigned;
    enum lane_state state;
};

#define MAX_LANES 1000 /* what a terminal can show at the very most */

struct watched {
    char id[ID_SIZE];
    char name[256], reason[512];
    char status[32];  /* "running" */
    char outcome[32]; /* "" while it goes on */
    int64_t num_rounds, round, last_event;
    double train_loss, test_accuracy; /* the newest that are known */
    bool is_round_open;
    struct lane *lanes; /* ascending ordinal; owned */
    size_t num_lanes;
};

/* From the run's JSON. ERR_NO_MEMORY; ERR_UNAVAILABLE when it is none. */
enum err watched_init(struct watched *w, const json_t *run) MUST_CHECK;
void watched_release(struct watched *w);

/* An event, as the stream's data has it: {"type", "data": {...}}. One that is not known changes nothing. */
void watched_apply(struct watched *w, const json_t *event);
/* The train tasks of round n, as the server lists them: lanes with their progress. */
void watched_tasks(struct watched *w, int64_t round, const json_t *tasks);
static inline bool watched_has_ended(const struct watched *w)
{
    return w->outcome[0] != '\0';
}

#endif
