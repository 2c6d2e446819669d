#!/usr/bin/env python3
"""What the programs say when they cannot start, and what the first start leaves behind."""
import os
import socket
import sqlite3
import stat
import subprocess

import harness


def run(argv, timeout=harness.TIMEOUT_S):
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def refused(argv, *words):
    done = run(argv)
    assert done.returncode not in (0, -6, -11, 134, 139), (argv, done)
    text = done.stdout + done.stderr
    for word in words:
        assert word in text, "%r is not in what %s said:\n%s" % (word, argv, text)
    assert "Sanitizer" not in text, text


def server(lab, *options, data_dir=None, listen="127.0.0.1:0"):
    return [harness.program("fedlane-server"), "--data-dir", data_dir or lab.path("other"), "--listen", listen, *options]


def test_first_start_writes_tokens(lab):
    lab.start_server()
    for name in ("admin.token", "enrollment.token"):
        path = os.path.join(lab.data_dir, name)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode)
        assert path in lab.server.text(), lab.server.text()
        assert lab.token(name) not in lab.server.text(), "a token is in the log"
    before = lab.token("admin.token")
    assert lab.server.stop() == 0
    lab.start_server()
    assert lab.token("admin.token") == before
    assert lab.admin.get("/api/v1/runs").status == 200


def test_taken_port(lab):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused(server(lab, listen="127.0.0.1:%d" % port), str(port), "--listen")


def test_second_server_on_the_same_data(lab):
    lab.start_server()
    refused(server(lab, data_dir=lab.data_dir), lab.data_dir, str(lab.server.process.pid))
    assert lab.admin.get("/api/v1/runs").status == 200


def test_links_in_the_data_directory(lab):
    """A database may lie elsewhere; it is still one server's. Nothing else is written to where a link leads."""
    lab.start_server()
    lab.server.stop()
    os.mkdir(lab.path("elsewhere"))
    os.rename(os.path.join(lab.data_dir, "blobs.db"), lab.path("elsewhere/blobs.db"))
    os.symlink(lab.path("elsewhere/blobs.db"), os.path.join(lab.data_dir, "blobs.db"))
    for name in ("server.url.new", "admin.token.tmp"):
        os.symlink(lab.write("mine", "precious"), os.path.join(lab.data_dir, name))
    lab.start_server()
    os.mkdir(lab.path("other"))
    os.symlink(lab.path("elsewhere/blobs.db"), lab.path("other/blobs.db"))
    refused(server(lab), "blobs.db is in use by another process, number %d" % lab.server.process.pid)
    assert lab.server.stop() == 0
    lock = os.path.join(lab.data_dir, "fedlane.db.lock")
    os.unlink(lock)
    os.symlink(lab.path("mine"), lock)
    refused(server(lab, data_dir=lab.data_dir), "fedlane.db.lock")
    with open(lab.path("mine")) as f:
        assert f.read() == "precious"


def test_a_data_directory_that_is_open_to_all(lab):
    lab.start_server()
    assert "chmod 700" not in lab.server.text()
    lab.server.stop()
    os.chmod(lab.data_dir, 0o755)
    lab.start_server()
    assert "chmod 700 " + lab.data_dir in lab.server.text(), lab.server.text()


def test_unwritable_data_dir(lab):
    # Root may write anywhere, so take a place where nobody may: below a file.
    refused(server(lab, data_dir=lab.write("file", "x") + "/data"), lab.path("file"))
    refused(server(lab, data_dir="/proc/fedlane"), "/proc/fedlane")


def test_not_a_database(lab):
    os.makedirs(lab.path("other"))
    with open(lab.path("other/fedlane.db"), "wb") as f:
        f.write(b"this is no database" * 1000)
    refused(server(lab), "fedlane.db")


def test_newer_database(lab):
    lab.start_server()
    assert lab.server.stop() == 0
    db = sqlite3.connect(os.path.join(lab.data_dir, "fedlane.db"))
    tables = [row[0] for row in db.execute("select name from sqlite_master where type = 'table' and name like '%migration%'")]
    assert len(tables) == 1, tables
    columns = [row[1] for row in db.execute("pragma table_info(%s)" % tables[0])]
    row = list(db.execute("select * from %s" % tables[0]))[-1]
    newer = [9999 if isinstance(v, int) and i == 0 else v for i, v in enumerate(row)]
    db.execute("insert into %s values (%s)" % (tables[0], ",".join("?" * len(columns))), newer)
    db.commit()
    db.close()
    refused(server(lab, data_dir=lab.data_dir), "9999", "newer")


def test_other_addresses_need_insecure(lab):
    refused(server(lab, listen="0.0.0.0:0"), "--insecure")


def test_bad_options(lab):
    refused([harness.program("fedlane-server"), "--data-dri", "x"], "data-dri")
    refused([harness.program("fedlane-worker"), "--server", "http://127.0.0.1:1"], "--enroll-token-file")
    refused([harness.program("fedlane"), "run", "shwo"], "shwo")


def test_worker_start_errors(lab):
    lab.start_server()

    def worker(data="{\"source\": \"synthetic\"}", devices="0-3", token=lab.enroll_file(), state="w"):
        return [harness.program("fedlane-worker"), "--server", lab.url, "--enroll-token-file", token,
                "--data", lab.write("d.json", data), "--devices", devices, "--state-dir", lab.path(state)]
    refused(worker(data="{"), "d.json")
    refused(worker(data="{\"source\": \"nosuch\"}"), "nosuch", "synthetic")
    refused(worker(data="{\"source\": \"synthetic\", \"alhpa\": 1}"), "alhpa")
    refused(worker(devices="0-30"), "30")
    refused(worker(devices="3-x"), "3-x")
    refused(worker(token=lab.path("nosuch.token")), "nosuch.token")
    refused(worker(token=lab.write("wrong.token", "fl_" + "0" * 64)), "token")
    refused(worker(data="{\"source\": \"idx\", \"train_images\": \"/nonexistent/a\", \"train_labels\": \"/nonexistent/b\"}"),
            "/nonexistent/a")
    running = lab.start_worker({"source": "synthetic"}, "0-3", name="one", state=lab.path("w"))
    harness.wait_for(lambda: lab.admin.ok("GET", "/api/v1/devices")["items"], "the worker to register")
    refused(worker(), "device_busy")
    assert running.running()


def test_worker_waits_for_a_server_that_is_not_up_yet(lab):
    lab.port = harness.free_port()
    lab.url = "http://127.0.0.1:%d" % lab.port
    os.makedirs(lab.data_dir)
    token = "fl_" + "7" * 64
    with open(lab.enroll_file(), "w") as f:
        f.write(token + "\n")
    os.chmod(lab.enroll_file(), 0o600)
    worker = lab.start_worker({"source": "synthetic"}, "0-3", name="early")
    harness.wait_for(lambda: "127.0.0.1:%d" % lab.port in worker.text(), "the worker to say what it waits for")
    assert worker.running(), worker.text()


harness.main(globals())
