#!/usr/bin/env python3
"""Beyond each limit of common/base/limits.h comes the documented answer, and the server goes on. docs/operations.md lists
them all, as they are."""
import contextlib
import glob
import http.client
import json
import os
import re
import socket
import subprocess
import time

import harness
from device import Device, MEDIA, safetensors, small_spec
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


# Where what is beyond costs too much to build here, or is not the server's to answer: the test of the check itself.
ELSEWHERE = {
    "LIMIT_LABEL_COUNTS": ("tests/unit/worker_agent/test_device_entry.c", "labels_are_counted_where_they_are_few"),
    "LIMIT_DEVICES_PER_WORKER": ("tests/scenario/test_hostile.py", "test_ten_thousand_devices_of_one_worker"),
    "LIMIT_DATA_POOL": ("tests/unit/data/test_pool.c", "test_absurd_sizes"),
    "LIMIT_PATH_PARAMS": ("tests/unit/httpd/test_lifecycle.c", "a_bad_route_table_does_not_start"),
    "LIMIT_QUERY_PARAMS": ("tests/unit/httpd/test_exchange.c", "a_query_has_at_most_so_many_parameters"),
    "LIMIT_URL": ("tests/unit/worker_agent/test_worker_task.c", "an_address_has_so_many_bytes"),
    "LIMIT_CONNECTIONS": ("tests/unit/httpd/test_lifecycle.c", "who_waits_behind_the_last_connection_is_served"),
    "LIMIT_WAITERS": ("tests/unit/httpd/test_wait.c", "waiters_are_capped"),
    "LIMIT_SILENCE_S": ("tests/unit/httpd/test_body.c", "slow_clients_are_cut"),
    "LIMIT_BODY_RATE": ("tests/unit/httpd/test_body.c", "slow_clients_are_cut"),
    "LIMIT_REQUEST_ARENA": ("tests/unit/httpd/test_exchange.c", "a_request_has_so_much_memory"),
    "LIMIT_BLOB_CHUNK": ("tests/store/test_blobs.c", "every_size_comes_back"),
    "LIMIT_WRITER_BATCH": ("tests/store/test_queue.c", "what_waits_shares_a_commit"),
    "LIMIT_WRITER_QUEUE": ("tests/store/test_queue.c", "a_full_queue_refuses"),
    "LIMIT_TOPICS": ("tests/store/test_writes.c", "a_commit_has_so_much_to_tell"),
    "DEFAULT_MAX_REQUEST": ("tests/unit/worker_agent/test_agent.c", "a_large_update_goes_in_pieces_until_there_is_a_receipt"),
    "LIMIT_BLOB_BYTES": ("tests/store/test_blobs.c", "a_blob_that_is_too_large_is_refused"),
    "LIMIT_LANES_JOBS": ("tests/unit/lanes/test_scheduler.c", "test_bad_configurations"),
    "LIMIT_LANES_TRACE_JOBS": ("tests/unit/lanes/test_trace.c", "test_so_many_jobs"),
    "LIMIT_LANES_TRACE_STEPS": ("tests/unit/lanes/test_trace.c", "test_bad_csv"),
}
JSON = {"Content-Type": "application/json"}
ASKED = set()  # limits that a case of this file went beyond


def refused(lab, reply, limit, status, code, field=None):
    ASKED.add(limit)
    assert reply.status == status and reply.json["code"] == code and reply.json.get("field") == field, (limit, reply)
    assert "%d %s" % (status, code) in in_docs()[limit][1], (limit, reply)
    assert status != 503 or reply.headers["Retry-After"], (limit, reply)
    assert lab.admin.get("/healthz").status == 200


