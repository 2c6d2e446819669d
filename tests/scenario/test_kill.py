#!/usr/bin/env python3
"""Killed with SIGKILL at any moment, the server goes on and ends with the same model; a killed worker goes on with its tasks."""
import random
import time

import harness
from specs import SYNTHETIC, synthetic_run

SPEC = synthetic_run(num_rounds=12)


def expected():
    return [r["aggregate_sha256"] for r in harness.simulate(SPEC)[0]]


def round_of(lab, run_id):
    return lab.run(run_id)["round"]


def test_server_killed_ten_times(lab):
    lab.start_server()
    # Slow enough that kills hit work in progress.
    lab.start_worker(SYNTHETIC, "0-14", name="one", options=["--slowdown", "3"])
    lab.start_worker(SYNTHETIC, "15-29", name="two")
    run_id = lab.submit(SPEC)
    moments = random.Random(1)
    kills = 0
    for kill in range(10):
        harness.wait_for(lambda: round_of(lab, run_id) >= kill or lab.run(run_id)["status"] == "finished", "round %d" % kill)
        time.sleep(moments.uniform(0, 0.15))  # which moment is hit is the point; nothing waits for it
        lab.server.kill()
        kills += 1
        lab.start_server()
    run = lab.wait_run(run_id)
    assert run["outcome"] == "completed", run
    assert kills == 10
    assert lab.hashes(run_id) == expected()


def test_worker_killed(lab):
    lab.start_server()
    lab.start_worker(SYNTHETIC, "0-14", name="one")
    two = lab.start_worker(SYNTHETIC, "15-29", name="two", options=["--slowdown", "3"])
    run_id = lab.submit(SPEC)

    def device_ids():
        return sorted(d["id"] for d in lab.admin.ok("GET", "/api/v1/devices?limit=100")["items"])
    devices = harness.wait_for(lambda: device_ids() if len(device_ids()) == 30 else None, "30 devices")
    moments = random.Random(2)
    for kill in range(5):
        harness.wait_for(lambda: round_of(lab, run_id) >= 2 * kill, "round %d" % (2 * kill))
        time.sleep(moments.uniform(0, 0.1))
        two.kill()
        two = lab.start_worker(SYNTHETIC, "15-29", name="two", options=["--slowdown", "3"])
    run = lab.wait_run(run_id)
    assert run["outcome"] == "completed", run
    assert lab.hashes(run_id) == expected()
    assert device_ids() == devices


def test_stopped_run_stays_stopped(lab):
    lab.start_server()
    run_id = lab.submit(synthetic_run(num_rounds=1000))
    lab.start_worker(SYNTHETIC, "0-29", name="one")
    harness.wait_for(lambda: round_of(lab, run_id) >= 1, "the first round")
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
    harness.wait_for(lambda: round_of(lab, run_id) >= 1, "the first round")
    assert lab.server.stop() == 0, lab.server.text()
    lab.start_server()
    lab.wait_run(run_id)
    assert lab.hashes(run_id) == expected()
    assert worker.stop() == 0, worker.text()


harness.main(globals())
