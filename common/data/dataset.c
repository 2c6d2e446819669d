#include "common/data/dataset.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/str.h"
#include "common/data/dataset_impl.h"

static const struct {
    const char *name;
    source_load *load;
} sources[] = {
    {"synthetic", source_synthetic},
    {"fashion_mnist", source_fashion_mnist},
    {"idx", source_idx},
    {"csv", source_csv},
    {"directory", source_directory},
    {"leaf", source_leaf},
    {"npy", source_npy},
    {"text", source_text},
    {"sentiment", source_sentiment},
};

#define SOURCE_NAMES "synthetic, fashion_mnist, idx, csv, directory, leaf, npy, text and sentiment"

static enum err find_source(const json_t *data, size_t *out_index, struct fault *fault)
{
    if (!json_is_object(data))
        return fault_set(fault, ERR_INVALID_FIELD, "data",
                         "must be an object, such as {\"source\": \"synthetic\"}");
    const json_t *source = json_object_get(data, "source");
    if (!source)
        return fault_set(fault, ERR_MISSING_FIELD, "data.source",
                         "say where the data comes from: " SOURCE_NAMES);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (str_eq(sources[i].name, json_string_value(source))) {
            *out_index = i;
            return ERR_OK;
        }
    return fault_set(fault, ERR_INVALID_FIELD, "data.source",
                     "\"%.60s\" is no source; the sources are " SOURCE_NAMES,
                     json_is_string(source) ? json_string_value(source) : "(no text)");
}

bool source_name_is_good(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return false;
    return len > 0 && len <= LIMIT_NAME && utf8_is_valid(name, len);
}

void loaded_release(struct loaded *l)
{
    for (size_t k = 0; l->names && k < l->shares.num_devices; k++)
        free(l->names[k]);
    free(l->names);
    free(l->num_train);
    free(l->vocabulary);
    pool_release(&l->pool);
    shares_release(&l->shares);
    *l = (struct loaded){0};
}

/* The sources have checked the fields that they share; here they are only read. */
static int64_t first_ordinal(const json_t *data)
{
    return json_integer_value(json_object_get(data, "first_ordinal"));
}

/* How the rows of each device are split: as the source says, or by a shuffle. */
static enum err split(struct loaded *l, const json_t *data, uint64_t seed, struct fault *fault)
{
    const size_t devices = l->shares.num_devices;
    if (first_ordinal(data) > LIMIT_ORDINAL - (int64_t)devices + 1)
        return fault_set(fault, ERR_INVALID_FIELD, "data.first_ordinal",
                         "%lld is too large for %zu devices: the last one may have the ordinal %lld",
                         (long long)first_ordinal(data), devices, (long long)LIMIT_ORDINAL);
    if (l->num_train)
        return ERR_OK;
    enum err err = shares_shuffle(&l->shares, seed, first_ordinal(data), fault);
    if (err != ERR_OK)
        return err;
    l->num_train = calloc(devices, sizeof *l->num_train);
    if (!l->num_train)
        return fault_set(fault, ERR_NO_MEMORY, "data", "no memory for %zu devices", devices);
    for (size_t k = 0; k < devices; k++)
        l->num_train[k] = shares_num_train(shares_count(&l->shares, k));
    return ERR_OK;
}

static enum err fill_devices(struct dataset *d, int64_t first, struct fault *fault)
{
    const struct loaded *loaded = &d->loaded;
    const struct shares *shares = &loaded->shares;
    if (shares->num_devices == 0)
        bug("a source without devices");
    d->devices = calloc(shares->num_devices, sizeof *d->devices);
    if (!d->devices)
        return fault_set(fault, ERR_NO_MEMORY, "data", "no memory for %zu devices", shares->num_devices);
    d->num_devices = shares->num_devices;
    for (size_t k = 0; k < d->num_devices; k++) {
        const size_t n = shares_count(shares, k), num_train = loaded->num_train[k];
        if (num_train < 1 || num_train > n)
            bug("device %zu trains on %zu of %zu examples", k, num_train, n);
        d->devices[k] = (struct device_data){.ordinal = first + (int64_t)k,
                                             .name = loaded->names ? loaded->names[k] : "",
                                             .num_train = num_train,
                                             .num_test = n - num_train,
                                             .rows = shares->rows + shares->first[k]};
    }
    return ERR_OK;
}

static enum err take_name(struct dataset *d, const json_t *data, struct fault *fault)
{
    const char *name = json_string_value(json_object_get(data, "name"));
    d->name = strdup(name ? name : json_string_value(json_object_get(data, "source")));
    return d->name ? ERR_OK : fault_set(fault, ERR_NO_MEMORY, "data", "no memory for a data set");
}

static uint64_t seed_of(const json_t *data, uint64_t default_seed)
{
    const json_t *seed = json_object_get(data, "seed");
    return json_is_integer(seed) ? (uint64_t)json_integer_value(seed) : default_seed;
}

