/* NumPy's .npz: a ZIP archive whose members are .npy files. The only home of libzip. */
#ifndef FEDLANE_DATA_NPZ_H
#define FEDLANE_DATA_NPZ_H

#include "common/data/npy.h"

struct npz {
    struct zip *archive;
    const char *path, *field; /* borrowed */
    uint64_t file_bytes;
};

enum err npz_open(const char *path, const char *field, struct npz *out, struct fault *fault) MUST_CHECK;
bool npz_has(const struct npz *z, const char *name); /* name without ".npy" */
/* Opens the member `name`.npy, whose name is borrowed. Close it before the archive. */
enum err npz_member(struct npz *z, const char *name, struct npy *out, struct fault *fault) MUST_CHECK;
void npz_close(struct npz *z); /* also of a zeroed one */

/* One array to write, in C order. */
struct npz_array {
    const char *name; /* without ".npy" */
    enum npy_type type;
    int num_dims;
    size_t dims[LIMIT_TENSOR_DIMS];
    const void *items; /* in memory as in the file: this machine must be little-endian, as all of ours are */
};
/* Writes an archive that numpy.load reads, uncompressed; the same arrays always give the same bytes. It comes
 * into being at once, under its name, or not at all. ERR_IO names the file. */
enum err npz_write(const char *path, const struct npz_array *arrays, size_t num_arrays,
                   struct fault *fault) MUST_CHECK;

#endif
