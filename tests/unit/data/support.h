/* What the tests of common/data share: golden files, data sets from JSON text, IDX files made on the spot. */
#ifndef FEDLANE_TESTS_DATA_SUPPORT_H
#define FEDLANE_TESTS_DATA_SUPPORT_H

#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/data/dataset.h"

json_t *golden(const char *name); /* tests/data/NAME */

/* The object as JSON text with ' for ", filled in like printf. Fails the test with the fault's words. */
struct dataset *load(uint64_t default_seed, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Loading must end with this error, at this field, with these words in its detail. */
void ck_refused(enum err err, const char *field, const char *words, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* The checksums of a golden file's "data" entry. sum_x is compared by the caller: its tolerance differs. */
void ck_golden_counts(const struct dataset *d, const json_t *expected);
/* Sum of all features of all training examples, as gathered. */
double sum_x_train(const struct dataset *d);

/* A new directory for the test's files; files_remove deletes it. */
void files_create(void);
void files_remove(void);
const char *file_path(const char *name); /* valid until the eighth call after */
void file_write(const char *name, const void *bytes, size_t n, bool compressed);
/* An IDX file: magic 00 00 08 num_dims, the dims, then `n` bytes of content. Returns the file's length. */
size_t idx_write(const char *name, int num_dims, const uint32_t *dims, const uint8_t *content, size_t n,
                 bool compressed);
void file_read(const char *name, uint8_t *out, size_t max, size_t *out_n);

/* Within the directory of files_create. */
void folder_create(const char *name);
void text_write(const char *name, const char *text);
/* The examples of one device, in order: x is [n][features]. */
void ck_device(const struct dataset *d, size_t k, enum data_split split, size_t n, const float *x,
               const int32_t *y);
/* Loads the object with the file cut at every byte, and with bytes changed `flips` times: it must load or be
 * refused with words. */
void abuse(const char *name, const char *text, uint64_t flips, const char *fmt, ...) PRINTF_LIKE(4, 5);

#endif
