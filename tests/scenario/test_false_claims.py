#!/usr/bin/env python3
"""Devices that say what cannot be: of their data, their work, their clock, of tasks that are not theirs. Each claim is refused by
name and counts for nothing."""
from urllib.parse import urlencode

import harness
from device import Device, MEDIA, small_spec, weights

BIG = 2**63
HUGE = "9" * 400
NUMBERS = ("nan", "1e999", "-1e999", "", " 1", "1 ", "0x1", "1,5", "١", HUGE)


def refused(reply, status, code, field=None):
    assert reply.status == status and reply.json["code"] == code, reply
    assert field is None or reply.json["field"] == field, reply


class Scene:
    """A round of two devices, each with its task."""

    def __init__(self, lab):
        lab.start_server("--heartbeat-s", "600")
        self.lab = lab
        spec = small_spec(2, num_rounds=1, reporting={"deadline_s": 3000}, strategy={"params": {"proximal_mu": 0.5}})
        self.run = lab.submit(spec)
        self.device, self.peer = Device(lab, 0), Device(lab, 1)
        self.task = self.device.claim(10)
        self.peers_task = self.peer.claim(10)

    def unchanged(self, check, *cases):
        before = self.lab.everything(self.run)
        harness.all_of(cases, check)
        harness.unchanged(before, self.lab.everything(self.run))

    def finish(self):
        """What is true still counts, once."""
        for device, task in ((self.device, self.task), (self.peer, self.peers_task)):
            assert device.update(task, 3.0).json["accepted"] is True
        run = self.lab.wait_run(self.run)
        assert run["outcome"] == "completed" and weights(self.lab, self.run) == [3.0] * 6, run


def integers(field, too_many, code="invalid_update", status=422):
    """What no count can be: not a number, below zero, past 64 bits; and `too_many`."""
    return ([({field: value}, 400, "invalid_field", field) for value in ("x", "1.5", "1e3", "+1", str(BIG), "-" + str(BIG + 1)) + NUMBERS]
            + [({field: value}, 422, "invalid_update", field) for value in (-2, -BIG)]
            + [({field: value}, status, code, field) for value in too_many])


# changes to what a device says of an honest update -> status, code, field
CLAIMS = (
    # How much it has. What it weighs is the number that it registered with.
    integers("num_examples", (0, 3, 5, BIG - 1), "config_mismatch", 409)
    # How much it did.
    + integers("steps_done", (5, BIG - 1))
    + [({"steps_done": None}, 422, "invalid_update", "steps_done"), ({"steps_done": -1}, 422, "invalid_update", "steps_done")]
    + integers("steps_assigned", (0, 3, 5, BIG - 1), "config_mismatch", 409)
    + integers("samples_seen", ())
    # What it was told, and says otherwise.
    + integers("batch_size", (0, 2, BIG - 1), "config_mismatch", 409)
    + [({"learning_rate": v}, 409, "config_mismatch", "learning_rate") for v in (0, 0.2, -0.1, "0.10000000000000002", "NaN", "Infinity")]
    + [({"learning_rate": v}, 400, "invalid_field", "learning_rate") for v in NUMBERS]
    + [({"proximal_mu": v}, 409, "config_mismatch", "proximal_mu") for v in (0, 0.25, -0.5, 1e300, "NaN", "-Infinity")]
    + [({"proximal_mu": v}, 400, "invalid_field", "proximal_mu") for v in NUMBERS]
    + [({"seed": v}, 409, "config_mismatch", "seed") for v in (0, 2, 2**64 - 1)]
    + [({"seed": v}, 400, "invalid_field", "seed") for v in (-1, 2**64, "x", "") + NUMBERS[5:]]
    + [({"content": v}, 400, "invalid_field", "content") for v in ("gradient", "x" * 41, "")]
    + [({"encoding": v}, 400, "invalid_field", "encoding") for v in ("gzip", "x" * 41)]
    + [({"stop_reason": v}, 400, "invalid_field", "stop_reason") for v in ("tired", "x" * 5000)]
    # Which attempt.
    + [({"attempt": v}, 422, "invalid_update", "attempt") for v in (2, BIG - 1)] + [({"attempt": 0}, 409, "superseded", "attempt")]
    + [({"attempt": v}, 400, "invalid_field", "attempt") for v in ("x", BIG)]
    # Its clock.
    + [({field: v}, 400, "invalid_field", field) for field in ("compute_ms", "download_ms")
       for v in (-1, -1e300, "Infinity", "-Infinity") + NUMBERS]
    # What it measured.
    + integers("eval_train_examples", (5, BIG - 1)) + integers("eval_test_examples", (2, BIG - 1)) + integers("eval_test_correct", (2, BIG - 1))
    + [({field: -1}, 400, "invalid_field", field) for field in ("grad_norm_start", "grad_norm_end", "gamma", "update_norm")]
    + [({field: v}, 400, "invalid_field", field) for field in ("train_loss_start", "eval_train_loss", "gamma") for v in NUMBERS]
    + [({"metrics": v}, 400, "invalid_field", f) for v, f in (
        ("x", "metrics"), ("{}", "metrics"), ("[" * 100, "metrics"), ('[{"name":"a","value":1},{"name":"a","value":2}]', "metrics"),
        ('[{"name":"a","value":"x"}]', "metrics[0].value"), ('[{"name":"a","value":1,"weight":-1}]', "metrics[0].weight"),
        ('[{"name":"","value":1}]', "metrics[0].name"), ('[{"name":"a","value":1e999}]', "metrics"),
        ('[{"name":"a","value":1,"weight":"Infinity"}]', "metrics[0].weight"))]
)


