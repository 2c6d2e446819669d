/* The learning rate of each round. The server computes it and puts it into the round's tasks, so that devices
 * need to know no schedules. */
#ifndef FEDLANE_FL_LEARNING_RATE_H
#define FEDLANE_FL_LEARNING_RATE_H

#include <stdint.h>

#define LEARNING_RATE_LEAST 1e-12
#define LEARNING_RATE_MOST  1e6

enum rate_type { RATE_CONSTANT, RATE_STEP, RATE_EXPONENTIAL, RATE_COSINE, RATE_TYPE_COUNT };
extern const char *const rate_type_names[RATE_TYPE_COUNT + 1]; /* NULL at their end */

/* All zero: the same rate in every round. */
struct rate_schedule {
    enum rate_type type;
    int64_t warmup_rounds;    /* 0: none */
    double min_learning_rate; /* the rate never sinks below it, after the warm-up */
    int64_t step_size;        /* rounds, of step */
    double gamma;             /* a factor, of step and exponential */
    int64_t decay_rounds;     /* of cosine */
};

/* Rounds count from 0. With base the rate, t the round and W = warmup_rounds:
 *   t < W: base (t + 1) / (W + 1), a line towards the base
 * and then, with s = t - W and least = min_learning_rate, never below least:
 *   step         base gamma^floor(s / step_size)                  (PyTorch's StepLR)
 *   exponential  base gamma^s                                     (ExponentialLR)
 *   cosine       least + (base - least) (1 + cos(pi s / D)) / 2   (CosineAnnealingLR; D = decay_rounds)
 *                for s < D, and least from there on
 * At least LEARNING_RATE_LEAST, which is the smallest rate that a step takes. */
double learning_rate_of_round(double base, const struct rate_schedule *s, int64_t round);

#endif
