#!/usr/bin/env python3
"""Each request that changes something, over a network that cuts, delays, doubles and reorders: the client sends it again as
the API says, and the effect is there exactly once."""
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import threading

import harness
import proxy
from device import Device, small_spec
from specs import SYNTHETIC, synthetic_run

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
JSON, TENSORS = "application/json", "application/vnd.safetensors"
KEEPS_TRYING = 5


class Call:
    """A request that was not sent yet; `target` is a new object's, so that each call has an effect of its own, which is
    there when `until` is true."""

    def __init__(self, target, token, body=b"", media=JSON, until=lambda: True, headers=None):
        self.target, self.token, self.media, self.until, self.headers = target, token, media, until, headers or {}
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()

    def again(self, reply, port):
        """What to send next: the same, or of an upload what the server does not have yet, as it says."""
        if not reply or reply.status != 409 or "Upload-Offset" not in self.headers:
            return self
        if "upload-offset" not in reply.fields:  # another request, a copy, went on with it
            reply = proxy.send(port, Call(self.target, self.token).bytes("HEAD"), timeout_s=harness.TIMEOUT_S)
        done = int(reply.fields["upload-offset"])
        return Call(self.target, self.token, self.body[done - int(self.headers["Upload-Offset"]):], self.media,
                    headers={**self.headers, "Upload-Offset": str(done)})

    def bytes(self, method):
        fields = {"Host": "test", "Authorization": "Bearer " + self.token if self.token else None, "Connection": "close",
                  "Content-Type": self.media if self.body or "Upload-Offset" in self.headers else None, "Content-Length": str(len(self.body)), **self.headers}
        lines = ["%s %s HTTP/1.1" % (method, self.target)] + ["%s: %s" % f for f in fields.items() if f[1] is not None]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


class Scene:
    """A server, a proxy before it, and ways to make new things."""

    def __init__(self, lab):
        # Nothing happens by the clock within this test.
        lab.start_server("--heartbeat-s", "600", "--auth-failures", "1000000")
        self.lab, self.admin, self.count = lab, lab.admin, 0
        self.proxy = proxy.Proxy(lab.port)
        self.enrollment = lab.token("enrollment.token")
        self.database = sqlite3.connect("file:%s?mode=ro" % os.path.join(lab.data_dir, "fedlane.db"), uri=True)
        tables = [name for name, in self.database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
                  if not name.startswith("sqlite_")]
        self.sums = {t: self.columns(t) for t in tables}
        self.document = self.admin.ok("GET", "/api/v1/openapi.json")

    def columns(self, table):
        """Those whose sum says how often something was counted; times and names of other rows are left out."""
        named = [(name, kind) for _, name, kind, *_ in self.database.execute("PRAGMA table_info(%s)" % table)]
        return [name for name, kind in named if kind == "INTEGER" and name not in ("id", "seq", "ordinal", "seed", "role", "n")
                and name != "at" and not name.endswith(("_at", "_id", "_until"))]

    def name(self):
        self.count += 1
        return "n%d" % self.count

    # ---- what there is ----

    def gauge(self, name):
        text = self.admin.get("/metrics").body.decode()
        return int(float(next(line for line in text.splitlines() if line.startswith(name + " ")).split()[1]))

    def settle(self):
        """Until nothing is under way but our asking."""
        self.proxy.settle()
        harness.wait_for(lambda: self.gauge("fedlane_http_requests_in_flight") == 1 and self.gauge("fedlane_store_queue") == 0,
                         "requests to end")

    def state(self):
        """How many rows each table has, and the sums of what is counted in them."""
        found = {"blob_bytes": self.gauge("fedlane_blob_bytes")}
        for table, columns in self.sums.items():
            row = self.database.execute("SELECT count(*)%s FROM %s" % ("".join(", total(%s)" % c for c in columns), table)).fetchone()
            found.update(zip([table] + ["%s.%s" % (table, c) for c in columns], row))
        return found

    def difference(self, before):
        return {key: value - before[key] for key, value in self.state().items() if value != before[key]}

    # ---- new things ----

    def token(self, **changes):
        return self.admin.ok("POST", "/api/v1/tokens", {"name": self.name(), "role": "viewer", **changes})

    def worker_body(self, **changes):
        name = self.name()
        device = {"ordinal": 0, "dataset": name, "num_examples": 4, "num_test_examples": 1, "input": [2], "classes": 2}
        return {"name": name, "instance_id": name, "devices": [device, {**device, "ordinal": 1}], **changes}

    def worker(self):
        body = self.worker_body()
        made = harness.Client(self.lab.url, self.enrollment).ok("POST", "/api/v1/workers", body)
        return {**made, "dataset": body["name"]}

    def run(self, dataset, **changes):
        return self.lab.submit(small_spec(2, **{"dataset": dataset, "reporting": {"deadline_s": 3000}, **changes}))

    def pending_run(self):
        return self.run(self.name(), autostart=False)

    def running_run(self):
        dataset = self.name()
        devices = [Device(self.lab, k, dataset=dataset) for k in (0, 1)]
        run = self.run(dataset)
        for device in devices:
            device.task = device.claim(10)
            assert device.task, "no task"
        return run, devices

    def workers_task(self):
        worker = self.worker()
        run = self.run(worker["dataset"])
        harness.wait_for(lambda: self.lab.run(run)["status"] == "running", "the round to open")
        return worker


