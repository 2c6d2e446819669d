/* A growable byte buffer with a named maximum. `data` always has a NUL behind `len`, so text can be printed
 * as it is. */
#ifndef FEDLANE_BASE_BUF_H
#define FEDLANE_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include "common/base/err.h"

struct buf {
    char *data; /* NULL while nothing was appended */
    size_t len, cap, max;
};

#define BUF_INIT(maximum) ((struct buf){.max = (maximum)})

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b); /* back to empty; keeps max */
void buf_clear(struct buf *b);   /* len = 0, keeps the memory */
/* ERR_PAYLOAD_TOO_LARGE past max, ERR_NO_MEMORY; the buffer is then unchanged. */
enum err buf_append(struct buf *b, const void *bytes, size_t n) MUST_CHECK;
enum err buf_puts(struct buf *b, const char *text) MUST_CHECK;
enum err buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_CHECK;
enum err buf_vprintf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0) MUST_CHECK;
/* Room for n more bytes behind len; the caller writes them and adds to len. */
enum err buf_reserve(struct buf *b, size_t n) MUST_CHECK;
/* The bytes move to the caller (free()); the buffer is empty again. Never NULL on ERR_OK. */
enum err buf_take(struct buf *b, char **out_data, size_t *out_len) MUST_CHECK;

#endif
