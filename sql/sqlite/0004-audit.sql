-- Who did what: a row for each request of a person or an enrollment that changed something. Rows are only added.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    token_id TEXT NOT NULL,
    role INTEGER NOT NULL,
    remote TEXT NOT NULL,
    request_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    path TEXT NOT NULL,
    object TEXT NOT NULL
) STRICT;
CREATE INDEX audit_token ON audit (token_id, id);
