/* Where examples come from: one row per source in a table of functions. A new source is a file, a function
 * and a row. */
#ifndef FEDLANE_DATA_SOURCE_H
#define FEDLANE_DATA_SOURCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/base/limits.h"
#include "common/crypto/sha256.h"
#include "common/data/pool.h"
#include "common/data/shares.h"
#include "common/data/standardise.h"
#include "common/json/json_spec.h"

/* What a source makes: the examples, and who owns which. */
struct loaded {
    struct pool pool;
    struct shares shares;
    /* [num_devices], for a source that has its own split: how many of a device's rows, from the front,
     * train, at least 1; the others test, in the order given. NULL: each device's rows are shuffled by stream
     * RNG_SPLIT, and nine tenths train. */
    size_t *num_train;
    /* [num_devices] or NULL: each device's name in the source, such as a LEAF user or a file's name; texts of
     * their own. See source_name_is_good(). */
    char **names;
    struct standardise standardise; /* what is to be done to the pool once it is split */
    /* All characters of a text in the order of their tokens, UTF-8 of its own; NULL: features are no tokens.
     */
    char *vocabulary;
    size_t num_tokens; /* of the vocabulary */
    /* Of the vocabulary, or of the file of word vectors; "": neither is there. */
    char vocabulary_sha256[SHA256_HEX_SIZE];
};
/* Also of a zeroed one, and half-filled: what is there is freed. */
void loaded_release(struct loaded *l);

/* Parses its own fields of `data` strictly and fills *out, which starts empty; the caller releases it, also
 * on error. */
typedef enum err source_load(const json_t *data, uint64_t seed, struct loaded *out, struct fault *fault);
/* A device's name: UTF-8 of 1 to LIMIT_NAME bytes without control characters. */
bool source_name_is_good(const char *name, size_t len);
source_load source_synthetic, source_fashion_mnist, source_idx, source_csv, source_directory, source_leaf,
    source_npy, source_text, source_sentiment;

/* The fields that every source has, for the first rows of its table. The struct has them as its member
 * `common`. */
struct source_common {
    const char *source, *name;
    int64_t seed, first_ordinal;
};
#define SOURCE_FIELD(struct_type, member_path, field_name, field_kind, ...)                                  \
    {                                                                                                        \
        .name = (field_name), .kind = (field_kind), .offset = offsetof(struct_type, member_path),            \
        .is_set_offset = -1, __VA_ARGS__                                                                     \
    }
#define SOURCE_COMMON_FIELDS(struct_type)                                                                    \
    SOURCE_FIELD(struct_type, common.source, "source", JSON_FIELD_TEXT, .max = LIMIT_NAME),                  \
        SOURCE_FIELD(struct_type, common.name, "name", JSON_FIELD_TEXT, .min = 1, .max = LIMIT_NAME),        \
        SOURCE_FIELD(struct_type, common.seed, "seed", JSON_FIELD_INT, .min = 0, .max = 9.2e18),             \
        SOURCE_FIELD(struct_type, common.first_ordinal, "first_ordinal", JSON_FIELD_INT, .min = 0,           \
                     .max = (double)LIMIT_ORDINAL)

#endif
