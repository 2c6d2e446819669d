#include "server/compact.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include "common/base/config.h"
#include "server/backup_files.h"

struct compact_options {
    const char *data_dir;
    bool help;
};

#define AT(member) offsetof(struct compact_options, member)
static const struct option_row rows[] = {
    {"data-dir", 'd', OPTION_STRING, AT(data_dir), "DIR", "the server's data (default ./fedlane-data)",
     "FEDLANE_DATA_DIR", 0, 0},
    {"help", 'h', OPTION_FLAG, AT(help), NULL, "print this and end", NULL, 0, 0},
};
#define NUM_ROWS (sizeof rows / sizeof rows[0])

static void print_help(void)
{
    printf("fedlane-server compact: gives space that removed weights left back to the disk.\n\n"
           "usage: fedlane-server compact [options]\n\n");
    config_print_help(rows, NUM_ROWS);
    printf("\nOnly while no server runs: a running one uses that space for what comes next.\n");
}

static long long file_size(const char *dir, const char *name)
{
    char path[BACKUP_PATH_SIZE];
    struct fault fault = FAULT_NONE;
    struct stat st;
    return backup_path(dir, name, path, &fault) == ERR_OK && stat(path, &st) == 0 ? (long long)st.st_size : 0;
}

enum err compact_command(int argc, char **argv, struct fault *fault)
{
    struct compact_options o = {.data_dir = "./fedlane-data"};
    size_t positional;
    enum err e = config_parse(rows, NUM_ROWS, argc, argv, &o, NULL, 0, &positional, fault);
    if (e == ERR_OK && o.help) {
        print_help();
        return ERR_OK;
    }
    if (e)
        return e;
    long long store = file_size(o.data_dir, STORE_FILE), blobs = file_size(o.data_dir, BLOBS_FILE);
    if ((e = compact_offline(o.data_dir, fault)))
        return e;
    printf("%s: %lld -> %lld bytes\n%s: %lld -> %lld bytes\n", STORE_FILE, store,
           file_size(o.data_dir, STORE_FILE), BLOBS_FILE, blobs, file_size(o.data_dir, BLOBS_FILE));
    return ERR_OK;
}