SECRET = "the client's own secret, "


def own_secret(scene):
    secret = SECRET + scene.name()
    return secret, hashlib.sha256(secret.encode()).hexdigest()


def login_code(scene):
    done = subprocess.run([harness.program("fedlane-server"), "login-link", "--data-dir", scene.lab.data_dir],
                          capture_output=True, text=True, timeout=harness.TIMEOUT_S, check=True, stdin=subprocess.DEVNULL)
    return done.stdout.strip().rpartition("/")[2]


def device_body(scene, **changes):
    return {"ordinal": 0, "dataset": scene.name(), "num_examples": 4, **changes}


def device_call(path, body):
    def make(scene):
        device = Device(scene.lab, 0, dataset=scene.name())
        return Call("/api/v1/devices/%s%s" % (device.id, path), device.http.token, body)
    return make


def admins_device_call(scene):
    return Call("/api/v1/devices/" + Device(scene.lab, 0, dataset=scene.name()).id, scene.admin.token)


def worker_call(path, body, with_task=False):
    def make(scene):
        worker = scene.workers_task() if with_task else scene.worker()
        return Call("/api/v1/workers/%s%s" % (worker["worker_id"], path), worker["token"], body)
    return make


def claim_call(scene):
    dataset = scene.name()
    device = [Device(scene.lab, k, dataset=dataset) for k in (0, 1)][0]
    run = scene.run(dataset)
    harness.wait_for(lambda: scene.lab.run(run)["status"] == "running", "the round to open")
    return Call("/api/v1/devices/%s/tasks:claim" % device.id, device.http.token)


def task_call(path, body):
    def make(scene):
        _, (device, _) = scene.running_run()
        return Call("/api/v1/tasks/%s%s" % (device.task["task_id"], path), device.http.token, body)
    return make


def begin_upload(scene):
    """An upload of a task, which is that task's update; (its address, the device, the body)."""
    _, (device, _) = scene.running_run()
    body = device.body(device.task)
    target = "/api/v1/tasks/%s/uploads" % device.task["task_id"]
    made = device.http.post(target, headers={"Upload-Length": str(len(body))})
    assert made.status == 201, made
    return made.headers["Location"], device, body


def new_upload_call(scene):
    _, (device, _) = scene.running_run()
    return Call("/api/v1/tasks/%s/uploads" % device.task["task_id"], device.http.token, headers={"Upload-Length": "300"})


def piece_call(take):
    def make(scene):
        target, device, body = begin_upload(scene)
        return Call(target, device.http.token, body[:take], "application/partial-upload", headers={"Upload-Offset": "0"})
    return make


def drop_upload_call(scene):
    target, device, _ = begin_upload(scene)
    return Call(target, device.http.token)


