#!/usr/bin/env python3
"""Beyond each limit of common/base/limits.h comes the documented answer, and the server goes on. docs/operations.md lists
them all, as they are."""
import contextlib
import glob
import os
import re
import socket

import harness
from device import Device, small_spec
from specs import synthetic_run

UNITS = {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


def read(path):
    with open(os.path.join(harness.SRC, path)) as f:
        return f.read()


def in_code():
    """name -> value, by the arithmetic of C."""
    limits = {}
    for name, text in re.findall(r"^#define ((?:LIMIT|DEFAULT)_\w+)\s+(.*?)(?:\s*/\*.*)?$", read("common/base/limits.h"), re.M):
        text = text.replace("(int64_t)", "")
        assert re.fullmatch(r"[\w\s()*<]+", text), (name, text)
        limits[name] = eval(text, {"__builtins__": {}}, UNITS)
    return limits


def in_docs():
    rows = re.findall(r"^\| `((?:LIMIT|DEFAULT)_\w+)` \| ([^|]+?) \| ([^|]+?) \| ([^|]+?) \|$", read("docs/operations.md"), re.M)
    assert len(rows) == len({row[0] for row in rows}), "a limit stands twice"
    limits = {}
    for name, text, _, beyond in rows:
        number, _, unit = text.partition(" ")
        base, _, power = number.replace(",", "").partition("^")
        limits[name] = (int(base) ** int(power or 1) * UNITS.get(unit.upper(), 1), beyond)
    return limits


LIMITS = in_code()


def test_the_table_is_true(lab):
    documented = in_docs()
    assert list(documented) == list(LIMITS), set(documented) ^ set(LIMITS)
    for name, value in LIMITS.items():
        assert documented[name][0] == value, (name, value, documented[name])
    known = {(int(s), c) for s, c in re.findall(r'X\(\w+, (\d+), \w+, "(\w+)"\)', read("common/base/err.h"))}
    for name, (_, beyond) in documented.items():
        for status, code in re.findall(r"(\d{3}) (\w+_\w+|unavailable|conflict)", beyond):
            assert (int(status), code) in known, (name, beyond)


def test_the_promises_name_what_exists(lab):
    named = set(re.findall(r"`((?:server|common|worker|tests|web)/[\w/.*]*)`", read("docs/security.md") + read("docs/operations.md")))
    assert len(named) > 30, named
    for path in sorted(named):
        assert glob.glob(os.path.join(harness.SRC, path)), path


def refused(lab, reply, limit, status, code, field=None):
    assert reply.status == status and reply.json["code"] == code and reply.json.get("field") == field, (limit, reply)
    assert "%d %s" % (status, code) in in_docs()[limit][1], (limit, reply)
    assert lab.admin.get("/healthz").status == 200


def raw(lab, request):
    """The status of the reply to these bytes; 0: the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", lab.port), timeout=harness.TIMEOUT_S) as s:
        reply = b""
        with contextlib.suppress(OSError):
            s.sendall(request)
        with contextlib.suppress(OSError):
            while chunk := s.recv(65536):
                reply += chunk
    return int(reply.split()[1]) if reply else 0


def test_requests(lab):
    lab.start_server()
    a, json_type = lab.admin, {"Content-Type": "application/json"}
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    runs = "/api/v1/runs"
    # A body that is announced as too large is not read.
    for path, token, limit in ((runs, a.token, "LIMIT_JSON_BODY"), ("/api/v1/workers", enroll.token, "LIMIT_FLEET_BODY")):
        head = ("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nConnection: close\r\n"
                "Content-Length: %d\r\n\r\n") % (path, token, LIMITS[limit] + 1)
        assert raw(lab, head.encode()) == 413, limit
    refused(lab, harness.Client(lab.url).post("/api/v1/login", {"code": "a" * LIMITS["LIMIT_LOGIN_BODY"]}),
            "LIMIT_LOGIN_BODY", 413, "payload_too_large")
    deep = LIMITS["LIMIT_JSON_DEPTH"]
    refused(lab, a.post(runs, b'{"a":' + b"[" * deep + b"]" * deep + b"}", headers=json_type), "LIMIT_JSON_DEPTH", 400, "malformed_json")
    assert a.post(runs, b'{"a":' + b"[" * (deep - 1) + b"]" * (deep - 1) + b"}", headers=json_type).json["code"] == "unknown_field"
    for body, field, limit in (({"name": "n" * (LIMITS["LIMIT_NAME"] + 1)}, "name", "LIMIT_NAME"),
                               ({"name": "n", "description": "d" * (LIMITS["LIMIT_TEXT"] + 1)}, "description", "LIMIT_TEXT")):
        refused(lab, a.post("/api/v1/experiments", body), limit, 400, "invalid_field", field)
    refused(lab, a.get(runs + "?limit=%d" % (LIMITS["LIMIT_PAGE"] + 1)), "LIMIT_PAGE", 400, "invalid_field", "limit")
    refused(lab, a.post("/api/v1/experiments", {"name": "k"},
                        headers={"Idempotency-Key": "k" * (LIMITS["LIMIT_IDEMPOTENCY_KEY"] + 1)}),
            "LIMIT_IDEMPOTENCY_KEY", 400, "invalid_field", "Idempotency-Key")
    big = LIMITS["LIMIT_CONNECTION_MEMORY"]
    assert raw(lab, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: %s\r\n\r\n" % (b"a" * big)) == 431
    assert raw(lab, b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 4 * big)) in (414, 431)
    assert a.get("/healthz").status == 200
    labels = {"l%d" % i: "x" for i in range(LIMITS["LIMIT_LABELS"] + 1)}
    device = {"name": "d", "dataset": "hand", "num_examples": 4, "num_test_examples": 1, "input": [2], "classes": 2}
    for change, field, limit in (({"labels": labels}, "labels", "LIMIT_LABELS"),
                                 ({"ordinal": LIMITS["LIMIT_ORDINAL"] + 1}, "ordinal", "LIMIT_ORDINAL"),
                                 ({"num_examples": LIMITS["LIMIT_EXAMPLES"] + 1}, "num_examples", "LIMIT_EXAMPLES")):
        refused(lab, enroll.post("/api/v1/devices", {**device, **change}), limit, 400, "invalid_field", field)
    assert a.ok("GET", "/api/v1/devices")["items"] == [] and a.ok("GET", runs)["items"] == []


def test_run_specs(lab):
    lab.start_server()
    layers = [{"type": "dense", "units": 1}] * (LIMITS["LIMIT_LAYERS"] + 1)
    shapes = [{"name": "t%d" % i, "shape": [1]} for i in range(LIMITS["LIMIT_TENSORS"] + 1)]
    for change, field, limit in (
            ({"num_rounds": LIMITS["LIMIT_ROUNDS"] + 1}, "num_rounds", "LIMIT_ROUNDS"),
            ({"selection": {"population": LIMITS["LIMIT_DEVICES_PER_RUN"] + 1}}, "selection.population", "LIMIT_DEVICES_PER_RUN"),
            ({"training": {"local_epochs": LIMITS["LIMIT_EPOCHS"] + 1}}, "training.local_epochs", "LIMIT_EPOCHS"),
            ({"training": {"batch_size": LIMITS["LIMIT_BATCH"] + 1}}, "training.batch_size", "LIMIT_BATCH"),
            ({"model": {"layers": layers}}, "model.layers", "LIMIT_LAYERS")):
        reply = lab.admin.post("/api/v1/runs", synthetic_run(autostart=False, **change))
        refused(lab, reply, limit, 400, "invalid_field", field)
    for tensors, field, limit in ((shapes, "model.tensors", "LIMIT_TENSORS"),
                                  ([{"name": "n" * (LIMITS["LIMIT_TENSOR_NAME"] + 1), "shape": [1]}], "model.tensors[0].name",
                                   "LIMIT_TENSOR_NAME"),
                                  ([{"name": "w", "shape": [1] * (LIMITS["LIMIT_TENSOR_DIMS"] + 1)}], "model.tensors[0].shape",
                                   "LIMIT_TENSOR_DIMS")):
        reply = lab.admin.post("/api/v1/runs", {**synthetic_run(autostart=False), "model": {"tensors": tensors}})
        refused(lab, reply, limit, 400, "invalid_field", field)
    assert lab.admin.ok("GET", "/api/v1/runs")["items"] == []


def test_devices_calls(lab):
    lab.start_server()
    lab.submit(small_spec(1))
    device = Device(lab, 0)
    task = device.claim(10)
    path = "/api/v1/devices/%s/tasks:claim?wait=%d" % (device.id, LIMITS["LIMIT_WAIT_S"] + 1)
    refused(lab, device.http.post(path, {}), "LIMIT_WAIT_S", 400, "invalid_field", "wait")
    reply = device.http.post("/api/v1/tasks/%s/fail" % task["task_id"], {"code": "c", "detail": "d" * (LIMITS["LIMIT_TEXT"] + 1)})
    refused(lab, reply, "LIMIT_TEXT", 400, "invalid_field", "detail")
    head = ("PUT /api/v1/tasks/%s/update HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"
            "Content-Type: application/vnd.safetensors\r\nContent-Length: %d\r\n\r\n")
    assert raw(lab, (head % (task["task_id"], device.http.token, LIMITS["LIMIT_BLOB_BYTES"] + 1)).encode()) == 413
    assert device.update(task).json["accepted"] is True


def test_connections_of_one_address(lab):
    lab.start_server("--connections-per-address", "5", "--threads", "3")
    held = []
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    def is_answered(s):
        try:
            s.sendall(request)
            return s.recv(65536).startswith(b"HTTP/1.1 200")
        except ConnectionError:
            return False

    def take():
        s = socket.create_connection(("127.0.0.1", lab.port), timeout=harness.TIMEOUT_S)
        if is_answered(s):
            held.append(s)
            return True
        s.close()
        return False
    harness.wait_for(lambda: take() and len(held) == 5, "five connections")
    for _ in range(20):
        assert not take()
    assert all(is_answered(s) for s in held)
    for s in held:
        s.close()
    held.clear()
    harness.wait_for(take, "a place that is free again")
    held[0].close()


harness.main(globals())
