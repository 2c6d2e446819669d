#include "common/data/npz.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>
#include "common/data/path.h"

#define MEMBER_NAME_MAX 260
/* deflate cannot shrink anything further than this, so a longer promise is a lie. */
#define DEFLATE_MAX_RATIO 1032
/* Midnight of 1980-01-01, the first day of the format: the same arrays give the same bytes on any day. */
#define DOS_DATE (1 << 5 | 1)

static enum err archive_fault(const struct npz *z, struct fault *fault, const char *what, const char *why)
{
    return fault_set(fault, ERR_BAD_FILE, z->field, "%s: %s%s%s", path_shown(z->path), what, *why ? ": " : "",
                     why);
}

/* -- reading --------------------------------------------------------------------------------------------- */

enum err npz_open(const char *path, const char *field, struct npz *out, struct fault *fault)
{
    struct stat st;
    int code = 0;
    *out = (struct npz){.path = path, .field = field};
    if (stat(path, &st) != 0)
        return archive_fault(out, fault, strerror(errno),
                             "a path is relative to the directory where the program was started");
    if (!S_ISREG(st.st_mode))
        return archive_fault(out, fault, "not a regular file", "");
    out->file_bytes = (uint64_t)st.st_size;
    out->archive = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, &code);
    if (out->archive)
        return ERR_OK;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const enum err err =
        archive_fault(out, fault, "no whole .npz file (a ZIP archive)", zip_error_strerror(&error));
    zip_error_fini(&error);
    return err;
}

void npz_close(struct npz *z)
{
    if (z->archive)
        zip_discard(z->archive);
    z->archive = NULL;
}

static zip_int64_t locate(const struct npz *z, const char *name)
{
    char member[MEMBER_NAME_MAX];
    (void)snprintf(member, sizeof member, "%.250s.npy", name);
    return zip_name_locate(z->archive, member, 0);
}

bool npz_has(const struct npz *z, const char *name)
{
    return locate(z, name) >= 0;
}

static int64_t member_read(void *handle, void *out, size_t n)
{
    return zip_fread(handle, out, n);
}

static const char *member_why(void *handle)
{
    return zip_file_strerror(handle);
}

static void member_close(void *handle)
{
    (void)zip_fclose(handle);
}

enum err npz_member(struct npz *z, const char *name, struct npy *out, struct fault *fault)
{
    struct zip_stat st;
    char what[MEMBER_NAME_MAX + 60];
    const zip_int64_t index = locate(z, name);
    *out = (struct npy){0};
    if (index < 0) {
        (void)snprintf(what, sizeof what,
                       "has no array \"%.40s\"; save it by that name, like numpy.savez(..., %.40s=...)", name,
                       name);
        return archive_fault(z, fault, what, "");
    }
    (void)snprintf(what, sizeof what, "member %.250s.npy", name);
    if (zip_stat_index(z->archive, (zip_uint64_t)index, 0, &st) != 0)
        return archive_fault(z, fault, what, zip_strerror(z->archive));
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((st.valid & needed) != needed || (st.comp_method != ZIP_CM_STORE && st.comp_method != ZIP_CM_DEFLATE))
        return archive_fault(z, fault, what, "packed in a way that NumPy does not write");
    if (st.comp_size > z->file_bytes || st.size / DEFLATE_MAX_RATIO > st.comp_size)
        return archive_fault(z, fault, what, "the archive promises more bytes than it can hold");
    zip_file_t *file = zip_fopen_index(z->archive, (zip_uint64_t)index, 0);
    if (!file)
        return archive_fault(z, fault, what, zip_strerror(z->archive));
    const struct npy_stream stream = {file, member_read, member_why, member_close, st.size};
    return npy_open_stream(&stream, z->path, name, z->field, out, fault);
}

/* -- writing --------------------------------------------------------------------------------------------- */

static enum err not_written(const char *path, const char *why, struct fault *fault)
{
    return fault_set(fault, ERR_IO, NULL, "%s: cannot be written: %s", path_shown(path), why);
}

/* libzip takes the two pieces without copying; they live until zip_close. */
struct pieces {
    char header[NPY_HEADER_MAX];
    zip_buffer_fragment_t parts[2];
};

#define ARRAYS_MAX 8

static bool add(zip_t *archive, const struct npz_array *a, struct pieces *p)
{
    char name[MEMBER_NAME_MAX];
    size_t bytes = npy_type_bytes(a->type);
    for (int d = 0; d < a->num_dims; d++)
        bytes *= a->dims[d];
    const size_t header = npy_header(a->type, a->num_dims, a->dims, p->header);
    /* libzip only reads through these, but its type has no const. */
    union {
        const void *in;
        zip_uint8_t *out;
    } items = {.in = a->items};
    p->parts[0] = (zip_buffer_fragment_t){(zip_uint8_t *)p->header, header};
    p->parts[1] = (zip_buffer_fragment_t){items.out, bytes};
    (void)snprintf(name, sizeof name, "%.250s.npy", a->name);
    zip_source_t *source = zip_source_buffer_fragment(archive, p->parts, bytes > 0 ? 2 : 1, 0);
    if (!source)
        return false;
    const zip_int64_t index = zip_file_add(archive, name, source, 0);
    if (index < 0) {
        zip_source_free(source);
        return false;
    }
    return zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) == 0 &&
           zip_file_set_dostime(archive, (zip_uint64_t)index, 0, DOS_DATE, 0) == 0;
}

enum err npz_write(const char *path, const struct npz_array *arrays, size_t num_arrays, struct fault *fault)
{
    struct pieces pieces[ARRAYS_MAX];
    int code = 0;
    if (num_arrays > ARRAYS_MAX)
        bug("%zu arrays in one archive", num_arrays);
    zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!archive) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        const enum err err = not_written(path, zip_error_strerror(&error), fault);
        zip_error_fini(&error);
        return err;
    }
    bool is_good = true;
    for (size_t i = 0; is_good && i < num_arrays; i++)
        is_good = add(archive, &arrays[i], &pieces[i]);
    if (is_good && zip_close(archive) == 0)
        return ERR_OK;
    const enum err err = not_written(path, zip_strerror(archive), fault);
    zip_discard(archive);
    return err;
}
