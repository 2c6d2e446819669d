#include "common/fl/schedule.h"

#include <math.h>
#include <stdlib.h>
#include "common/base/rng.h"

struct pick {
    uint64_t key;
    uint32_t index;
};

static bool comes_before(const struct pick *a, const struct pick *b)
{
    return a->key != b->key ? a->key < b->key : a->index < b->index;
}

/* heap[0] is the last in order of those kept. */
static void sift_down(struct pick *heap, size_t n, size_t i)
{
    struct pick moved = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && comes_before(&heap[child], &heap[child + 1]))
            child++;
        if (comes_before(&heap[child], &moved))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

enum err schedule_select(uint64_t seed, int64_t round, size_t population, size_t count, uint32_t *out)
{
    uint64_t key = rng_key(seed, RNG_SELECT, (uint64_t)round, 0, 0);
    if (count > population || population > UINT32_MAX)
        bug("%zu devices of %zu", count, population);
    if (count == 0)
        return ERR_OK;
    struct pick *heap = malloc(count * sizeof *heap);
    if (!heap)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        heap[i] = (struct pick){rng_u64(key, i), (uint32_t)i};
    for (size_t i = count / 2; i-- > 0;)
        sift_down(heap, count, i);
    for (size_t i = count; i < population; i++) {
        struct pick candidate = {rng_u64(key, i), (uint32_t)i};
        if (comes_before(&candidate, &heap[0])) {
            heap[0] = candidate;
            sift_down(heap, count, 0);
        }
    }
    for (size_t n = count; n > 0; n--) {
        out[n - 1] = heap[0].index;
        heap[0] = heap[n - 1];
        sift_down(heap, n - 1, 0);
    }
    free(heap);
    return ERR_OK;
}

enum err schedule_straggler_ranks(uint64_t seed, int64_t round, size_t count, uint32_t *out)
{
    if (count == 0)
        return ERR_OK;
    uint32_t *order = malloc(count * sizeof *order);
    if (!order)
        return ERR_NO_MEMORY;
    enum err err = rng_permutation(rng_key(seed, RNG_STRAGGLER_ORDER, (uint64_t)round, 0, 0), order, count);
    for (size_t r = 0; !err && r < count; r++)
        out[order[r]] = (uint32_t)r;
    free(order);
    return err;
}

size_t schedule_num_active(size_t count, double straggler_fraction)
{
    /* In binary 1 - 0.9 is a little less than a tenth, which would lose the half device of five. */
    return (size_t)floor((double)count * (1 - straggler_fraction) + 0.5 + 1e-9);
}

static uint64_t straggler_key(uint64_t seed, int64_t round, int64_t ordinal)
{
    return rng_key(seed, RNG_STRAGGLER_EPOCHS, (uint64_t)round, (uint64_t)ordinal, 0);
}

int64_t schedule_straggler_epochs(uint64_t seed, int64_t round, int64_t ordinal, int64_t local_epochs)
{
    return rng_one_to(straggler_key(seed, round, ordinal), 0, local_epochs);
}

int64_t schedule_steps_per_epoch(int64_t num_train, int64_t batch_size)
{
    return num_train / batch_size + (num_train % batch_size != 0);
}

int64_t schedule_full_steps(int64_t num_train, int64_t batch_size, int64_t local_epochs, int64_t local_steps)
{
    if (num_train == 0)
        return 0;
    return local_steps > 0 ? local_steps : local_epochs * schedule_steps_per_epoch(num_train, batch_size);
}

int64_t schedule_straggler_steps(uint64_t seed, int64_t round, int64_t ordinal, int64_t num_train,
                                 int64_t batch_size, int64_t local_epochs, int64_t local_steps)
{
    int64_t all = schedule_full_steps(num_train, batch_size, local_epochs, local_steps);
    if (all == 0)
        return 0;
    if (local_steps > 0 || local_epochs == 1)
        return rng_one_to(straggler_key(seed, round, ordinal), 0, all);
    return schedule_straggler_epochs(seed, round, ordinal, local_epochs) *
           schedule_steps_per_epoch(num_train, batch_size);
}
