/* A large text file, plain or compressed by gzip, read once from front to end in blocks. */
#ifndef FEDLANE_DATA_TEXT_FILE_H
#define FEDLANE_DATA_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

struct gzFile_s;
struct sha256;

struct text_file {
    struct gzFile_s *stream;
    const char *path;  /* borrowed */
    const char *field; /* borrowed: the field that faults name */
    bool is_compressed;
    bool is_at_end;     /* there is nothing behind `end` */
    char *block;        /* what was read and is still wanted: block[0 .. end - 1], with a NUL behind it */
    size_t at, end;     /* `at` is the reader's own place within */
    uint64_t offset;    /* of block[0] in the (uncompressed) content */
    struct sha256 *sum; /* borrowed: gets the (uncompressed) content as it is read; NULL: nobody asks */
};

/* ERR_BAD_FILE, ERR_NO_MEMORY. A UTF-8 byte order mark is passed over. On error there is nothing to close. */
enum err text_open(const char *path, const char *field, struct text_file *out,
                   struct fault *fault) MUST_CHECK;
/* From now on the content, from its first byte on, goes through this hash. Right behind text_open.
 * ERR_INTERNAL. */
enum err text_sum(struct text_file *f, struct sha256 *sum) MUST_CHECK;
/* Drops the bytes before `keep`, so that `at`, `end` and whatever else counts from block[0] go down by keep,
 * and reads more behind the others. ERR_OK with is_at_end where there is no more. ERR_BAD_FILE also for a
 * piece without an end: when what must be kept fills the block. */
enum err text_more(struct text_file *f, size_t keep, struct fault *fault) MUST_CHECK;
/* Is there a byte at `at`? Reads more if need be: what is before *keep is then given up, and *keep is 0. */
enum err text_look(struct text_file *f, size_t *keep, bool *out_is_there, struct fault *fault) MUST_CHECK;
void text_close(struct text_file *f); /* also of a zeroed one */

/* "FILE, byte N: ..." */
enum err text_fault(const struct text_file *f, uint64_t offset, struct fault *fault, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
