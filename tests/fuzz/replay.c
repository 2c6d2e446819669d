/* In place of libFuzzer, for any compiler: runs a target over stored inputs. Without arguments over all of
 * $top_srcdir/tests/fuzz/corpus/TARGET, of which there must be as many as corpus/counts says; else over the
 * files that are named. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "tests/fuzz/fuzz.h"

static void replay_file(const char *path)
{
    struct buf bytes = BUF_INIT(16 * MIB);
    struct fault fault = FAULT_NONE;
    if (file_read(path, &bytes, &fault))
        bug("%s", fault.detail);
    /* A copy of just this size, so that a read past its end is one past the allocation's. */
    uint8_t *copy = malloc(bytes.len ? bytes.len : 1);
    PROVE(copy != NULL);
    if (bytes.len)
        memcpy(copy, bytes.data, bytes.len);
    (void)LLVMFuzzerTestOneInput(copy, bytes.len);
    free(copy);
    buf_release(&bytes);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_folder(const char *path)
{
    struct dirent **entries = NULL;
    char file[1024];
    int count = scandir(path, &entries, is_visible, alphasort);
    if (count < 0)
        bug("%s cannot be read", path);
    for (int i = 0; i < count; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        (void)fprintf(stderr, "%s\n", file); /* the last one in the log is the one that failed */
        replay_file(file);
        free(entries[i]);
    }
    free(entries);
    return count;
}

/* The lines of corpus/counts are "TARGET COUNT". */
static int expected_count(const char *corpus, const char *target)
{
    char path[1024], name[64];
    int count, found = -1;
    (void)snprintf(path, sizeof path, "%s/counts", corpus);
    FILE *f = fopen(path, "re");
    if (!f)
        bug("%s cannot be read", path);
    while (fscanf(f, "%63s %d", name, &count) == 2)
        if (strcmp(name, target) == 0)
            found = count;
    (void)fclose(f);
    return found;
}

int main(int argc, char **argv)
{
    log_init(LOG_ERROR + 1, LOG_TEXT);
    for (int i = 1; i < argc; i++)
        replay_file(argv[i]);
    if (argc > 1)
        return 0;
    const char *top = getenv("top_srcdir"), *target = strrchr(argv[0], '/');
    char corpus[512], path[600];
    target = target ? target + 1 : argv[0];
    if (strncmp(target, "fuzz_", 5) != 0)
        bug("%s: not the name of a fuzz target", target);
    (void)snprintf(corpus, sizeof corpus, "%s/tests/fuzz/corpus", top ? top : ".");
    (void)snprintf(path, sizeof path, "%s/%s", corpus, target + 5);
    int count = replay_folder(path), expected = expected_count(corpus, target + 5);
    printf("%d inputs\n", count);
    if (count != expected || count < 1)
        bug("%s has %d inputs, but %s/counts says %d", path, count, corpus, expected);
    return 0;
}
