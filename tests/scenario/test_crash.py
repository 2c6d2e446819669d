#!/usr/bin/env python3
"""Server and workers, killed with SIGKILL at any point, go on: the same model, nothing lost, nothing counted twice, nothing
left over. `./dev bench crash` does it a thousand times."""
import os
import socket
import subprocess

import crash
import harness
from device import Device, safetensors, small_spec
from specs import SYNTHETIC, synthetic_run

SPEC = synthetic_run(num_rounds=8)


def test_thirty_kills_of_servers_and_workers(lab):
    kills = crash.plan(30, seed=5)
    assert {tuple(k.at.split(":")[:2]) for k in kills if k.at and k.at != "moment"} == set(crash.POINTS)
    c = crash.Crash(lab)
    c.go(kills)
    c.end()
    print("%d runs, %d receipts, %d of them for an update that was there already" % (c.runs, c.hands.receipts, c.hands.repeats))
    assert sum(c.counts.values()) == 30 and not c.mismatches, c.mismatches
    assert c.hands.receipts >= 10


def test_first_start_killed_anywhere(lab):
    """Nobody has to clean up by hand, whatever there is of the databases and the token files."""
    lab.server_program = crash.SERVER
    for at in ["write:%s:%d" % (w, n) for n in range(1, 40, 6) for w in ("within", "after")] + ["commit:after:1", "commit:after:2", "commit:after:3"]:
        subprocess.run(["rm", "-rf", lab.data_dir])
        lab.launch_server(env={"FEDLANE_CRASH_AT": at})
        harness.wait_for(lambda: not lab.server.running() or lab.is_ready(), "the server to die or to be there")
        lab.server.kill()
        assert "crash point %s\n" % at in lab.server.own_text(), (at, lab.server.own_text())
        lab.start_server()
        assert lab.admin.get("/api/v1/tokens/self").json["role"] == "admin"
        assert harness.Client(lab.url, lab.token("enrollment.token")).get("/api/v1/tokens/self").json["role"] == "enrollment"
        lab.server.kill()


def test_an_upload_cut_by_a_kill_leaves_nothing(lab):
    """Large enough that its first part is in the file when the server dies."""
    lab.start_server()
    layers = [{"type": "dense", "units": 3000}]
    run_id = lab.submit(small_spec(1, num_rounds=1, model={"input": [2000], "layers": layers, "init": "zeros"}))
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    device = Device.__new__(Device)
    reply = enroll.ok("POST", "/api/v1/devices", {"name": "large", "ordinal": 0, "dataset": "hand", "num_examples": 4,
                                                  "num_test_examples": 1, "input": [2000], "classes": 3000})
    device.id, device.ordinal, device.num_examples = reply["device_id"], 0, 4
    device.http = harness.Client(lab.url, reply["token"])
    task = device.claim(10)
    tensors = [("0.weight", [3000, 2000], bytes(4 * 6000000)), ("0.bias", [3000], bytes(4 * 3000))]
    body = safetensors(tensors, device.metadata(task))
    before = blob_bytes(lab)
    with socket.create_connection(("127.0.0.1", lab.port)) as s:
        s.sendall(("PUT /api/v1/tasks/%s/update HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n"
                   "Content-Type: application/vnd.safetensors\r\n\r\n" % (task["task_id"], device.http.token, len(body))).encode())
        s.sendall(body[:20 << 20])
        harness.wait_for(lambda: file_size(lab) > before + (12 << 20), "a part of the body to be in the file")
        lab.server.kill()
    lab.start_server()
    assert blob_bytes(lab) == before
    assert device.put(task, body).json["accepted"]
    lab.wait_run(run_id)
    # The stop may cut the update's own removal short. Each start goes on with it, by 8 MiB at least.
    for _ in range(len(body) >> 23):
        assert lab.server.stop() == 0
        lab.start_server()
    assert lab.server.stop() == 0
    assert sum(crash.check_store(lab.data_dir).values()) < before + len(body)


def file_size(lab):
    return os.stat(os.path.join(lab.data_dir, "blobs.db")).st_size


def blob_bytes(lab):
    text = lab.admin.get("/metrics").body.decode()
    return int(float([line.split()[1] for line in text.splitlines() if line.startswith("fedlane_blob_bytes ")][0]))


def test_only_the_test_program_has_crash_points(lab):
    def words(path):
        with open(path, "rb") as f:
            return f.read().count(b"FEDLANE_CRASH_AT")
    assert words(harness.program("fedlane-server")) == 0 < words(crash.SERVER)
    lab.start_server(env={"FEDLANE_CRASH_AT": "write:before:1"})
    assert lab.server.stop() == 0
    wrong = subprocess.run([crash.SERVER, "--help"], env={"FEDLANE_CRASH_AT": "sync:within:1"}, capture_output=True, text=True)
    assert wrong.returncode == 2 and "KIND:WHEN:N" in wrong.stderr, wrong


def test_stopped_run_stays_stopped(lab):
    lab.start_server()
    run_id = lab.submit(synthetic_run(num_rounds=1000))
    lab.start_worker(SYNTHETIC, "0-29", name="one")
    harness.wait_for(lambda: lab.run(run_id)["round"] >= 1, "the first round")
    lab.admin.ok("POST", "/api/v1/runs/%s/stop" % run_id)
    before = lab.run(run_id)
    assert before["status"] == "finished" and before["outcome"] == "stopped", before
    lab.server.kill()
    lab.start_server()
    after = lab.run(run_id)
    assert after["status"] == "finished" and after["outcome"] == "stopped", after
    assert after["round"] == before["round"]


def test_sigterm_drains(lab):
    lab.start_server()
    worker = lab.start_worker(SYNTHETIC, "0-29", name="one")
    run_id = lab.submit(SPEC)
    harness.wait_for(lambda: lab.run(run_id)["round"] >= 1, "the first round")
    assert lab.server.stop() == 0, lab.server.text()
    lab.start_server()
    lab.wait_run(run_id)
    assert lab.hashes(run_id) == [r["aggregate_sha256"] for r in harness.simulate(SPEC)[0]]
    assert worker.stop() == 0, worker.text()


harness.main(globals())
