/* What the fuzz targets share. A target is one function: libFuzzer feeds it in `./dev fuzz`, replay.c feeds
 * it the stored inputs of tests/fuzz/corpus in `./dev check`. It proves more than that nothing crashes: what
 * is taken comes out again as it went in, and what is refused is refused with a reason. */
#ifndef FEDLANE_TESTS_FUZZ_H
#define FEDLANE_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Says what does not hold, and aborts: that is what libFuzzer takes for a find. */
#define PROVE(cond)                                                                                          \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            bug("does not hold: %s", #cond);                                                                 \
    } while (0)

/* An error comes with a fault of the same kind, whose text is there and is UTF-8; ERR_OK comes with none. */
void fuzz_prove_told(enum err e, const struct fault *fault);

/* Out of memory is no finding of a parser's; everything else than these two is. */
static inline bool fuzz_is_refusal(enum err e)
{
    return e != ERR_OK && e != ERR_NO_MEMORY;
}

/* An input that is taken apart from its front. */
struct fuzz_input {
    const uint8_t *at;
    size_t left;
};
uint8_t fuzz_byte(struct fuzz_input *in); /* 0 at the end */
/* All up to the next `mark` (which is passed over) or the end. */
struct fuzz_input fuzz_until(struct fuzz_input *in, const char *mark);
/* As a text of its own, without what follows a NUL; the caller frees. */
char *fuzz_text(const struct fuzz_input *in);

/* A regular file of these bytes, in memory; it lives until the slot's next use. */
#define FUZZ_FILES 4
const char *fuzz_file(int slot, const void *bytes, size_t n);
/* The same compressed by gzip. */
const char *fuzz_gzip_file(int slot, const void *bytes, size_t n);

/* An empty folder of this process, made at the first call and removed at its end. */
const char *fuzz_folder(void);

#endif