def talk(lab, request):
    """The reply to these bytes; None: the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", lab.port), timeout=harness.TIMEOUT_S) as s:
        reply = b""
        with contextlib.suppress(OSError):
            s.sendall(request)
        with contextlib.suppress(OSError):
            while chunk := s.recv(65536):
                reply += chunk
    head, _, body = reply.partition(b"\r\n\r\n")
    return harness.Reply(int(head.split()[1]), None, body) if reply else None


def sized(lab, method, path, token, limit, media="application/json"):
    """Builds requests whose body has n bytes. Of one that is announced as too large only what is short is waited for."""
    def send(n):
        head = ("%s %s HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
                % (method, path, "Authorization: Bearer %s\r\n" % token if token else "", media, n)).encode()
        return talk(lab, head + (b'{"name":"%s"}' % (b"a" * (n - 11)) if n <= max(LIMITS[limit], 65536) else b""))
    return send


def compare(lab, rows):
    """Rows: limit, a request of a size, the answer (status, code, field) to one too many, what is said to as many as may be
    (None: building that costs too much)."""
    def check(limit, request, beyond, at):
        refused(lab, request(LIMITS[limit] + 1), limit, *beyond)
        if at is None:
            return
        reply = request(LIMITS[limit])
        assert reply.status == at or (reply.status, reply.json.get("code")) == at, (limit, "at the limit", reply)
    harness.all_of(rows, check)


def invalid(field):
    return 400, "invalid_field", field


TOO_LARGE = (413, "payload_too_large")


def test_requests(lab):
    lab.start_server()
    a, enroll = lab.admin, harness.Client(lab.url, lab.token("enrollment.token"))
    runs, experiments, devices = "/api/v1/runs", "/api/v1/experiments", "/api/v1/devices"
    device = {"dataset": "hand", "num_examples": 4, "num_test_examples": 1, "input": [2], "classes": 2}
    before = lab.everything()
    read = (400, "invalid_field")  # so it was read

    def register(**changes):
        return enroll.post(devices, {**device, **changes})

    def many(n):
        return {"l%d" % i: "x" for i in range(n)}

    def nested(n):
        return a.post(runs, b'{"a":' + b"[" * (n - 1) + b"]" * (n - 1) + b"}", headers=JSON)
    refusals = [
        ("LIMIT_JSON_BODY", sized(lab, "POST", runs, a.token, "LIMIT_JSON_BODY"), TOO_LARGE, read),
        ("LIMIT_LOGIN_BODY", sized(lab, "POST", "/api/v1/login", "", "LIMIT_LOGIN_BODY"), TOO_LARGE, (400, "unknown_field")),
        ("LIMIT_FLEET_BODY", sized(lab, "POST", "/api/v1/workers", enroll.token, "LIMIT_FLEET_BODY"), TOO_LARGE, read),
        ("LIMIT_JSON_DEPTH", nested, (400, "malformed_json"), (400, "unknown_field")),
        ("LIMIT_PAGE", lambda n: a.get(runs + "?limit=%d" % n), invalid("limit"), 200),
        ("LIMIT_PAGE", lambda n: a.get("/api/v1/events?since=0&limit=%d" % n), invalid("limit"), 200),
    ]
    compare(lab, refusals)
    harness.unchanged(before, lab.everything())
    compare(lab, [
        ("LIMIT_NAME", lambda n: a.post(experiments, {"name": "n" * n}), invalid("name"), 201),
        ("LIMIT_TEXT", lambda n: a.post(experiments, {"name": "n", "description": "d" * n}), invalid("description"), 201),
        ("LIMIT_IDEMPOTENCY_KEY", lambda n: a.post(experiments, {"name": "k"}, headers={"Idempotency-Key": "k" * n}),
         invalid("Idempotency-Key"), 201),
        ("LIMIT_LABELS", lambda n: register(labels=many(n)), invalid("labels"), 201),
        ("LIMIT_LABELS", lambda n: register(capabilities=many(n)), invalid("capabilities"), 201),
        ("LIMIT_CAPABILITIES", lambda n: register(capabilities={"a": "x" * (n - 8)}), invalid("capabilities"), 201),
        ("LIMIT_TENSOR_DIMS", lambda n: register(input=[1] * n), invalid("input"), 201),
        ("LIMIT_EXAMPLES", lambda n: register(num_examples=n), invalid("num_examples"), 201),
        ("LIMIT_EXAMPLES", lambda n: register(num_test_examples=n), invalid("num_test_examples"), 201),
        ("LIMIT_ORDINAL", lambda n: register(ordinal=n), invalid("ordinal"), 201),
    ])
    # Where there is more than a page, the rest comes with the next.
    for k in range(LIMITS["LIMIT_PAGE_DEFAULT"] + 2):
        a.ok("POST", experiments, {"name": "page %d" % k})
    page = a.ok("GET", experiments)
    ASKED.add("LIMIT_PAGE_DEFAULT")
    assert len(page["items"]) == LIMITS["LIMIT_PAGE_DEFAULT"] and page["next_cursor"], page
    headers_and_lines(lab)


def headers_and_lines(lab):
    ASKED.add("LIMIT_CONNECTION_MEMORY")
    big = LIMITS["LIMIT_CONNECTION_MEMORY"]
    line = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-A: %s\r\n\r\n"
    assert talk(lab, line % (b"a" * big)).status == 431
    assert talk(lab, b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 4 * big)).status in (414, 431)
    assert talk(lab, line % (b"a" * (big * 3 // 4))).status == 200  # libmicrohttpd needs some of it, too
    assert lab.admin.get("/healthz").status == 200


def test_run_specs(lab):
    lab.start_server()

    def change(**changes):
        return lab.admin.post("/api/v1/runs", synthetic_run(autostart=False, **changes))

    def tensors(*items):
        return lab.admin.post("/api/v1/runs", {**synthetic_run(autostart=False), "model": {"tensors": list(items)}})
    steps = {"local_epochs": None}

    def characters(first, n):
        return "".join(chr(first + k + (0x800 if first + k >= 0xd800 else 0)) for k in range(n))  # no surrogates

    def named(vocabulary):
        return change(model={"input": [4], "layers": [{"type": "embedding", "vocabulary": 70000, "dim": 1}, {"type": "flatten"},
                                                      {"type": "dense", "units": 10}], "vocabulary": vocabulary})
    compare(lab, [
        ("LIMIT_VOCABULARY", lambda n: named(characters(0x4e00, n)), invalid("model.vocabulary"), None),
        ("LIMIT_VOCABULARY_TEXT", lambda n: named("ab"[:n % 3] + characters(0x4e00, n // 3)), invalid("model.vocabulary"), 201),
        ("LIMIT_NAME", lambda n: change(name="n" * n), invalid("name"), 201),
        ("LIMIT_ROUNDS", lambda n: change(num_rounds=n), invalid("num_rounds"), 201),
        ("LIMIT_DEVICES_PER_RUN", lambda n: change(selection={"population": n}), invalid("selection.population"), 201),
        ("LIMIT_DEVICES_PER_RUN", lambda n: change(selection={"population": None, "devices_per_round": n}),
         invalid("selection.devices_per_round"), 201),
        ("LIMIT_LABELS", lambda n: change(selection={"population": None, "require_labels": {"l%d" % i: "x" for i in range(n)}}),
         invalid("selection.require_labels"), 201),
        ("LIMIT_EPOCHS", lambda n: change(training={"local_epochs": n}), invalid("training.local_epochs"), 201),
        ("LIMIT_STEPS", lambda n: change(training={**steps, "local_steps": n}), invalid("training.local_steps"), 201),
        ("LIMIT_BATCH", lambda n: change(training={"batch_size": n}), invalid("training.batch_size"), 201),
        ("LIMIT_LAYERS", lambda n: change(model={"layers": [{"type": "dense", "units": 2}] * n}), invalid("model.layers"), 201),
        ("LIMIT_TENSORS", lambda n: tensors(*({"name": "t%d" % i, "shape": [1]} for i in range(n))), invalid("model.tensors"), 201),
        ("LIMIT_TENSOR_NAME", lambda n: tensors({"name": "n" * n, "shape": [1]}), invalid("model.tensors[0].name"), 201),
        ("LIMIT_TENSOR_DIMS", lambda n: tensors({"name": "w", "shape": [1] * n}), invalid("model.tensors[0].shape"), 201),
        ("LIMIT_MODEL_BYTES", lambda n: tensors({"name": "a", "shape": [LIMITS["LIMIT_MODEL_BYTES"] // 4 - 1]},
                                                {"name": "b", "shape": [(n + 3) // 4 - LIMITS["LIMIT_MODEL_BYTES"] // 4 + 1]}),
         invalid("model.tensors[1].shape"), 201),
    ])


def test_weights(lab):
    """A model of as many tensors as may be, and files of weights for it."""
    lab.start_server()
    most, header_bytes = LIMITS["LIMIT_TENSORS"], LIMITS["LIMIT_SAFETENSORS_HEADER"]
    named = [("t%d" % i, [1], [0.0]) for i in range(most + 2)]
    run = lab.submit({**synthetic_run(autostart=False), "model": {"tensors": [{"name": n, "shape": s} for n, s, _ in named[:most]]}})
    path = "/api/v1/runs/%s/models/0/weights" % run

    def put(body):
        return lab.admin.request("PUT", path, body, headers=MEDIA)

    def padded(n):
        """Blanks behind the header are a part of it; of one that is too long its length is enough."""
        if n > header_bytes:
            return n.to_bytes(8, "little") + b"{"
        whole = safetensors(named[:most])
        length = int.from_bytes(whole[:8], "little")
        return n.to_bytes(8, "little") + whole[8:8 + length].ljust(n) + whole[8 + length:]
    assert put(safetensors(named)).json["code"] == "invalid_safetensors"
    refused(lab, put(safetensors(named)), "LIMIT_TENSORS", 422, "invalid_safetensors")
    compare(lab, [
        ("LIMIT_SAFETENSORS_HEADER", lambda n: put(padded(n)), (422, "invalid_safetensors"), 200),
        ("LIMIT_MODEL_BYTES", lambda n: sized(lab, "PUT", path, lab.admin.token, "LIMIT_MODEL_BYTES", MEDIA["Content-Type"])(n + header_bytes),
         TOO_LARGE, None),
    ])
    assert put(safetensors(named[:most])).status == 200


def test_devices_calls(lab):
    lab.start_server("--heartbeat-s", "600")
    lab.submit(small_spec(1, num_rounds=3))
    device = Device(lab, 0)
    mine = "/api/v1/devices/" + device.id
    post = device.http.post

    def beat(n, **more):
        return post(mine + "/heartbeat", {"tasks": [{"task_id": task["task_id"], **more}] * n})

    def report(metrics):
        """Of a task that it claims anew."""
        claimed = device.claim(10)
        return device.put(claimed, device.body(claimed, metrics=json.dumps(metrics)))
    task = device.claim(10)
    compare(lab, [
        ("LIMIT_WAIT_S", lambda n: post(mine + "/tasks:claim?wait=%d" % n, {}), invalid("wait"), 200),
        ("LIMIT_CLAIM", lambda n: post(mine + "/tasks:claim", {"holding": ["0" * 32] * n}), invalid("holding"), 200),
        ("LIMIT_CLAIM", lambda n: beat(n), invalid("tasks"), 200),
        ("LIMIT_STEPS", lambda n: beat(1, steps_done=n), invalid("tasks[0].steps_done"), 200),
        ("LIMIT_METRICS_PER_REPORT", lambda n: report([{"name": "m%d" % i, "value": 1} for i in range(n)]), invalid("metrics"), 200),
        ("LIMIT_METRIC_NAME", lambda n: report([{"name": "m" * n, "value": 1}]), invalid("metrics[0].name"), 200),
        ("LIMIT_TEXT", lambda n: post("/api/v1/tasks/%s/fail" % device.claim(10)["task_id"], {"code": "c", "detail": "d" * n, "steps_done": 0}),
         invalid("detail"), 200),
    ])


def test_workers_calls(lab):
    lab.start_server("--heartbeat-s", "600")
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    made = enroll.ok("POST", "/api/v1/workers", {"name": "w", "instance_id": "i", "devices": [{"dataset": "hand", "num_examples": 1}]})
    worker = harness.Client(lab.url, made["token"])
    mine = "/api/v1/workers/" + made["worker_id"]
    compare(lab, [
        ("LIMIT_CLAIM", lambda n: worker.post(mine + "/tasks:claim", {"max": n}), invalid("max"), 204),
        ("LIMIT_RESOURCES", lambda n: worker.post(mine + "/heartbeat", {"resources": {"a": "x" * (n - 8)}}), invalid("resources"), 200),
    ])


def test_a_stream_brings_more_than_it_reads_at_once(lab):
    lab.start_server()
    for k in range(LIMITS["LIMIT_EVENTS_PAGE"] // 2 + 20):
        run = lab.submit(synthetic_run(name="r%d" % k, autostart=False))
        lab.admin.ok("POST", "/api/v1/runs/%s/stop" % run)
    ASKED.add("LIMIT_EVENTS_PAGE")
    wanted = [e["id"] for e in lab.admin.ok("GET", "/api/v1/events?since=0&limit=1000")["items"]]
    assert len(wanted) > LIMITS["LIMIT_EVENTS_PAGE"], len(wanted)
    stream = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=harness.TIMEOUT_S)
    stream.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + lab.admin.token, "Accept": "text/event-stream",
                                                     "Last-Event-ID": "0"})
    reply, seen = stream.getresponse(), []
    while len(seen) < len(wanted):
        line = reply.readline().decode()
        if line.startswith("id:"):
            seen.append(int(line[3:]))
    assert seen == wanted
    stream.close()


def test_programs_that_read(lab):
    """What the CLI and the worker do not take from a file, or from a server."""
    lab.start_server()

    def holes(name, n):
        with open(lab.path(name), "wb") as f:
            f.truncate(n)
        return lab.path(name)
    limit = LIMITS["LIMIT_JSON_FILE"]
    worker = [harness.program("fedlane-worker"), "--server", lab.url, "--enroll-token-file", lab.enroll_file(), "--devices", "0",
              "--state-dir", lab.path("state"), "--data"]
    for argv in ([harness.program("fedlane"), "simulate"], worker):
        for n, word in ((limit + 1, "67108864 bytes"), (limit, "line 1")):
            done = subprocess.run([*argv, holes("file.json", n)], capture_output=True, text=True, timeout=harness.TIMEOUT_S)
            assert done.returncode > 0 and word in done.stderr and "file.json" in done.stderr, (argv, n, done)
    ASKED.add("LIMIT_JSON_FILE")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = "http://127.0.0.1:%d" % listener.getsockname()[1]
        cli = subprocess.Popen([harness.program("fedlane"), "run", "list", "--server", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, "FEDLANE_TOKEN": "t"})
        client, _ = listener.accept()
        with client, contextlib.suppress(OSError):
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (LIMITS["LIMIT_JSON_REPLY"] + 1))
            for _ in range(LIMITS["LIMIT_JSON_REPLY"] >> 20):
                client.sendall(b" " * (1 << 20))
            client.sendall(b" ")
        _, said = cli.communicate(timeout=harness.TIMEOUT_S)
        assert cli.returncode and "67108864 bytes" in said, (cli.returncode, said)
        ASKED.add("LIMIT_JSON_REPLY")


def test_bad_tokens_of_one_address(lab):
    lab.start_server()
    ASKED.add("DEFAULT_AUTH_FAILURES")
    stranger, start, most = harness.Client(lab.url, "fl_" + "0" * 64), time.monotonic(), LIMITS["DEFAULT_AUTH_FAILURES"]
    replies = [stranger.get("/api/v1/runs")]
    while replies[-1].status == 401 and len(replies) < 10000:
        replies.append(stranger.get("/api/v1/runs"))
    # One a second is forgotten meanwhile.
    assert most <= len(replies) - 1 <= most + 1 + time.monotonic() - start, len(replies)
    assert replies[-1].status == 429 and replies[-1].json["code"] == "rate_limited" and replies[-1].headers["Retry-After"], replies[-1]
    assert lab.admin.get("/api/v1/runs").status == 200


def test_connections_of_one_address(lab):
    ASKED.add("DEFAULT_PEER_CONNECTIONS")
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


def test_every_row_has_a_case(lab):
    """Runs last: what the others went beyond, and what is tested elsewhere, is the table."""
    documented = set(in_docs())
    for limit, (path, name) in ELSEWHERE.items():
        assert re.search(r"(START_TEST\(|def )%s\b" % name, read(path)), (limit, path, name)
    assert ASKED | set(ELSEWHERE) == documented, (documented - ASKED - set(ELSEWHERE), ASKED - documented, set(ELSEWHERE) - documented)
    assert not ASKED & set(ELSEWHERE), ASKED & set(ELSEWHERE)


harness.main(globals())
