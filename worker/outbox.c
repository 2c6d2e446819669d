#include "worker/outbox.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/api/api.h"
#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/str.h"
#include "common/base/atomic_file.h"

/* A head and the largest file of a model. */
#define LIMIT_REPORT_FILE ((size_t)LIMIT_MODEL_BYTES + LIMIT_SAFETENSORS_HEADER + 4 * KIB)

/* What a head begins with: what it is, and the number of its format. */
#define HEAD_WORD   "fedlane-report"
#define HEAD_FORMAT "1"

static const char *const route_names[] = {[REPORT_UPDATE] = "update", [REPORT_FAIL] = "fail"};

void report_release(struct report *r)
{
    free(r->body);
    r->body = NULL;
}

static char *path_of(const char *outbox, const char *task_id)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", outbox, task_id) < 0 ? NULL : path;
}

static int is_report(const struct dirent *entry)
{
    return id_is_valid(entry->d_name);
}

static int is_rest(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && !id_is_valid(entry->d_name);
}

/* Only what a killed process left: a name that is no task's. */
static bool remove_rest(const char *outbox)
{
    struct dirent **entries = NULL;
    int count = scandir(outbox, &entries, is_rest, alphasort);
    for (int i = 0; i < count; i++) {
        outbox_remove(outbox, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return count >= 0;
}

enum err outbox_open(const char *state_dir, char **out_path, struct fault *fault)
{
    char *path = path_of(state_dir, "outbox");
    if (!path)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory");
    if ((mkdir(path, S_IRWXU) != 0 && errno != EEXIST) || !remove_rest(path)) {
        enum err e = fault_set(fault, ERR_IO, NULL, "%s: cannot make or read the directory: %s", path,
                               strerror(errno));
        free(path);
        return e;
    }
    *out_path = path;
    return ERR_OK;
}

static enum err head_of(const struct report *r, struct buf *out)
{
    return buf_printf(out, HEAD_WORD " " HEAD_FORMAT " %s %s %lld %lld %lld %s %zu %s\n", r->task_id,
                      route_names[r->route], (long long)r->round, (long long)r->attempt,
                      (long long)r->ordinal, r->media_type, r->size, r->sha256);
}

enum err outbox_store(const char *outbox, struct report *r, struct fault *fault)
{
    struct buf head = BUF_INIT(4 * KIB);
    char *path = path_of(outbox, r->task_id);
    enum err e = path ? sha256_hex(r->body, r->size, r->sha256) : ERR_NO_MEMORY;
    if (!e)
        e = head_of(r, &head);
    if (e)
        e = fault_set(fault, e, NULL, "%s/%s: cannot prepare the report", outbox, r->task_id);
    else {
        const struct file_part parts[] = {{head.data, head.len}, {r->body, r->size}};
        e = atomic_file_write(path, parts, 2, false, fault);
    }
    buf_release(&head);
    free(path);
    return e;
}

/* Takes `line` (ending with NUL) apart. */
static bool take_head(char *line, struct report *out)
{
    enum { WORDS, NUMBER, TASK, ROUTE, ROUND, ATTEMPT, ORDINAL, MEDIA, SIZE, DIGEST, COUNT };
    const char *words[COUNT] = {0};
    uint64_t size;
    int n = 0;
    for (char *word; (word = strsep(&line, " ")); n++) {
        if (n == COUNT)
            return false;
        words[n] = word;
    }
    if (n != COUNT || !str_eq(words[WORDS], HEAD_WORD) || !str_eq(words[NUMBER], HEAD_FORMAT))
        return false;
    out->route = str_eq(words[ROUTE], route_names[REPORT_FAIL]) ? REPORT_FAIL : REPORT_UPDATE;
    out->media_type = str_eq(words[MEDIA], MEDIA_JSON) ? MEDIA_JSON : MEDIA_SAFETENSORS;
    bool is_good = str_eq(words[ROUTE], route_names[out->route]) && str_eq(words[MEDIA], out->media_type) &&
                   str_copy(out->task_id, sizeof out->task_id, words[TASK]) == ERR_OK &&
                   str_copy(out->sha256, sizeof out->sha256, words[DIGEST]) == ERR_OK &&
                   str_to_i64(words[ROUND], &out->round) == ERR_OK &&
                   str_to_i64(words[ATTEMPT], &out->attempt) == ERR_OK &&
                   str_to_i64(words[ORDINAL], &out->ordinal) == ERR_OK &&
                   str_to_u64(words[SIZE], &size) == ERR_OK;
    out->size = is_good ? (size_t)size : 0;
    return is_good;
}

/* The body moves to the front of the file's own memory, so that a large one is never there twice. */
static enum err take_report(struct buf *file, const char *task_id, struct report *out)
{
    char sha256[SHA256_HEX_SIZE];
    char *newline = file->data ? memchr(file->data, '\n', file->len) : NULL;
    if (!newline)
        return ERR_BAD_FILE;
    *newline = '\0';
    size_t head_len = (size_t)(newline - file->data) + 1, len;
    if (!take_head(file->data, out) || !str_eq(out->task_id, task_id) || out->size != file->len - head_len)
        return ERR_BAD_FILE;
    enum err e = sha256_hex(newline + 1, out->size, sha256);
    if (e || !str_eq(sha256, out->sha256))
        return e ? e : ERR_BAD_FILE;
    e = buf_take(file, &out->body, &len);
    if (!e)
        memmove(out->body, out->body + head_len, out->size);
    return e;
}

enum err outbox_load(const char *outbox, const char *task_id, struct report *out, struct fault *fault)
{
    struct buf file = BUF_INIT(LIMIT_REPORT_FILE);
    char *path = path_of(outbox, task_id);
    enum err e =
        path ? file_read(path, &file, fault) : fault_set(fault, ERR_NO_MEMORY, NULL, "not enough memory");
    if (!e) {
        *out = (struct report){0};
        e = take_report(&file, task_id, out);
        if (e)
            e = fault_set(fault, e, NULL, "%s: %s", path,
                          e == ERR_BAD_FILE ? "the stored report is damaged and cannot be sent"
                                            : "not enough memory");
    }
    buf_release(&file);
    free(path);
    return e;
}

void outbox_remove(const char *outbox, const char *task_id)
{
    char *path = path_of(outbox, task_id);
    if (path)
        (void)unlink(path);
    free(path);
}

enum err outbox_list(const char *outbox, struct arena *arena, char (**out_ids)[ID_SIZE], size_t *out_count,
                     struct fault *fault)
{
    struct dirent **entries = NULL;
    int count = scandir(outbox, &entries, is_report, alphasort);
    if (count < 0)
        return fault_set(fault, ERR_IO, NULL, "%s: cannot read the directory: %s", outbox, strerror(errno));
    char(*ids)[ID_SIZE] = arena_calloc(arena, (size_t)count, ID_SIZE);
    for (int i = 0; i < count; i++) {
        if (ids)
            memcpy(ids[i], entries[i]->d_name, ID_SIZE);
        free(entries[i]);
    }
    free(entries);
    *out_ids = ids;
    *out_count = (size_t)count;
    return ids ? ERR_OK
               : fault_set(fault, ERR_NO_MEMORY, NULL, "%s: not enough memory for the list of reports",
                           outbox);
}
