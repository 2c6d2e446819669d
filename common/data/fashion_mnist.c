#include <unistd.h>
#include "common/base/limits.h"
#include "common/data/images.h"

#define CLASSES 10

struct params {
    struct source_common common;
    const char *path;
    json_t *partition;
    int standardise;
};

static const struct json_field fields[] = {
    SOURCE_COMMON_FIELDS(struct params),
    JSON_FIELD(struct params, path, JSON_FIELD_TEXT, .min = 1, .max = 4000),
    JSON_FIELD(struct params, partition, JSON_FIELD_OBJECT, .min = 0),
    JSON_FIELD(struct params, standardise, JSON_FIELD_CHOICE, .choices = image_scalings),
};

/* The file of this name in the directory: compressed as the package brings it, or plain where only that is
 * there. */
static const char *file_in(struct arena *arena, const char *dir, const char *name)
{
    const char *plain = arena_printf(arena, "%s/%s", dir, name);
    const char *compressed = arena_printf(arena, "%s/%s.gz", dir, name);
    return plain && compressed && access(compressed, F_OK) != 0 && access(plain, F_OK) == 0 ? plain
                                                                                            : compressed;
}

static enum err load(const struct params *p, uint64_t seed, struct arena *arena, struct loaded *out,
                     struct fault *fault)
{
    const struct image_files files = {
        .pairs = {{file_in(arena, p->path, "train-images-idx3-ubyte"),
                   file_in(arena, p->path, "train-labels-idx1-ubyte"), "data.path", "data.path"},
                  {file_in(arena, p->path, "t10k-images-idx3-ubyte"),
                   file_in(arena, p->path, "t10k-labels-idx1-ubyte"), "data.path", "data.path"}},
        .num_pairs = 2,
        .hint =
            "the Debian package dataset-fashion-mnist brings it (apt install dataset-fashion-mnist), or set "
            "data.path to the directory that has it",
    };
    const struct image_options options = {
        .num_classes = CLASSES,
        .scaling = p->standardise,
        .partition = p->partition,
        .default_partition = "paper_label_shards",
    };
    for (size_t i = 0; i < files.num_pairs; i++)
        if (!files.pairs[i].images || !files.pairs[i].labels)
            return fault_set(fault, ERR_NO_MEMORY, "data.path", "no memory for the names of the files");
    return images_load(&files, &options, seed, out, fault);
}

enum err source_fashion_mnist(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    struct params p = {.path = "/usr/share/datasets/fashion-mnist", .standardise = POOL_SCALING_PIXELS};
    struct arena arena = ARENA_INIT(64 * KIB);
    enum err err = json_spec_parse(data, fields, sizeof fields / sizeof *fields, JSON_REFUSE_UNKNOWN, "data.",
                                   &arena, &p, fault);
    if (err == ERR_OK)
        err = load(&p, seed, &arena, out, fault);
    arena_release(&arena);
    return err;
}
