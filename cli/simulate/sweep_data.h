/* The data sets of a sweep: the same object and seed is loaded once, whoever comes first, and dropped with
 * the last run that needs it. */
#ifndef FEDLANE_CLI_SIMULATE_SWEEP_DATA_H
#define FEDLANE_CLI_SIMULATE_SWEEP_DATA_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include "common/data/dataset.h"

struct sweep_data_set {
    char *key;
    size_t number;        /* 0, 1, ... as they were first wanted */
    struct dataset *data; /* NULL: not loaded */
    size_t num_needing;   /* runs that are still to come */
    bool is_loading;
    struct sweep_data_set *next;
};

struct sweep_data {
    pthread_mutex_t lock;
    pthread_cond_t loaded;
    struct sweep_data_set *first;
    size_t num_sets;
};

void sweep_data_init(struct sweep_data *d);
void sweep_data_release(struct sweep_data *d);

/* The set that a spec names; one more run needs it. */
enum err sweep_data_want(struct sweep_data *d, const json_t *spec, struct sweep_data_set **out) MUST_CHECK;
/* Loads it unless it is there. It stays for as long as somebody needs it. */
enum err sweep_data_get(struct sweep_data *d, struct sweep_data_set *set, const json_t *spec,
                        const struct dataset **out, struct fault *fault) MUST_CHECK;
/* One run less needs it. */
void sweep_data_done(struct sweep_data *d, struct sweep_data_set *set);
/* Makes room; whoever needs it loads it again. Only while no run uses it. */
void sweep_data_drop(struct sweep_data *d, struct sweep_data_set *set);

#endif
