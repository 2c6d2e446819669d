/* fedlane data partition: a file per device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/data/data_file.h"
#include "cli/data/data_stats.h"
#include "cli/data/device_file.h"
#include "cli/data/part_dir.h"
#include "cli/out_file.h"
#include "cli/print.h"
#include "common/base/interrupt.h"
#include "common/base/str.h"

#define COUNT(a)      (sizeof(a) / sizeof *(a))
#define LEAST_NUMERAL 4 /* digits of a file's name */

static const char *const folders[] = {[SPLIT_TRAIN] = "train", [SPLIT_TEST] = "test"};

struct partitioning {
    struct cli *cli;
    struct data_file file;
    enum device_file_kind kind;
    int64_t first, last; /* ordinals */
    int numeral;
    struct part_dir dir;
    int64_t num_files, train, test;
};

static const struct table_column columns[] = {
    {"folder", "path", CELL_TEXT, 0},         {"devices", "devices", CELL_TEXT, 0},
    {"ordinals", "ordinals", CELL_TEXT, 0},   {"train examples", "train", CELL_TEXT, 0},
    {"test examples", "test", CELL_TEXT, 0},  {"files", "num_files", CELL_TEXT, 0},
    {"use it as", "data_file", CELL_TEXT, 0},
};

/* -- options --------------------------------------------------------------------------------------------- */

static enum err read_kind(struct partitioning *p)
{
    const char *wanted = p->cli->options.files;
    p->kind = str_eq(wanted, device_file_endings[DEVICE_FILE_CSV]) ? DEVICE_FILE_CSV : DEVICE_FILE_NPZ;
    if (!wanted || str_eq(wanted, device_file_endings[p->kind]))
        return ERR_OK;
    return fault_set(&p->cli->fault, ERR_USAGE, "files", "--files is npz or csv, not \"%.40s\"", wanted);
}

/* "7" or "0-99". */
static enum err read_range(const char *text, int64_t *out_first, int64_t *out_last)
{
    char first[32];
    const char *dash = strchr(text, '-');
    size_t len = dash ? (size_t)(dash - text) : strlen(text);
    if (len >= sizeof first)
        return ERR_USAGE;
    memcpy(first, text, len);
    first[len] = '\0';
    if (str_to_i64(first, out_first) != ERR_OK || str_to_i64(dash ? dash + 1 : first, out_last) != ERR_OK)
        return ERR_USAGE;
    return *out_first <= *out_last ? ERR_OK : ERR_USAGE;
}

static enum err choose_devices(struct partitioning *p)
{
    const struct dataset *d = p->file.set;
    const char *wanted = p->cli->options.devices;
    const int64_t least = dataset_device(d, 0)->ordinal,
                  most = dataset_device(d, dataset_num_devices(d) - 1)->ordinal;
    p->first = least;
    p->last = most;
    p->numeral = snprintf(NULL, 0, "%lld", (long long)most);
    p->numeral = p->numeral < LEAST_NUMERAL ? LEAST_NUMERAL : p->numeral;
    if (!wanted)
        return ERR_OK;
    if (read_range(wanted, &p->first, &p->last) != ERR_OK)
        return fault_set(&p->cli->fault, ERR_USAGE, "devices",
                         "--devices is a range of ordinals such as 0-99, or one, not \"%.60s\"", wanted);
    if (p->first < least || p->last > most)
        return fault_set(&p->cli->fault, ERR_USAGE, "devices",
                         "--devices %.60s: the data have the devices %lld to %lld", wanted, (long long)least,
                         (long long)most);
    return ERR_OK;
}

/* -- files ----------------------------------------------------------------------------------------------- */

static enum err put_split(struct partitioning *p, const struct device_data *device, enum data_split split)
{
    const size_t n = split == SPLIT_TRAIN ? device->num_train : device->num_test;
    char *path = NULL;
    if (n == 0)
        return ERR_OK;
    if (asprintf(&path, "%s/%s/%0*lld.%s", p->dir.part, folders[split], p->numeral,
                 (long long)device->ordinal, device_file_endings[p->kind]) < 0)
        return ERR_NO_MEMORY;
    enum err e = device_file_write(path, p->kind, p->file.set, device, split, &p->cli->fault);
    free(path);
    p->num_files++;
    *(split == SPLIT_TRAIN ? &p->train : &p->test) += (int64_t)n;
    return e;
}

static enum err put_devices(struct partitioning *p)
{
    enum err e = part_dir_make(&p->dir, folders[SPLIT_TRAIN], &p->cli->fault);
    if (!e)
        e = part_dir_make(&p->dir, folders[SPLIT_TEST], &p->cli->fault);
    for (int64_t ordinal = p->first; ordinal <= p->last && !e && !interrupt_came(); ordinal++) {
        const struct device_data *device = dataset_find(p->file.set, ordinal);
        e = put_split(p, device, SPLIT_TRAIN);
        if (!e)
            e = put_split(p, device, SPLIT_TEST);
    }
    return e;
}

