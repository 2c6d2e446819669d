#include "common/fl/learning_rate.h"

#include <math.h>

const char *const rate_type_names[RATE_TYPE_COUNT + 1] = {[RATE_CONSTANT] = "constant",
                                                          [RATE_STEP] = "step",
                                                          [RATE_EXPONENTIAL] = "exponential",
                                                          [RATE_COSINE] = "cosine"};

static double after_warmup(double base, const struct rate_schedule *s, int64_t round)
{
    const double pi = 3.14159265358979323846;
    int64_t drops;
    switch (s->type) {
    case RATE_STEP:
        drops = round / s->step_size;
        return base * pow(s->gamma, (double)drops);
    case RATE_EXPONENTIAL:
        return base * pow(s->gamma, (double)round);
    case RATE_COSINE:
        if (round >= s->decay_rounds)
            return s->min_learning_rate;
        return s->min_learning_rate +
               (base - s->min_learning_rate) * (1 + cos(pi * (double)round / (double)s->decay_rounds)) / 2;
    case RATE_CONSTANT:
    case RATE_TYPE_COUNT:
        break;
    }
    return base;
}

double learning_rate_of_round(double base, const struct rate_schedule *s, int64_t round)
{
    if (round < s->warmup_rounds)
        return fmax(base * (double)(round + 1) / (double)(s->warmup_rounds + 1), LEARNING_RATE_LEAST);
    double rate = after_warmup(base, s, round - s->warmup_rounds);
    return fmax(fmax(rate, s->min_learning_rate), LEARNING_RATE_LEAST);
}
