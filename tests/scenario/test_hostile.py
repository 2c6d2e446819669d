#!/usr/bin/env python3
"""Requests that mean harm, or nothing: each gets its documented answer, changes nothing, and the server goes on."""
import concurrent.futures
import contextlib
import os
import resource
import socket
import sqlite3

import harness
from device import Device, small_spec
from specs import synthetic_run


def runs(lab):
    return [r["id"] for r in lab.admin.ok("GET", "/api/v1/runs")["items"]]


def test_uploads_that_vanish_hold_up_no_stop(lab):
    lab.start_server()
    lab.submit(small_spec(1))
    device = Device(lab, 0)
    task = device.claim(10)
    head = ("PUT /api/v1/tasks/%s/update HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
            "Content-Type: application/vnd.safetensors\r\nContent-Length: 500\r\n\r\n" % (task["task_id"], device.http.token)).encode()
    for sent in (head, head + b"x" * 100):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", lab.port)) as s:
                s.sendall(sent)
    assert device.update(task).json["accepted"] is True
    assert lab.server.stop() == 0
    assert "were cut off" not in lab.server.text(), lab.server.text()  # the grace for requests in flight was not used up
    assert "Sanitizer" not in lab.server.text(), lab.server.text()


def test_ten_thousand_devices_of_one_worker(lab):
    lab.start_server()
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    devices = [{"name": "device number %d of ten thousand" % i, "ordinal": i, "dataset": "many", "num_examples": 10,
                "num_test_examples": 1, "input": [2], "classes": 2, "labels": {"site": "s%d" % (i % 10)}} for i in range(10000)]
    body = {"name": "many", "instance_id": "i" * 32, "version": "1", "devices": devices}
    made = enroll.ok("POST", "/api/v1/workers", body)
    assert [d["ordinal"] for d in made["devices"]] == list(range(10000))
    reply = enroll.post("/api/v1/workers", dict(body, instance_id="j" * 32, devices=devices + [dict(devices[0], ordinal=10000)]))
    assert reply.status == 400 and reply.json["field"] == "devices", reply


def test_the_highest_ordinal_does_not_end_the_numbering(lab):
    lab.start_server()
    Device(lab, 100000000)
    Device(lab, 0)
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    body = {"name": "next", "dataset": "hand", "num_examples": 4, "num_test_examples": 1, "input": [2], "classes": 2}
    given = enroll.ok("POST", "/api/v1/devices", body)["device_id"]
    assert lab.admin.ok("GET", "/api/v1/devices/" + given)["ordinal"] == 1


def test_names_are_one_line_of_text(lab):
    lab.start_server()
    for name in ("a\nb", "\x1b[2Jx", "a\tb", "\x7f"):
        reply = lab.admin.post("/api/v1/runs", synthetic_run(name=name, autostart=False))
        assert reply.status == 400 and reply.json["field"] == "name", (name, reply)
        reply = lab.admin.post("/api/v1/experiments", {"name": name})
        assert reply.status == 400 and reply.json["field"] == "name", (name, reply)
    assert runs(lab) == []
    lab.submit(synthetic_run(name="Überprüfung 试验 <img src=x>", autostart=False))


def test_cursors_and_event_ids_of_another_run_show_nothing_of_it(lab):
    """Each is refused, or taken for a place in the list that it is used on."""
    lab.start_server("--heartbeat-s", "600")
    theirs, mine = [lab.submit(small_spec(1, num_rounds=3, dataset=name)) for name in ("theirs", "mine")]
    for name, rounds in (("theirs", 3), ("mine", 1)):
        device = Device(lab, 0, dataset=name)
        for _ in range(rounds):
            assert device.update(device.claim(10)).json["accepted"] is True
    lab.wait_run(theirs)
    assert device.claim(10)["round"] == 1  # and so nothing moves any more
    lists = ("rounds", "rounds/0/tasks", "metrics", "models", "work", "events?since=0")

    def items(run, name, more):
        path = "/api/v1/runs/%s/%s%s" % (run, name, ("&" if "?" in name else "?") + more)
        reply = lab.admin.get(path, headers={"Accept": "application/json"})
        assert reply.status == 200 or reply.json["code"] == "invalid_cursor", (path, reply)
        return reply.json if reply.status == 200 else {"items": [], "next_cursor": None}
    seen = set()
    for name in lists:
        own, cursor = items(mine, name, "limit=1000")["items"], "x"
        while cursor:
            page = items(theirs, name, "limit=1" + ("&cursor=" + cursor if cursor != "x" else ""))
            cursor = page["next_cursor"]
            if cursor:
                seen.add(name)
                for item in items(mine, name, "limit=1000&cursor=" + cursor)["items"]:
                    assert item in own, (name, cursor, item)
    assert {"rounds", "models", "events?since=0"} <= seen, seen
    for event in lab.admin.ok("GET", "/api/v1/events?since=0&limit=1000")["items"]:
        reply = lab.admin.get("/api/v1/runs/%s/events?limit=1000" % mine, headers={"Accept": "application/json", "Last-Event-ID": str(event["id"])})
        assert reply.status in (200, 400), reply
        assert reply.status == 400 or all(e["run_id"] == mine for e in reply.json["items"]), reply


def test_somebody_else_who_writes_into_the_database_is_waited_for(lab):
    """With sqlite3 in a shell, say; nobody who asks the server hears of a lock."""
    lab.start_server("--heartbeat-s", "600")
    queued = lambda: "fedlane_http_requests_in_flight 2\n" in lab.admin.get("/metrics").body.decode()
    with contextlib.closing(sqlite3.connect(os.path.join(lab.data_dir, "fedlane.db"), isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            reply = pool.submit(lab.admin.post, "/api/v1/runs", synthetic_run(name="waits", autostart=False))
            harness.wait_for(queued, "the request to wait")
            assert runs(lab) == []
            db.execute("ROLLBACK")
            assert reply.result().status == 201, reply.result()
        if harness.FULL:
            db.execute("BEGIN IMMEDIATE")
            reply = lab.admin.post("/api/v1/runs", synthetic_run(name="too long", autostart=False))
            assert reply.status == 503 and reply.json["code"] == "unavailable" and reply.headers["Retry-After"], reply
            assert b"lock" not in reply.body, reply
            db.execute("ROLLBACK")
    assert len(runs(lab)) == 1


def test_integers_are_exact_at_their_bounds(lab):
    lab.start_server()
    assert lab.admin.post("/api/v1/runs", synthetic_run(seed=2**53, autostart=False)).status == 201
    for seed in (2**53 + 1, 2**63 - 1, -1):
        reply = lab.admin.post("/api/v1/runs", synthetic_run(seed=seed, autostart=False))
        assert reply.status == 400 and reply.json["field"] == "seed", (seed, reply)


def test_a_limit_on_file_sizes_is_a_full_disk(lab):
    lab.start_server()
    used = max(os.path.getsize(os.path.join(lab.data_dir, n)) for n in os.listdir(lab.data_dir))
    limit = used + 64 * 1024
    resource.prlimit(lab.server.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
    for i in range(2000):
        reply = lab.admin.post("/api/v1/runs", synthetic_run(name="r%d" % i, autostart=False))
        if reply.status != 201:
            break
    assert reply.status == 507 and reply.json["code"] == "storage_full", reply
    assert lab.admin.get("/healthz").status == 200
    assert len(lab.admin.ok("GET", "/api/v1/runs?limit=1000")["items"]) == i


harness.main(globals())
