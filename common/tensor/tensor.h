/* Tensor tables: which tensors a model has, in model order, and where each lies in the flat parameter block.
 * Floating-point tensors are parameters: they are trained and averaged, and live as one block of float32 in
 * model order. Integer and boolean tensors are carried: stored and sent, never averaged or optimized. */
#ifndef FEDLANE_TENSOR_TENSOR_H
#define FEDLANE_TENSOR_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/limits.h"

/* X(NAME, bytes per element, is floating point). Names are safetensors' own. */
/* clang-format off */
#define DTYPE_TABLE(X) \
    X(F64, 8, true) \
    X(F32, 4, true) \
    X(F16, 2, true) \
    X(BF16, 2, true) \
    X(I64, 8, false) \
    X(I32, 4, false) \
    X(I16, 2, false) \
    X(I8, 1, false) \
    X(U64, 8, false) \
    X(U32, 4, false) \
    X(U16, 2, false) \
    X(U8, 1, false) \
    X(BOOL, 1, false)
/* clang-format on */

enum dtype {
#define X(name, size, is_float) DTYPE_##name,
    DTYPE_TABLE(X)
#undef X
        DTYPE_COUNT
};

const char *dtype_name(enum dtype d);
enum err dtype_parse(const char *name, enum dtype *out) MUST_CHECK;
size_t dtype_size(enum dtype d);
bool dtype_is_float(enum dtype d);

struct tensor_spec {
    char name[LIMIT_TENSOR_NAME + 1];
    enum dtype dtype; /* F32, or an integer type when carried */
    int num_dims;     /* 0 is a scalar */
    int64_t shape[LIMIT_TENSOR_DIMS];
    int64_t num_elements;
    int64_t offset; /* parameters: in floats within the parameter block; carried: in bytes within the carried
                       block */
};

struct tensor_table {
    struct tensor_spec *items;
    size_t count;
    int64_t num_params;    /* floats in the parameter block */
    int64_t carried_bytes; /* bytes in the carried block */
};

void tensor_table_init(struct tensor_table *t);
void tensor_table_release(struct tensor_table *t);
/* Appends; computes num_elements and offset. Refuses an empty, too long or taken name, a negative dimension
 * (0 is allowed), overflow, a float type other than F32, more than LIMIT_TENSORS. */
enum err tensor_table_add(struct tensor_table *t, const char *name, enum dtype dtype, const int64_t *shape,
                          int num_dims, struct fault *fault) MUST_CHECK;
const struct tensor_spec *tensor_table_find(const struct tensor_table *t,
                                            const char *name); /* NULL if none */
enum err tensor_table_copy(const struct tensor_table *from, struct tensor_table *out) MUST_CHECK;

/* SHA-256 of the flat little-endian float32 parameters in model order: the API's aggregate_sha256. */
enum err params_sha256(const float *params, int64_t n, char *out_hex /* SHA256_HEX_SIZE */) MUST_CHECK;
bool params_are_finite(const float *params, int64_t n);
/* IEEE half and bfloat16 to float32, exact. */
void f16_to_f32(const uint16_t *in, float *out, size_t n);
void bf16_to_f32(const uint16_t *in, float *out, size_t n);

#endif
