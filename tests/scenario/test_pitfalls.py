#!/usr/bin/env python3
"""What users of other systems suffered, and what must be seen here instead. Each test is named after the behaviour."""
import hashlib
import os
import subprocess

import harness
from device import Device, MEDIA, safetensors, small_spec, weights
from specs import SYNTHETIC, synthetic_run


def error(reply, status, code, *words):
    assert reply.status == status and reply.json["code"] == code, reply
    for word in words:
        assert word in reply.json["detail"] or word == reply.json.get("field"), reply
    return reply


# 1
def test_a_killed_worker_does_not_hang_the_round(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(2, num_rounds=1, reporting={"deadline_s": 1, "grace_s": 1, "on_too_few": "skip"}))
    one, two = Device(lab, 0), Device(lab, 1)
    assert two.claim(10)
    assert one.update(one.claim(10)).status == 200
    # No traffic from here on but our looking at the database of the server through one reader.
    run = lab.wait_run(run_id, 30)
    assert run["outcome"] == "completed", run
    closed = lab.rounds(run_id)[0]
    assert (closed["received"], closed["late"], closed["selected"]) == (1, 1, 2), closed
    assert weights(lab, run_id) == [1.0] * 6


# 2
def test_missed_heartbeats_are_suspect_and_the_next_is_online(lab):
    lab.start_server("--heartbeat-s", "1")
    run_id = lab.submit(small_spec(1, num_rounds=1))
    device = Device(lab, 0)
    task = device.claim(10)

    def status():
        return lab.admin.ok("GET", "/api/v1/devices/" + device.id)["status"]
    assert status() == "online"
    harness.wait_for(lambda: status() == "suspect", "the silent device to be suspect", 30)
    device.heartbeat([{"task_id": task["task_id"], "steps_done": 1}])
    assert status() == "online"
    harness.wait_for(lambda: status() == "suspect", "the silent device to be suspect again", 30)
    assert device.update(task).json["accepted"] is True  # its task stayed valid
    lab.wait_run(run_id)


# 3
def test_waiting_for_devices_says_for_what_and_can_be_stopped(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(3))
    Device(lab, 0)
    Device(lab, 2)
    run = harness.wait_for(lambda: (lambda r: r if "2 of 3" in r["status_reason"] else None)(lab.run(run_id)), "a reason")
    assert run["status"] == "waiting_for_devices" and "1" in run["status_reason"], run
    lab.admin.ok("POST", "/api/v1/runs/%s/stop" % run_id)
    assert lab.run(run_id)["outcome"] == "stopped"


# 4
def test_a_second_process_with_the_same_state_is_device_busy(lab):
    lab.start_server("--heartbeat-s", "1")
    state = lab.path("state")
    first = lab.start_worker(SYNTHETIC, "0-29", name="first", state=state)
    harness.wait_for(lambda: lab.admin.ok("GET", "/api/v1/devices")["items"], "the devices")
    second = lab.start_worker(SYNTHETIC, "0-29", name="second", state=state)
    assert second.wait() != 0 and "device_busy" in second.text(), second.text()
    # A copied state folder passes the lock; then the server decides: the one that came last has the identity.
    subprocess.run(["cp", "-r", state, lab.path("copy")], check=True)
    lab.start_worker(SYNTHETIC, "0-29", name="third", state=lab.path("copy"))
    assert first.wait(60) != 0 and "device_busy" in first.text(), first.text()
    assert len(lab.admin.ok("GET", "/api/v1/workers")["items"]) == 1


# 5
def test_the_devices_clock_changes_nothing(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(1, num_rounds=1))
    device = Device(lab, 0)
    task = device.claim(10)
    assert 0 < task["time_left_ms"] <= 300000
    reply = device.http.request("PUT", "/api/v1/tasks/%s/update" % task["task_id"], device.body(task),
                                headers=dict(MEDIA, Date="Thu, 01 Jan 1970 00:00:00 GMT"))
    assert reply.json["accepted"] is True, reply
    lab.wait_run(run_id)


# 6
def test_work_ends_on_a_run_that_was_stopped(lab):
    lab.start_server("--heartbeat-s", "1")
    run_id = lab.submit(small_spec(1))
    device = Device(lab, 0)
    task = device.claim(10)
    report = {"task_id": task["task_id"], "steps_done": 1}
    assert device.heartbeat([report])["directives"] == []
    lab.admin.ok("POST", "/api/v1/runs/%s/stop" % run_id)
    assert device.heartbeat([report])["directives"] == [{"type": "cancel", "task_id": task["task_id"]}]
    error(device.update(task), 409, "run_not_running")


# 7
def test_a_lost_claim_is_offered_again(lab):
    lab.start_server()
    lab.submit(small_spec(1))
    device = Device(lab, 0)
    first = device.claim(10)
    again = device.claim(10)  # as if the first reply had been lost
    assert again["task_id"] == first["task_id"] and again["attempt"] == first["attempt"] + 1
    error(device.update(first), 409, "superseded")
    assert device.update(again).json["accepted"] is True


