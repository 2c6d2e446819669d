/* Partitions into parts of one size: iid and label_shards. */
#include "common/data/partition.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"

static enum err no_memory(const struct labelled *in, struct fault *fault)
{
    return fault_set(fault, ERR_NO_MEMORY, "data.partition", "no memory to share out %zu examples",
                     in->num_rows);
}

enum err partition_iid(const struct labelled *in, const struct partition_params *params, uint64_t seed,
                       struct shares *out, struct fault *fault)
{
    const size_t devices = (size_t)params->devices;
    enum err err = shares_alloc(out, devices, in->num_rows, fault);
    if (err != ERR_OK)
        return err;
    if (rng_permutation(rng_key(seed, RNG_IID_PARTITION, 0, 0, 0), out->rows, in->num_rows) != ERR_OK) {
        shares_release(out);
        return no_memory(in, fault);
    }
    for (size_t k = 0; k < devices; k++)
        out->first[k + 1] = out->first[k] + in->num_rows / devices + (k < in->num_rows % devices);
    return ERR_OK;
}

/* Copies shard `shard` of `num_shards` behind what the device has; the last shard holds the rest. */
static void take_shard(struct shares *out, size_t device, const uint32_t *sorted, size_t num_rows,
                       size_t num_shards, size_t shard)
{
    const size_t size = num_rows / num_shards;
    const size_t start = shard * size;
    const size_t n = shard + 1 == num_shards ? num_rows - start : size;
    memcpy(out->rows + out->first[device + 1], sorted + start, n * sizeof *sorted);
    out->first[device + 1] += n;
}

enum err partition_label_shards(const struct labelled *in, const struct partition_params *params,
                                uint64_t seed, struct shares *out, struct fault *fault)
{
    const size_t devices = (size_t)params->devices, per_device = (size_t)params->shards_per_device;
    const size_t num_shards = devices * per_device;
    if (num_shards > in->num_rows)
        return fault_set(
            fault, ERR_INVALID_FIELD, "data.partition.shards_per_device",
            "%zu devices with %zu shards each need %zu shards, but there are only %zu examples: give fewer "
            "devices or fewer shards",
            devices, per_device, num_shards, in->num_rows);
    uint32_t *sorted = malloc(in->num_rows * sizeof *sorted);
    uint32_t *order = malloc(num_shards * sizeof *order);
    size_t *first = malloc(((size_t)in->num_classes + 1) * sizeof *first);
    enum err err = ERR_NO_MEMORY;
    if (sorted && order && first)
        err = rng_permutation(rng_key(seed, RNG_LABEL_SHARDS, 0, 0, 0), order, num_shards);
    if (err != ERR_OK) {
        err = no_memory(in, fault);
        goto out;
    }
    err = shares_alloc(out, devices, in->num_rows, fault);
    if (err != ERR_OK)
        goto out;
    rows_by_label(in, sorted, first);
    for (size_t k = 0; k < devices; k++) {
        out->first[k + 1] = out->first[k];
        for (size_t i = 0; i < per_device; i++)
            take_shard(out, k, sorted, in->num_rows, num_shards, order[k * per_device + i]);
    }
out:
    free(sorted);
    free(order);
    free(first);
    return err;
}
