/* Which rows of the pool each device owns, and the split of each device's rows into train and test. */
#ifndef FEDLANE_DATA_SHARES_H
#define FEDLANE_DATA_SHARES_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct shares {
    size_t num_devices;
    size_t *first;  /* [num_devices + 1]: device k owns rows[first[k] .. first[k + 1] - 1]; first[0] is 0 */
    uint32_t *rows; /* at least first[num_devices] */
};

/* Room for max_rows rows, uninitialised. */
enum err shares_alloc(struct shares *s, size_t num_devices, size_t max_rows, struct fault *fault) MUST_CHECK;
void shares_release(struct shares *s);
static inline size_t shares_count(const struct shares *s, size_t device)
{
    return s->first[device + 1] - s->first[device];
}

/* Of n examples, how many train: the first floor(9 n / 10). */
static inline size_t shares_num_train(size_t n)
{
    return n / 10 * 9 + n % 10 * 9 / 10;
}
/* Puts each device's rows in the order of the permutation of stream RNG_SPLIT, so that the first
 * shares_num_train() of them train and the rest test. Device k's stream is that of ordinal first_ordinal + k.
 */
enum err shares_shuffle(struct shares *s, uint64_t seed, int64_t first_ordinal,
                        struct fault *fault) MUST_CHECK;

#endif
