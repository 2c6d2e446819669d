/* Hand-written loops for local training: small products, where a BLAS call costs more than its work, and what
 * a BLAS does not have. One source (kernels_template.h) is compiled for each kind of CPU. Every result is
 * summed in an order that depends only on the operation's sizes, never on tiles, threads or alignment; the
 * kinds of CPU differ in the last bits. */
#ifndef FEDLANE_COMPUTE_OPENBLAS_KERNELS_H
#define FEDLANE_COMPUTE_OPENBLAS_KERNELS_H

#include "common/compute/compute_impl.h"
#include "common/compute/team.h"

/* An operation has one of both, or there is no kernel for it. */
struct cpu_kernels {
    const char *name;
    void (*run[COMPUTE_KIND_COUNT])(const struct compute_op *op);
    void (*part[COMPUTE_KIND_COUNT])(const struct compute_op *op, const struct team_part *part); /* tiles.h */
    void (*prepare[COMPUTE_KIND_COUNT])(const struct compute_op *op); /* what all parts read; NULL: nothing */
    /* Dense operations of many rows, whose sums are others. */
    void (*many[COMPUTE_DENSE_UPDATE + 1])(const struct compute_op *op, const struct team_part *part);
    bool is_blas_slower; /* than those */
};

extern const struct cpu_kernels cpu_kernels_baseline;
#if defined(__x86_64__)
extern const struct cpu_kernels cpu_kernels_avx2, cpu_kernels_avx512;
#endif

/* The fastest that this machine runs; the environment's FEDLANE_CPU chooses lesser ones: avx2, or baseline,
 * the portable ones. Those give equal bits on all kinds of CPUs, but for large products, which they leave to
 * OpenBLAS, whose kernels follow the CPU. Warns of a name that it does not know. */
const struct cpu_kernels *cpu_kernels_choose(void);

#endif
