/* Which devices a round takes, and how much work the simulated stragglers among them do. Pure functions of
 * the run's seed and the round; docs/algorithms.md, "One round", and [arXiv 1812.06127, section 5.2]. */
#ifndef FEDLANE_FL_SCHEDULE_H
#define FEDLANE_FL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

/* count of population devices, uniform without replacement: the first `count` of the permutation of
 * 0..population-1 by stream RNG_SELECT. Results are positions in the population's ascending list of ordinals,
 * in selection order. Memory is O(count). count <= population <= UINT32_MAX. */
enum err schedule_select(uint64_t seed, int64_t round, size_t population, size_t count,
                         uint32_t *out) MUST_CHECK;

/* out[i]: the rank of position i of the selection in the straggler order (stream RNG_STRAGGLER_ORDER):
 * rank[perm[r]] = r. */
enum err schedule_straggler_ranks(uint64_t seed, int64_t round, size_t count, uint32_t *out) MUST_CHECK;
/* How many of the selected finish all their work: floor(count (1 - straggler_fraction) + 0.5). Position i
 * does when its rank is below this. */
size_t schedule_num_active(size_t count, double straggler_fraction);

/* How many epochs a straggler runs: uniform on 1..local_epochs, stream RNG_STRAGGLER_EPOCHS of round and
 * ordinal. */
int64_t schedule_straggler_epochs(uint64_t seed, int64_t round, int64_t ordinal, int64_t local_epochs);

/* Batches of one epoch: ceil(num_train / batch_size). */
int64_t schedule_steps_per_epoch(int64_t num_train, int64_t batch_size);
/* All of a job's steps: local_steps if that is > 0, else local_epochs passes; 0 for a device without training
 * examples. */
int64_t schedule_full_steps(int64_t num_train, int64_t batch_size, int64_t local_epochs, int64_t local_steps);
/* The steps of a straggler of that job. In epochs: schedule_straggler_epochs() of them. Where the job is one
 * epoch, uniform on 1..its batches; where it is counted in steps, uniform on 1..local_steps; both from the
 * same draw. */
int64_t schedule_straggler_steps(uint64_t seed, int64_t round, int64_t ordinal, int64_t num_train,
                                 int64_t batch_size, int64_t local_epochs, int64_t local_steps);

#endif