def update_call(scene):
    _, (device, _) = scene.running_run()
    return Call("/api/v1/tasks/%s/update" % device.task["task_id"], device.http.token, device.body(device.task), TENSORS)


def run_call(path, body=b"", make=Scene.pending_run):
    return lambda scene: Call("/api/v1/runs/%s%s" % (make(scene), path), scene.admin.token, body)


def start_call(scene):
    """With devices for it, so that the first round opens: what the conductor does then is part of the effect."""
    dataset = scene.name()
    for ordinal in (0, 1):
        Device(scene.lab, ordinal, dataset=dataset)
    run = scene.run(dataset, autostart=False)
    return Call("/api/v1/runs/%s/start" % run, scene.admin.token, until=lambda: scene.lab.run(run)["status"] == "running")


def paused_run(scene):
    run, _ = scene.running_run()
    scene.admin.ok("POST", "/api/v1/runs/%s/pause" % run)
    return run


def weights_call(scene):
    device = Device(scene.lab, 0, dataset=scene.name())
    body = device.body({"attempt": 1, "budget": {"max_steps": 1}, "config": {k: 1 for k in (
        "learning_rate", "proximal_mu", "batch_size", "seed")}}, value=scene.count)
    return Call("/api/v1/runs/%s/models/0/weights" % scene.pending_run(), scene.admin.token, body, TENSORS)


def experiment_call(scene):
    made = scene.admin.ok("POST", "/api/v1/experiments", {"name": scene.name()})
    return Call("/api/v1/experiments/" + made["id"], scene.admin.token, {"description": "changed"})


# Route -> calls that it is tried with. Where none stands here, test_every_route_has_its_cases fails.
CASES = {
    ("POST", "/api/v1/tokens"): [
        lambda s: Call("/api/v1/tokens", s.admin.token, {"name": s.name(), "role": "viewer"}),
        lambda s: Call("/api/v1/tokens", s.admin.token, {"name": s.name(), "role": "viewer", "token_sha256": own_secret(s)[1]})],
    ("DELETE", "/api/v1/tokens/{token}"): [lambda s: Call("/api/v1/tokens/" + s.token()["id"], s.admin.token)],
    ("POST", "/api/v1/login"): [lambda s: Call("/api/v1/login", None, {"code": login_code(s)})],
    ("POST", "/api/v1/workers"): [
        lambda s: Call("/api/v1/workers", s.enrollment, s.worker_body()),
        lambda s: Call("/api/v1/workers", s.enrollment, s.worker_body(token_sha256=own_secret(s)[1]))],
    ("DELETE", "/api/v1/workers/{worker}"): [
        lambda s: Call("/api/v1/workers/" + s.worker()["worker_id"], s.admin.token)],
    ("POST", "/api/v1/workers/{worker}/heartbeat"): [worker_call("/heartbeat", {"resources": {"cpus": 2}, "tasks": []})],
    ("POST", "/api/v1/workers/{worker}/tasks:claim"): [worker_call("/tasks:claim", {"max": 1, "holding": []}, True)],
    ("POST", "/api/v1/devices"): [
        lambda s: Call("/api/v1/devices", s.enrollment, device_body(s)),
        lambda s: Call("/api/v1/devices", s.enrollment, device_body(s, token_sha256=own_secret(s)[1]))],
    ("PATCH", "/api/v1/devices/{device}"): [device_call("", {"num_examples": 7, "labels": {"b": "1", "a": "2"}})],
    ("DELETE", "/api/v1/devices/{device}"): [admins_device_call],
    ("POST", "/api/v1/devices/{device}/heartbeat"): [device_call("/heartbeat", {"tasks": []})],
    ("POST", "/api/v1/devices/{device}/tasks:claim"): [claim_call],
    ("POST", "/api/v1/tasks/{task}/progress"): [task_call("/progress", {"steps_done": 1})],
    ("POST", "/api/v1/tasks/{task}/fail"): [task_call("/fail", {"code": "out_of_memory", "detail": "no room", "steps_done": 0})],
    ("POST", "/api/v1/tasks/{task}/release"): [task_call("/release", {})],
    ("PUT", "/api/v1/tasks/{task}/update"): [update_call],
    ("POST", "/api/v1/tasks/{task}/uploads"): [new_upload_call],
    ("PATCH", "/api/v1/tasks/{task}/uploads/{upload}"): [piece_call(None), piece_call(100)],
    ("DELETE", "/api/v1/tasks/{task}/uploads/{upload}"): [drop_upload_call],
    ("POST", "/api/v1/experiments"): [lambda s: Call("/api/v1/experiments", s.admin.token, {"name": s.name()})],
    ("PATCH", "/api/v1/experiments/{experiment}"): [experiment_call],
    ("POST", "/api/v1/runs"): [
        lambda s: Call("/api/v1/runs", s.admin.token, small_spec(2, dataset=s.name(), name=s.name(), autostart=False))],
    ("POST", "/api/v1/runs/{run}/start"): [start_call],
    ("POST", "/api/v1/runs/{run}/pause"): [run_call("/pause", make=lambda s: s.running_run()[0])],
    ("POST", "/api/v1/runs/{run}/resume"): [run_call("/resume", make=paused_run)],
    ("POST", "/api/v1/runs/{run}/stop"): [run_call("/stop")],
    ("PATCH", "/api/v1/runs/{run}/config"): [run_call("/config", {"training": {"learning_rate": 0.5}})],
    ("PUT", "/api/v1/runs/{run}/models/{version}/weights"): [weights_call],
}
# What a copy may change without anything counting twice. A claim that comes again is a claim whose reply was lost: the task is
# offered anew, as its next attempt.
MAY_DIFFER = {"POST /api/v1/devices/{device}/tasks:claim": {"task.attempt"},
              "POST /api/v1/workers/{worker}/tasks:claim": {"task.attempt"}}
