/* The shape of one example on its way through a model, without the batch. */
#ifndef FEDLANE_MODEL_SHAPE_H
#define FEDLANE_MODEL_SHAPE_H

#include <stddef.h>
#include <stdint.h>

enum shape_kind {
    SHAPE_VECTOR,   /* [n] */
    SHAPE_IMAGE,    /* [channels, height, width], as PyTorch has it */
    SHAPE_SEQUENCE, /* [steps, features] */
    SHAPE_TOKENS,   /* [steps]: whole numbers from 0, kept as floats */
};

struct example_shape {
    enum shape_kind kind;
    int64_t dims[3]; /* those that the kind has; the others are 1 */
};

struct example_shape shape_of(enum shape_kind kind, int64_t a, int64_t b, int64_t c);
int64_t shape_elements(const struct example_shape *s); /* INT64_MAX where they are more */
/* "a vector of 10", "an image of 3 x 32 x 32" */
enum { SHAPE_TEXT_SIZE = 96 };
const char *shape_text(const struct example_shape *s, char out[SHAPE_TEXT_SIZE]);

#endif
