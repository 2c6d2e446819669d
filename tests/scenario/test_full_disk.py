#!/usr/bin/env python3
"""A disk that is full: what needs space is refused by name, what was accepted stays, and all goes on when there is room. With
real servers and workers on a small file system of their own, which only root may mount."""
import contextlib
import os
import re
import subprocess
import tempfile

import harness
from device import Device, big_model, small_spec
from specs import SYNTHETIC, synthetic_run

DISK_FULL = re.compile("disk is full|No space left on device")
SERVER = harness.program("fedlane-server")


def mount(place, size):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", place], capture_output=True).returncode == 0


def can_mount():
    with tempfile.TemporaryDirectory(prefix="fedlane-test-") as place:
        is_fine = os.geteuid() == 0 and mount(place, "1m")
        if is_fine:
            subprocess.run(["umount", place], check=True)
    return is_fine


@contextlib.contextmanager
def small_disk(lab, size):
    """The lab's data on a small file system of their own."""
    place = lab.path("small")
    os.makedirs(place)
    assert mount(place, size), place
    try:
        lab.data_dir = os.path.join(place, "data")
        yield
    finally:
        if lab.server:
            lab.server.kill()
        subprocess.run(["umount", place], check=False)


def fill_disk(lab):
    """Takes what space is left; returns the file that holds it."""
    ballast = lab.path("small/ballast")
    with open(ballast, "wb", buffering=0) as f, contextlib.suppress(OSError):
        while True:
            f.write(b"x" * 4096)
    return ballast


def test_a_full_disk_loses_nothing_and_gives_its_space_back(lab):
    with small_disk(lab, "24m"):
        lab.start_server()
        keep = lab.submit(synthetic_run(name="kept", autostart=False))
        ballast = fill_disk(lab)
        refused = None
        for i in range(2000):
            reply = lab.admin.post("/api/v1/runs", synthetic_run(name="r%d" % i, autostart=False))
            if reply.status != 201:
                refused = reply
                break
        assert refused is not None and refused.status == 507 and refused.json["code"] == "storage_full", refused
        accepted = lab.admin.ok("GET", "/api/v1/runs?limit=1000")["items"]
        assert len(accepted) == i + 1, (len(accepted), i)
        os.unlink(ballast)
        assert lab.admin.post("/api/v1/runs", synthetic_run(name="after", autostart=False)).status == 201
        lab.server.kill()
        lab.start_server()
        names = [r["name"] for r in lab.admin.ok("GET", "/api/v1/runs?limit=1000")["items"]]
        assert len(names) == i + 2 and "after" in names and lab.run(keep)["name"] == "kept", names


def test_a_run_waits_for_space_and_goes_on(lab):
    """The worker keeps its reports until there is space again; no update is lost, none counts twice."""
    spec = synthetic_run(num_rounds=30)
    with small_disk(lab, "24m"):
        lab.start_server()
        worker = lab.start_worker(SYNTHETIC, "0-29", name="one")
        run_id = lab.submit(spec)
        harness.wait_for(lambda: lab.run(run_id)["round"] >= 3, "three rounds")
        ballast = fill_disk(lab)
        harness.wait_for(lambda: "disk is full" in lab.server.text() or "storage" in worker.text(), "the full disk")
        before = lab.run(run_id)
        assert before["status"] == "running" and before["round"] < 30, before
        assert lab.admin.get("/healthz").status == 200
        os.unlink(ballast)
        run = lab.wait_run(run_id)
        assert run["outcome"] == "completed", run
        assert lab.hashes(run_id) == [r["aggregate_sha256"] for r in harness.simulate(spec)[0]]
        for r in lab.rounds(run_id):
            assert r["selected"] == r["received"] + r["dropped"] + r["failed"] + r["late"] and not r["failed"], r
        assert worker.running(), worker.text()


def patch(device, path, body, offset):
    return device.http.request("PATCH", path, body, headers={"Upload-Offset": str(offset), "Content-Type": "application/partial-upload"})


def offset_of(device, path):
    head = device.http.request("HEAD", path)
    assert head.status == 200, head
    return int(head.headers["Upload-Offset"])


PIECE = 128 << 10  # a request that is refused before it was read: so much is sent all the same, and its answer is seen


def send_until_refused(device, path, body, offset):
    """Until the full disk has no room left, of which the database may have reserved some. How far the server has said that the
    upload is, and what was sent of it."""
    for end in range(offset + PIECE, offset + 200 * PIECE, PIECE):
        reply = patch(device, path, body[offset:end], offset)
        if reply.status != 204:
            assert reply.status == 507 and reply.json["code"] == "storage_full", reply
            return offset, end
        offset = end
    raise AssertionError("a full disk took %d bytes" % offset)


