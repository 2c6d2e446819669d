#include "cli/simulate/sweep_data.h"
#include <stdlib.h>
#include <string.h>
#include "cli/simulate/sim.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"

void sweep_data_init(struct sweep_data *d)
{
    *d = (struct sweep_data){0};
    if (pthread_mutex_init(&d->lock, NULL) != 0 || pthread_cond_init(&d->loaded, NULL) != 0)
        bug("a mutex or a condition variable could not be made");
}

void sweep_data_release(struct sweep_data *d)
{
    while (d->first) {
        struct sweep_data_set *set = d->first;
        d->first = set->next;
        dataset_free(set->data);
        free(set->key);
        free(set);
    }
    (void)pthread_cond_destroy(&d->loaded);
    (void)pthread_mutex_destroy(&d->lock);
}

/* The object, and the run's seed where it has none of its own. */
static enum err key_of(const json_t *spec, char **out)
{
    const json_t *data = json_object_get(spec, "data");
    const json_t *seed = json_object_get(data, "seed");
    json_t *key =
        json_pack("{s:O?, s:O?}", "data", data, "seed", seed ? NULL : json_object_get(spec, "seed"));
    enum err e = key ? json_text(key, out) : ERR_NO_MEMORY;
    json_decref(key);
    return e;
}

enum err sweep_data_want(struct sweep_data *d, const json_t *spec, struct sweep_data_set **out)
{
    char *key;
    enum err e = key_of(spec, &key);
    if (e)
        return e;
    struct sweep_data_set *set = d->first;
    while (set && !str_eq(set->key, key))
        set = set->next;
    if (set) {
        free(key);
    } else {
        set = calloc(1, sizeof *set);
        if (!set) {
            free(key);
            return ERR_NO_MEMORY;
        }
        *set = (struct sweep_data_set){.key = key, .number = d->num_sets++, .next = d->first};
        d->first = set;
    }
    set->num_needing++;
    *out = set;
    return ERR_OK;
}

enum err sweep_data_get(struct sweep_data *d, struct sweep_data_set *set, const json_t *spec,
                        const struct dataset **out, struct fault *fault)
{
    enum err e = ERR_OK;
    (void)pthread_mutex_lock(&d->lock);
    while (set->is_loading)
        (void)pthread_cond_wait(&d->loaded, &d->lock);
    if (!set->data) {
        struct dataset *data = NULL;
        set->is_loading = true;
        (void)pthread_mutex_unlock(&d->lock);
        e = sim_load_data(spec, &data, fault);
        (void)pthread_mutex_lock(&d->lock);
        set->data = data;
        set->is_loading = false;
        (void)pthread_cond_broadcast(&d->loaded);
    }
    *out = set->data;
    (void)pthread_mutex_unlock(&d->lock);
    return e;
}

void sweep_data_done(struct sweep_data *d, struct sweep_data_set *set)
{
    struct dataset *unused = NULL;
    (void)pthread_mutex_lock(&d->lock);
    if (--set->num_needing == 0) {
        unused = set->data;
        set->data = NULL;
    }
    (void)pthread_mutex_unlock(&d->lock);
    dataset_free(unused);
}

void sweep_data_drop(struct sweep_data *d, struct sweep_data_set *set)
{
    (void)pthread_mutex_lock(&d->lock);
    dataset_free(set->data);
    set->data = NULL;
    (void)pthread_mutex_unlock(&d->lock);
}