/* Takes the reference. */
static enum err put_json(struct partitioning *p, const char *name, json_t *value)
{
    char *path = NULL, *line = NULL, *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
    enum err e = ERR_NO_MEMORY;
    if (text && asprintf(&path, "%s/%s", p->dir.part, name) >= 0 && asprintf(&line, "%s\n", text) >= 0)
        e = out_file_put(path, line, strlen(line), &p->cli->fault);
    free(path);
    free(line);
    free(text);
    json_decref(value);
    return e;
}

/* What the numbers in the files stand for; NULL where it is nothing else. */
static json_t *vocabulary_json(const struct dataset *d)
{
    if (!*dataset_vocabulary_sha256(d))
        return NULL;
    return dataset_vocabulary(d) ? json_string(dataset_vocabulary(d))
                                 : json_sprintf("sha256:%s", dataset_vocabulary_sha256(d));
}

/* The object to train with. */
static json_t *data_json(const struct partitioning *p)
{
    json_t *data =
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:o*}", "source", "directory", "name", dataset_name(p->file.set),
                  "path", p->dir.path, "classes", dataset_num_classes(p->file.set), "first_ordinal",
                  (json_int_t)p->first, "vocabulary", vocabulary_json(p->file.set));
    if (data && p->kind == DEVICE_FILE_CSV &&
        json_object_set_new(data, "label", json_string(DEVICE_FILE_LABEL)) != 0) {
        json_decref(data);
        data = NULL;
    }
    return data;
}

/* Where it comes from. */
static json_t *origin_json(const struct partitioning *p)
{
    json_t *devices = json_array();
    bool ok = devices != NULL;
    for (size_t k = 0; ok && k < dataset_num_devices(p->file.set); k++) {
        const int64_t ordinal = dataset_device(p->file.set, k)->ordinal;
        if (ordinal >= p->first && ordinal <= p->last)
            ok = json_array_append_new(devices, data_device_json(p->file.set, k)) == 0;
    }
    json_t *origin =
        ok ? json_pack("{s:s, s:O, s:I, s:I, s:I, s:i, s:O}", "made_by", "fedlane " PACKAGE_VERSION, "data",
                       p->file.data, "seed", (json_int_t)p->file.seed, "all_devices",
                       (json_int_t)dataset_num_devices(p->file.set), "features",
                       (json_int_t)dataset_num_features(p->file.set), "classes",
                       dataset_num_classes(p->file.set), "devices", devices)
           : NULL;
    json_decref(devices);
    return origin;
}

static enum err write_all(struct partitioning *p)
{
    enum err e = put_devices(p);
    if (!e)
        e = put_json(p, "data.json", data_json(p));
    if (!e)
        e = put_json(p, "partition.json", origin_json(p));
    return e ? e : part_dir_commit(&p->dir, &p->cli->fault);
}

/* -- the command ----------------------------------------------------------------------------------------- */

static enum err print_result(const struct partitioning *p)
{
    json_t *result = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "path", p->dir.path, "devices",
                               (json_int_t)(p->last - p->first + 1), "first_ordinal", (json_int_t)p->first,
                               "last_ordinal", (json_int_t)p->last, "train", (json_int_t)p->train, "test",
                               (json_int_t)p->test, "num_files", (json_int_t)p->num_files);
    bool ok =
        result && json_object_set_new(result, "data_file", json_sprintf("%s/data.json", p->dir.path)) == 0;
    if (ok && p->cli->format == FORMAT_TABLE)
        ok = json_object_set_new(result, "ordinals",
                                 json_sprintf("%lld to %lld", (long long)p->first, (long long)p->last)) == 0;
    enum err e = ok ? print_object(p->cli, columns, COUNT(columns), result) : ERR_NO_MEMORY;
    json_decref(result);
    return e;
}

enum err cmd_data_partition(struct cli *cli)
{
    struct partitioning p = {.cli = cli, .dir = PART_DIR_INIT};
    if (!cli->options.out_dir || !*cli->options.out_dir)
        return fault_set(&cli->fault, ERR_USAGE, NULL, "--out DIR is missing: the folder to make");
    enum err e = read_kind(&p);
    if (!e)
        e = data_file_load(cli, &p.file);
    if (!e)
        e = choose_devices(&p);
    if (!e)
        e = part_dir_open(&p.dir, cli->options.out_dir, &cli->fault);
    if (!e)
        e = write_all(&p);
    if (!e)
        e = print_result(&p);
    part_dir_release(&p.dir);
    data_file_release(&p.file);
    return cli_fail(cli, e, "data partition");
}
