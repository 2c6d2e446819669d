#include "common/data/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SHOWN 200

const char *path_shown(const char *path)
{
    size_t n = strlen(path);
    if (n <= PATH_SHOWN)
        return path;
    path += n - PATH_SHOWN;
    while (((unsigned char)*path & 0xc0) == 0x80)
        path++; /* not within a character */
    return path;
}

static const char *where_it_starts(const char *path)
{
    return path[0] == '/' ? "" : "a path is relative to the directory where the program was started";
}

static enum err not_there(const char *path, const char *field, const char *hint, struct fault *fault)
{
    return fault_set(fault, ERR_BAD_FILE, field, "%s: %s%s%s", path_shown(path), strerror(errno),
                     *hint ? "; " : "", hint);
}

enum err path_open(const char *path, const char *field, const char *hint, const char *wanted, int *out_fd,
                   uint64_t *out_bytes, struct fault *fault)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return not_there(path, field, hint ? hint : where_it_starts(path), fault);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return fault_set(fault, ERR_BAD_FILE, field, "%s: not a regular file%s", path_shown(path), wanted);
    }
    *out_fd = fd;
    *out_bytes = (uint64_t)st.st_size;
    return ERR_OK;
}

bool path_is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool path_ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n >= m && memcmp(path + n - m, ending, m) == 0;
}

static bool is_wanted(DIR *d, const char *name, const char *const *endings)
{
    struct stat st;
    bool has_ending = false;
    for (; *endings && !has_ending; endings++)
        has_ending = path_ends_in(name, *endings);
    return has_ending && name[0] != '.' && (fstatat(dirfd(d), name, &st, 0) != 0 || !S_ISDIR(st.st_mode));
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err collect(DIR *d, const char *const *endings, struct arena *arena, const char ***out_names,
                        size_t *out_count, int *out_code)
{
    const char **names = NULL;
    size_t count = 0, room = 0;
    *out_code = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(d);
        if (!entry) {
            *out_code = errno;
            break;
        }
        if (!is_wanted(d, entry->d_name, endings))
            continue;
        if (count == room) {
            const char **more = arena_calloc(arena, room ? 2 * room : 64, sizeof *more);
            if (!more)
                return ERR_NO_MEMORY;
            if (count > 0)
                memcpy(more, names, count * sizeof *names);
            names = more;
            room = room ? 2 * room : 64;
        }
        names[count] = arena_strdup(arena, entry->d_name);
        if (!names[count++])
            return ERR_NO_MEMORY;
    }
    if (count > 0)
        qsort(names, count, sizeof *names, by_bytes);
    *out_names = names;
    *out_count = count;
    return *out_code ? ERR_IO : ERR_OK;
}

enum err path_list(const char *dir, const char *const *endings, const char *field, struct arena *arena,
                   const char ***out_names, size_t *out_count, struct fault *fault)
{
    DIR *d = opendir(dir);
    if (!d)
        return fault_set(fault, ERR_BAD_FILE, field, "%s: %s", path_shown(dir), strerror(errno));
    int code;
    const enum err err = collect(d, endings, arena, out_names, out_count, &code);
    closedir(d);
    if (err == ERR_NO_MEMORY)
        return fault_set(fault, err, field, "no memory for the names of the files in %s", path_shown(dir));
    if (err != ERR_OK)
        return fault_set(fault, ERR_BAD_FILE, field, "%s: %s", path_shown(dir), strerror(code));
    return ERR_OK;
}

enum err path_splits(const char *path, const char *field, struct arena *arena, struct path_splits *out,
                     struct fault *fault)
{
    struct stat st;
    *out = (struct path_splits){0};
    if (stat(path, &st) != 0)
        return not_there(path, field, where_it_starts(path), fault);
    if (!S_ISDIR(st.st_mode))
        return ERR_OK;
    const char *train = arena_printf(arena, "%s/train", path), *test = arena_printf(arena, "%s/test", path);
    if (!train || !test)
        return fault_set(fault, ERR_NO_MEMORY, field, "no memory for the names of the files");
    const bool has_train = path_is_directory(train), has_test = path_is_directory(test);
    if (has_train != has_test)
        return fault_set(fault, ERR_BAD_FILE, field, "%s: has %s but no %s; it needs both or neither",
                         path_shown(path), has_train ? "train/" : "test/", has_train ? "test/" : "train/");
    *out = (struct path_splits){has_train ? train : path, has_test ? test : NULL};
    return ERR_OK;
}