# 8
def test_no_eternal_running(lab):
    lab.start_server()
    spec = small_spec(1, num_rounds=1, reporting={"deadline_s": 1, "grace_s": 0, "on_too_few": "fail"})
    run_id = lab.submit(spec)
    device = Device(lab, 0)
    task = device.claim(10)
    device.http.ok("POST", "/api/v1/tasks/%s/fail" % task["task_id"], {"code": "out_of_memory", "detail": "no room", "steps_done": 0})
    run = lab.wait_run(run_id, 30)
    assert run["outcome"] == "failed" and run["status_reason"], run
    watch = lab.cli("run", "watch", run_id, check=False)
    assert watch.returncode == 1, watch
    events = [e["type"] for e in lab.admin.ok("GET", "/api/v1/runs/%s/events?since=0" % run_id)["items"]]
    assert "task_failed" in events and "run_finished" in events, events


# 9
def test_a_late_update_never_leaks_into_the_next_round(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(2, reporting={"deadline_s": 1, "grace_s": 0, "on_too_few": "skip"}))
    one, two = Device(lab, 0), Device(lab, 1)
    late = two.claim(10)
    assert one.update(one.claim(10), 1.0).status == 200
    harness.wait_for(lambda: lab.run(run_id)["round"] >= 1, "the clock to close round 0")
    error(two.update(late, 99.0), 409, "stale_round")
    assert one.update(one.claim(10), 2.0).status == 200
    assert two.update(two.claim(10), 4.0).status == 200
    lab.wait_run(run_id)
    assert weights(lab, run_id) == [3.0] * 6


# 10
def test_each_round_records_the_values_it_used(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(1))
    device = Device(lab, 0)
    task = device.claim(10)
    lab.admin.ok("PATCH", "/api/v1/runs/%s/config" % run_id, {"training": {"learning_rate": 0.5}})
    assert device.update(task).status == 200
    task = device.claim(10)
    assert task["config"]["learning_rate"] == 0.5
    assert device.update(task).status == 200
    lab.wait_run(run_id)
    used = [r["config"]["training"]["learning_rate"] for r in lab.rounds(run_id) if r["type"] == "train"]
    assert used == [0.1, 0.5], used


# 11, 13
def test_bad_updates_are_refused_named_and_not_counted(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(2, num_rounds=1))
    one, two = Device(lab, 0), Device(lab, 1)
    task = one.claim(10)
    nan, infinity = float("nan"), float("inf")
    error(one.put(task, one.body(task, nan)), 422, "non_finite", "0.weight")
    error(one.put(task, one.body(task, infinity)), 422, "non_finite", "0.weight")
    error(one.put(task, one.body(task, names=("0.wieght", "0.bias"))), 422, "name_mismatch", "0.weight")
    error(one.put(task, one.body(task, names=("0.weight",), shapes=((2, 2),))), 422, "name_mismatch", "0.bias")
    error(one.put(task, one.body(task, shapes=((4,), (2,)))), 422, "shape_mismatch", "0.weight")
    error(one.put(task, one.body(task, shapes=((2, 3), (2,)))), 422, "shape_mismatch", "0.weight")
    ints = safetensors([("0.weight", [2, 2], b"\0" * 16), ("0.bias", [2], b"\0" * 8)], one.metadata(task), "I32")
    error(one.put(task, ints), 422, "dtype_mismatch", "0.weight")
    good = one.body(task)
    for size in (0, 7, 8, 30, len(good) - 1):
        assert one.put(task, good[:size]).status in (400, 422), size
    assert one.put(task, good + b"x").status == 422
    error(one.put(task, good, headers=dict(MEDIA, **{"Content-Digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"})),
          422, "digest_mismatch")
    error(one.put(task, one.body(task, num_examples=3)), 409, "config_mismatch", "num_examples")
    error(one.put(task, one.body(task, learning_rate=0.2)), 409, "config_mismatch", "learning_rate")
    error(one.put(task, one.body(task, proximal_mu=1)), 409, "config_mismatch", "proximal_mu")
    error(one.put(task, one.body(task, steps_done=5)), 422, "invalid_update", "steps_done")
    error(one.put(task, one.body(task, steps_done=-1)), 422, "invalid_update", "steps_done")
    assert lab.rounds(run_id)[0]["received"] == 0
    # By name, not by position: the other order is the same update.
    body = safetensors([("0.bias", [2], [5.0, 6.0]), ("0.weight", [2, 2], [1.0, 2.0, 3.0, 4.0])], one.metadata(task))
    assert one.put(task, body).json["accepted"] is True
    assert two.put(two.claim(10), body).json["accepted"] is True
    lab.wait_run(run_id)
    assert weights(lab, run_id) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


