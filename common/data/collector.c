#include "common/data/collector.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/limits.h"

void collector_release(struct collector *c)
{
    pool_release(&c->pool);
    free(c->owners);
    name_table_release(&c->devices);
    *c = COLLECTOR_INIT(c->field);
}

/* -- growing --------------------------------------------------------------------------------------------- */

static size_t value_bytes(const struct collector *c)
{
    return c->are_texts ? 0 : c->are_bytes ? sizeof(uint8_t) : sizeof(float);
}

static bool resize(void **array, size_t count, size_t size)
{
    void *moved = realloc(*array, count * size);
    if (moved)
        *array = moved;
    return moved != NULL;
}

/* Pages that nobody has written cost nothing, so room for half as much again is cheap. */
static bool resize_all(struct collector *c, size_t rows)
{
    void *values = c->are_bytes ? (void *)c->pool.bytes : (void *)c->pool.values;
    void *labels = c->pool.labels, *owners = c->owners;
    const bool is_done = (c->are_texts || resize(&values, rows * c->pool.num_features, value_bytes(c))) &&
                         resize(&labels, rows, sizeof *c->pool.labels) &&
                         resize(&owners, rows, sizeof *c->owners);
    if (c->are_bytes)
        c->pool.bytes = values;
    else
        c->pool.values = values;
    c->pool.labels = labels;
    c->owners = owners;
    return is_done;
}

enum err collector_reserve(struct collector *c, size_t rows, struct fault *fault)
{
    const size_t n = c->pool.num_rows, features = c->pool.num_features;
    if (rows <= c->room - n)
        return ERR_OK;
    if (rows > UINT32_MAX - n || features > LIMIT_DATA_POOL ||
        n + rows > LIMIT_DATA_POOL / (features * value_bytes(c) + sizeof(int32_t)))
        return fault_set(fault, ERR_INVALID_FIELD, c->field,
                         "%zu examples and more of %zu features do not fit into one data set, which holds at "
                         "most %zu GiB: use smaller files",
                         n, features, LIMIT_DATA_POOL / GIB);
    size_t room = c->room + c->room / 2;
    room = room > n + rows ? room : n + rows;
    if (!resize_all(c, room))
        return fault_set(fault, ERR_NO_MEMORY, c->field,
                         "no memory for %zu examples of %zu features (%zu MiB)", room, features,
                         room * features * value_bytes(c) / MIB);
    c->room = room;
    return ERR_OK;
}

enum err collector_origin(struct collector *c, const char *file, const char *user, struct fault *fault)
{
    if (pool_add_origin(&c->pool, file, user) == ERR_OK)
        return ERR_OK;
    return fault_set(fault, ERR_NO_MEMORY, c->field, "no memory for the names of the files");
}

void collector_add(struct collector *c, size_t rows, size_t device, enum data_split split)
{
    if (rows > c->room - c->pool.num_rows)
        bug("%zu rows without room", rows);
    for (size_t i = 0; i < rows; i++)
        c->owners[c->pool.num_rows++] = (uint32_t)(2 * device + (split == SPLIT_TEST));
}

enum err collector_device(struct collector *c, const char *name, size_t len, size_t *out_device,
                          struct fault *fault)
{
    if (!source_name_is_good(name, len))
        return ERR_BAD_FILE;
    if (name_put(&c->devices, name, len, out_device) != ERR_OK)
        return fault_set(fault, ERR_NO_MEMORY, c->field, "no memory for the names of the devices");
    if (c->devices.count > LIMIT_DEVICES_PER_RUN)
        return fault_set(fault, ERR_INVALID_FIELD, c->field, "more than %d devices", LIMIT_DEVICES_PER_RUN);
    return ERR_OK;
}

enum err collector_one_device(struct collector *c, struct fault *fault)
{
    size_t device;
    if (name_put(&c->devices, "", 0, &device) != ERR_OK)
        return fault_set(fault, ERR_NO_MEMORY, c->field, "no memory for a device");
    return ERR_OK;
}

