/* Two VFS over SQLite's own, which see to it that the disk has little left to do when a database is synced.
 * What is on the disk when stays the same: they give work to the disk earlier, and never say that it is done.
 */
#ifndef FEDLANE_STORE_SQLITE_PACE_H
#define FEDLANE_STORE_SQLITE_PACE_H

enum pace {
    PACE_NONE,
    /* For the one connection to a database with a rollback journal: the disk begins to write while the rest
     * of a transaction is still handed over, and the file's blocks are set aside in steps before that. */
    PACE_AHEAD,
    /* For a connection that copies a write-ahead log: what it copies is synced in small pieces, so that no
     * sync of the log has to wait for all of it. */
    PACE_IN_PIECES
};

/* For sqlite3_open_v2; NULL is SQLite's own, also where there is no memory for another. */
const char *pace_vfs(enum pace pace);

#endif