def test_claims_about_an_update(lab):
    scene = Scene(lab)

    def check(changes, status, code, field):
        body = scene.device.body(scene.task, **changes)
        refused(scene.device.put(scene.task, body), status, code, field)

    def check_query(changes, status, code, field):
        """The same, said in the address in place of the file."""
        (name, value), = changes.items()
        body = scene.device.body(scene.task, **{name: None})
        refused(scene.device.put(scene.task, body, "?" + urlencode({name: value})), status, code, field)
    scene.unchanged(check, *CLAIMS)
    scene.unchanged(check_query, *[case for case in CLAIMS if None not in case[0].values() and "metrics" not in case[0]])
    scene.finish()


def test_a_clock_changes_nothing(lab):
    """Times that are merely absurd are taken for what they say, and nothing is decided by them."""
    scene = Scene(lab)
    reply = scene.device.put(scene.task, scene.device.body(scene.task, 3.0, compute_ms=1e300, download_ms=1e300),
                             headers=dict(MEDIA, **{"Date": "Fri, 31 Dec 9999 23:59:59 GMT", "If-Modified-Since": "x", "Expires": "-1",
                                                    "Age": "-5"}))
    assert reply.json["accepted"] is True, reply
    task = lab.admin.ok("GET", "/api/v1/tasks/" + scene.task["task_id"])
    times = [task[name] for name in ("created_at", "claimed_at", "downloaded_at", "trained_at", "uploaded_at")]
    assert times == sorted(times) and all(times), times
    assert scene.peer.update(scene.peers_task, 3.0, compute_ms=0, download_ms=0).json["accepted"] is True
    assert lab.wait_run(scene.run)["outcome"] == "completed"
    for device in lab.admin.ok("GET", "/api/v1/devices")["items"]:
        speed = device["steps_per_second"]
        assert speed is None or speed >= 0, device
    # A budget that follows from it is still at least one step.
    other = lab.submit(small_spec(2, num_rounds=1, systems=None))
    assert scene.device.claim(10)["budget"]["max_steps"] >= 1
    lab.admin.ok("POST", "/api/v1/runs/%s/stop" % other)


