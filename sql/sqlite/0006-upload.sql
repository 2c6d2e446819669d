-- An update that comes in pieces: what is there of it lies in the blob, until its round closes.
CREATE TABLE upload (
    id TEXT NOT NULL PRIMARY KEY,
    task_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    blob_id INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    metadata TEXT NOT NULL,
    body_sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX upload_task ON upload (task_id, id);
CREATE INDEX upload_round ON upload (run_id, round, id);