# Differ from reply to reply by their nature: a secret is shown once; a copy of an update is told so; the clock goes on.
NOT_COMPARED = ("token", "duplicate", "server_time", "attempt", "time_left_ms")
# A task has one upload: the copy's takes the place of the first.
IS_ANOTHER = {"POST /api/v1/tasks/{task}/uploads"}
# What a copy may be told in place of what the first one was.
OTHERWISE = {"POST /api/v1/login": 401,  # a code is good once: whoever lost the reply asks for another link
             "PATCH /api/v1/tasks/{task}/uploads/{upload}": 409,  # with the offset at which to go on
             "DELETE /api/v1/tasks/{task}/uploads/{upload}": 404}


def comparable(reply):
    value = json.loads(reply.body) if reply.body else None
    for item in [value] + (value.get("items", []) if isinstance(value, dict) else []):
        for name in NOT_COMPARED if isinstance(item, dict) else ():
            item.pop(name, None)
    return reply.status, value, reply.fields.get("location")


def send_until_answered(scene, method, call, way):
    """The first time it goes `way`; later copies go straight."""
    ways = [way]
    scene.proxy.plan = lambda request: ways.pop() if ways else proxy.through
    scene.proxy.replies = []
    for _ in range(KEEPS_TRYING):
        reply = proxy.send(scene.proxy.port, call.bytes(method), timeout_s=harness.TIMEOUT_S)
        following = call.again(reply, scene.proxy.server_port)
        if reply and following is call:
            break
        call = following
    assert reply, "no answer"
    scene.proxy.deliver()
    scene.settle()
    assert not ways
    return reply


def secrets_work(scene, replies, way):
    """Of the secrets that were made just one is good: a copy of the request gives the object a new one. It may be one that
    nobody saw, where the server came to the first copy last."""
    shown = [json.loads(r.body)["token"] for r in replies if r.body and "token" in json.loads(r.body)]
    if shown:
        good = [t for t in shown if harness.Client(scene.lab.url, t).get("/api/v1/tokens/self").status == 200]
        assert len(good) == 1 or (way is proxy.cut_when_sent and not good), "%d of %d secrets work" % (len(good), len(shown))


