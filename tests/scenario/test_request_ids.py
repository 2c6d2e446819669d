#!/usr/bin/env python3
"""A request has one id on both sides: in the worker's log, in the CLI's errors, in the reply and in the server's log."""
import os
import re

import harness
from specs import SYNTHETIC, synthetic_run


def server_lines(lab, request_id):
    return [line for line in lab.server.text().splitlines() if "[%s]" % request_id in line]


def ids_of(worker, words):
    found = re.findall(r"worker \[(\w+)\] (.*)", worker.text())
    return [request_id for request_id, text in found if words in text]


def test_worker(lab):
    lab.start_server("--log-level", "debug")
    worker = lab.start_worker(SYNTHETIC, "0-29", name="one", options=["--log-level", "debug"])
    lab.wait_run(lab.submit(synthetic_run(num_rounds=2)))
    # Of what went well, too.
    update = harness.wait_for(lambda: ids_of(worker, "update of"), "an update in the worker's log")[0]
    lines = harness.wait_for(lambda: server_lines(lab, update), "the update in the server's log")
    assert any(re.search(r"httpd \[\w+\] PUT /api/v1/tasks/\w+/update 200 ", line) for line in lines), lines
    # A refusal stands in the server's log at its usual level.
    lab.server.stop()
    os.rename(lab.data_dir, lab.data_dir + ".old")
    lab.start_server()
    refused = harness.wait_for(lambda: ids_of(worker, "registering anew"), "the refusal in the worker's log")[0]
    lines = harness.wait_for(lambda: server_lines(lab, refused), "the refusal in the server's log")
    assert any(re.search(r"info httpd \[\w+\] \S+ /api/v1/workers/\S+ 401 ", line) for line in lines), lines


def test_retries(lab):
    lab.start_server()
    worker = lab.start_worker(SYNTHETIC, "0-29", name="one")
    run_id = lab.submit(synthetic_run(num_rounds=1000))
    harness.wait_for(lambda: lab.run(run_id)["round"] >= 2, "two rounds")
    lab.server.kill()
    # While nobody answers each try says which request it is.
    retry = harness.wait_for(lambda: ids_of(worker, "trying"), "a retry in the worker's log")
    assert all(len(i) == 24 for i in retry), retry
    lab.start_server()
    harness.wait_for(lambda: lab.run(run_id)["round"] >= 4, "two more rounds")
    lab.admin.ok("POST", "/api/v1/runs/%s/stop" % run_id)


def test_cli(lab):
    lab.start_server()
    done = lab.cli("run", "show", "0" * 32, check=False)
    assert done.returncode != 0, done
    request_id = re.search(r"\(request (\w+)\)", done.stderr).group(1)
    lines = harness.wait_for(lambda: server_lines(lab, request_id), "the request in the server's log")
    assert re.search(r"info httpd \[\w+\] GET /api/v1/runs/0{32} 404 ", lines[0]), lines
    reply = lab.admin.get("/api/v1/runs/" + "0" * 32, headers={"X-Request-Id": "of-my-own.1"})
    assert reply.headers["X-Request-Id"] == "of-my-own.1" and reply.json["request_id"] == "of-my-own.1", reply


harness.main(globals())