def test_a_task_is_answered_by_whose_it_is_and_for_its_own_run(lab):
    scene = Scene(lab)
    wide = small_spec(2, name="wide", reporting={"deadline_s": 3000}, evaluation={"on": "none"},
                      model={"input": [2], "layers": [{"type": "dense", "units": 3}, {"type": "relu"}, {"type": "dense", "units": 2}],
                             "init": "zeros"},
                      training={"local_epochs": 1, "batch_size": 2, "learning_rate": 0.25})
    same = dict(small_spec(2, name="same", seed=9, reporting={"deadline_s": 3000}), dataset="other")
    strangers = [Device(lab, k, dataset="other") for k in (0, 1)]
    runs = [lab.submit(dict(wide, dataset="other")), lab.submit(same)]
    theirs = {}
    for _ in runs:
        held = [t["task_id"] for t in theirs.values()]
        task = strangers[0].http.ok("POST", "/api/v1/devices/%s/tasks:claim?wait=10" % strangers[0].id, {"holding": held})
        theirs[task["run_id"]] = task
    before = lab.everything(scene.run, *runs)
    body = scene.device.body(scene.task)
    # Another device's task, with whatever body; a task that is not there.
    refused(strangers[0].put(scene.task, body), 403, "forbidden")
    refused(scene.device.put(theirs[runs[0]], body), 403, "forbidden")
    refused(scene.device.put({"task_id": "0" * 32}, body), 404, "not_found")
    refused(scene.device.put({"task_id": scene.run}, body), 404, "not_found")
    for task in theirs.values():
        refused(scene.device.http.post("/api/v1/tasks/%s/fail" % task["task_id"], {"code": "incomplete", "steps_done": 0}), 403, "forbidden")
        refused(scene.device.http.post("/api/v1/tasks/%s/release" % task["task_id"], {}), 403, "forbidden")
        refused(scene.device.http.post("/api/v1/tasks/%s/progress" % task["task_id"], {"steps_done": 1}), 403, "forbidden")
    refused(scene.device.http.get("/api/v1/runs/%s/models/0/weights" % runs[0]), 403, "not_selected")
    # Its own tasks of two runs, exchanged: other shapes, or the same shapes and another job.
    wide_body = strangers[0].body(theirs[runs[0]], names=("0.weight", "0.bias", "2.weight", "2.bias"),
                                  shapes=((3, 2), (3,), (2, 3), (2,)))
    refused(strangers[0].put(theirs[runs[1]], wide_body), 422, "shape_mismatch")
    refused(strangers[0].put(theirs[runs[0]], strangers[0].body(theirs[runs[1]])), 422, "shape_mismatch")
    same_shapes = strangers[0].body(theirs[runs[1]], seed=theirs[runs[0]]["config"]["seed"])
    refused(strangers[0].put(theirs[runs[1]], same_shapes), 409, "config_mismatch", "seed")
    harness.unchanged(before, lab.everything(scene.run, *runs))
    scene.finish()


REGISTRATIONS = (
    [({"num_examples": v}, 400, "invalid_field", "num_examples") for v in (-1, BIG - 1, 2**40 + 1, 1.5, "4", None, True, [4])]
    + [({"num_test_examples": v}, 400, "invalid_field", "num_test_examples") for v in (-1, BIG - 1, "1")]
    + [({"num_examples": "missing"}, 400, "missing_field", "num_examples"), ({"dataset": "missing"}, 400, "missing_field", "dataset")]
    + [({"ordinal": v}, 400, "invalid_field", "ordinal") for v in (-1, 10**8 + 1, BIG - 1, 0.5, "0")]
    + [({"classes": v}, 400, "invalid_field", "classes") for v in (-1, BIG - 1, "2")]
    + [({"input": v}, 400, "invalid_field", None) for v in ([0], [-1], [BIG - 1], ["2"], 2, [1] * 9, [[2]])]
    + [({"name": v}, 400, "invalid_field", "name") for v in ("x" * 201, "a\nb", 5)]
    + [({"labels": v}, 400, "invalid_field", None) for v in ({"a": 1}, [], {"": "x"}, {str(i): "x" for i in range(65)}, {"a": "x" * 5000})]
    + [({"capabilities": v}, 400, "invalid_field", None) for v in ([], "x", {str(i): "x" for i in range(65)}, {"a": {"b": "x" * 9000}})]
)


