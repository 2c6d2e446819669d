/* How a pool of labelled examples is shared out: one row per partition in a table of functions. A new
 * partition is a function and a row. docs/datasets.md has the recipes. */
#ifndef FEDLANE_DATA_PARTITION_H
#define FEDLANE_DATA_PARTITION_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/data/shares.h"

/* What a partition looks at. */
struct labelled {
    const int32_t *labels; /* [num_rows], each 0..num_classes-1 */
    size_t num_rows;
    int num_classes;
};

/* The fields of all partitions; each takes those that its field table names. */
struct partition_params {
    int64_t devices;
    int64_t shards_per_device;
    double alpha; /* above 0 */
    int64_t min_examples;
};

struct partition {
    const struct partition_row *row; /* which one, in the table */
    struct partition_params params;
};

/* `obj` is the object under "data.partition", or NULL for `default_name` with its defaults. Faults name the
 * field. */
enum err partition_parse(const json_t *obj, const char *default_name, struct partition *out,
                         struct fault *fault) MUST_CHECK;
/* Shares out the rows: each at most once, at least two to each device, the same for the same seed.
 * ERR_INVALID_FIELD when the examples do not suffice. The caller releases *out. */
enum err partition_run(const struct partition *p, const struct labelled *in, uint64_t seed,
                       struct shares *out, struct fault *fault) MUST_CHECK;

/* The functions of the table. Each gets parameters within the bounds of its fields and *out empty; faults
 * name the field from "data" on. */
enum err partition_iid(const struct labelled *in, const struct partition_params *params, uint64_t seed,
                       struct shares *out, struct fault *fault) MUST_CHECK;
enum err partition_label_shards(const struct labelled *in, const struct partition_params *params,
                                uint64_t seed, struct shares *out, struct fault *fault) MUST_CHECK;
/* The recipe of the FedProx authors for MNIST: Li et al., arXiv 1812.06127, appendix C.1 and their
 * generate_niid.py. */
enum err partition_paper_label_shards(const struct labelled *in, const struct partition_params *params,
                                      uint64_t seed, struct shares *out, struct fault *fault) MUST_CHECK;

/* Each class shared out over the devices by Dirichlet(alpha): Yurochkin et al., arXiv 1905.12022, section 4.
 */
enum err partition_dirichlet(const struct labelled *in, const struct partition_params *params, uint64_t seed,
                             struct shares *out, struct fault *fault) MUST_CHECK;

/* Stable sort of the row numbers by label. out_rows is [num_rows]; the rows of label l are
 * out_rows[out_first[l] .. out_first[l + 1] - 1]; out_first is [num_classes + 1]. */
void rows_by_label(const struct labelled *in, uint32_t *out_rows, size_t *out_first);

#endif