def tried(scene, method, path, make, way):
    """One call that goes `way`: (what it changed, what the client was told)."""
    call = make(scene)
    operation = scene.document["paths"][path][method.lower()]
    if any(p.get("name") == "Idempotency-Key" for p in operation.get("parameters", [])):
        call.headers["Idempotency-Key"] = scene.name()
    scene.settle()
    before = scene.state()
    reply = send_until_answered(scene, method, call, way)
    replies = [r for _, r in scene.proxy.replies]
    route = method + " " + path
    told = [r for r in replies + [reply] if r.status != OTHERWISE.get(route)]
    assert told or way in proxy.CUTS, "never answered"
    for other in told:
        assert 200 <= other.status < 300, (other.status, other.body)
        assert route in IS_ANOTHER or comparable(other) == comparable(told[0]), "%r\n%r" % (comparable(other), comparable(told[0]))
    secrets_work(scene, replies, way)
    harness.wait_for(call.until, "the effect")
    return scene.difference(before)


def test_every_route_has_its_cases(lab):
    scene = Scene(lab)
    changing = {(method.upper(), path) for path, item in scene.document["paths"].items() for method in item
                if method.upper() in CHANGING}
    assert changing == set(CASES), "no case for %s; no route for %s" % (changing - set(CASES), set(CASES) - changing)


def test_the_effect_is_there_once_whatever_the_network_does(lab):
    scene, wrong, tries = Scene(lab), [], 0
    for (method, path), cases in CASES.items():
        for number, make in enumerate(cases):
            once = tried(scene, method, path, make, proxy.through)
            for way in proxy.WAYS:
                tries += 1
                try:
                    changed = tried(scene, method, path, make, way)
                    for key in MAY_DIFFER.get(method + " " + path, ()):
                        changed[key] = once.get(key)
                    assert changed == once, "changed %r, once %r" % (changed, once)
                except AssertionError as error:
                    wrong.append("%s %s (%d), %s: %s" % (method, path, number, way.__name__, error))
    assert not wrong, "%d of %d:\n%s" % (len(wrong), tries, "\n".join(wrong))
    assert tries >= len(proxy.WAYS) * len(CASES)
    scene.proxy.close()


class Weather:
    """Chooses a way for each request: mostly the straight one."""

    def __init__(self, seed):
        self.random, self.lock, self.proxy = random.Random(seed), threading.Lock(), None

    def __call__(self, request):
        with self.lock:
            way = self.random.choice(proxy.WAYS) if self.random.random() < 0.3 else proxy.through
            is_time = self.random.random() < 0.2
        if is_time:
            self.proxy.deliver()
        return way


def test_workers_behind_it_end_with_the_same_model(lab):
    lab.start_server()
    spec = synthetic_run(num_rounds=4)
    expected = [r["aggregate_sha256"] for r in harness.simulate(spec)[0]]
    direct, proxies = lab.url, []
    for number, devices in enumerate(("0-9", "10-19", "20-29")):
        weather = Weather(number)
        weather.proxy = proxy.Proxy(lab.port, weather)
        weather.proxy.keep = False
        proxies.append(weather.proxy)
        lab.url = weather.proxy.url
        lab.start_worker(SYNTHETIC, devices, name="worker%d" % number)
    lab.url = direct
    run = lab.submit(spec)
    finished = lab.wait_run(run)
    assert finished["outcome"] == "completed" and finished["deterministic"] is True, finished
    assert lab.hashes(run) == expected
    for r in lab.rounds(run):
        if r["type"] == "train":
            assert (r["selected"], r["received"], r["late"], r["failed"], r["dropped"]) == (10, 10, 0, 0, 0), r
    assert len(lab.admin.ok("GET", "/api/v1/workers")["items"]) == 3
    assert len(lab.admin.ok("GET", "/api/v1/devices?limit=100")["items"]) == 30
    seen = {name for p in proxies for name in p.counts}
    assert len(seen) > len(proxy.WAYS) / 2, seen  # it was no fair weather
    for p in proxies:
        p.close()


if __name__ == "__main__":
    harness.main(globals())
