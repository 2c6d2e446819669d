#include "server/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/atomic_file.h"
#include "common/base/log.h"
#include "common/crypto/token.h"
#include "server/core/ops.h"
#include "server/store/backup.h"

#define MAX_PATH 4096

static enum err join(const char *dir, const char *name, char out[MAX_PATH], struct fault *fault)
{
    int n = snprintf(out, MAX_PATH, "%s/%s", dir, name);
    if (n > 0 && n < MAX_PATH)
        return ERR_OK;
    return fault_set(fault, ERR_USAGE, NULL, "The path of the data directory is too long.");
}

static enum err make_dir(const char *dir, struct fault *fault)
{
    struct stat st;
    bool is_new = mkdir(dir, 0700) == 0;
    if (!is_new && errno != EEXIST)
        return fault_set(
            fault, ERR_IO, NULL,
            "Cannot make the data directory %.200s: %s. Make it by hand, or choose another with --data-dir.",
            dir, strerror(errno));
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return fault_set(fault, ERR_IO, NULL, "%.200s is not a directory. Choose another with --data-dir.",
                         dir);
    if (access(dir, R_OK | W_OK | X_OK) != 0)
        return fault_set(
            fault, ERR_IO, NULL,
            "Cannot write in the data directory %.200s: %s. Change its owner or mode, or choose another with "
            "--data-dir.",
            dir, strerror(errno));
    if (st.st_mode & S_IRWXO)
        log_warning("server",
                    "others on this machine may enter the data directory %.200s, which holds tokens: chmod "
                    "700 %.200s",
                    dir, dir);
    struct fault not_synced = FAULT_NONE;
    if (is_new && name_sync(dir, &not_synced) != ERR_OK)
        log_warning("server", "a power cut may take the new data directory away: %s", not_synced.detail);
    return ERR_OK;
}

enum err data_dir_open(const char *dir, struct store **out_store, struct blobs **out_blobs,
                       struct fault *fault)
{
    char path[MAX_PATH];
    enum err e = make_dir(dir, fault);
    if (e == ERR_OK)
        e = join(dir, RESTORE_MARKER, path, fault);
    if (e == ERR_OK && access(path, F_OK) == 0)
        e = fault_set(fault, ERR_CONFLICT, NULL,
                      "A backup was being restored into %.200s, and that was cut short. "
                      "Run fedlane-server restore again: it begins anew.",
                      dir);
    if (e == ERR_OK)
        e = join(dir, STORE_FILE, path, fault);
    if (e == ERR_OK)
        e = store_sqlite_open(path, out_store, fault);
    if (e != ERR_OK)
        return e;
    e = join(dir, BLOBS_FILE, path, fault);
    if (e == ERR_OK)
        e = blobs_sqlite_open(path, out_blobs, fault);
    if (e != ERR_OK)
        (*out_store)->ops->close(*out_store);
    return e;
}

static enum err count_admins(struct store_txn *txn, void *arg)
{
    return store_count(txn, QUERY_TOKENS, (int64_t *)arg, store_int(ROLE_ADMIN), store_any);
}

/* The file comes before the row: cut short in between, the next start finds the file and adds the row. */
static enum err take_token(const char *path, char out_sha256[SHA256_HEX_SIZE], struct fault *fault)
{
    char token[256];
    if (access(path, F_OK) == 0) {
        enum err e = token_file_read(path, token, sizeof token, fault);
        return e == ERR_OK ? token_hash(token, out_sha256) : e;
    }
    enum err e = token_new(token, out_sha256);
    return e == ERR_OK ? token_file_write(path, token, fault) : e;
}

/* A token by its secret. */
struct token_look {
    struct arena *arena;
    const char *sha256;
    int64_t role;
    bool is_there;
};

static enum err look_for_token(struct store_txn *txn, void *arg)
{
    struct token_look *look = arg;
    struct token_row *rows;
    size_t count;
    enum err e =
        store_find(txn, QUERY_TOKEN_BY_SHA256, look->arena, 1, &rows, &count, store_text(look->sha256));
    look->is_there = e == ERR_OK && count > 0 && rows[0].role == look->role;
    return e;
}

