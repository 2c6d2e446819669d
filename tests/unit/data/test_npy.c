/* NumPy files: make.py in tests/data/numpy wrote those there. */
#include "tests/support/unit.h"
#include "tests/unit/data/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/data/npz.h"

static const char *fixture(const char *name)
{
    static char path[600];
    const char *srcdir = getenv("srcdir");
    (void)snprintf(path, sizeof path, "%s/tests/data/numpy/%s", srcdir ? srcdir : ".", name);
    return path;
}

static void must_open(const char *name, enum npy_type type, struct npy *out)
{
    struct fault fault = FAULT_NONE;
    ck_assert_msg(npy_open(fixture(name), "data.x", out, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert_int_eq((int)out->type, (int)type);
}

static void ck_floats(const char *name, enum npy_type type, const float *expected, size_t n)
{
    struct npy f;
    struct fault fault = FAULT_NONE;
    float got[32];
    must_open(name, type, &f);
    ck_assert_uint_eq(f.num_items, n);
    ck_assert_msg(npy_read_floats(&f, got, &fault) == ERR_OK, "%s: %s", name, fault.detail);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(memcmp(&got[i], &expected[i], sizeof *got) == 0, "%s: %zu: %g %g", name, i,
                      (double)got[i], (double)expected[i]);
    npy_close(&f);
}

START_TEST(test_floats)
{
    float expected[12], half[9] = {0, 1, -2, 0.5f, 65504, 0x1p-24f, -0.0f, 0x1p-14f, 0.333251953125f};
    for (int i = 0; i < 12; i++)
        expected[i] = (float)i - 2.5f;
    ck_floats("f4.npy", NPY_F32, expected, 12);
    ck_floats("version2.npy", NPY_F32, expected, 12);
    ck_floats("version3.npy", NPY_F32, expected, 12);
    ck_floats("f8_fortran.npy", NPY_F64, expected, 12);
    ck_floats("f2.npy", NPY_F16, half, 9);
}
END_TEST

static void ck_ints(const char *name, enum npy_type type, int64_t first, int64_t last)
{
    const int64_t expected[4] = {first, 0, 2, last};
    int64_t got[4];
    float as_float[4];
    struct npy f;
    must_open(name, type, &f);
    ck_assert_uint_eq(f.num_items, 4);
    ck_assert_int_eq(npy_read_ints(&f, got, NULL), ERR_OK);
    ck_assert_mem_eq(got, expected, sizeof got);
    npy_close(&f);
    must_open(name, type, &f);
    ck_assert_int_eq(npy_read_floats(&f, as_float, NULL), ERR_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(as_float[i], (float)expected[i]);
    npy_close(&f);
}

START_TEST(test_ints)
{
    ck_ints("i8.npy", NPY_I64, 3, 1);
    ck_ints("i1.npy", NPY_I8, -3, 100);
    ck_ints("i2.npy", NPY_I16, -3, 100);
    ck_ints("i4.npy", NPY_I32, -3, 100);
    ck_ints("u2.npy", NPY_U16, 3, UINT16_MAX);
    ck_ints("u4.npy", NPY_U32, 3, UINT32_MAX);
    ck_ints("u8.npy", NPY_U64, 3, INT64_MAX);
}
END_TEST

START_TEST(test_bytes)
{
    static const char *const names[] = {"u1_3d.npy", "u1_3d_fortran.npy"};
    uint8_t got[24];
    struct npy f;
    for (size_t k = 0; k < 2; k++) {
        must_open(names[k], NPY_U8, &f);
        ck_assert_int_eq(f.is_fortran, (int)k);
        ck_assert_int_eq(f.num_dims, 3);
        ck_assert_uint_eq(f.dims[0], 4);
        ck_assert_uint_eq(f.dims[2], 3);
        ck_assert_int_eq(npy_read_bytes(&f, got, NULL), ERR_OK);
        for (int i = 0; i < 24; i++)
            ck_assert_int_eq(got[i], i);
        npy_close(&f);
    }
    must_open("b1.npy", NPY_BOOL, &f);
    ck_assert_int_eq(npy_read_bytes(&f, got, NULL), ERR_OK);
    ck_assert_mem_eq(got, "\1\0\0\1", 4);
    npy_close(&f);
}
END_TEST

START_TEST(test_what_is_not_read)
{
    static const struct {
        const char *name, *words;
    } bad[] = {
        {"object.npy", "Python objects are never read"},
        {"record.npy", "records"},
        {"big_endian.npy", "big-endian"},
        {"text.npy", "'<U1'"},
        {"absent.npy", "No such file"},
        {"", "not a regular file"},
        {"plain.npz", "byte 0: no NumPy file"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct npy f;
        struct fault fault = FAULT_NONE;
        ck_assert_int_eq(npy_open(fixture(bad[i].name), "data.x", &f, &fault), ERR_BAD_FILE);
        ck_assert_str_eq(fault.field, "data.x");
        ck_assert_msg(strstr(fault.detail, bad[i].words) && strstr(fault.detail, bad[i].name), "%s",
                      fault.detail);
        npy_close(&f);
    }
}
END_TEST

START_TEST(test_nan_has_a_place)
{
    struct npy f;
    struct fault fault = FAULT_NONE;
    float got[4];
    must_open("nan.npy", NPY_F32, &f);
    ck_assert_int_eq(npy_read_floats(&f, got, &fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "byte 140: nan at feature 1 of example 1"));
    npy_close(&f);
}
END_TEST

static void ck_member(const char *archive, const char *name, const void *expected, size_t bytes,
                      bool is_float)
{
    struct npz z;
    struct npy f;
    struct fault fault = FAULT_NONE;
    char got[256];
    ck_assert_msg(npz_open(archive, "data.path", &z, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert(npz_has(&z, name));
    ck_assert_msg(npz_member(&z, name, &f, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert_msg((is_float ? npy_read_floats(&f, (float *)(void *)got, &fault)
                            : npy_read_ints(&f, (int64_t *)(void *)got, &fault)) == ERR_OK,
                  "%s", fault.detail);
    ck_assert_mem_eq(got, expected, bytes);
    npy_close(&f);
    npz_close(&z);
}

START_TEST(test_archives)
{
    const int64_t labels[4] = {3, 0, 2, 1};
    float x[24];
    for (int i = 0; i < 12; i++)
        x[i] = (float)i - 2.5f;
    ck_member(fixture("plain.npz"), "x", x, 12 * sizeof *x, true);
    ck_member(fixture("plain.npz"), "y", labels, sizeof labels, false);
    for (int i = 0; i < 24; i++)
        x[i] = (float)i;
    ck_member(fixture("deflated.npz"), "x", x, 24 * sizeof *x, true);
    ck_member(fixture("deflated.npz"), "y", labels, sizeof labels, false);
}
END_TEST

START_TEST(test_archives_that_lack_something)
{
    struct npz z;
    struct npy f;
    struct fault fault = FAULT_NONE;
    ck_assert_int_eq(npz_open(fixture("plain.npz"), "data.path", &z, &fault), ERR_OK);
    ck_assert(!npz_has(&z, "z"));
    ck_assert_int_eq(npz_member(&z, "z", &f, &fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "no array \"z\""));
    npz_close(&z);
    ck_assert_int_eq(npz_open(fixture("absent.npz"), "data.path", &z, &fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "No such file"));
    ck_assert_int_eq(npz_open(fixture("f4.npy"), "data.path", &z, &fault), ERR_BAD_FILE);
    ck_assert_ptr_nonnull(strstr(fault.detail, "no whole .npz"));
}
END_TEST

START_TEST(test_writing)
{
    const float x[6] = {1, 2, 3, -4, 5.5f, 0x1p-149f};
    const int64_t y[2] = {7, INT64_MIN};
    const struct npz_array arrays[] = {{"x", NPY_F32, 2, {2, 3}, x}, {"y", NPY_I64, 1, {2}, y}};
    struct fault fault = FAULT_NONE;
    uint8_t first[2000], again[2000];
    size_t n, m;
    files_create();
    ck_assert_msg(npz_write(file_path("a.npz"), arrays, 2, &fault) == ERR_OK, "%s", fault.detail);
    ck_assert_int_eq(npz_write(file_path("b.npz"), arrays, 2, &fault), ERR_OK);
    ck_assert_int_eq(npz_write(file_path("b.npz"), arrays, 2, &fault), ERR_OK); /* over itself */
    ck_member(file_path("a.npz"), "x", x, sizeof x, true);
    ck_member(file_path("b.npz"), "y", y, sizeof y, false);
    file_read("a.npz", first, sizeof first, &n);
    file_read("b.npz", again, sizeof again, &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(first, again, n);
    ck_assert_int_eq(npz_write(file_path("none/a.npz"), arrays, 2, &fault), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fault.detail, "none/a.npz"));
    files_remove();
}
END_TEST

/* As NumPy itself writes it. */
START_TEST(test_header_is_numpys)
{
    const size_t dims[2] = {4, 3}, one[1] = {4};
    char header[NPY_HEADER_MAX];
    uint8_t bytes[512];
    for (int k = 0; k < 2; k++) {
        FILE *f = fopen(fixture(k ? "i8.npy" : "f4.npy"), "rb");
        ck_assert_ptr_nonnull(f);
        const size_t n = k ? npy_header(NPY_I64, 1, one, header) : npy_header(NPY_F32, 2, dims, header);
        ck_assert_uint_ge(fread(bytes, 1, sizeof bytes, f), n);
        ck_assert_mem_eq(bytes, header, n);
        ck_assert_int_eq(fclose(f), 0);
    }
}
END_TEST

/* Reads whatever there is as an archive and as a file; nothing may crash, and a cut file is never read. */
static bool is_read(const char *name)
{
    struct npy f = {0};
    struct npz z = {0};
    struct fault fault = FAULT_NONE;
    float got[64];
    const bool is_archive = strstr(name, ".npz") != NULL;
    enum err err = is_archive ? npz_open(file_path(name), "data.x", &z, &fault) : ERR_OK;
    if (err == ERR_OK)
        err = is_archive ? npz_member(&z, "x", &f, &fault) : npy_open(file_path(name), "data.x", &f, &fault);
    const bool fits = err == ERR_OK && f.num_items <= 64;
    if (fits)
        err = npy_read_floats(&f, got, &fault);
    ck_assert(err == ERR_OK || (err == ERR_BAD_FILE && strstr(fault.detail, name)));
    npy_close(&f);
    npz_close(&z);
    return err == ERR_OK;
}

static void damage(const char *from, const char *name)
{
    uint8_t bytes[2048], bad[2048];
    FILE *f = fopen(fixture(from), "rb");
    ck_assert_ptr_nonnull(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    ck_assert_int_eq(fclose(f), 0);
    for (size_t cut = 0; cut < n; cut++) {
        file_write(name, bytes, cut, false);
        ck_assert_msg(!is_read(name), "%s cut to %zu of %zu bytes was read", from, cut, n);
    }
    for (uint64_t i = 0; i < 400; i++) {
        memcpy(bad, bytes, n);
        for (uint64_t k = 0; k < 1 + i % 3; k++)
            bad[rng_u64(i, 2 * k) % n] = (uint8_t)rng_u64(i, 2 * k + 1);
        file_write(name, bad, n, false);
        (void)is_read(name);
    }
}

START_TEST(test_damaged_files)
{
    files_create();
    damage("f4.npy", "bad.npy");
    damage("u1_3d_fortran.npy", "bad.npy");
    damage("plain.npz", "bad.npz");
    damage("deflated.npz", "bad.npz");
    files_remove();
}
END_TEST

START_TEST(test_headers_that_lie)
{
    static const struct {
        const char *from, *to, *words;
    } lies[] = {
        {"(4, 3)", "(9, 3)", "truncated"},
        {"(4, 3)", "(3, 3)", "goes on"},
        {"(4, 3)", "(4, 0)", "is 0"},
        {"(4, 3)", "(-4,3)", "no description"},
        {"(4, 3)", "[4, 3]", "no description"},
        {"False", "Maybe", "no description"},
        {"'<f4'", "'<f9'", "'<f9'"},
        {"shape", "shale", "no description"},
        {"shape", "descr", "no description"},
    };
    uint8_t bytes[512];
    FILE *f = fopen(fixture("f4.npy"), "rb");
    ck_assert_ptr_nonnull(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    ck_assert_int_eq(fclose(f), 0);
    files_create();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint8_t bad[512];
        struct npy npy;
        struct fault fault = FAULT_NONE;
        float got[64];
        memcpy(bad, bytes, n);
        uint8_t *at = memmem(bad, n, lies[i].from, strlen(lies[i].from));
        ck_assert_ptr_nonnull(at);
        memcpy(at, lies[i].to, strlen(lies[i].to));
        file_write("lie.npy", bad, n, false);
        enum err err = npy_open(file_path("lie.npy"), "data.x", &npy, &fault);
        if (err == ERR_OK)
            err = npy_read_floats(&npy, got, &fault);
        ck_assert_int_eq(err, ERR_BAD_FILE);
        ck_assert_msg(strstr(fault.detail, lies[i].words) && strstr(fault.detail, ", byte "), "%s",
                      fault.detail);
        npy_close(&npy);
    }
    files_remove();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_floats,
                                  test_ints,
                                  test_bytes,
                                  test_what_is_not_read,
                                  test_nan_has_a_place,
                                  test_archives,
                                  test_archives_that_lack_something,
                                  test_writing,
                                  test_header_is_numpys,
                                  test_damaged_files,
                                  test_headers_that_lie};
    return unit_run("npy", tests, sizeof tests / sizeof *tests);
}
