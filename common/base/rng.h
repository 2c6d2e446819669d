/* Keyed counter streams: output i of a key is a pure function of (key, i), so no draw depends on how many
 * came before elsewhere, on threads or on a restart. docs/algorithms.md, "Random streams", has the definition
 * and check values. */
#ifndef FEDLANE_BASE_RNG_H
#define FEDLANE_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/rng_tags.h"

/* Output i is mix(key + (i + 1) golden), mix(z) = z ^= z >> 30, z *= first, z ^= z >> 27, z *= second, z ^= z
 * >> 31: for who makes several outputs at once. */
#define RNG_GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define RNG_MIX_1  UINT64_C(0xBF58476D1CE4E5B9)
#define RNG_MIX_2  UINT64_C(0x94D049BB133111EB)

uint64_t rng_key(uint64_t seed, uint64_t tag, uint64_t a, uint64_t b, uint64_t c);
uint64_t rng_u64(uint64_t key, uint64_t i);   /* output i */
double rng_uniform(uint64_t key, uint64_t i); /* [0,1), from output i */
double rng_normal(uint64_t key, uint64_t i); /* the i-th normal: Box-Muller over outputs 2*(i/2), 2*(i/2)+1 */
/* The first n normals of the key; cheaper than n calls. */
void rng_normals(uint64_t key, double *out, size_t n);
/* A permutation of 0..n-1: indices sorted by output, ties by index. */
enum err rng_permutation(uint64_t key, uint32_t *out, size_t n) MUST_CHECK;
/* The same without allocation: scratch holds n elements. For the training loop. */
struct rng_sort_item {
    uint64_t key;
    uint32_t index;
};
void rng_permutation_into(uint64_t key, uint32_t *out, size_t n, struct rng_sort_item *scratch);
int64_t rng_one_to(uint64_t key, uint64_t i, int64_t n); /* 1 + floor(n u), n >= 1 */

#endif
