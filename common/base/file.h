/* Whole small files. */
#ifndef FEDLANE_BASE_FILE_H
#define FEDLANE_BASE_FILE_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* Appends the file to `out`, whose max bounds it. ERR_NOT_FOUND, ERR_IO, ERR_PAYLOAD_TOO_LARGE,
 * ERR_NO_MEMORY; the fault names the file. The buffer is then as it was, but for its capacity. */
enum err file_read(const char *path, struct buf *out, struct fault *fault) MUST_CHECK;

#endif
