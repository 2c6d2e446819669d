/* Examples as they come from files, before anybody knows how many: a pool of floats (or bytes) that grows,
 * and for each row the device that owns it and whether it trains or tests. */
#ifndef FEDLANE_DATA_COLLECTOR_H
#define FEDLANE_DATA_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/data/dataset.h"
#include "common/data/name_table.h"
#include "common/data/source.h"

struct collector {
    const char *field; /* what faults about sizes name */
    struct pool pool;  /* num_rows and num_features (0: not known yet) so far; nothing of its scaling */
    uint32_t *owners;  /* [num_rows]: 2 * device + (1 for a test row) */
    size_t room;       /* rows that the arrays can take */
    bool are_bytes;    /* decided by whoever sets num_features */
    bool are_texts;    /* likewise: the pool gets its text from elsewhere, and only labels are kept here */
    struct name_table devices;
};

#define COLLECTOR_INIT(field_name) ((struct collector){.field = (field_name)})
void collector_release(struct collector *c);

/* Room for `rows` rows behind the num_rows that count; num_features must be known. The pool's arrays may
 * move. ERR_INVALID_FIELD past LIMIT_DATA_POOL, ERR_NO_MEMORY. */
enum err collector_reserve(struct collector *c, size_t rows, struct fault *fault) MUST_CHECK;
/* The next rows come from this file, of this user (NULL: of nobody). */
enum err collector_origin(struct collector *c, const char *file, const char *user,
                          struct fault *fault) MUST_CHECK;
/* Counts the next `rows` rows, whose values and labels the caller has written. */
void collector_add(struct collector *c, size_t rows, size_t device, enum data_split split);
/* A device's number, new ones in the order in which they come. A name that is no device's name (see
 * source_name_is_good) is ERR_BAD_FILE without a fault: the caller knows where it stands. */
enum err collector_device(struct collector *c, const char *name, size_t len, size_t *out_device,
                          struct fault *fault) MUST_CHECK;

/* For a source of one device, which has no name: device 0. */
enum err collector_one_device(struct collector *c, struct fault *fault) MUST_CHECK;

/* What collector_finish makes of the rows. */
enum collector_split {
    COLLECTOR_SHUFFLE, /* by stream RNG_SPLIT: at least two rows a device */
    COLLECTOR_OWN      /* as added: at least one row to train */
};
/* The pool, which keeps the rows in the order in which they came, and the devices' shares, rows in that
 * order. order[i] is the device that becomes the i-th, NULL: as they came. ERR_BAD_FILE names a device that
 * has too few rows. */
enum err collector_finish(struct collector *c, enum collector_split split, const uint32_t *order,
                          struct loaded *out, struct fault *fault) MUST_CHECK;
/* The pool alone, for a partition to share out. */
void collector_take_pool(struct collector *c, struct pool *out);

#endif
