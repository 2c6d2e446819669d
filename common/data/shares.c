#include "common/data/shares.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"

enum err shares_alloc(struct shares *s, size_t num_devices, size_t max_rows, struct fault *fault)
{
    s->num_devices = num_devices;
    s->first = calloc(num_devices + 1, sizeof *s->first);
    s->rows = calloc(max_rows ? max_rows : 1, sizeof *s->rows);
    if (s->first && s->rows)
        return ERR_OK;
    shares_release(s);
    return fault_set(fault, ERR_NO_MEMORY, "data", "no memory to share out %zu examples over %zu devices",
                     max_rows, num_devices);
}

void shares_release(struct shares *s)
{
    free(s->first);
    free(s->rows);
    *s = (struct shares){0};
}

static size_t largest_share(const struct shares *s)
{
    size_t most = 0;
    for (size_t k = 0; k < s->num_devices; k++)
        if (shares_count(s, k) > most)
            most = shares_count(s, k);
    return most;
}

enum err shares_shuffle(struct shares *s, uint64_t seed, int64_t first_ordinal, struct fault *fault)
{
    const size_t most = largest_share(s) + 1;
    uint32_t *order = malloc(most * sizeof *order);
    uint32_t *taken = malloc(most * sizeof *taken);
    struct rng_sort_item *scratch = malloc(most * sizeof *scratch);
    enum err err = ERR_OK;
    if (!order || !taken || !scratch) {
        err = fault_set(fault, ERR_NO_MEMORY, "data", "no memory to split a device's %zu examples", most - 1);
        goto out;
    }
    for (size_t k = 0; k < s->num_devices; k++) {
        const size_t n = shares_count(s, k);
        uint32_t *rows = s->rows + s->first[k];
        memcpy(taken, rows, n * sizeof *taken);
        rng_permutation_into(rng_key(seed, RNG_SPLIT, (uint64_t)first_ordinal + k, 0, 0), order, n, scratch);
        for (size_t i = 0; i < n; i++)
            rows[i] = taken[order[i]];
    }
out:
    free(order);
    free(taken);
    free(scratch);
    return err;
}