enum err dataset_load(const json_t *data, uint64_t default_seed, struct dataset **out, struct fault *fault)
{
    size_t index = 0;
    struct dataset *d = NULL;
    enum err err = find_source(data, &index, fault);
    if (err != ERR_OK)
        return err;
    d = calloc(1, sizeof *d);
    if (!d)
        return fault_set(fault, ERR_NO_MEMORY, "data", "no memory for a data set");
    const uint64_t seed = seed_of(data, default_seed);
    err = sources[index].load(data, seed, &d->loaded, fault);
    if (err == ERR_OK)
        err = split(&d->loaded, data, seed, fault);
    if (err == ERR_OK)
        err = standardise_apply(&d->loaded.standardise, &d->loaded.pool, &d->loaded.shares,
                                d->loaded.num_train, fault);
    if (err == ERR_OK)
        err = fill_devices(d, first_ordinal(data), fault);
    if (err == ERR_OK)
        err = take_name(d, data, fault);
    if (err != ERR_OK) {
        dataset_free(d);
        return err;
    }
    *out = d;
    return ERR_OK;
}

void dataset_free(struct dataset *d)
{
    if (!d)
        return;
    loaded_release(&d->loaded);
    free(d->devices);
    free(d->name);
    free(d);
}

const char *dataset_name(const struct dataset *d)
{
    return d->name;
}

int dataset_input(const struct dataset *d, int64_t out_shape[LIMIT_TENSOR_DIMS])
{
    const struct pool *pool = &d->loaded.pool;
    const bool has_vectors = pool->text.vectors != NULL;
    out_shape[0] = (int64_t)(has_vectors ? pool->text.steps : pool->num_features);
    if (has_vectors)
        out_shape[1] = (int64_t)pool->text.width;
    return has_vectors ? 2 : 1;
}

size_t dataset_num_tokens(const struct dataset *d)
{
    return d->loaded.num_tokens;
}

const char *dataset_vocabulary(const struct dataset *d)
{
    return d->loaded.vocabulary;
}

const char *dataset_vocabulary_sha256(const struct dataset *d)
{
    return d->loaded.vocabulary_sha256;
}

size_t dataset_num_features(const struct dataset *d)
{
    return d->loaded.pool.num_features;
}

int dataset_num_classes(const struct dataset *d)
{
    return d->loaded.pool.num_classes;
}

size_t dataset_num_devices(const struct dataset *d)
{
    return d->num_devices;
}

const struct device_data *dataset_device(const struct dataset *d, size_t i)
{
    if (i >= d->num_devices)
        bug("device %zu of %zu", i, d->num_devices);
    return &d->devices[i];
}

const struct device_data *dataset_find(const struct dataset *d, int64_t ordinal)
{
    const int64_t first = d->devices[0].ordinal;
    return ordinal >= first && (uint64_t)(ordinal - first) < d->num_devices ? &d->devices[ordinal - first]
                                                                            : NULL;
}

static const uint32_t *split_rows(const struct device_data *device, enum data_split split, size_t *out_count)
{
    *out_count = split == SPLIT_TRAIN ? device->num_train : device->num_test;
    return split == SPLIT_TRAIN ? device->rows : device->rows + device->num_train;
}

static uint32_t row_at(const struct device_data *device, const uint32_t *rows, size_t count, size_t at)
{
    if (at >= count)
        bug("example %zu of %zu of device %lld", at, count, (long long)device->ordinal);
    return rows[at];
}

/* The rows of a device lie anywhere in the pool, where no processor guesses the next one. */
#define ROWS_AHEAD 4

void dataset_gather_apart(const struct dataset *d, const struct device_data *device, enum data_split split,
                          size_t first, const uint32_t *indices, size_t n, real *out_x, size_t stride,
                          int32_t *out_y)
{
    const struct pool *pool = &d->loaded.pool;
    size_t count;
    const uint32_t *rows = split_rows(device, split, &count);
    for (size_t i = 0; i < n; i++) {
        if (i + ROWS_AHEAD < n) {
            const size_t ahead = i + ROWS_AHEAD;
            pool_prefetch(pool, row_at(device, rows, count, indices ? indices[ahead] : first + ahead));
        }
        const uint32_t row = row_at(device, rows, count, indices ? indices[i] : first + i);
        pool_read(pool, row, out_x + i * stride);
        out_y[i] = pool_label(pool, row);
    }
}

void dataset_gather(const struct dataset *d, const struct device_data *device, enum data_split split,
                    size_t first, const uint32_t *indices, size_t n, real *out_x, int32_t *out_y)
{
    dataset_gather_apart(d, device, split, first, indices, n, out_x, d->loaded.pool.num_features, out_y);
}

const char *dataset_place(const struct dataset *d, const struct device_data *device, enum data_split split,
                          size_t example, char out[DATASET_PLACE])
{
    size_t count;
    const uint32_t *rows = split_rows(device, split, &count);
    pool_place(&d->loaded.pool, row_at(device, rows, count, example), out, DATASET_PLACE);
    return out;
}

void dataset_label_counts(const struct dataset *d, const struct device_data *device, enum data_split split,
                          int64_t *out)
{
    size_t count;
    const uint32_t *rows = split_rows(device, split, &count);
    memset(out, 0, (size_t)d->loaded.pool.num_classes * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[pool_label(&d->loaded.pool, rows[i])]++;
}
