#include "server/restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/atomic_file.h"
#include "common/base/config.h"
#include "common/base/interrupt.h"
#include "common/base/str.h"
#include "server/backup_files.h"
#include "server/data_dir.h"

struct restore_options {
    const char *data_dir, *from;
    bool help;
};

#define AT(member) offsetof(struct restore_options, member)
static const struct option_row rows[] = {
    {"from", 'i', OPTION_STRING, AT(from), "DIR", "a folder that fedlane-server backup made", NULL, 0, 0},
    {"data-dir", 'd', OPTION_STRING, AT(data_dir), "DIR",
     "the data directory to make: empty, or not there (default ./fedlane-data)", "FEDLANE_DATA_DIR", 0, 0},
    {"help", 'h', OPTION_FLAG, AT(help), NULL, "print this and end", NULL, 0, 0},
};
#define NUM_ROWS (sizeof rows / sizeof rows[0])

static void print_help(void)
{
    printf("fedlane-server restore: makes a data directory of a backup.\n\n"
           "usage: fedlane-server restore --from DIR [options]\n\n");
    config_print_help(rows, NUM_ROWS);
    printf(
        "\nRun it as the user who will run the server, then start the server on the directory. What happened "
        "after the\nbackup is not there: docs/operations.md says what that means for workers.\n");
}

static bool goes_on(void *ctx, int64_t done, int64_t total)
{
    (void)ctx;
    (void)done;
    (void)total;
    return !interrupt_came();
}
static const struct backup_watch watch = {.goes_on = goes_on};

/* What a mount point has of itself does not count, nor does the marker. */
static enum err check_empty(const char *dir, struct fault *fault)
{
    DIR *d = opendir(dir);
    bool is_empty = true;
    if (!d)
        return fault_set(fault, ERR_IO, "data-dir", "Cannot read %.200s: %s.", dir, strerror(errno));
    for (const struct dirent *entry; is_empty && (entry = readdir(d));)
        is_empty = str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") ||
                   str_eq(entry->d_name, "lost+found") || str_eq(entry->d_name, RESTORE_MARKER);
    (void)closedir(d);
    if (is_empty)
        return ERR_OK;
    return fault_set(fault, ERR_CONFLICT, "data-dir",
                     "%.200s is not empty, and nothing is restored over what is there: move it away, or name "
                     "another directory with --data-dir.",
                     dir);
}

static enum err make_dir(const char *dir, bool *out_is_made, struct fault *fault)
{
    *out_is_made = mkdir(dir, 0700) == 0;
    if (!*out_is_made && errno != EEXIST)
        return fault_set(fault, ERR_IO, "data-dir", "Cannot make %.200s: %s.", dir, strerror(errno));
    return *out_is_made ? name_sync(dir, fault) : ERR_OK;
}

/* A server refuses the directory while the marker is there. Where it is there already, a restore was cut
 * short: what that one left goes, and this one begins anew; the lock tells it from one that is at work. */
static enum err take_dir(const char *dir, int *out_marker, struct fault *fault)
{
    char path[BACKUP_PATH_SIZE];
    enum err e = backup_path(dir, RESTORE_MARKER, path, fault);
    if (e)
        return e;
    bool is_left = (*out_marker = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)) >= 0;
    if (!is_left && (e = check_empty(dir, fault)))
        return e;
    if (!is_left)
        *out_marker = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (*out_marker < 0)
        return fault_set(fault, ERR_IO, "data-dir", "Cannot write %.300s: %s.", path, strerror(errno));
    struct stat st;
    if (flock(*out_marker, LOCK_EX | LOCK_NB) != 0 || fstat(*out_marker, &st) != 0 || st.st_nlink == 0)
        return fault_set(fault, ERR_CONFLICT, "data-dir", "Another restore is at work in %.200s.", dir);
    if (is_left)
        backup_remove(dir);
    e = is_left ? check_empty(dir, fault) : ERR_OK;
    return e ? e : backup_sync_dir(dir, fault);
}

static enum err take_file(const struct backup_file *wanted, const char *from, const char *to,
                          struct fault *fault)
{
    struct backup_file f = *wanted;
    if (!wanted->is_there)
        return ERR_OK;
    f.is_required = true;
    enum err e = backup_file_take(&f, from, to, fault);
    if (!e && (f.size != wanted->size || !str_eq(f.sha256, wanted->sha256)))
        e = fault_set(fault, ERR_CORRUPT, "from",
                      "%s in %.200s is not what the backup wrote (its SHA-256 differs). Use another backup.",
                      f.name, from);
    return e;
}

static enum err drop_marker(const char *dir, struct fault *fault)
{
    char path[BACKUP_PATH_SIZE];
    enum err e = backup_path(dir, RESTORE_MARKER, path, fault);
    if (!e && unlink(path) != 0)
        e = fault_set(fault, ERR_IO, "data-dir", "Cannot remove %.300s: %s.", path, strerror(errno));
    return e ? e : backup_sync_dir(dir, fault);
}

static enum err take_all(const struct backup_list *list, const char *from, const char *to,
                         struct backup_facts *facts, struct fault *fault)
{
    struct fault second = FAULT_NONE;
    enum err e = ERR_OK;
    for (size_t i = 0; i < BACKUP_FILES && !e; i++)
        e = take_file(&list->files[i], from, to, fault);
    if (!e)
        e = backup_check(to, &watch, facts, fault);
    if (!e)
        e = backup_sync_dir(to, fault);
    if (!e)
        return drop_marker(to, fault);
    backup_remove(to);
    (void)drop_marker(to, &second);
    return e;
}

enum err restore_command(int argc, char **argv, struct fault *fault)
{
    struct restore_options o = {.data_dir = "./fedlane-data"};
    struct backup_list list;
    struct backup_facts facts;
    size_t positional;
    bool is_made = false;
    int marker = -1;
    enum err e = config_parse(rows, NUM_ROWS, argc, argv, &o, NULL, 0, &positional, fault);
    if (e == ERR_OK && o.help) {
        print_help();
        return ERR_OK;
    }
    if (!e && !o.from)
        e = fault_set(fault, ERR_USAGE, "from", "Name the backup with --from DIR.");
    if (!e)
        e = backup_list_read(&list, o.from, fault);
    interrupt_begin();
    if (!e)
        e = make_dir(o.data_dir, &is_made, fault);
    if (!e)
        e = take_dir(o.data_dir, &marker, fault);
    if (!e && (e = take_all(&list, o.from, o.data_dir, &facts, fault)) && is_made)
        (void)rmdir(o.data_dir);
    interrupt_end();
    if (marker >= 0)
        (void)close(marker);
    if (e)
        return e;
    printf("%s: restored the backup of %s (%s): ", o.data_dir, list.made_at, list.program);
    backup_print_facts(&facts);
    return ERR_OK;
}
