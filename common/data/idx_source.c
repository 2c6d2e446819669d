#include "common/base/limits.h"
#include "common/data/images.h"

struct params {
    struct source_common common;
    const char *train_images, *train_labels, *test_images, *test_labels;
    int64_t classes;
    json_t *partition;
    int standardise;
};

#define PATH_FIELD(member, ...)                                                                              \
    JSON_FIELD(struct params, member, JSON_FIELD_TEXT, .min = 1, .max = 4095, __VA_ARGS__)
static const struct json_field fields[] = {
    SOURCE_COMMON_FIELDS(struct params),
    PATH_FIELD(train_images, .is_required = true),
    PATH_FIELD(train_labels, .is_required = true),
    PATH_FIELD(test_images, .is_required = false),
    PATH_FIELD(test_labels, .is_required = false),
    JSON_FIELD(struct params, classes, JSON_FIELD_INT, .min = 1, .max = 256),
    JSON_FIELD(struct params, partition, JSON_FIELD_OBJECT, .min = 0),
    JSON_FIELD(struct params, standardise, JSON_FIELD_CHOICE, .choices = image_scalings),
};

static enum err load(const struct params *p, uint64_t seed, struct loaded *out, struct fault *fault)
{
    const struct image_files files = {
        .pairs = {{p->train_images, p->train_labels, "data.train_images", "data.train_labels"},
                  {p->test_images, p->test_labels, "data.test_images", "data.test_labels"}},
        .num_pairs = p->test_images ? 2 : 1,
        .hint = "a path is relative to the directory where the program was started",
    };
    const struct image_options options = {
        .num_classes = p->classes,
        .scaling = p->standardise,
        .partition = p->partition,
        .default_partition = "iid",
    };
    if (!p->test_images != !p->test_labels)
        return fault_set(fault, ERR_MISSING_FIELD, p->test_images ? "data.test_labels" : "data.test_images",
                         "test images and test labels go together: give both or neither");
    return images_load(&files, &options, seed, out, fault);
}

enum err source_idx(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault)
{
    struct params p = {.standardise = POOL_SCALING_PIXELS};
    struct arena arena = ARENA_INIT(64 * KIB);
    enum err err = json_spec_parse(data, fields, sizeof fields / sizeof *fields, JSON_REFUSE_UNKNOWN, "data.",
                                   &arena, &p, fault);
    if (err == ERR_OK)
        err = load(&p, seed, out, fault);
    arena_release(&arena);
    return err;
}