def test_an_update_in_pieces_waits_for_space(lab):
    shape = [5, 3000000]
    with small_disk(lab, "200m"):
        lab.start_server()
        run_id = lab.submit(small_spec(1, num_rounds=1, model={"input": None, "layers": None, "init": None, "tensors": [
            {"name": "w", "shape": shape, "dtype": "F32"}]}))
        device = Device(lab, 0)
        task = device.claim(10)
        body = device.body(task, 1.5, names=["w"], shapes=[shape])
        path = device.http.request("POST", "/api/v1/tasks/%s/uploads" % task["task_id"],
                                   headers={"Upload-Length": str(len(body))}).headers["Location"]
        assert patch(device, path, body[:3000000], 0).status == 204
        offset = 3000000
        for is_killed in (False, True):
            ballast = fill_disk(lab)
            offset, sent = send_until_refused(device, path, body, offset)
            for end in (sent, offset + 1000):
                # It says how far the upload is once that is on the disk.
                assert device.http.request("HEAD", path).status == 507
                reply = patch(device, path, body[offset:end], offset)
                assert reply.status == 507 and reply.json["code"] == "storage_full", reply
            assert lab.admin.get("/healthz").status == 200 and lab.run(run_id)["status"] == "running"
            os.unlink(ballast)
            if is_killed:
                lab.server.kill()
                lab.start_server()
            at = offset_of(device, path)
            assert offset <= at <= sent, (offset, at)
            offset = at
        receipt = patch(device, path, body[offset:], offset)
        assert receipt.status == 200 and receipt.json["accepted"] is True and receipt.json["duplicate"] is False, receipt
        assert lab.wait_run(run_id)["outcome"] == "completed"
        made = lab.admin.get("/api/v1/runs/%s/models/1/weights" % run_id).body
        assert made[-60000000:] == body[-60000000:]


def said(lab, *args):
    """What a command says that fails, as it must say when the disk is full."""
    done = subprocess.run([SERVER, *args], capture_output=True, text=True, timeout=harness.TIMEOUT_S,
                          env={**os.environ, "SQLITE_TMPDIR": lab.path("small")})
    assert done.returncode == 1 and not done.stdout, (args, done)
    assert DISK_FULL.search(done.stderr), (args, done)
    return done.stderr


def test_commands(lab):
    """backup, restore and compact where there is too little room leave what was there, and nothing else."""
    with small_disk(lab, "64m"):
        lab.start_server()
        kept = big_model(lab, 4)
        whole = lab.admin.get("/api/v1/runs/%s/models/0/weights" % kept).body
        subprocess.run([SERVER, "backup", "--data-dir", lab.data_dir, "--to", lab.path("small/b")], check=True, capture_output=True)
        ballast = fill_disk(lab)
        before = sorted(os.listdir(lab.path("small")))
        said(lab, "backup", "--data-dir", lab.data_dir, "--to", lab.path("small/c"))
        assert lab.server.stop() == 0
        said(lab, "backup", "--data-dir", lab.data_dir, "--to", lab.path("small/c"))
        said(lab, "restore", "--from", lab.path("small/b"), "--data-dir", lab.path("small/r"))
        said(lab, "compact", "--data-dir", lab.data_dir)
        assert sorted(os.listdir(lab.path("small"))) == before
        os.unlink(ballast)
        for args in (("restore", "--from", lab.path("small/b"), "--data-dir", lab.path("small/r")), ("compact", "--data-dir", lab.data_dir)):
            done = subprocess.run([SERVER, *args], capture_output=True, text=True)
            assert done.returncode == 0, (args, done)
        for lab.data_dir in (lab.data_dir, lab.path("small/r")):
            lab.start_server()
            assert lab.admin.get("/api/v1/runs/%s/models/0/weights" % kept).body == whole
            lab.server.kill()


def test_a_start(lab):
    with small_disk(lab, "24m"):
        os.makedirs(lab.data_dir)
        ballast = fill_disk(lab)
        said(lab, "--data-dir", lab.data_dir, "--listen", "127.0.0.1:0")
        os.unlink(ballast)
        lab.start_server()
        run_id = lab.submit(synthetic_run(autostart=False))
        for is_killed in (False, True):
            lab.server.kill() if is_killed else lab.server.stop()
            ballast = fill_disk(lab)
            # It says why it ends, or reads what there is: one that was killed has left the files that it needs.
            server = lab.launch_server()
            harness.wait_for(lambda: not server.running() or lab.is_ready(), "the server to decide")
            if server.running():
                assert lab.run(run_id)["status"] == "pending"
                server.stop()
            else:
                assert server.process.returncode == 1 and DISK_FULL.search(server.own_text()), server.own_text()
            os.unlink(ballast)
            assert not os.path.exists(os.path.join(lab.data_dir, "server.url.new"))
            lab.start_server()
            assert lab.run(run_id)["status"] == "pending"


if not can_mount():
    harness.skip("mounting a small file system is not permitted here")
harness.main(globals())
