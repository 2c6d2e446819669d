#include "common/nn/model_params.h"

enum { AT_ONCE = 256 };

/* Whole rows one after the other, in the model's order as well. */
static bool is_plain(const struct model_tensor *t)
{
    return t->step[3] == 1 && t->count[1] == 1 && t->count[2] == 1 && t->step[0] == t->count[3];
}

/* The model's own number of the value that stands at `column` of `row`; SIZE_MAX for padding. */
static size_t flat_of(const struct model_tensor *t, size_t row, size_t column)
{
    size_t k = column / t->pixel, n = column % t->pixel;
    if (k >= t->count[2] || n >= t->count[3])
        return SIZE_MAX;
    return t->flat + row / t->count[1] * t->step[0] + row % t->count[1] * t->step[1] + k * t->step[2] +
           n * t->step[3];
}

static struct compute_slice place(const struct model_tensor *t, struct compute_slice block, size_t row,
                                  size_t column)
{
    size_t bytes = compute_matrix_bytes(row, model_tensor_width(t)) + column * sizeof(real);
    return compute_at(block, t->at + bytes);
}

enum err model_params_write(struct compute *c, const struct model_tensor *t, struct compute_slice block,
                            const real *params)
{
    const size_t stride = compute_stride(model_tensor_width(t));
    real values[AT_ONCE];
    enum err err = ERR_OK;
    if (is_plain(t))
        return compute_write_matrix(c, place(t, block, 0, 0), params + t->flat, t->count[0], t->count[3]);
    for (size_t row = 0; row < model_tensor_rows(t); row++) {
        for (size_t from = 0; !err && from < stride; from += AT_ONCE) {
            size_t n = stride - from < AT_ONCE ? stride - from : AT_ONCE;
            for (size_t i = 0; i < n; i++) {
                size_t flat = flat_of(t, row, from + i);
                values[i] = flat == SIZE_MAX ? 0 : params[flat];
            }
            err = compute_write(c, place(t, block, row, from), values, n * sizeof(real));
        }
    }
    return err;
}

enum err model_params_read(struct compute *c, const struct model_tensor *t, struct compute_slice block,
                           real *out_params)
{
    const size_t stride = compute_stride(model_tensor_width(t));
    real values[AT_ONCE];
    enum err err = ERR_OK;
    if (is_plain(t))
        return compute_read_matrix(c, place(t, block, 0, 0), out_params + t->flat, t->count[0], t->count[3]);
    for (size_t row = 0; row < model_tensor_rows(t); row++) {
        for (size_t from = 0; !err && from < stride; from += AT_ONCE) {
            size_t n = stride - from < AT_ONCE ? stride - from : AT_ONCE;
            err = compute_read(c, place(t, block, row, from), values, n * sizeof(real));
            for (size_t i = 0; !err && i < n; i++) {
                size_t flat = flat_of(t, row, from + i);
                if (flat != SIZE_MAX)
                    out_params[flat] = values[i];
            }
        }
    }
    return err;
}
