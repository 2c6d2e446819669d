#include "server/backup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/atomic_file.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/interrupt.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/json/json_spec.h"
#include "config.h"

#define LIST_NAME "backup.json"
#define MAX_LIST  (64 * KIB)
#define FORMAT    1
#define PIECE     (1 * MIB)

void backup_list_init(struct backup_list *list)
{
    *list = (struct backup_list){.files = {{.name = STORE_FILE, .is_required = true},
                                           {.name = BLOBS_FILE, .is_required = true},
                                           {.name = "admin.token"},
                                           {.name = "enrollment.token"}}};
}

enum err backup_path(const char *dir, const char *name, char out[BACKUP_PATH_SIZE], struct fault *fault)
{
    int n = snprintf(out, BACKUP_PATH_SIZE, "%s/%s", dir, name);
    if (n > 0 && n < BACKUP_PATH_SIZE)
        return ERR_OK;
    return fault_set(fault, ERR_USAGE, NULL, "The path %.200s... is too long.", dir);
}

static enum err io_fault(struct fault *fault, const char *doing, const char *path)
{
    enum err e = errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO;
    return fault_set(fault, e, NULL, "Cannot %s %.300s: %s.", doing, path, strerror(errno));
}

static enum err write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0)
            return ERR_IO;
        bytes += done;
        n -= (size_t)done;
    }
    return ERR_OK;
}

/* to: -1 where it is only read. */
static enum err take_bytes(struct backup_file *f, int from, int to, struct sha256 *hash, const char *path,
                           struct fault *fault)
{
    char *piece = malloc(PIECE);
    ssize_t n = 0;
    enum err e = piece ? ERR_OK : fault_set(fault, ERR_NO_MEMORY, NULL, "There is not enough memory.");
    f->size = 0;
    while (!e && (n = read(from, piece, PIECE)) > 0) {
        if (interrupt_came())
            e = fault_set(fault, ERR_CANCELLED, NULL, "Interrupted.");
        if (!e)
            e = sha256_update(hash, piece, (size_t)n);
        if (!e && to >= 0 && write_all(to, piece, (size_t)n))
            e = io_fault(fault, "write the copy of", path);
        f->size += n;
    }
    if (!e && n < 0)
        e = io_fault(fault, "read", path);
    if (!e && to >= 0 && fsync(to) != 0)
        e = io_fault(fault, "write the copy of", path);
    free(piece);
    return e;
}

