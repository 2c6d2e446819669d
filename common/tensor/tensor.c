#include "common/tensor/tensor.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/crypto/sha256.h"

/* Weights go to disk and wire as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Fedlane needs a little-endian machine");

static const struct {
    const char *name;
    size_t size;
    bool is_float;
} dtypes[DTYPE_COUNT] = {
#define X(name, size, is_float) {#name, size, is_float},
    DTYPE_TABLE(X)
#undef X
};

const char *dtype_name(enum dtype d)
{
    return dtypes[d].name;
}

enum err dtype_parse(const char *name, enum dtype *out)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *out = (enum dtype)i;
            return ERR_OK;
        }
    }
    return ERR_INVALID_FIELD;
}

size_t dtype_size(enum dtype d)
{
    return dtypes[d].size;
}

bool dtype_is_float(enum dtype d)
{
    return dtypes[d].is_float;
}

void tensor_table_init(struct tensor_table *t)
{
    *t = (struct tensor_table){0};
}

void tensor_table_release(struct tensor_table *t)
{
    free(t->items);
    tensor_table_init(t);
}

static enum err check_name(const struct tensor_table *t, const char *name, struct fault *fault)
{
    size_t len = strlen(name);
    if (len == 0)
        return fault_set(fault, ERR_INVALID_FIELD, "name", "a tensor's name must not be empty");
    if (len > LIMIT_TENSOR_NAME)
        return fault_set(fault, ERR_INVALID_FIELD, "name",
                         "a tensor's name has at most %d bytes, this one has %zu", LIMIT_TENSOR_NAME, len);
    if (!utf8_is_valid(name, len))
        return fault_set(fault, ERR_INVALID_FIELD, "name", "a tensor's name must be valid UTF-8");
    if (strcmp(name, "__metadata__") == 0)
        return fault_set(
            fault, ERR_INVALID_FIELD, "name",
            "\"__metadata__\" is reserved by the safetensors format; give the tensor another name");
    if (tensor_table_find(t, name))
        return fault_set(fault, ERR_INVALID_FIELD, "name", "two tensors are named \"%s\"; names must differ",
                         name);
    return ERR_OK;
}

/* The product of a shape, at most LIMIT_MODEL_BYTES; a zero anywhere makes it 0. */
static enum err count_elements(const int64_t *shape, int num_dims, int64_t *out, struct fault *fault)
{
    int64_t n = 1;
    if (num_dims < 0 || num_dims > LIMIT_TENSOR_DIMS)
        return fault_set(fault, ERR_INVALID_FIELD, "shape", "a tensor has 0 to %d dimensions, not %d",
                         LIMIT_TENSOR_DIMS, num_dims);
    for (int i = 0; i < num_dims; i++) {
        if (shape[i] < 0)
            return fault_set(fault, ERR_INVALID_FIELD, "shape", "dimension %d is %lld; it must be 0 or more",
                             i, (long long)shape[i]);
    }
    for (int i = 0; i < num_dims; i++) {
        if (__builtin_mul_overflow(n, shape[i], &n))
            return fault_set(fault, ERR_INVALID_FIELD, "shape", "the product of the dimensions is too large");
    }
    *out = n;
    return ERR_OK;
}

static enum err check_total(const struct tensor_table *t, int64_t num_elements, enum dtype dtype,
                            struct fault *fault)
{
    int64_t used = 4 * t->num_params + t->carried_bytes;
    if (num_elements > (LIMIT_MODEL_BYTES - used) / (int64_t)dtype_size(dtype))
        return fault_set(fault, ERR_INVALID_FIELD, "shape",
                         "with this tensor the model has more than %lld bytes, the most that is allowed",
                         (long long)LIMIT_MODEL_BYTES);
    return ERR_OK;
}

static enum err make_room(struct tensor_table *t)
{
    if (t->count & (t->count - 1))
        return ERR_OK; /* capacities are powers of two: 1, 2, 4, ... */
    size_t cap = t->count ? 2 * t->count : 1;
    struct tensor_spec *items = realloc(t->items, cap * sizeof *items);
    if (!items)
        return ERR_NO_MEMORY;
    t->items = items;
    return ERR_OK;
}

enum err tensor_table_add(struct tensor_table *t, const char *name, enum dtype dtype, const int64_t *shape,
                          int num_dims, struct fault *fault)
{
    int64_t n = 0;
    enum err err = check_name(t, name, fault);
    if (err)
        return err;
    if (dtype_is_float(dtype) && dtype != DTYPE_F32)
        return fault_set(fault, ERR_INVALID_FIELD, "dtype",
                         "parameters are kept in F32, not %s; updates may still be sent as F16 or BF16",
                         dtype_name(dtype));
    if (t->count >= LIMIT_TENSORS)
        return fault_set(fault, ERR_INVALID_FIELD, NULL, "a model has at most %d tensors", LIMIT_TENSORS);
    err = count_elements(shape, num_dims, &n, fault);
    if (!err)
        err = check_total(t, n, dtype, fault);
    if (err)
        return err;
    err = make_room(t);
    if (err)
        return fault_set(fault, err, NULL, "out of memory for the table of tensors");

    struct tensor_spec *spec = &t->items[t->count];
    *spec = (struct tensor_spec){.dtype = dtype, .num_dims = num_dims, .num_elements = n};
    memcpy(spec->name, name, strlen(name) + 1);
    for (int i = 0; i < num_dims; i++)
        spec->shape[i] = shape[i];
    if (dtype_is_float(dtype)) {
        spec->offset = t->num_params;
        t->num_params += n;
    } else {
        spec->offset = t->carried_bytes;
        t->carried_bytes += n * (int64_t)dtype_size(dtype);
    }
    t->count++;
    return ERR_OK;
}

const struct tensor_spec *tensor_table_find(const struct tensor_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->items[i].name, name) == 0)
            return &t->items[i];
    }
    return NULL;
}

enum err tensor_table_copy(const struct tensor_table *from, struct tensor_table *out)
{
    size_t cap = 1;
    *out = *from;
    out->items = NULL;
    if (from->count == 0)
        return ERR_OK;
    while (cap < from->count)
        cap *= 2;
    out->items = malloc(cap * sizeof *out->items);
    if (!out->items) {
        tensor_table_init(out);
        return ERR_NO_MEMORY;
    }
    memcpy(out->items, from->items, from->count * sizeof *out->items);
    return ERR_OK;
}

enum err params_sha256(const float *params, int64_t n, char *out_hex)
{
    return sha256_hex(params, (size_t)n * sizeof *params, out_hex);
}

bool params_are_finite(const float *params, int64_t n)
{
    enum { BLOCK = 1024 }; /* looks at the flag once a block, so that the loop inside vectorises */
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t to = n - from < BLOCK ? n : from + BLOCK;
        uint32_t bad = 0;
        for (int64_t i = from; i < to; i++) {
            uint32_t bits;
            memcpy(&bits, &params[i], sizeof bits);
            bad |= (bits & 0x7f800000u) == 0x7f800000u;
        }
        if (bad)
            return false;
    }
    return true;
}

static float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 0x1fu;
    uint32_t mantissa = h & 0x3ffu;
    if (exponent == 0x1f)
        return float_of_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0)
        return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    /* subnormal: mantissa * 2^-24, exact in float32 */
    float magnitude = (float)mantissa * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

void f16_to_f32(const uint16_t *in, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = half_to_float(in[i]);
}

void bf16_to_f32(const uint16_t *in, float *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = float_of_bits((uint32_t)in[i] << 16);
}
