/* NumPy's .npy and .npz. What is read as floats, written by our own writer and read again, is the same.
 * Input: the file; a byte in front says which array of an archive is x. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/data/npz.h"
#include "tests/fuzz/data.h"

static void prove_round_trip(const struct npy *f, const float *items)
{
    char path[128];
    struct npz_array array = {.name = "x", .type = NPY_F32, .num_dims = f->num_dims, .items = items};
    struct fault fault = FAULT_NONE;
    struct npz z = {0};
    struct npy again = {0};
    float *read = malloc((f->num_items + 1) * sizeof *read);
    PROVE(read != NULL);
    memcpy(array.dims, f->dims, sizeof array.dims);
    (void)snprintf(path, sizeof path, "%s/again.npz", fuzz_folder());
    PROVE(!npz_write(path, &array, 1, &fault));
    PROVE(!npz_open(path, "data.x", &z, &fault) && npz_has(&z, "x") && !npz_has(&z, "y"));
    PROVE(!npz_member(&z, "x", &again, &fault));
    PROVE(again.num_items == f->num_items && again.num_dims == f->num_dims && !again.is_fortran);
    PROVE(!npy_read_floats(&again, read, &fault));
    PROVE(f->num_items == 0 || memcmp(read, items, f->num_items * sizeof *read) == 0);
    npy_close(&again);
    npz_close(&z);
    (void)unlink(path);
    free(read);
}

static void read_array(const char *path, size_t file_bytes)
{
    struct npy f = {0};
    struct fault fault = FAULT_NONE;
    enum err e = npy_open(path, "data.x", &f, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || e == ERR_BAD_FILE);
    if (e)
        return;
    PROVE(f.num_items * npy_type_bytes(f.type) <= file_bytes && f.num_dims <= LIMIT_TENSOR_DIMS);
    float *items = malloc((f.num_items + 1) * sizeof *items);
    PROVE(items != NULL);
    e = npy_read_floats(&f, items, &fault);
    fuzz_prove_told(e, &fault);
    for (size_t i = 0; i < f.num_items && !e; i++)
        PROVE(isfinite(items[i]));
    if (!e)
        prove_round_trip(&f, items);
    npy_close(&f);
    free(items);
}

static void load(const struct fuzz_input *in, uint8_t how)
{
    /* Four labels, for arrays of four examples. */
    static const uint8_t labels[] =
        "\x93NUMPY\x01\x00\x36\x00{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}"
        "\n\x00\x01\x01\x00";
    bool is_archive = in->left >= 2 && memcmp(in->at, "PK", 2) == 0;
    char spec[400], path[128], y[160] = "";
    (void)snprintf(path, sizeof path, "%s/x.%s", fuzz_folder(), is_archive ? "npz" : "npy");
    FILE *out = fopen(path, "we");
    PROVE(out && fwrite(in->at, 1, in->left, out) == in->left && fclose(out) == 0);
    if (!is_archive)
        (void)snprintf(y, sizeof y, ",\"y\":\"%s\"", fuzz_file(1, labels, sizeof labels - 1));
    (void)snprintf(spec, sizeof spec, "{\"source\":\"npy\",\"%s\":\"%s\"%s%s}", is_archive ? "path" : "x",
                   path, y, how % 2 ? ",\"partition\":{\"devices\":2}" : "");
    (void)fuzz_dataset_text(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint8_t how = fuzz_byte(&in);
    read_array(fuzz_file(0, in.at, in.left), in.left);
    load(&in, how);
    return 0;
}
