/* Word vectors from a text file, GloVe's or word2vec's: only those of the words that are wanted. words.h has
 * the format. */
#ifndef FEDLANE_DATA_WORD_VECTORS_H
#define FEDLANE_DATA_WORD_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"
#include "common/crypto/sha256.h"
#include "common/data/name_table.h"

struct word_vectors {
    float *values; /* [count][width]; row 0 is zeros */
    size_t count, room, width;
    uint32_t *rows;               /* [wanted->count]: a word's row, 0 where the file does not have it */
    char sha256[SHA256_HEX_SIZE]; /* of the file, uncompressed */
};

/* Where a word has two lines the first counts, with a warning. ERR_BAD_FILE names file and line, the field is
 * data.vectors. *out begins zeroed; the caller releases it, also on error. */
enum err word_vectors_read(const char *path, const struct name_table *wanted, struct word_vectors *out,
                           struct fault *fault) MUST_CHECK;
void word_vectors_release(struct word_vectors *v);

#endif
