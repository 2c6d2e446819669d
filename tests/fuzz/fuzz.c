#include "tests/fuzz/fuzz.h"
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include "common/base/str.h"

void fuzz_prove_told(enum err e, const struct fault *fault)
{
    PROVE(fault->err == e);
    PROVE(memchr(fault->detail, '\0', sizeof fault->detail) &&
          memchr(fault->field, '\0', sizeof fault->field));
    PROVE(e == ERR_OK || fault->detail[0] != '\0');
    PROVE(utf8_is_valid(fault->detail, strlen(fault->detail)));
    PROVE(utf8_is_valid(fault->field, strlen(fault->field)));
}

uint8_t fuzz_byte(struct fuzz_input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

struct fuzz_input fuzz_until(struct fuzz_input *in, const char *mark)
{
    size_t n = strlen(mark);
    const uint8_t *end = in->left ? memmem(in->at, in->left, mark, n) : NULL;
    struct fuzz_input part = {in->at, end ? (size_t)(end - in->at) : in->left};
    in->at += part.left + (end ? n : 0);
    in->left -= part.left + (end ? n : 0);
    return part;
}

char *fuzz_text(const struct fuzz_input *in)
{
    char *text = malloc(in->left + 1);
    PROVE(text != NULL);
    if (in->left)
        memcpy(text, in->at, in->left);
    text[in->left] = '\0';
    return text;
}

/* ---- files ---- */

static int slots[FUZZ_FILES];
static char paths[FUZZ_FILES][32];

static int file_of_slot(int slot)
{
    if (paths[slot][0] == '\0') {
        slots[slot] = memfd_create("fuzz", MFD_CLOEXEC);
        PROVE(slots[slot] >= 0);
        (void)snprintf(paths[slot], sizeof paths[slot], "/proc/self/fd/%d", slots[slot]);
    }
    PROVE(ftruncate(slots[slot], 0) == 0);
    return slots[slot];
}

const char *fuzz_file(int slot, const void *bytes, size_t n)
{
    int fd = file_of_slot(slot);
    PROVE(n == 0 || pwrite(fd, bytes, n, 0) == (ssize_t)n);
    return paths[slot];
}

const char *fuzz_gzip_file(int slot, const void *bytes, size_t n)
{
    (void)file_of_slot(slot);
    gzFile out = gzopen(paths[slot], "wb1");
    PROVE(out != NULL && (n == 0 || gzwrite(out, bytes, (unsigned)n) == (int)n) && gzclose(out) == Z_OK);
    return paths[slot];
}

static char folder[64];

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_folder(void)
{
    (void)nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof folder, "%s/fedlane-fuzz-XXXXXX",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        PROVE(mkdtemp(folder) != NULL);
        PROVE(atexit(remove_folder) == 0);
    }
    return folder;
}
