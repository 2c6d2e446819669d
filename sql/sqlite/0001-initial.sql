-- The records of server/store/records.h: the same columns in the same order. A text that is absent is '', a time that
-- has not come is 0, a real that is absent is NULL. The unique indexes are those of server/store/schema.h; the others
-- serve the queries of server/store/queries.h.

CREATE TABLE experiment (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX experiment_name ON experiment (name);

CREATE TABLE run (
    id TEXT NOT NULL PRIMARY KEY,
    experiment_id TEXT NOT NULL,
    name TEXT NOT NULL,
    dataset TEXT NOT NULL,
    spec TEXT NOT NULL,
    config TEXT NOT NULL,
    seed INTEGER NOT NULL,
    num_rounds INTEGER NOT NULL,
    status INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    status_reason TEXT NOT NULL,
    population INTEGER NOT NULL,
    round INTEGER NOT NULL,
    model_version INTEGER NOT NULL,
    strategy_state TEXT NOT NULL,
    is_deterministic INTEGER NOT NULL,
    nondeterminism TEXT NOT NULL,
    last_event INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL
) STRICT;
CREATE INDEX run_status ON run (status, id);
CREATE INDEX run_experiment ON run (experiment_id, id);

CREATE TABLE run_device (
    run_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    device_id TEXT NOT NULL,
    num_examples INTEGER NOT NULL,
    num_test_examples INTEGER NOT NULL,
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE round (
    run_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    type INTEGER NOT NULL,
    status INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    reason TEXT NOT NULL,
    model_version_in INTEGER NOT NULL,
    model_version_out INTEGER NOT NULL,
    config TEXT NOT NULL,
    proximal_mu REAL,
    devices_per_round INTEGER NOT NULL,
    selected INTEGER NOT NULL,
    received INTEGER NOT NULL,
    partial INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    late INTEGER NOT NULL,
    evaluators INTEGER NOT NULL,
    evaluated INTEGER NOT NULL,
    steps_assigned INTEGER NOT NULL,
    steps_done INTEGER NOT NULL,
    extensions INTEGER NOT NULL,
    aggregate_sha256 TEXT NOT NULL,
    weights_sha256 TEXT NOT NULL,
    metrics TEXT NOT NULL,
    mean_gamma REAL,
    dissimilarity_b REAL,
    grad_variance_weighted REAL,
    grad_variance_uniform REAL,
    bytes_in INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    training_at INTEGER NOT NULL,
    aggregating_at INTEGER NOT NULL,
    closed_at INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL,
    grace_until INTEGER NOT NULL,
    PRIMARY KEY (run_id, n)
) STRICT;

CREATE TABLE task (
    id TEXT NOT NULL PRIMARY KEY,
    run_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    type INTEGER NOT NULL,
    device_id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    status INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    model_version INTEGER NOT NULL,
    num_examples INTEGER NOT NULL,
    num_test_examples INTEGER NOT NULL,
    steps_assigned INTEGER NOT NULL,
    max_steps INTEGER NOT NULL,
    max_seconds REAL,
    is_straggler INTEGER NOT NULL,
    wants INTEGER NOT NULL,
    steps_done INTEGER NOT NULL,
    is_partial INTEGER NOT NULL,
    stop_reason TEXT NOT NULL,
    code TEXT NOT NULL,
    detail TEXT NOT NULL,
    update_id TEXT NOT NULL,
    report TEXT NOT NULL,
    bytes_in INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    downloaded_at INTEGER NOT NULL,
    trained_at INTEGER NOT NULL,
    uploaded_at INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL
) STRICT;
CREATE INDEX task_round ON task (run_id, round, ordinal, type, id);
CREATE INDEX task_worker ON task (worker_id, status);
CREATE INDEX task_device ON task (device_id, status);

CREATE TABLE update_record (
    id TEXT NOT NULL PRIMARY KEY,
    task_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    device_id TEXT NOT NULL,
    type INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    body_sha256 TEXT NOT NULL,
    blob_id INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    content TEXT NOT NULL,
    num_examples INTEGER NOT NULL,
    steps_done INTEGER NOT NULL,
    is_partial INTEGER NOT NULL,
    receipt TEXT NOT NULL,
    accepted_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX update_task ON update_record (task_id);
CREATE INDEX update_round ON update_record (run_id, round, ordinal, id);

CREATE TABLE model (
    run_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    blob_id INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    weights_sha256 TEXT NOT NULL,
    aggregate_sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, version)
) STRICT;

CREATE TABLE device (
    id TEXT NOT NULL PRIMARY KEY,
    worker_id TEXT NOT NULL,
    name TEXT NOT NULL,
    dataset TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    num_examples INTEGER NOT NULL,
    num_test_examples INTEGER NOT NULL,
    input TEXT NOT NULL,
    classes INTEGER NOT NULL,
    labels TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    steps_per_second REAL,
    last_seen_at INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX device_ordinal ON device (dataset, ordinal) WHERE revoked_at = 0;
CREATE INDEX device_dataset ON device (dataset, revoked_at, ordinal, id);
CREATE INDEX device_dataset_list ON device (dataset, id);
CREATE INDEX device_worker_list ON device (worker_id, id);
CREATE INDEX device_worker ON device (worker_id, revoked_at, ordinal, id);

CREATE TABLE worker (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    version TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    resources TEXT NOT NULL,
    last_seen_at INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX worker_instance ON worker (instance_id);

CREATE TABLE token (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    role INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    device_id TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL,
    revoked_reason TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX token_sha256 ON token (sha256);
CREATE INDEX token_worker ON token (worker_id, revoked_at, id);
CREATE INDEX token_device ON token (device_id, revoked_at, id);

CREATE TABLE idempotency (
    id TEXT NOT NULL PRIMARY KEY,
    body_sha256 TEXT NOT NULL,
    status INTEGER NOT NULL,
    reply TEXT NOT NULL,
    object_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotency_created ON idempotency (created_at, id);

CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_run ON event (run_id, seq);

CREATE TABLE metric (
    run_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    name TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    value REAL,
    weight REAL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_id, round, name, ordinal)
) STRICT, WITHOUT ROWID;
