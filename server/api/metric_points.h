/* Reading a run's metrics in pieces, however many there are. */
#ifndef FEDLANE_API_METRIC_POINTS_H
#define FEDLANE_API_METRIC_POINTS_H

#include "server/api/context.h"

struct metric_point {
    const char *name;
    int64_t round, ordinal; /* ordinal -1: aggregated over the devices */
    double value, weight;
    int64_t at;
    int64_t total_steps; /* of metric_points_steps() */
};

struct metric_filter {
    const char *run_id, *name; /* name NULL: all */
    const char *number;        /* not NULL: this number of the rounds, in place of metrics */
    struct store_value ordinal;
    int64_t since_round, last_round;
    int64_t skip; /* points of since_round that were sent before */
};

struct metric_points {
    struct metric_point *items; /* free() */
    size_t count, capacity;
    bool has_more;
};

#define MAX_METRIC_POINTS ((size_t)1000000) /* of one reply that is not paged */

/* Up to `max` points, in the order of round, name, ordinal. Names lie in the reading's arena. */
enum err metric_points_read(struct reading *r, struct store_txn *txn, const struct metric_filter *f,
                            size_t max, struct metric_points *out) MUST_CHECK;
enum err metric_points_put(struct metric_points *p, const struct metric_point *point) MUST_CHECK;
/* Keeps at most max points of each series (name and ordinal); the order becomes name, ordinal, round. */
enum err metric_points_thin(struct metric_points *p, size_t max) MUST_CHECK;
/* metric_steps.c: sets total_steps, how many steps all devices had done before the point's round. (A round's
 * metrics are those of the model that it starts from.) */
enum err metric_points_steps(struct store_txn *txn, const char *run_id, struct metric_points *p) MUST_CHECK;
void metric_points_release(struct metric_points *p);

#endif
