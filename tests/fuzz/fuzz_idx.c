/* IDX files: nothing that a header promises is believed before the file's size allows it, and a file says the
 * same compressed as plain. Input: a byte for the dimensions allowed, then the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/data/idx.h"
#include "tests/fuzz/data.h"

/* NULL where it is refused. *out_size: of what it holds. */
static uint8_t *read_all(const char *path, int min, int max, uint64_t file_bytes, struct idx *out,
                         size_t *out_size)
{
    struct fault fault = FAULT_NONE;
    uint8_t *bytes = NULL;
    enum err e = idx_open(path, "data.images", "", min, max, out, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || e == ERR_BAD_FILE);
    if (e)
        return NULL;
    *out_size = out->dims[0] * out->item_bytes;
    PROVE(out->num_dims >= min && out->num_dims <= max && *out_size >= 1);
    PROVE(*out_size <= (out->is_compressed ? 1040 * (file_bytes + 1) : file_bytes));
    bytes = malloc(*out_size);
    PROVE(bytes != NULL);
    e = idx_read(out, bytes, &fault);
    fuzz_prove_told(e, &fault);
    idx_close(out);
    if (e) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static void prove_compressed_is_same(const uint8_t *file, size_t n, int min, int max)
{
    struct idx plain, packed;
    size_t size = 0, packed_size = 0;
    uint8_t *bytes = read_all(fuzz_file(0, file, n), min, max, n, &plain, &size);
    if (n >= 2 && file[0] == 0x1f && file[1] == 0x8b) {
        free(bytes);
        return; /* it is compressed already */
    }
    uint8_t *again = read_all(fuzz_gzip_file(1, file, n), min, max, n + 64, &packed, &packed_size);
    PROVE((bytes != NULL) == (again != NULL));
    if (bytes) {
        PROVE(size == packed_size && memcmp(bytes, again, size) == 0);
        PROVE(plain.num_dims == packed.num_dims && !plain.is_compressed && packed.is_compressed);
    }
    free(bytes);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint8_t dims = fuzz_byte(&in);
    int min = 1 + dims % 3, max = min + dims / 3 % 6;
    char spec[256];
    prove_compressed_is_same(in.at, in.left, min, max);
    /* As images, with labels that fit up to four of them. */
    const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 4, 0, 1, 2, 1};
    (void)snprintf(spec, sizeof spec,
                   "{\"source\":\"idx\",\"train_images\":\"%s\",\"train_labels\":\"%s\","
                   "\"partition\":{\"name\":\"iid\",\"devices\":2}}",
                   fuzz_file(0, in.at, in.left), fuzz_file(1, labels, sizeof labels));
    (void)fuzz_dataset_text(spec);
    return 0;
}
