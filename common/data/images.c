#include "common/data/images.h"

#include <stdlib.h>
#include "common/data/idx.h"
#include "common/data/partition.h"

const char *const image_scalings[] = {"pixels", "unit", "none", NULL};

struct open_pair {
    struct idx images, labels;
};

static void close_pair(struct open_pair *p)
{
    idx_close(&p->images);
    idx_close(&p->labels);
}

static enum err open_pair(const struct image_pair *files, const char *hint, struct open_pair *out,
                          struct fault *fault)
{
    enum err err =
        idx_open(files->images, files->images_field, hint, 2, LIMIT_TENSOR_DIMS, &out->images, fault);
    if (err == ERR_OK)
        err = idx_open(files->labels, files->labels_field, hint, 1, 1, &out->labels, fault);
    if (err == ERR_OK && out->labels.dims[0] != out->images.dims[0])
        err = idx_fault(&out->labels, 4, fault,
                        "%zu labels for the %zu images of %s: name files that belong together",
                        out->labels.dims[0], out->images.dims[0], files->images);
    return err;
}

static enum err read_labels(struct idx *f, int num_classes, int32_t *out, struct fault *fault)
{
    const size_t n = f->dims[0];
    uint8_t *bytes = malloc(n);
    if (!bytes)
        return fault_set(fault, ERR_NO_MEMORY, f->field, "no memory for %zu labels", n);
    enum err err = idx_read(f, bytes, fault);
    for (size_t i = 0; err == ERR_OK && i < n; i++) {
        if (bytes[i] >= num_classes)
            err = idx_fault(f, f->header_bytes + i, fault, "label %d, but there are only the classes 0 to %d",
                            bytes[i], num_classes - 1);
        out[i] = bytes[i];
    }
    free(bytes);
    return err;
}

static int count_classes(const struct pool *p)
{
    int32_t most = 0;
    for (size_t i = 0; i < p->num_rows; i++)
        if (p->labels[i] > most)
            most = p->labels[i];
    return most + 1;
}

static enum err read_pairs(struct open_pair *pairs, size_t num_pairs, int64_t num_classes, struct pool *out,
                           struct fault *fault)
{
    size_t num_rows = 0;
    for (size_t i = 0; i < num_pairs; i++)
        num_rows += pairs[i].images.dims[0];
    enum err err = pool_alloc_bytes(out, num_rows, pairs[0].images.item_bytes, pairs[0].images.field, fault);
    size_t row = 0;
    for (size_t i = 0; err == ERR_OK && i < num_pairs; i++) {
        err = idx_read(&pairs[i].images, out->bytes + row * out->num_features, fault);
        if (err == ERR_OK)
            err = read_labels(&pairs[i].labels, num_classes ? (int)num_classes : UINT8_MAX + 1,
                              out->labels + row, fault);
        row += pairs[i].images.dims[0];
    }
    if (err == ERR_OK)
        out->num_classes = num_classes ? (int)num_classes : count_classes(out);
    return err;
}

static enum err read_files(const struct image_files *files, int64_t num_classes, struct pool *out,
                           struct fault *fault)
{
    struct open_pair pairs[2] = {0};
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < files->num_pairs; i++) {
        err = open_pair(&files->pairs[i], files->hint, &pairs[i], fault);
        if (err == ERR_OK && pairs[i].images.item_bytes != pairs[0].images.item_bytes)
            err = idx_fault(&pairs[i].images, 8, fault, "images of %zu bytes, but those of %s have %zu",
                            pairs[i].images.item_bytes, files->pairs[0].images, pairs[0].images.item_bytes);
    }
    if (err == ERR_OK)
        err = read_pairs(pairs, files->num_pairs, num_classes, out, fault);
    for (size_t i = 0; i < 2; i++)
        close_pair(&pairs[i]);
    return err;
}

enum err images_load(const struct image_files *files, const struct image_options *options, uint64_t seed,
                     struct loaded *out, struct fault *fault)
{
    struct partition partition;
    struct pool *pool = &out->pool;
    enum err err = partition_parse(options->partition, options->default_partition, &partition, fault);
    if (err == ERR_OK)
        err = read_files(files, options->num_classes, pool, fault);
    if (err == ERR_OK)
        err = pool_scale(pool, (enum pool_scaling)options->scaling, fault);
    if (err == ERR_OK)
        err = partition_run(&partition, &(struct labelled){pool->labels, pool->num_rows, pool->num_classes},
                            seed, &out->shares, fault);
    return err;
}
