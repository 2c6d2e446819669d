-- Weights: see server/store/sqlite/blobs.h. An object's size is -1 until its upload has ended. A chunk's id is
-- object * 2^20 + offset / 32768, so the bytes of an object lie side by side and need no index.

CREATE TABLE object (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    size INTEGER NOT NULL
) STRICT;

CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    data BLOB NOT NULL
) STRICT;
