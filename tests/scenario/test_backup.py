#!/usr/bin/env python3
"""A backup made while workers report fits together; restored elsewhere, the run goes on to the same hashes, with workers
that are ahead of it. A backup that is cut short has no name."""
import contextlib
import fcntl
import glob
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess

import harness
from device import big_model
from specs import SYNTHETIC, synthetic_run

SPEC = synthetic_run(num_rounds=25, retention={"keep_updates": "all"})
SERVER = harness.program("fedlane-server")


def command(*args, check=True):
    done = subprocess.run([SERVER, *args], capture_output=True, text=True, timeout=harness.TIMEOUT_S)
    if check:
        assert done.returncode == 0, "%s: exit %d\n%s%s" % (args, done.returncode, done.stdout, done.stderr)
    return done


def backup(lab, name, **kw):
    return command("backup", "--data-dir", lab.data_dir, "--to", lab.path(name), **kw)


def restore(lab, name, to, **kw):
    return command("restore", "--from", lab.path(name), "--data-dir", to, **kw)


def refused(done, *words):
    assert done.returncode in (1, 4), done
    for word in words:
        assert word in done.stderr, done.stderr
    assert not done.stdout, done.stdout


def round_of(lab, run_id):
    return lab.run(run_id)["round"]


def expected():
    return [r["aggregate_sha256"] for r in harness.simulate(SPEC)[0]]


def test_under_load(lab):
    lab.start_server()
    one = lab.start_worker(SYNTHETIC, "0-14", name="one")
    lab.start_worker(SYNTHETIC, "15-29", name="two", options=["--max-request", "1024"])  # its updates go in pieces
    run_id = lab.submit(SPEC)
    for k in range(3):
        harness.wait_for(lambda: round_of(lab, run_id) >= 3 * k + 1, "round %d" % (3 * k + 1))
        done = backup(lab, "backup%d" % k)
        assert "1 runs with " in done.stdout, done.stdout
    late = lab.start_worker({**SYNTHETIC, "name": "other"}, "0-1", name="late")
    lab.wait_run(run_id)
    assert lab.hashes(run_id) == expected()
    harness.wait_for(lambda: len(lab.admin.ok("GET", "/api/v1/workers")["items"]) == 3, "the late worker")
    lab.server.kill()
    # The workers go on with a server that has forgotten the run's second half, and the late one altogether.
    lab.data_dir = lab.path("restored")
    done = restore(lab, "backup2", lab.data_dir)
    assert "restored the backup of " in done.stdout, done.stdout
    lab.start_server()
    before = round_of(lab, run_id)
    assert 7 <= before < 25, before
    run = lab.wait_run(run_id)
    assert run["outcome"] == "completed", run
    assert lab.hashes(run_id) == expected()
    assert "registering anew" in late.text()
    harness.wait_for(lambda: len(lab.admin.ok("GET", "/api/v1/workers")["items"]) == 3, "the late worker to be there again")
    for w in (one, late):
        assert w.running(), w.text()


def test_without_a_server(lab):
    lab.start_server()
    lab.start_worker(SYNTHETIC, "0-29", name="one")
    run_id = lab.submit(synthetic_run(num_rounds=2))
    lab.wait_run(run_id)
    hashes = lab.hashes(run_id)
    lab.server.stop()
    backup(lab, "b")
    refused(backup(lab, "b", check=False), "is there already")
    for root, folders, files in os.walk(lab.path("b")):
        assert stat.S_IMODE(os.stat(root).st_mode) == 0o700, root
        for name in files:
            assert stat.S_IMODE(os.stat(os.path.join(root, name)).st_mode) == 0o600, name
    assert sorted(os.listdir(lab.path("b"))) == ["admin.token", "backup.json", "blobs.db", "enrollment.token", "fedlane.db"]
    refused(restore(lab, "b", lab.data_dir, check=False), "is not empty", lab.data_dir)
    refused(restore(lab, "data", lab.path("x"), check=False), "no backup.json")
    assert not os.path.exists(lab.path("x"))
    refused(backup(lab, "b2/deep", check=False), "b2/deep")
    refused(command("backup", "--data-dir", lab.path("none"), "--to", lab.path("b3"), check=False), "no data directory")
    lab.data_dir = lab.path("restored")
    os.mkdir(lab.data_dir)  # an empty one will do
    restore(lab, "b", lab.data_dir)
    lab.start_server()
    assert lab.hashes(run_id) == hashes
    final = lab.admin.get("/api/v1/runs/%s/models/latest/weights" % run_id)
    assert final.status == 200 and len(final.body) > 1000, final


