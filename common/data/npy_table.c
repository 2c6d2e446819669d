#include "common/data/npy_table.h"

#include <stdlib.h>
#include "common/data/path.h"

static bool is_of_bytes(const struct npy *x)
{
    return x->type == NPY_U8 || x->type == NPY_BOOL;
}

static enum err check_shapes(const struct npy *x, const struct npy *y, const struct npy_target *target,
                             const struct collector *c, struct fault *fault)
{
    if (x->num_dims < 1)
        return npy_fault(x, 0, fault, "a single number; examples are an array [n, ...]");
    if (npy_type_is_float(y->type))
        return npy_fault(y, 0, fault,
                         "labels of type %s; they are whole numbers: save them with .astype(\"<i8\")",
                         npy_type_name(y->type));
    if (y->num_items != x->dims[0] || y->num_dims < 1 || y->dims[0] != x->dims[0])
        return npy_fault(y, 0, fault, "%zu labels for the %zu examples of x; y must be an array [n]",
                         y->num_items, x->dims[0]);
    if (!*target->first_file)
        return ERR_OK;
    const size_t features = x->num_items / x->dims[0];
    if (features != c->pool.num_features)
        return npy_fault(x, 0, fault, "examples of %zu features, but those of %s have %zu", features,
                         path_shown(*target->first_file), c->pool.num_features);
    if (is_of_bytes(x) != c->are_bytes)
        return npy_fault(x, 0, fault, "x has type %s, but %s has %s; save all as one type",
                         npy_type_name(x->type), path_shown(*target->first_file),
                         c->are_bytes ? "bytes" : "numbers of another type");
    return ERR_OK;
}

static enum err read_labels(struct npy *y, struct classes *classes, int32_t *out, struct fault *fault)
{
    int64_t *labels = malloc(y->num_items * sizeof *labels);
    if (!labels)
        return fault_set(fault, ERR_NO_MEMORY, y->field, "no memory for %zu labels", y->num_items);
    enum err err = npy_read_ints(y, labels, fault);
    for (size_t i = 0; err == ERR_OK && i < y->num_items; i++) {
        char why[200];
        err = class_of_number(classes, labels[i], &out[i], why, sizeof why);
        if (err != ERR_OK)
            err = npy_fault(y, npy_item_offset(y, i), fault, "%s (example %zu)", why, i);
    }
    free(labels);
    return err;
}

enum err npy_rows(struct npy *x, struct npy *y, const struct npy_target *target, struct classes *classes,
                  struct collector *out, struct fault *fault)
{
    enum err err = check_shapes(x, y, target, out, fault);
    if (err != ERR_OK)
        return err;
    const size_t rows = x->dims[0], at = out->pool.num_rows;
    if (!*target->first_file) {
        *target->first_file = x->path;
        out->are_bytes = is_of_bytes(x);
        out->pool.num_features = x->num_items / rows;
    }
    const size_t features = out->pool.num_features;
    err = collector_reserve(out, rows, fault);
    if (err == ERR_OK)
        err = out->are_bytes ? npy_read_bytes(x, out->pool.bytes + at * features, fault)
                             : npy_read_floats(x, out->pool.values + at * features, fault);
    if (err == ERR_OK)
        err = read_labels(y, classes, out->pool.labels + at, fault);
    if (err == ERR_OK)
        err = collector_origin(out, x->path, NULL, fault);
    if (err == ERR_OK)
        collector_add(out, rows, target->device, target->split);
    return err;
}

enum err npz_rows(struct npz *z, const char *x_name, const char *y_name, const struct npy_target *target,
                  struct classes *classes, struct collector *out, struct fault *fault)
{
    struct npy x = {0}, y = {0};
    enum err err = npz_member(z, x_name, &x, fault);
    if (err == ERR_OK)
        err = npz_member(z, y_name, &y, fault);
    if (err == ERR_OK)
        err = npy_rows(&x, &y, target, classes, out, fault);
    npy_close(&x);
    npy_close(&y);
    return err;
}
