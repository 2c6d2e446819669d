#include "server/api/login_code.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/random.h"
#include "common/crypto/sha256.h"
#include "server/core/names.h"

#define MAX_PATH  4096
#define MAX_GRANT (4 * KIB)

/* "DATA-DIR/login", or the file `name` in it. */
static enum err login_path(const char *data_dir, const char *name, char out[MAX_PATH], struct fault *fault)
{
    int n = snprintf(out, MAX_PATH, "%s/login%s%s", data_dir, name ? "/" : "", name ? name : "");
    if (n > 0 && n < MAX_PATH)
        return ERR_OK;
    return fault_set(fault, ERR_USAGE, NULL, "The path of the data directory is too long.");
}

/* ERR_NOT_FOUND, ERR_IO, ERR_CORRUPT. */
static enum err grant_read(const char *path, struct login_grant *out, struct fault *fault)
{
    struct buf text = BUF_INIT(MAX_GRANT);
    const char *role;
    json_int_t made_at, expires_at, session_ms;
    enum err e = file_read(path, &text, fault);
    json_t *json = e == ERR_OK ? json_loadb(text.data, text.len, 0, NULL) : NULL;
    if (e == ERR_OK && (json_unpack(json, "{s:s, s:I, s:I, s:I}", "role", &role, "made_at", &made_at,
                                    "expires_at", &expires_at, "session_ms", &session_ms) != 0 ||
                        token_role_parse(role, &out->role) != ERR_OK || made_at < 0 || expires_at < 0 ||
                        session_ms < 1 || session_ms > (json_int_t)LOGIN_SESSION_HOURS_MAX * 3600 * 1000))
        e = fault_set(fault, ERR_CORRUPT, NULL, "%s is no login code. Remove it.", path);
    if (e == ERR_OK) {
        out->made_at = made_at;
        out->expires_at = expires_at;
        out->session_ms = session_ms;
    }
    json_decref(json);
    buf_release(&text);
    return e;
}

/* ---- making ---- */

static enum err make_folder(const char *data_dir, const char *folder, const struct stat *owner,
                            struct fault *fault)
{
    if (mkdir(folder, 0700) != 0) {
        if (errno == EEXIST)
            return ERR_OK;
        return fault_set(fault, ERR_IO, NULL,
                         "Cannot make a login link in %.200s: %s. Run this as the user whose server it is.",
                         data_dir, strerror(errno));
    }
    if (owner->st_uid != geteuid() && chown(folder, owner->st_uid, owner->st_gid) != 0)
        return fault_set(fault, ERR_IO, NULL, "Cannot give %.200s to the data directory's owner: %s.", folder,
                         strerror(errno));
    return ERR_OK;
}

static enum err write_grant(const char *path, const char *text, const struct stat *owner, struct fault *fault)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    size_t n = strlen(text);
    bool is_fine = fd >= 0 && write(fd, text, n) == (ssize_t)n;
    if (is_fine && owner->st_uid != geteuid())
        is_fine = fchown(fd, owner->st_uid, owner->st_gid) == 0;
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && is_fine) {
        is_fine = false;
        why = errno;
    }
    if (is_fine)
        return ERR_OK;
    if (fd >= 0)
        (void)unlink(path);
    return fault_set(
        fault, ERR_IO, NULL,
        "Cannot write %.200s: %s. Run this as the user whose server it is, and see that its disk "
        "is not full.",
        path, strerror(why));
}

static void drop_expired(const char *data_dir, const char *folder, int64_t now_ms)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[MAX_PATH];
        struct login_grant grant;
        struct fault fault = FAULT_NONE;
        if (entry->d_name[0] != '.' && login_path(data_dir, entry->d_name, path, &fault) == ERR_OK &&
            grant_read(path, &grant, &fault) == ERR_OK && grant.expires_at <= now_ms)
            (void)unlink(path);
    }
    if (dir)
        (void)closedir(dir);
}