def test_damage(lab):
    lab.start_server()
    lab.start_worker(SYNTHETIC, "0-29", name="one")
    lab.wait_run(lab.submit(synthetic_run(num_rounds=2)))
    backup(lab, "b")
    size = os.path.getsize(lab.path("b/blobs.db"))
    with open(lab.path("b/blobs.db"), "r+b") as f:
        f.seek(size // 2)
        f.write(b"damaged")
    refused(restore(lab, "b", lab.path("x"), check=False), "blobs.db", "SHA-256")
    assert not os.path.exists(lab.path("x"))
    # Also where somebody made the list fit the files.
    backup(lab, "c")
    with contextlib.closing(sqlite3.connect(lab.path("c/fedlane.db"))) as db:
        db.execute("UPDATE model SET weights_sha256 = 'f' || substr(weights_sha256, 2) WHERE blob_id > 0")
        db.execute("UPDATE model SET weights_sha256 = '0' || substr(weights_sha256, 2) WHERE version % 2")
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    lists = json.load(open(lab.path("c/backup.json")))
    for item in lists["files"]:
        item["size_bytes"] = os.path.getsize(lab.path("c/" + item["name"]))
        item["sha256"] = subprocess.run(["sha256sum", lab.path("c/" + item["name"])], capture_output=True, text=True,
                                        check=True).stdout.split()[0]
    lab.write("c/backup.json", lists)
    refused(restore(lab, "c", lab.path("y"), check=False), "a model has other bytes")
    # What a restore that was killed leaves is no data directory.
    os.mkdir(lab.path("z"))
    lab.write("z/restore.partial", "")
    done = command("--data-dir", lab.path("z"), "--listen", "127.0.0.1:0", check=False)
    assert done.returncode == 1 and "cut short" in done.stderr, done
    # The next one begins anew, but not where there is what no restore wrote.
    lab.write("z/other", "")
    refused(restore(lab, "b", lab.path("z"), check=False), "is not empty")
    os.unlink(lab.path("z/other"))
    backup(lab, "d")
    with open(lab.path("z/restore.partial")) as marker:
        fcntl.flock(marker, fcntl.LOCK_EX)
        refused(restore(lab, "d", lab.path("z"), check=False), "Another restore is at work")
    restore(lab, "d", lab.path("z"))
    assert not os.path.exists(lab.path("z/restore.partial"))


def test_compact(lab):
    lab.start_server()
    big_model(lab, 8)
    other = big_model(lab, 1)
    refused(command("compact", "--data-dir", lab.data_dir, check=False), "in use by another process")
    lab.server.stop()
    path = os.path.join(lab.data_dir, "blobs.db")
    with contextlib.closing(sqlite3.connect(path)) as db:  # as a run's retention would
        first = db.execute("SELECT min(id) FROM object WHERE size > 4 << 20").fetchone()[0]
        db.execute("DELETE FROM chunk WHERE id >= ? << 20 AND id < (? + 1) << 20", (first, first))
        db.commit()
    before = os.path.getsize(path)
    done = command("compact", "--data-dir", lab.data_dir)
    assert "blobs.db: %d -> %d bytes" % (before, os.path.getsize(path)) in done.stdout, done.stdout
    assert os.path.getsize(path) < before / 2, done.stdout
    lab.start_server()
    assert len(lab.admin.get("/api/v1/runs/%s/models/0/weights" % other).body) > 1 << 20
    refused(command("compact", "--data-dir", lab.path("none"), check=False), "there is no")


def launch(pattern, *args):
    """A command that has begun to write the file."""
    process = subprocess.Popen([SERVER, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    harness.wait_for(lambda: glob.glob(pattern) or process.poll() is not None, "the copying")
    return process


def begin(lab, name):
    """A backup whose copying has begun."""
    return launch(lab.path(name) + ".partial-*/blobs.db", "backup", "--data-dir", lab.data_dir, "--to", lab.path(name))


def interrupted(process, number):
    process.send_signal(number)
    out, errors = process.communicate()
    assert process.returncode == -number and not out, (process.returncode, out, errors)


def test_cut_short(lab):
    lab.start_server()
    big_model(lab, 96)
    # Whoever asked is killed: the server gives up, and is fine.
    process = begin(lab, "a")
    process.kill()
    process.communicate()
    assert not os.path.exists(lab.path("a"))
    for left in glob.glob(lab.path("a.partial-*")):
        shutil.rmtree(left)
    backup(lab, "b")
    # He changes his mind: nothing is left, and the server is fine.
    interrupted(begin(lab, "i"), signal.SIGINT)
    assert not glob.glob(lab.path("i*")), os.listdir(lab.folder)
    interrupted(launch(lab.path("r/blobs.db"), "restore", "--from", lab.path("b"), "--data-dir", lab.path("r")), signal.SIGINT)
    assert not os.path.exists(lab.path("r"))
    os.mkdir(lab.path("r"))
    interrupted(launch(lab.path("r/blobs.db"), "restore", "--from", lab.path("b"), "--data-dir", lab.path("r")), signal.SIGTERM)
    assert os.listdir(lab.path("r")) == []
    # The server is killed: who asked says so, and leaves nothing.
    process = begin(lab, "c")
    lab.server.kill()
    _, errors = process.communicate()
    assert process.returncode == 1 and "ended before the backup was complete" in errors, errors
    assert not os.path.exists(lab.path("c")) and not glob.glob(lab.path("c.partial-*")), os.listdir(lab.folder)
    interrupted(begin(lab, "i"), signal.SIGTERM)  # of one that copies itself
    assert not glob.glob(lab.path("i*")), os.listdir(lab.folder)
    # The socket that it left behind is in nobody's way.
    backup(lab, "d")
    lab.start_server()
    backup(lab, "e")
    # A server that is told to end does not wait for a backup.
    process = begin(lab, "f")
    assert lab.server.stop() == 0
    _, errors = process.communicate()
    if process.returncode != 0:
        assert not os.path.exists(lab.path("f")), errors
    lab.data_dir = lab.path("restored")
    restore(lab, "b", lab.data_dir)
    lab.start_server()


def naps(thread):
    """How often it has gone to sleep."""
    with open(thread + "/status") as f:
        return int(next(line for line in f if line.startswith("voluntary")).split()[1])


def thread_named(pid, name):
    for thread in glob.glob("/proc/%d/task/*" % pid):
        with open(thread + "/comm") as f:
            if f.read().strip() == name:
                return thread
    raise AssertionError("no thread " + name)


def test_no_descriptor_is_left(lab):
    """Whoever asks waits then, and what he asks of does not spin."""
    lab.start_server()
    pid = lab.server.process.pid
    thread = thread_named(pid, "control")
    none, before = (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]), resource.prlimit(pid, resource.RLIMIT_NOFILE)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(harness.TIMEOUT_S)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, none)  # 0, 1 and 2 are taken
        client.connect(os.path.join(lab.data_dir, "control.sock"))
        client.sendall(b"what\n")
        start = naps(thread)
        harness.wait_for(lambda: naps(thread) > start + 3, "the thread to sleep", 30)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert client.recv(100).startswith(b"error "), "no answer"
    assert lab.server.stop() == 0


harness.main(globals())
