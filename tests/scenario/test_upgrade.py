#!/usr/bin/env python3
"""A database of every earlier schema, with a run in the middle of a round, is upgraded and served: the run goes on to the
hashes of `simulate`. One that is newer than the program is refused by name."""
import contextlib
import glob
import hashlib
import os
import shutil
import sqlite3
import subprocess
import urllib.parse

import harness
from specs import SYNTHETIC, synthetic_run

SPEC = synthetic_run(num_rounds=12)


def migrations(folder):
    files = sorted(glob.glob(os.path.join(harness.SRC, "sql", folder, "*.sql")))
    assert files and os.path.basename(files[0]).startswith("0001-"), files
    return files


def columns(db, schema, table):
    return [row[1] for row in db.execute("PRAGMA %s.table_info(%s)" % (schema, table))]


def make_old(newest, path, files):
    """A database as the first of the migrations left it, with what `newest` holds of its tables and columns."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("ATTACH ? AS newest", (newest,))
        db.execute("PRAGMA application_id = %d" % db.execute("PRAGMA newest.application_id").fetchone()[0])
        db.execute("CREATE TABLE schema_migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL,"
                   " applied_at INTEGER NOT NULL) STRICT")
        for version, file in enumerate(files, 1):
            with open(file, "rb") as f:
                text = f.read()
            db.executescript(text.decode())
            db.execute("INSERT INTO schema_migration VALUES (?, ?, ?, 0)",
                       (version, os.path.basename(file), hashlib.sha256(text).hexdigest()))
        rows = 0
        for (table,) in db.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                                   " AND name != 'schema_migration'").fetchall():
            there = columns(db, "newest", table)
            names = ", ".join(c for c in columns(db, "main", table) if c in there)
            rows += db.execute("INSERT INTO main.%s (%s) SELECT %s FROM newest.%s" % (table, names, names, table)).rowcount
        db.commit()
    assert rows > 100, rows


# As a person may have written them: what JSON escapes, and what SQL or a query would take for something else.
LABELS = {"site": "north", "r\u00f6\"m\\'": "a=b & %c", "empty": ""}


def register_labelled(lab):
    enrollment = harness.Client(lab.url, lab.token("enrollment.token"))
    return enrollment.ok("POST", "/api/v1/devices", {"dataset": "labelled", "num_examples": 1, "labels": LABELS})["device_id"]


def found_by(lab, label):
    page = lab.admin.ok("GET", "/api/v1/devices?" + urllib.parse.urlencode({"label": label}))
    return [d["id"] for d in page["items"]]


def check_labels(lab, device):
    for name, value in LABELS.items():
        assert found_by(lab, name) == found_by(lab, name + "=" + value) == [device], name
        assert found_by(lab, name + "=another") == []


def test_from_every_schema(lab):
    lab.start_server()
    labelled = register_labelled(lab)
    check_labels(lab, labelled)
    worker = lab.start_worker(SYNTHETIC, "0-29", name="one")
    run_id = lab.submit(SPEC)
    harness.wait_for(lambda: lab.run(run_id)["round"] >= 2, "the third round")
    backup = lab.path("backup")
    subprocess.run([harness.program("fedlane-server"), "backup", "--data-dir", lab.data_dir, "--to", backup], check=True,
                   capture_output=True)
    lab.server.kill()
    worker.kill()
    expected = [r["aggregate_sha256"] for r in harness.simulate(SPEC)[0]]
    files = migrations("sqlite")
    for version in range(1, len(files)):
        lab.data_dir = lab.path("data%d" % version)
        os.mkdir(lab.data_dir, 0o700)
        make_old(backup + "/fedlane.db", lab.data_dir + "/fedlane.db", files[:version])
        for name in ("blobs.db", "admin.token", "enrollment.token"):
            shutil.copy(backup + "/" + name, lab.data_dir)
        lab.start_server()
        for later in files[version:]:
            assert "applied " + os.path.basename(later) in lab.server.text(), (version, later)
        check_labels(lab, labelled)
        worker = lab.start_worker(SYNTHETIC, "0-29", name="one")
        run = lab.wait_run(run_id)
        assert run["outcome"] == "completed" and lab.hashes(run_id) == expected, (version, run)
        worker.kill()
        lab.server.kill()


def test_a_newer_schema_is_refused(lab):
    lab.start_server()
    lab.server.stop()
    path = os.path.join(lab.data_dir, "fedlane.db")
    newest = len(migrations("sqlite"))
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO schema_migration VALUES (?, '9999-future.sql', 'x', 0)", (newest + 1,))
        db.commit()
    done = subprocess.run([harness.program("fedlane-server"), "--data-dir", lab.data_dir, "--listen", "127.0.0.1:0"],
                          capture_output=True, text=True, timeout=harness.TIMEOUT_S)
    assert done.returncode == 4, done
    for words in (path, "schema version %d" % (newest + 1), "up to version %d" % newest, "use a newer program"):
        assert words in done.stderr, done.stderr


harness.main(globals())