enum err login_code_make(const char *data_dir, const struct login_grant *grant,
                         char out_code[LOGIN_CODE_SIZE], struct fault *fault)
{
    struct stat owner;
    char folder[MAX_PATH], path[MAX_PATH], sha256[SHA256_HEX_SIZE], text[256];
    uint8_t secret[32];
    if (stat(data_dir, &owner) != 0 || !S_ISDIR(owner.st_mode))
        return fault_set(fault, ERR_USAGE, NULL,
                         "There is no data directory %.200s. Name the server's with --data-dir, or start the "
                         "server once to make it.",
                         data_dir);
    enum err e = login_path(data_dir, NULL, folder, fault);
    if (e == ERR_OK)
        e = make_folder(data_dir, folder, &owner, fault);
    if (e != ERR_OK)
        return e;
    drop_expired(data_dir, folder, grant->made_at);
    if ((e = random_bytes(secret, sizeof secret)) != ERR_OK)
        return fault_set(fault, e, NULL, "The system gives no random bytes.");
    hex_encode(secret, sizeof secret, out_code);
    e = sha256_hex(out_code, strlen(out_code), sha256);
    if (e == ERR_OK)
        e = login_path(data_dir, sha256, path, fault);
    (void)snprintf(text, sizeof text,
                   "{\"role\": \"%s\", \"made_at\": %lld, \"expires_at\": %lld, \"session_ms\": %lld}\n",
                   token_role_name(grant->role), (long long)grant->made_at, (long long)grant->expires_at,
                   (long long)grant->session_ms);
    return e == ERR_OK ? write_grant(path, text, &owner, fault) : e;
}

/* ---- using ---- */

enum err login_code_refuse(struct fault *fault)
{
    return fault_set(
        fault, ERR_UNAUTHORIZED, NULL,
        "This login link is not valid: it was used already, has expired, or is of another server. "
        "Make a new one with `fedlane-server login-link`.");
}

/* Details stay here: who asks may be a stranger. */
static enum err broken(const struct fault *why, struct fault *fault)
{
    log_error("api", "a login link cannot be used: %s", why->detail);
    return fault_set(fault, ERR_INTERNAL, NULL,
                     "The server cannot read this login link; its log says why. Make a new one with "
                     "`fedlane-server login-link`, as the user whose server it is.");
}

/* The same id whoever asks, with the time of the making in it as in any other. */
static enum err fill_from_hash(void *ctx, void *out, size_t n)
{
    uint8_t bytes[SHA256_SIZE];
    enum err e = hex_decode(ctx, bytes, sizeof bytes);
    memcpy(out, bytes, n < sizeof bytes ? n : sizeof bytes);
    return e;
}

/* The hash of another text than the file's name is of, so that lists of tokens tell nothing about the files.
 */
static enum err name_token(const char *code, struct login_grant *grant)
{
    char text[LOGIN_CODE_SIZE + 8], sha256[SHA256_HEX_SIZE];
    (void)snprintf(text, sizeof text, "token %s", code);
    enum err e = sha256_hex(text, strlen(text), sha256);
    const struct entropy hash = {.fill = fill_from_hash, .ctx = sha256};
    return e == ERR_OK ? id_new(&hash, grant->made_at, grant->token_id) : e;
}

static enum err code_path(const char *data_dir, const char *code, char out[MAX_PATH], struct fault *why)
{
    char sha256[SHA256_HEX_SIZE];
    enum err e = sha256_hex(code, strlen(code), sha256);
    return e == ERR_OK ? login_path(data_dir, sha256, out, why) : e;
}

enum err login_code_find(const char *data_dir, const char *code, int64_t now_ms, struct login_grant *out,
                         struct fault *fault)
{
    char path[MAX_PATH];
    struct fault why = FAULT_NONE;
    enum err e = code_path(data_dir, code, path, &why);
    if (e == ERR_OK)
        e = grant_read(path, out, &why);
    if (e == ERR_NOT_FOUND)
        return login_code_refuse(fault);
    if (e == ERR_OK && out->expires_at <= now_ms) {
        (void)unlink(path);
        return login_code_refuse(fault);
    }
    if (e == ERR_OK)
        e = name_token(code, out);
    return e == ERR_OK ? ERR_OK : broken(&why, fault);
}

void login_code_drop(const char *data_dir, const char *code)
{
    char path[MAX_PATH];
    struct fault why = FAULT_NONE;
    if (code_path(data_dir, code, path, &why) == ERR_OK && unlink(path) != 0 && errno != ENOENT)
        log_warning("api", "%s: cannot remove this used login code: %s", path, strerror(errno));
}
