#include "server/backup.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/atomic_file.h"
#include "common/base/config.h"
#include "common/base/interrupt.h"
#include "server/backup_files.h"
#include "server/control.h"

struct backup_options {
    const char *data_dir, *to;
    bool help;
};

#define AT(member) offsetof(struct backup_options, member)
static const struct option_row rows[] = {
    {"data-dir", 'd', OPTION_STRING, AT(data_dir), "DIR", "the server's data (default ./fedlane-data)",
     "FEDLANE_DATA_DIR", 0, 0},
    {"to", 'o', OPTION_STRING, AT(to), "DIR", "the folder to make; it must not exist", NULL, 0, 0},
    {"help", 'h', OPTION_FLAG, AT(help), NULL, "print this and end", NULL, 0, 0},
};
#define NUM_ROWS (sizeof rows / sizeof rows[0])

static void print_help(void)
{
    printf("fedlane-server backup: copies all that a server keeps into a folder.\n\n"
           "usage: fedlane-server backup --to DIR [options]\n\n");
    config_print_help(rows, NUM_ROWS);
    printf("\nIt works beside the running server, which does the copying and must be able to write to the "
           "folder, "
           "and\nwithout one. The copy is checked. It holds tokens: keep it where only you can read it.\n");
}

static bool is_terminal;

static bool goes_on(void *ctx, int64_t done, int64_t total)
{
    (void)ctx;
    if (is_terminal && total > 0)
        fprintf(stderr, "\r%lld of %lld MiB ", (long long)(done >> 20), (long long)(total >> 20));
    return !interrupt_came();
}
static const struct backup_watch watch = {.goes_on = goes_on};

#define TARGET_SIZE (BACKUP_PATH_SIZE - 32) /* with an ending of its own it is a path still */

/* Absolute, without slashes at its end. */
static enum err find_target(const char *to, char out[TARGET_SIZE], struct fault *fault)
{
    char here[BACKUP_PATH_SIZE / 2] = "";
    struct stat st;
    if (!to || !*to)
        return fault_set(fault, ERR_USAGE, "to", "Name the folder to make with --to DIR.");
    if (to[0] != '/' && !getcwd(here, sizeof here))
        return fault_set(fault, ERR_IO, "to", "Cannot tell where this is run: give --to an absolute path.");
    int n = snprintf(out, TARGET_SIZE, "%s%s%s", here, *here ? "/" : "", to);
    if (n <= 0 || n >= TARGET_SIZE)
        return fault_set(fault, ERR_USAGE, "to", "The path of --to is too long.");
    while (n > 1 && out[n - 1] == '/')
        out[--n] = '\0';
    if (strpbrk(out, "\n\r"))
        return fault_set(fault, ERR_USAGE, "to", "The path of --to may have no line breaks.");
    if (lstat(out, &st) == 0)
        return fault_set(fault, ERR_CONFLICT, "to", "%.300s is there already: name a folder that is not.",
                         out);
    return ERR_OK;
}

/* Beside the target, so that renaming it is one step; the server writes there. */
static enum err make_partial(const char *data_dir, const char target[TARGET_SIZE], char out[BACKUP_PATH_SIZE],
                             struct fault *fault)
{
    struct stat owner;
    if (stat(data_dir, &owner) != 0 || !S_ISDIR(owner.st_mode))
        return fault_set(fault, ERR_USAGE, "data-dir",
                         "There is no data directory %.200s. Name the server's with --data-dir.", data_dir);
    (void)snprintf(out, BACKUP_PATH_SIZE, "%.*s.partial-XXXXXX", TARGET_SIZE - 1, target);
    if (!mkdtemp(out))
        return fault_set(fault, ERR_IO, "to", "Cannot make a folder beside %.300s: %s.", target,
                         strerror(errno));
    if (owner.st_uid == geteuid() || chown(out, owner.st_uid, owner.st_gid) == 0)
        return ERR_OK;
    enum err e = fault_set(fault, ERR_IO, "to",
                           "Cannot give %.300s to the data directory's owner: %s. Run this as that user.",
                           out, strerror(errno));
    (void)rmdir(out);
    return e;
}

static enum err copy_databases(const char *data_dir, const char *to, struct fault *fault)
{
    enum err e = control_backup(data_dir, to, &watch, fault);
    if (is_terminal)
        fprintf(stderr, "\r%30s\r", "");
    return e == ERR_NOT_FOUND ? backup_offline(data_dir, to, &watch, fault) : e;
}

/* The databases are in the folder; the rest, the check and the list. */
static enum err complete(const char *data_dir, const char *to, struct backup_facts *facts,
                         struct fault *fault)
{
    struct backup_list list;
    enum err e = backup_check(to, &watch, facts, fault);
    backup_list_init(&list);
    for (size_t i = 0; i < BACKUP_FILES && !e; i++) {
        struct backup_file *f = &list.files[i];
        e = f->is_required ? backup_file_take(f, to, NULL, fault) : backup_file_take(f, data_dir, to, fault);
    }
    if (!e)
        e = backup_list_write(&list, to, fault);
    return e ? e : backup_sync_dir(to, fault);
}

static enum err give_name(const char *partial, const char *target, struct fault *fault)
{
    char parent[BACKUP_PATH_SIZE];
    if (rename_new(partial, target) != 0)
        return fault_set(fault, errno == EEXIST ? ERR_CONFLICT : ERR_IO, "to",
                         "Cannot give the backup the name %.300s: %s.", target, strerror(errno));
    (void)snprintf(parent, sizeof parent, "%s", target);
    *(strrchr(parent, '/') + 1) = '\0';
    return backup_sync_dir(parent, fault);
}

enum err backup_command(int argc, char **argv, struct fault *fault)
{
    struct backup_options o = {.data_dir = "./fedlane-data"};
    char target[TARGET_SIZE], partial[BACKUP_PATH_SIZE];
    struct backup_facts facts;
    size_t positional;
    enum err e = config_parse(rows, NUM_ROWS, argc, argv, &o, NULL, 0, &positional, fault);
    if (e == ERR_OK && o.help) {
        print_help();
        return ERR_OK;
    }
    is_terminal = isatty(STDERR_FILENO);
    if (!e)
        e = find_target(o.to, target, fault);
    interrupt_begin();
    if (!e)
        e = make_partial(o.data_dir, target, partial, fault);
    if (e)
        return e;
    e = copy_databases(o.data_dir, partial, fault);
    if (!e)
        e = complete(o.data_dir, partial, &facts, fault);
    if (!e)
        e = give_name(partial, target, fault);
    if (e) {
        backup_remove(partial);
        (void)rmdir(partial);
    }
    interrupt_end();
    if (e)
        return e;
    printf("%s: ", target);
    backup_print_facts(&facts);
    return ERR_OK;
}
