/* The weighted average of flat parameter blocks [FedAvg, arXiv 1602.05629, algorithm 1; arXiv 1812.06127,
 * section 3]: w = sum_k n_k w_k / sum_k n_k    over the devices that reported. Per element `acc += n *
 * (double)w` from 0 in ascending ordinal, then `w = (real)(acc / n_total)`: the same bits whatever the
 * arrival order, the number of threads or the size of the pieces. A caller with a large model goes through it
 * range by range: begin, add for each device, finish; ranges are independent and may run on different
 * threads, each with its own struct average. */
#ifndef FEDLANE_FL_AVERAGE_H
#define FEDLANE_FL_AVERAGE_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/real.h"

/* Elements of a range that keep the accumulator in the cache. Any size gives the same result. */
#define AVERAGE_RANGE ((size_t)4096)
/* So many devices a pass are enough: the sums are then read and written once for that many inputs. */
#define AVERAGE_GROUP 4

struct average {
    double *acc; /* owned */
    size_t capacity;
    size_t num_elements; /* of the present range */
    double total;        /* weight added since begin */
    int64_t last_ordinal;
};

/* Room for ranges of up to `capacity` elements. ERR_NO_MEMORY. */
enum err average_init(struct average *a, size_t capacity) MUST_CHECK;
void average_release(struct average *a);

/* A new range of num_elements <= capacity, nothing added. */
void average_begin(struct average *a, size_t num_elements);
/* `count` devices' elements of the range: values[k][first] and on. Several at a time cost one pass over the
 * sums; the bits are the same. Ordinals must ascend within a range (a broken invariant otherwise); weights
 * are finite and >= 0, usually from average_weights. */
void average_add(struct average *a, size_t count, const int64_t *ordinals, const double *weights,
                 const real *const *values, size_t first);
/* The average of the range. ERR_INVALID_UPDATE where nothing was added or all weights were 0: the model must
 * stay. */
enum err average_finish(const struct average *a, real *out) MUST_CHECK;

/* The same over whole blocks in memory. values[k] has num_params floats; ordinals ascend. */
enum err average_blocks(const int64_t *ordinals, const double *weights, const real *const *values,
                        size_t num_devices, size_t num_params, real *out) MUST_CHECK;

enum weighting { WEIGHTING_NUM_EXAMPLES, WEIGHTING_UNIFORM };

/* The weights of devices with num_examples[k] training examples: n_k itself, or 1 with WEIGHTING_UNIFORM; 0
 * where a device has no example. With max_weight_fraction f < 1 no device gets more than the share f of the
 * total: n_k becomes min(n_k, c) with the one c for which the devices at c have exactly the share f (m of
 * them and the rest R: c = f R / (1 - f m)); what is below c stays as it is, exactly. Where even equal
 * weights exceed f (f times the number of devices with examples <= 1) they are equal. ERR_INVALID_FIELD for a
 * negative count or f outside (0, 1], ERR_INVALID_UPDATE when all weights are 0. */
enum err average_weights(enum weighting weighting, double max_weight_fraction, const int64_t *num_examples,
                         size_t num_devices, double *out_weights, struct fault *fault) MUST_CHECK;

#endif