def test_claims_at_registration(lab):
    lab.start_server("--heartbeat-s", "600")
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))
    good = {"name": "d", "ordinal": 0, "dataset": "hand", "num_examples": 4, "num_test_examples": 1, "input": [2], "classes": 2}
    before = lab.everything()

    def changed(changes):
        return {k: v for k, v in {**good, **changes}.items() if v != "missing"}

    def check(changes, status, code, field):
        refused(enroll.post("/api/v1/devices", changed(changes)), status, code, field)

    def check_worker(changes, status, code, field):
        """The second of a worker's devices: none of them is there afterwards."""
        body = {"name": "w", "instance_id": "i", "devices": [dict(good, ordinal=7), changed(changes)]}
        reply = enroll.post("/api/v1/workers", body)
        refused(reply, status, code)
        assert reply.json["field"].startswith("devices[1]"), reply
    harness.all_of(REGISTRATIONS, check)
    harness.all_of(REGISTRATIONS, check_worker)
    harness.unchanged(before, lab.everything())
    huge = ('{"dataset":"hand","num_examples":%d}' % BIG).encode()
    reply = enroll.request("POST", "/api/v1/devices", huge, headers={"Content-Type": "application/json"})
    refused(reply, 400, "malformed_json")
    harness.unchanged(before, lab.everything())


def test_a_device_with_nothing_weighs_nothing(lab):
    """0 training examples are no mistake: it may have test data. It neither trains nor counts, nor divides by itself."""
    lab.start_server("--heartbeat-s", "600")
    run = lab.submit(small_spec(2, num_rounds=1, reporting={"deadline_s": 2, "grace_s": 0, "on_too_few": "skip"}))
    empty, full = Device(lab, 0, num_examples=0), Device(lab, 1)
    task = full.claim(10)
    assert full.update(task, 2.0).json["accepted"] is True
    nothing = empty.claim(0)
    if nothing:
        assert nothing["num_examples"] == 0 and empty.update(nothing, 99.0, steps_done=0).status in (200, 409, 422)
    assert lab.wait_run(run, 60)["outcome"] == "completed"
    assert weights(lab, run) == [2.0] * 6


def test_claims_of_a_heartbeat(lab):
    scene = Scene(lab)
    task, path = scene.task["task_id"], "/api/v1/devices/%s/heartbeat" % scene.device.id

    def check(body, code, field):
        refused(scene.device.http.post(path, body), 400, code, field)
    one = lambda **changes: {"tasks": [{"task_id": task, **changes}]}
    scene.unchanged(check, *(
        [(one(steps_done=v), "invalid_field", "tasks[0].steps_done") for v in (-1, BIG - 1, 2**40 + 1, 1.5, "1", [])]
        + [(one(train_loss=v), "invalid_field", "tasks[0].train_loss") for v in ("x", [], True, {"a": 1})]
        + [({"tasks": [{"task_id": v}]}, "invalid_field", "tasks[0].task_id") for v in ("x", "", 5, "0" * 33)]
        + [({"tasks": v}, "invalid_field", "tasks") for v in ({}, "x", [{"task_id": task}] * 10001)]
        + [({"tasks": [{}]}, "missing_field", "tasks[0].task_id"), ({"clock": 1}, "unknown_field", "clock"),
           ({"server_time": "1970-01-01T00:00:00Z"}, "unknown_field", "server_time")]))
    # Progress of another's task is taken for nothing: the answer is to drop it.
    peers = {"tasks": [{"task_id": scene.peers_task["task_id"], "steps_done": 4}]}
    assert scene.device.http.ok("POST", path, peers)["directives"] == [{"type": "cancel", "task_id": scene.peers_task["task_id"]}]
    assert lab.admin.ok("GET", "/api/v1/tasks/" + scene.peers_task["task_id"])["steps_done"] == 0
    refused(scene.device.http.post("/api/v1/devices/%s/tasks:claim" % scene.device.id, {"holding": ["x"]}), 400, "invalid_field", "holding[0]")
    scene.finish()


if __name__ == "__main__":
    harness.main(globals())
