#include "common/model/shape.h"

#include <stdio.h>

struct example_shape shape_of(enum shape_kind kind, int64_t a, int64_t b, int64_t c)
{
    return (struct example_shape){kind, {a, b, c}};
}

int64_t shape_elements(const struct example_shape *s)
{
    int64_t product = s->dims[0];
    for (int i = 1; i < 3; i++) {
        if (__builtin_mul_overflow(product, s->dims[i], &product))
            return INT64_MAX;
    }
    return product;
}

const char *shape_text(const struct example_shape *s, char out[SHAPE_TEXT_SIZE])
{
    const long long a = (long long)s->dims[0], b = (long long)s->dims[1], c = (long long)s->dims[2];
    int n = 0;
    switch (s->kind) {
    case SHAPE_VECTOR:
        n = snprintf(out, SHAPE_TEXT_SIZE, "a vector of %lld", a);
        break;
    case SHAPE_IMAGE:
        n = snprintf(out, SHAPE_TEXT_SIZE, "an image of %lld x %lld x %lld", a, b, c);
        break;
    case SHAPE_SEQUENCE:
        n = snprintf(out, SHAPE_TEXT_SIZE, "a sequence of %lld steps of %lld", a, b);
        break;
    case SHAPE_TOKENS:
        n = snprintf(out, SHAPE_TEXT_SIZE, "a sequence of %lld tokens", a);
        break;
    }
    (void)n;
    return out;
}
