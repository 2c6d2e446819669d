/* Between npy.c and npy_header.c. */
#ifndef FEDLANE_DATA_NPY_IMPL_H
#define FEDLANE_DATA_NPY_IMPL_H

#include "common/data/npy.h"

/* The dictionary of a header, which starts at this offset of the file: type, order and shape into *out.
 * Faults name its path. */
enum err npy_parse_header(const char *text, uint64_t offset, struct npy *out, struct fault *fault) MUST_CHECK;

#endif
