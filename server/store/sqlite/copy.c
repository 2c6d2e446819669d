#include "server/store/sqlite/copy.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct db_copy {
    sqlite3 *to;
    sqlite3_backup *backup;
    int64_t page_size;
    int fd; /* of the copy, to sync it */
};

/* No journal is needed: a copy that is cut short is of no use. */
static const char pragmas[] = "PRAGMA journal_mode = MEMORY;"
                              "PRAGMA synchronous = OFF;"
                              "PRAGMA cache_size = -1024;";

static enum err make_file(struct db_copy *c, const char *path, struct fault *fault)
{
    c->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (c->fd >= 0)
        return ERR_OK;
    return fault_set(fault, errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO, NULL,
                     "cannot write %s: %s. The folder must be one that the server's user may write to", path,
                     strerror(errno));
}

enum err db_copy_begin(sqlite3 *from, const char *to, struct db_copy **out, struct fault *fault)
{
    struct db_copy *c = calloc(1, sizeof *c);
    if (!c)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "no memory to copy to %s", to);
    enum err e = make_file(c, to, fault);
    if (!e)
        e = db_open(to, pragmas, &c->to, fault);
    if (!e && db_int(from, "PRAGMA page_size", &c->page_size))
        e = fault_set(fault, ERR_UNAVAILABLE, NULL, "cannot read what is to be copied to %s", to);
    if (!e && !(c->backup = sqlite3_backup_init(c->to, "main", from, "main")))
        e = fault_set(fault, ERR_UNAVAILABLE, NULL, "cannot copy to %s: %s", to, sqlite3_errmsg(c->to));
    if (e)
        db_copy_end(c);
    else
        *out = c;
    return e;
}

enum err db_copy_step(struct db_copy *c, int n, bool *out_is_done)
{
    int rc = sqlite3_backup_step(c->backup, n);
    *out_is_done = rc == SQLITE_DONE;
    return db_error(NULL, rc, "copying a database"); /* neither connection knows of it */
}

void db_copy_bytes(const struct db_copy *c, int64_t *out_done, int64_t *out_total)
{
    int64_t total = sqlite3_backup_pagecount(c->backup), left = sqlite3_backup_remaining(c->backup);
    *out_total = total * c->page_size;
    *out_done = (total - left) * c->page_size;
}

enum err db_copy_sync(const struct db_copy *c)
{
    if (fsync(c->fd) == 0)
        return ERR_OK;
    return errno == ENOSPC || errno == EDQUOT ? ERR_STORAGE_FULL : ERR_IO;
}

void db_copy_end(struct db_copy *c)
{
    if (!c)
        return;
    (void)sqlite3_backup_finish(c->backup);
    db_close(c->to);
    if (c->fd >= 0)
        (void)close(c->fd);
    free(c);
}
