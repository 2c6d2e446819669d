/* The registry of random streams: every use of randomness in Fedlane has its own tag, never reused. a, b, c
 * are the further words of its key. */
#ifndef FEDLANE_BASE_RNG_TAGS_H
#define FEDLANE_BASE_RNG_TAGS_H

enum rng_tag {
    RNG_SYNTHETIC_SIZES = 1,
    RNG_SYNTHETIC_U = 2,
    RNG_SYNTHETIC_B = 3,
    RNG_SYNTHETIC_V = 4,       /* a = device */
    RNG_SYNTHETIC_WEIGHTS = 5, /* a = device; row-major [classes][features] */
    RNG_SYNTHETIC_BIASES = 6,  /* a = device */
    RNG_SYNTHETIC_X = 7,       /* a = device; row-major */
    RNG_SPLIT = 8,             /* a = device */
    RNG_SELECT = 9,            /* a = round */
    RNG_STRAGGLER_ORDER = 10,  /* a = round */
    RNG_STRAGGLER_EPOCHS = 11, /* a = round, b = device */
    RNG_BATCHES = 12,          /* a = round, b = device, c = epoch */
    RNG_INIT_WEIGHTS = 13,     /* a = tensor index in model order */
    RNG_MISC = 14,
    RNG_LABEL_SHARES = 15, /* paper_label_shards; shaped [classes][devices / classes][2] */
    RNG_IID_PARTITION = 16,
    RNG_LABEL_SHARDS = 17,
    RNG_DIRICHLET = 18,      /* a = class, b = device, c = attempt */
    RNG_ORDER_IN_CLASS = 19, /* a = class */
    RNG_DROPOUT = 20,        /* a = round, b = device: the seed of further keys, a = step, b = layer */
    RNG_STRAGGLER_KIND = 21,
    RNG_RETRY_JITTER = 22, /* a = attempt, b = request */
    RNG_SIMULATED_IDS = 23,
    RNG_SPEED_STEPS = 24, /* simulated devices; a = device */
    RNG_SPEED_UP = 25,    /* a = device */
    RNG_SPEED_DOWN = 26,  /* a = device */
};

#endif