# 12
def test_the_same_update_twice_counts_once(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(2, num_rounds=1))
    one, two = Device(lab, 0, num_examples=1), Device(lab, 1, num_examples=3)
    task = one.claim(10)
    body = one.body(task, 1.0)
    first, second = one.put(task, body).json, one.put(task, body).json
    assert first["accepted"] and not first["duplicate"] and second["duplicate"], (first, second)
    assert first["update_id"] == second["update_id"]
    error(one.put(task, one.body(task, 2.0)), 409, "duplicate_conflict")
    assert two.update(two.claim(10), 2.0).json["accepted"]
    lab.wait_run(run_id)
    assert weights(lab, run_id) == [1.75] * 6  # n = (1, 3) weighs 0.25 and 0.75
    assert one.put(task, body).json["duplicate"] is True  # also after the round


# 15
def test_metrics_appear_per_device_during_a_round(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(2, num_rounds=1, evaluation={"on": "selected"}))
    one, two = Device(lab, 0), Device(lab, 1)
    task = one.claim(10)
    assert task["want"], task
    body = one.body(task, eval_train_loss=0.5, eval_train_examples=4, eval_test_loss=0.25, eval_test_examples=1, eval_test_correct=1)
    assert one.put(task, body).status == 200
    rows = lab.admin.ok("GET", "/api/v1/runs/%s/metrics?name=train_loss" % run_id)["items"]
    assert [(r["device_id"], r["value"]) for r in rows] == [(one.id, 0.5)], rows
    assert two.update(two.claim(10), eval_train_loss=1.5, eval_train_examples=4, eval_test_loss=0.75, eval_test_examples=1,
                      eval_test_correct=0).status == 200
    harness.wait_for(lambda: lab.rounds(run_id)[0]["status"] == "closed", "round 0 to close")
    metrics = lab.rounds(run_id)[0]["metrics"]
    assert metrics["train_loss"] == 1.0 and metrics["test_accuracy"] == 0.5, metrics


# 21
def test_submitting_twice_with_one_key_makes_one_run(lab):
    lab.start_server()
    key = {"Idempotency-Key": "abc-1"}
    spec = synthetic_run(autostart=False)
    first = lab.admin.ok("POST", "/api/v1/runs", spec, headers=key)
    second = lab.admin.ok("POST", "/api/v1/runs", spec, headers=key)
    assert first["id"] == second["id"]
    error(lab.admin.request("POST", "/api/v1/runs", dict(spec, name="other"), headers=key), 409, "duplicate_conflict")
    assert len(lab.admin.ok("GET", "/api/v1/runs")["items"]) == 1


# 22
def test_every_device_call_needs_that_devices_token(lab):
    lab.start_server()
    lab.submit(small_spec(2))
    one, two = Device(lab, 0), Device(lab, 1)
    task = one.claim(10)
    error(two.put(task, one.body(task)), 403, "forbidden")
    error(two.http.post("/api/v1/devices/%s/tasks:claim" % one.id), 403, "forbidden")
    error(two.http.post("/api/v1/tasks/%s/progress" % task["task_id"], {"steps_done": 1}), 403, "forbidden")
    assert harness.Client(lab.url).request("PUT", "/api/v1/tasks/%s/update" % task["task_id"], b"x", headers=MEDIA).status == 401
    lab.admin.request("DELETE", "/api/v1/devices/" + one.id)
    error(one.put(task, one.body(task)), 401, "token_revoked")
    for token in (one.http.token, two.http.token, lab.admin.token):
        assert token not in lab.server.text(), "a token is in the log"


# 27, 28
def test_the_worker_is_one_program_and_reads_its_data_once(lab):
    lab.start_server()
    worker = lab.start_worker(SYNTHETIC, "0-29", name="one")
    lab.wait_run(lab.submit(synthetic_run(num_rounds=3)))
    assert worker.text().count("data set") <= 2, worker.text()
    linked = subprocess.run(["ldd", harness.program("fedlane-worker")], capture_output=True, text=True).stdout
    assert "python" not in linked and "sqlite" not in linked and "microhttpd" not in linked, linked
    server = subprocess.run(["ldd", harness.program("fedlane-server")], capture_output=True, text=True).stdout
    assert "blas" not in server and "curl" not in server, server
    if os.environ.get("CFLAGS", "").find("sanitize") < 0:
        assert os.path.getsize(harness.program("fedlane-worker")) < 64 << 20


# 5 of the algorithm's list: hashes tell it apart from any other average
def test_receipts_and_digests(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(1, num_rounds=1))
    device = Device(lab, 0)
    assert device.update(device.claim(10), 2.5).status == 200
    lab.wait_run(run_id)
    reply = lab.admin.get("/api/v1/runs/%s/models/latest/weights" % run_id)
    digest = hashlib.sha256(reply.body).hexdigest()
    assert reply.headers["ETag"].strip('"') == digest
    assert lab.admin.ok("GET", "/api/v1/runs/%s/models/latest" % run_id)["weights_sha256"] == digest
    import struct
    flat = hashlib.sha256(struct.pack("<6f", *[2.5] * 6)).hexdigest()
    assert lab.rounds(run_id)[0]["aggregate_sha256"] == flat


harness.main(globals())