static enum err first_token(const char *dir, const char *name, int64_t role, const char *what,
                            struct store *store, struct core *core, struct fault *fault)
{
    char path[MAX_PATH], file[64], sha256[SHA256_HEX_SIZE];
    (void)snprintf(file, sizeof file, "%s.token", name);
    enum err e = join(dir, file, path, fault);
    if (e == ERR_OK)
        e = take_token(path, sha256, fault);
    if (e != ERR_OK)
        return e;
    struct arena arena = ARENA_INIT(64 * KIB);
    struct token_look look = {.arena = &arena, .sha256 = sha256, .role = role};
    struct op_token_create op = {.base = {.core = core, .arena = &arena, .caller = ""},
                                 .name = name,
                                 .role = role,
                                 .token_sha256 = sha256};
    /* Cut short after the row, the next start finds that, too. */
    e = store->ops->read(store, look_for_token, &look);
    if (e == ERR_OK && !look.is_there)
        e = store_write_wait(store, op_token_create, &op);
    if (e != ERR_OK && op.base.fault.err == e)
        *fault = op.base.fault;
    arena_release(&arena);
    if (e == ERR_OK)
        printf("%s: %s\n", what, path);
    return e;
}

enum err data_dir_tokens(const char *dir, struct store *store, struct core *core, struct fault *fault)
{
    int64_t admins = 0;
    enum err e = store->ops->read(store, count_admins, &admins);
    if (e == ERR_OK && admins > 0)
        return ERR_OK;
    /* The administrator's last: while it is missing, the next start does this again. */
    if (e == ERR_OK)
        e = first_token(dir, "enrollment", ROLE_ENROLLMENT, "token for enrolling workers and devices", store,
                        core, fault);
    if (e == ERR_OK)
        e = first_token(dir, "admin", ROLE_ADMIN, "token of the administrator", store, core, fault);
    if (e != ERR_OK && fault->err == ERR_OK)
        return fault_set(fault, e, NULL, "Cannot make the first tokens in %.200s.", dir);
    return e;
}

/* Written and locked before it has its name: who finds it under that name finds it locked, and who tries the
 * lock of an old one is in nobody's way. -1: errno says why. */
static int write_url(const char *path, const char *url)
{
    char text[SERVER_URL_SIZE + 1];
    int n = snprintf(text, sizeof text, "%s\n", url);
    /* What lies there is of a server that was killed, or leads elsewhere. */
    int fd = -1;
    if (unlink(path) == 0 || errno == ENOENT)
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && write(fd, text, (size_t)n) == n)
        return fd;
    int why = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = why;
    return -1;
}

int data_dir_put_url(const char *dir, const char *url)
{
    char path[MAX_PATH], fresh[MAX_PATH];
    struct fault fault = FAULT_NONE;
    if (join(dir, "server.url", path, &fault) != ERR_OK ||
        join(dir, "server.url.new", fresh, &fault) != ERR_OK)
        return -1;
    int fd = write_url(fresh, url);
    if (fd >= 0 && rename(fresh, path) == 0)
        return fd;
    log_warning("server", "cannot write %s, so login-link will not know where this server listens: %s", path,
                strerror(errno));
    (void)unlink(fresh);
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

void data_dir_drop_url(const char *dir, int lock)
{
    char path[MAX_PATH];
    struct fault fault = FAULT_NONE;
    if (lock < 0)
        return;
    if (join(dir, "server.url", path, &fault) == ERR_OK)
        (void)unlink(path);
    (void)close(lock);
}

bool data_dir_url(const char *dir, char out[SERVER_URL_SIZE])
{
    char path[MAX_PATH];
    struct fault fault = FAULT_NONE;
    FILE *f = join(dir, "server.url", path, &fault) == ERR_OK ? fopen(path, "re") : NULL;
    bool is_there = f && flock(fileno(f), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
                    fgets(out, SERVER_URL_SIZE, f) && out[0] != '\n';
    if (f)
        (void)fclose(f);
    if (is_there)
        out[strcspn(out, "\n")] = '\0';
    return is_there;
}
