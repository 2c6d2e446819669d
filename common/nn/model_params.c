#include "common/nn/model_params.h"

enum { AT_ONCE = 256 };

/* Whole rows one after the other, in the model's order as well. */
static bool is_plain(const struct model_tensor *t)
{
    return t->step[2] == 1 && t->count[1] == 1 && t->step[0] == t->count[2];
}

static size_t row_of(const struct model_tensor *t, size_t i, size_t j)
{
    return t->flat + i * t->step[0] + j * t->step[1];
}

static struct compute_slice row_slice(const struct model_tensor *t, struct compute_slice block, size_t row)
{
    return compute_at(block, t->at + compute_matrix_bytes(row, t->count[2]));
}

static enum err write_row(struct compute *c, const struct model_tensor *t, struct compute_slice to,
                          const real *from)
{
    const size_t stride = compute_stride(t->count[2]);
    real values[AT_ONCE];
    enum err err = ERR_OK;
    for (size_t k = 0; !err && k < stride; k += AT_ONCE) {
        size_t n = stride - k < AT_ONCE ? stride - k : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            values[i] = k + i < t->count[2] ? from[(k + i) * t->step[2]] : 0;
        err = compute_write(c, compute_at(to, k * sizeof(real)), values, n * sizeof(real));
    }
    return err;
}

static enum err read_row(struct compute *c, const struct model_tensor *t, struct compute_slice from,
                         real *out)
{
    real values[AT_ONCE];
    enum err err = ERR_OK;
    for (size_t k = 0; !err && k < t->count[2]; k += AT_ONCE) {
        size_t n = t->count[2] - k < AT_ONCE ? t->count[2] - k : AT_ONCE;
        err = compute_read(c, compute_at(from, k * sizeof(real)), values, n * sizeof(real));
        for (size_t i = 0; !err && i < n; i++)
            out[(k + i) * t->step[2]] = values[i];
    }
    return err;
}

enum err model_params_write(struct compute *c, const struct model_tensor *t, struct compute_slice block,
                            const real *params)
{
    if (is_plain(t))
        return compute_write_matrix(c, row_slice(t, block, 0), params + t->flat, t->count[0], t->count[2]);
    enum err err = ERR_OK;
    for (size_t row = 0; !err && row < t->count[0] * t->count[1]; row++)
        err = write_row(c, t, row_slice(t, block, row),
                        params + row_of(t, row / t->count[1], row % t->count[1]));
    return err;
}

enum err model_params_read(struct compute *c, const struct model_tensor *t, struct compute_slice block,
                           real *out_params)
{
    if (is_plain(t))
        return compute_read_matrix(c, row_slice(t, block, 0), out_params + t->flat, t->count[0], t->count[2]);
    enum err err = ERR_OK;
    for (size_t row = 0; !err && row < t->count[0] * t->count[1]; row++)
        err = read_row(c, t, row_slice(t, block, row),
                       out_params + row_of(t, row / t->count[1], row % t->count[1]));
    return err;
}