/* -- the end --------------------------------------------------------------------------------------------- */

void collector_take_pool(struct collector *c, struct pool *out)
{
    /* Shrinking cannot fail in a way that matters: the arrays are then just larger. */
    if (c->pool.num_rows > 0 && resize_all(c, c->pool.num_rows))
        c->room = c->pool.num_rows;
    *out = c->pool;
    c->pool = (struct pool){0};
    c->room = 0;
}

/* position[device] = its place among the devices. */
static void positions(const uint32_t *order, size_t devices, uint32_t *out)
{
    for (size_t i = 0; i < devices; i++)
        out[order ? order[i] : i] = (uint32_t)i;
}

/* Rows by device, those that train first, in the order in which they came: a counting sort. at[] is
 * [2 * devices + 1]. */
static void share_out(const struct collector *c, const uint32_t *position, size_t *at, struct shares *out)
{
    const size_t devices = c->devices.count, rows = c->pool.num_rows;
    for (size_t i = 0; i < rows; i++)
        at[2 * position[c->owners[i] / 2] + c->owners[i] % 2 + 1]++;
    for (size_t g = 0; g < 2 * devices; g++)
        at[g + 1] += at[g];
    for (size_t k = 0; k <= devices; k++)
        out->first[k] = at[2 * k];
    for (size_t i = 0; i < rows; i++)
        out->rows[at[2 * position[c->owners[i] / 2] + c->owners[i] % 2]++] = (uint32_t)i;
    /* at[g] now is where g + 1 began. */
}

static enum err check_sizes(const struct collector *c, enum collector_split split, const struct loaded *l,
                            struct fault *fault)
{
    for (size_t k = 0; k < l->shares.num_devices; k++) {
        const size_t n = shares_count(&l->shares, k);
        const char *name = l->names[k], *mark = name && name[0] ? "\"" : "";
        if (split == COLLECTOR_OWN && l->num_train[k] == 0)
            return fault_set(fault, ERR_BAD_FILE, c->field,
                             "device \"%.80s\" has no example to train on; leave it out of the data", name);
        if (split == COLLECTOR_SHUFFLE && n < 2)
            return fault_set(
                fault, ERR_BAD_FILE, c->field,
                "device %zu%s%s%.80s%s has %zu example%s, but needs two, one to train and one to "
                "test; leave it out of the data, or bring a split of your own",
                k, mark[0] ? " " : "", mark, name, mark, n, n == 1 ? "" : "s");
    }
    return ERR_OK;
}

enum err collector_finish(struct collector *c, enum collector_split split, const uint32_t *order,
                          struct loaded *out, struct fault *fault)
{
    const size_t devices = c->devices.count;
    size_t *at = calloc(2 * devices + 1, sizeof *at);
    uint32_t *position = calloc(devices + 1, sizeof *position);
    enum err err = shares_alloc(&out->shares, devices, c->pool.num_rows, fault);
    if (err != ERR_OK)
        goto out;
    out->names = calloc(devices + 1, sizeof *out->names);
    out->num_train = calloc(devices + 1, sizeof *out->num_train);
    if (!at || !position || !out->names || !out->num_train) {
        err = fault_set(fault, ERR_NO_MEMORY, c->field, "no memory for %zu devices", devices);
        goto out;
    }
    positions(order, devices, position);
    share_out(c, position, at, &out->shares);
    for (size_t k = 0; err == ERR_OK && k < devices; k++) {
        out->num_train[k] = at[2 * k] - out->shares.first[k];
        out->names[k] = name_copy(&c->devices, order ? order[k] : k);
        if (!out->names[k])
            err = fault_set(fault, ERR_NO_MEMORY, c->field, "no memory for %zu devices", devices);
    }
    if (err == ERR_OK)
        err = check_sizes(c, split, out, fault);
    if (split == COLLECTOR_SHUFFLE) {
        free(out->num_train);
        out->num_train = NULL;
    }
    collector_take_pool(c, &out->pool);
out:
    free(at);
    free(position);
    return err;
}