enum err backup_file_take(struct backup_file *f, const char *from_dir, const char *to_dir,
                          struct fault *fault)
{
    char from_path[BACKUP_PATH_SIZE], to_path[BACKUP_PATH_SIZE];
    uint8_t digest[SHA256_SIZE];
    struct sha256 *hash = NULL;
    int from = -1, to = -1;
    enum err e = backup_path(from_dir, f->name, from_path, fault);
    if (!e)
        e = to_dir ? backup_path(to_dir, f->name, to_path, fault) : ERR_OK;
    if (e)
        return e;
    from = open(from_path, O_RDONLY | O_CLOEXEC);
    f->is_there = from >= 0;
    if (from < 0)
        return errno == ENOENT && !f->is_required ? ERR_OK : io_fault(fault, "read", from_path);
    if (to_dir && (to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
        e = io_fault(fault, "write", to_path);
    if (!e)
        e = sha256_new(&hash);
    if (!e)
        e = take_bytes(f, from, to, hash, from_path, fault);
    if (!e)
        e = sha256_final(hash, digest);
    if (!e)
        hex_encode(digest, sizeof digest, f->sha256);
    sha256_free(hash);
    (void)close(from);
    if (to >= 0 && close(to) != 0 && !e)
        e = io_fault(fault, "write", to_path);
    return e;
}

enum err backup_list_write(const struct backup_list *list, const char *dir, struct fault *fault)
{
    char path[BACKUP_PATH_SIZE], now[TIME_TEXT_SIZE];
    const struct clock clock = clock_system();
    json_t *files = json_array();
    bool is_whole = files != NULL;
    time_format(clock_now_ms(&clock), now);
    for (size_t i = 0; i < BACKUP_FILES && is_whole; i++)
        if (list->files[i].is_there)
            is_whole = json_array_append_new(files, json_pack("{s:s, s:I, s:s}", "name", list->files[i].name,
                                                              "size_bytes", (json_int_t)list->files[i].size,
                                                              "sha256", list->files[i].sha256)) == 0;
    json_t *json = json_pack("{s:i, s:s, s:s, s:o}", "format", FORMAT, "program",
                             "fedlane-server " PACKAGE_VERSION, "made_at", now, "files", files);
    char *text = NULL;
    enum err e = json && is_whole ? json_text(json, &text) : ERR_NO_MEMORY;
    json_decref(json);
    e = e ? fault_set(fault, e, NULL, "There is not enough memory.")
          : backup_path(dir, LIST_NAME, path, fault);
    if (!e) {
        const struct file_part parts[] = {{text, strlen(text)}, {"\n", 1}};
        e = atomic_file_write(path, parts, 2, true, fault);
    }
    free(text);
    return e;
}

static struct backup_file *file_named(struct backup_list *list, const char *name)
{
    for (size_t i = 0; i < BACKUP_FILES; i++)
        if (str_eq(list->files[i].name, name))
            return &list->files[i];
    return NULL;
}

static bool read_files(struct backup_list *list, json_t *files)
{
    size_t i;
    json_t *item;
    json_array_foreach(files, i, item)
    {
        const char *name, *sha256;
        json_int_t size;
        if (json_unpack(item, "{s:s, s:I, s:s}", "name", &name, "size_bytes", &size, "sha256", &sha256) != 0)
            return false;
        struct backup_file *f = file_named(list, name);
        if (!f || str_copy(f->sha256, sizeof f->sha256, sha256) != ERR_OK)
            return false;
        f->is_there = true;
        f->size = size;
    }
    return list->files[0].is_there && list->files[1].is_there;
}

enum err backup_list_read(struct backup_list *list, const char *dir, struct fault *fault)
{
    char path[BACKUP_PATH_SIZE];
    struct buf text = BUF_INIT(MAX_LIST);
    const char *made_at = "", *program = "";
    json_t *files = NULL;
    int format = 0;
    backup_list_init(list);
    enum err e = backup_path(dir, LIST_NAME, path, fault);
    if (!e && access(path, F_OK) != 0)
        return fault_set(fault, ERR_USAGE, NULL,
                         "There is no backup in %.300s: it has no " LIST_NAME ". A backup is a folder that "
                         "fedlane-server backup made.",
                         dir);
    if (!e)
        e = file_read(path, &text, fault);
    json_t *json = e ? NULL : json_loadb(text.data, text.len, 0, NULL);
    if (!e && json_unpack(json, "{s:i, s:s, s:s, s:o}", "format", &format, "program", &program, "made_at",
                          &made_at, "files", &files) != 0)
        e = fault_set(fault, ERR_CORRUPT, NULL, "%.300s is damaged. Use another backup.", path);
    if (!e && format != FORMAT)
        e = fault_set(fault, ERR_USAGE, NULL,
                      "%.300s was made by another version (%.60s): restore it with that.", path, program);
    if (!e && !read_files(list, files))
        e = fault_set(fault, ERR_CORRUPT, NULL,
                      "%.300s does not name the files of a backup. Use another one.", path);
    (void)snprintf(list->made_at, sizeof list->made_at, "%s", made_at);
    (void)snprintf(list->program, sizeof list->program, "%s", program);
    json_decref(json);
    buf_release(&text);
    return e;
}

enum err backup_sync_dir(const char *dir, struct fault *fault)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err e = fd >= 0 && fsync(fd) == 0 ? ERR_OK : io_fault(fault, "write", dir);
    if (fd >= 0)
        (void)close(fd);
    return e;
}

void backup_remove(const char *dir)
{
    char path[BACKUP_PATH_SIZE];
    struct backup_list list;
    struct fault fault = FAULT_NONE;
    backup_list_init(&list);
    for (size_t i = 0; i < BACKUP_FILES; i++)
        if (backup_path(dir, list.files[i].name, path, &fault) == ERR_OK)
            (void)unlink(path);
    if (backup_path(dir, LIST_NAME, path, &fault) == ERR_OK)
        (void)unlink(path);
}

void backup_print_facts(const struct backup_facts *f)
{
    printf(
        "%lld runs with %lld rounds, %lld workers, %lld devices, %lld models and %lld updates of open rounds "
        "(%lld bytes of weights)\n",
        (long long)f->runs, (long long)f->rounds, (long long)f->workers, (long long)f->devices,
        (long long)f->models, (long long)f->updates, (long long)f->weights_bytes);
}
