#!/usr/bin/env python3
"""The command line against a real server: what it prints, writes and returns."""
import csv
import hashlib
import io
import json
import os
import re
import resource
import struct
import subprocess
import xml.dom.minidom

import harness
from device import Device, small_spec, weights
from specs import SYNTHETIC, fedavg, synthetic_run

FINE, FAILED, CONNECTION, TIMED_OUT, USAGE = 0, 1, 2, 3, 4


def exits(lab, status, *args, env=None, words=()):
    done = lab.cli(*args, check=False, env=env)
    assert done.returncode == status, (args, done)
    for word in words:
        assert word in done.stdout + done.stderr, (word, args, done)
    return done


def ids_of(lab, path):
    return [x["id"] for x in lab.admin.ok("GET", path)["items"]]


def two_runs(lab, **changes):
    """A server with a worker, and FedAvg and FedProx submitted by the command line. The two ids."""
    lab.start_server()
    lab.start_worker(SYNTHETIC, "0-29", threads=2)
    runs = []
    for name, spec in (("avg", fedavg(synthetic_run(**changes))), ("prox", synthetic_run(**changes))):
        path = lab.write(name + ".json", dict(spec, name=name))
        runs.append(json.loads(lab.cli("run", "submit", path, "--format", "json").stdout)["id"])
    return runs


def terminal(lab, *args, **kwargs):
    """harness.on_terminal, as one who may do everything on the server."""
    env = {"FEDLANE_SERVER": lab.url, "FEDLANE_TOKEN": lab.admin.token, **kwargs.pop("env", {})}
    return harness.on_terminal(*args, env=env, **kwargs)


# -- submitting ---------------------------------------------------------------------------------------------------

def test_submit(lab):
    lab.start_server()
    path = lab.write("spec.json", synthetic_run(autostart=False))
    out = lab.cli("run", "submit", path, "--format", "json", "--set", "name=other", "--set", "training.learning_rate=0.5").stdout
    run = json.loads(out)
    assert any(re.match(r'^ *"id": *"%s",?$' % run["id"], line) for line in out.splitlines()), out
    assert run["name"] == "other" and run["spec"]["training"]["learning_rate"] == 0.5
    key = ("--idempotency-key", "one-key", "--format", "jsonl")
    first, second = (json.loads(lab.cli("run", "submit", path, *key).stdout) for _ in range(2))
    assert first["id"] == second["id"]
    exits(lab, FAILED, "run", "submit", path, *key, "--set", "name=third", words=("Idempotency-Key",))
    assert len(ids_of(lab, "/api/v1/runs")) == 2
    exits(lab, USAGE, "run", "submit", path, "--set", "training.learning_rat=1", words=("training.learning_rat", "learning_rate"))
    exits(lab, USAGE, "run", "submit", path, "--set", "nonsense", words=("nonsense",))
    exits(lab, USAGE, "run", "submit", lab.path("nosuch.json"), words=("nosuch.json",))
    exits(lab, USAGE, "run", "submit", lab.write("broken.json", "{\"name\": "), words=("broken.json", "line 1"))
    assert len(ids_of(lab, "/api/v1/runs")) == 2


def test_submit_and_watch(lab):
    lab.start_server()
    lab.start_worker(SYNTHETIC, "0-29", threads=2)
    out = exits(lab, FINE, "run", "submit", lab.write("spec.json", synthetic_run()), "--watch").stdout
    assert "synthetic: completed" in out and "final evaluation" in out, out


# -- the life of runs ---------------------------------------------------------------------------------------------

def test_life_of_a_run(lab):
    lab.start_server()
    spec = lab.write("spec.json", small_spec(1, name="life", autostart=False))
    run_id = json.loads(lab.cli("run", "submit", spec, "--format", "json").stdout)["id"]
    assert "life" in lab.cli("run", "list", "--status", "pending").stdout
    assert "life" not in lab.cli("run", "list", "--status", "running").stdout
    exits(lab, FINE, "run", "start", "life")
    device = Device(lab, 0)
    task = device.claim(10)
    exits(lab, FINE, "run", "pause", "life", words=("paused",))
    assert device.update(task).status == 200
    harness.wait_for(lambda: lab.rounds(run_id)[0]["status"] == "closed", "the round to close")
    assert device.claim(0) is None and lab.run(run_id)["status"] == "paused"
    exits(lab, FINE, "run", "resume", run_id)
    assert device.update(device.claim(10)).status == 200
    assert lab.wait_run(run_id)["outcome"] == "completed"
    exits(lab, FAILED, "run", "start", run_id)
    exits(lab, FAILED, "run", "pause", run_id)
    shown = lab.cli("run", "show", "life").stdout
    assert run_id in shown and "completed" in shown and "final" in shown, shown
    assert json.loads(lab.cli("run", "show", "life", "--format", "json").stdout)["id"] == run_id
    lines = lab.cli("run", "list", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(x)["id"] for x in lines] == [run_id]


def test_names(lab):
    lab.start_server()
    for name in ("fedprox", "twice", "twice"):
        lab.submit(small_spec(1, name=name, autostart=False))
    exits(lab, FINE, "run", "show", "fedprox")
    exits(lab, USAGE, "run", "show", "fedprx", words=("did you mean \"fedprox\"",))
    ambiguous = exits(lab, USAGE, "run", "show", "twice", words=("2 runs",))
    assert sum(x in ambiguous.stderr for x in ids_of(lab, "/api/v1/runs")) == 2, ambiguous
    exits(lab, USAGE, "run", "show", "0" * 32)


# -- watching -----------------------------------------------------------------------------------------------------

def test_watch_two_runs(lab):
    avg, prox = two_runs(lab)
    watch = exits(lab, FINE, "run", "watch", avg, "prox")
    for line in ("avg: completed", "prox: completed"):
        assert any(x.startswith(line) for x in watch.stdout.splitlines()), watch.stdout
    assert "\x1b" not in watch.stdout
    # One that has ended already is told at once.
    again = exits(lab, FINE, "run", "watch", avg, prox)
    assert again.stdout.count("completed") == 2, again.stdout


def test_watch_follows_the_events(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(1, name="small"))
    log = lab.path("watch.log")
    env = {"FEDLANE_SERVER": lab.url, "FEDLANE_TOKEN": lab.admin.token}
    watch = harness.Process([harness.program("fedlane"), "run", "watch", run_id], log, env)
    events = harness.Process([harness.program("fedlane"), "run", "watch", run_id, "--format", "jsonl"], lab.path("e.log"), env)
    harness.wait_for(lambda: "1 of 1" in watch.text() or "waiting" in watch.text(), "the first line")
    device = Device(lab, 0)
    assert device.update(device.claim(10)).status == 200
    harness.wait_for(lambda: "small: round 0 of 2" in watch.text(), "the line of round 0")
    # The server goes away and comes back: nothing is lost, nothing is told twice.
    lab.server.kill()
    harness.wait_for(lambda: "the connection is lost" in watch.text(), "the loss to be seen")
    lab.start_server()
    task = device.claim(10)
    assert device.update(task).status == 200
    assert watch.wait() == FINE and events.wait() == FINE, watch.text()
    text = watch.text()
    assert text.count("round 0 of 2") == 1 and text.count("round 1 of 2") == 1, text
    seqs = [json.loads(x)["seq"] for x in events.text().splitlines() if x.startswith("{")]
    assert seqs and seqs == list(range(seqs[0], seqs[0] + len(seqs))), seqs
    lab.processes += [watch, events]


def test_watch_exit_statuses(lab):
    lab.start_server()
    waits = lab.submit(small_spec(2, name="waits"))
    exits(lab, TIMED_OUT, "run", "watch", waits, "--timeout", "0.3", words=("the wait of 0.3 s is over",))
    exits(lab, FINE, "run", "stop", waits, words=("stopped",))
    exits(lab, FAILED, "run", "watch", waits, words=("stopped",))
    exits(lab, CONNECTION, "run", "watch", waits, env={"FEDLANE_TOKEN": "fl_" + "0" * 64})
    lab.server.kill()
    exits(lab, CONNECTION, "run", "watch", waits)


def test_watch_says_what_a_run_waits_for(lab):
    lab.start_server()
    few = lab.submit(dict(synthetic_run(), name="few", selection={"devices_per_round": 3, "population": 9}))
    held = lab.submit(dict(synthetic_run(), name="held", autostart=False))
    harness.wait_for(lambda: lab.run(few)["status"] == "waiting_for_devices" and
                     lab.run(held)["status_reason"] == "waiting to be started", "both to wait")
    for form in ("table", "jsonl"):
        told = exits(lab, TIMED_OUT, "run", "watch", few, held, "--timeout", "0.3", "--format", form).stderr
        assert 'few is waiting for devices: 0 of 9 of dataset "synthetic" registered' in told, told
        assert "held is not started: fedlane run start %s\n" % held in told, told
    status, text = terminal(lab, "run", "watch", few, held, "--timeout", "0.3")
    assert status == TIMED_OUT and "fedlane run start " + held in text, text
    watch = harness.Process([harness.program("fedlane"), "run", "watch", held, "--format", "jsonl"], lab.path("w.log"),
                            {"FEDLANE_SERVER": lab.url, "FEDLANE_TOKEN": lab.admin.token})
    lab.processes.append(watch)
    harness.wait_for(lambda: "is not started" in watch.text(), "the first wait")
    exits(lab, FINE, "run", "start", held)
    harness.wait_for(lambda: "fedlane: held is waiting for devices" in watch.text(), "the next wait")


def test_watch_on_a_terminal(lab):
    avg, prox = two_runs(lab, num_rounds=20)
    status, text = terminal(lab, "run", "watch", avg, prox, columns=70)
    assert status == FINE, text
    assert "█" in text and "\x1b[32m" in text, text[-2000:]
    assert re.search(r"\x1b\[\d+A", text), "it did not go back up to paint again"
    last = text[text.rindex("\x1b[K"[:2]) - 2000:]
    assert "20/20" in last and "completed" in last, last
    for line in re.split(r"[\r\n]+", text):
        plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line)
        assert len(plain) <= 70, (len(plain), plain)
    status, text = terminal(lab, "run", "watch", avg, columns=70, env={"NO_COLOR": "1"})
    assert status == FINE and "█" in text and not re.search(r"\x1b\[\d*m", text), text


def test_lanes_show_work_that_goes_on(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(2, name="lanes", num_rounds=1, training={"local_epochs": 5}))
    one, two = Device(lab, 0), Device(lab, 1)
    task, other = one.claim(10), two.claim(10)
    one.http.ok("POST", "/api/v1/tasks/%s/progress" % task["task_id"], {"steps_done": 10, "train_loss": 0.5})

    status, text = terminal(lab, "run", "watch", run_id, "--timeout", "2", env={"LC_ALL": "C"})
    assert status == TIMED_OUT, text
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    assert "0 of 2 devices" in plain and "#### " not in plain.split("lanes")[0], plain
    assert re.search(r"0 ####---- ", plain) and re.search(r"1 -------- ", plain), plain
    assert one.update(task).status == 200 and two.update(other, steps_done=5).status == 200
    lab.wait_run(run_id)


# -- results ------------------------------------------------------------------------------------------------------

def test_compare(lab):
    avg, prox = two_runs(lab)
    exits(lab, FINE, "run", "watch", avg, prox)
    text = lab.cli("run", "compare", avg, prox).stdout
    lines = text.splitlines()
    assert re.split(r"  +", lines[0]) == ["run", "strategy", "stragglers", "steps done of assigned", "final train loss",
                                          "final test accuracy"], lines[0]
    assert lines[1].startswith("avg") and "fedavg" in lines[1] and "90.0 %" in lines[1], lines[1]
    assert lines[2].startswith("prox") and "fedprox, mu 1" in lines[2], lines[2]
    assert re.search(r"^gap: (prox|avg) is \d+\.\d points of test accuracy above (prox|avg)$", text, re.M), text
    assert re.search(r"^strategy.name +fedavg +fedprox$", text, re.M), text
    assert "seed" not in text and "learning_rate" not in text, text
    data = json.loads(lab.cli("run", "compare", avg, prox, "--format", "json").stdout)
    rounds = [r for r in lab.rounds(prox)]
    assert data["runs"][1]["steps_done"] == sum(r["steps_done"] for r in rounds)
    assert data["runs"][1]["test_accuracy"] == rounds[-1]["metrics"]["test_accuracy"]
    assert abs(data["gap_points"] - 100 * (data["runs"][1]["test_accuracy"] - data["runs"][0]["test_accuracy"])) < 1e-9
    assert "strategy.name" in [d["parameter"] for d in data["differences"]]


def test_model_pull(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(1, name="small"))
    device = Device(lab, 0)
    for value in (1.0, 2.0):
        assert device.update(device.claim(10), value).status == 200
    lab.wait_run(run_id)
    path = lab.path("model.safetensors")
    lab.cli("model", "pull", "small", "-o", path)
    with open(path, "rb") as f:
        raw = f.read()
    model = lab.admin.ok("GET", "/api/v1/runs/%s/models/latest" % run_id)
    assert hashlib.sha256(raw).hexdigest() == model["weights_sha256"]
    lab.cli("model", "pull", run_id, "--version", "1", "-o", path)
    with open(path, "rb") as f:
        length = struct.unpack("<Q", f.read(8))[0]
        f.seek(8 + length)
        assert struct.unpack("<6f", f.read()) == (1.0,) * 6
    assert weights(lab, run_id) == [2.0] * 6
    exits(lab, USAGE, "model", "pull", run_id, "--version", "77", "-o", path)
    exits(lab, USAGE, "model", "pull", run_id, words=("-o FILE",))
    exits(lab, FAILED, "model", "pull", run_id, "-o", lab.path("nosuch/model"), words=("nosuch/model",))
    assert sorted(x for x in os.listdir(lab.folder) if x.startswith("model")) == ["model.safetensors"]


def test_metrics(lab):
    avg, prox = two_runs(lab)
    exits(lab, FINE, "run", "watch", avg, prox)
    items = json.loads(lab.cli("metrics", "get", "prox", "--metric", "train_loss", "--device", "aggregate", "--format", "json").stdout)
    assert [x["round"] for x in items] == list(range(6)), items
    assert [x["value"] for x in items] == [r["metrics"]["train_loss"] for r in lab.rounds(prox)]
    tenth = json.loads(lab.cli("metrics", "get", "prox", "--metric", "test_accuracy_p10", "--format", "json").stdout)
    assert [(x["ordinal"], x["value"]) for x in tenth] == [(None, r["metrics"]["test_accuracy_p10"]) for r in lab.rounds(prox)]
    late = json.loads(lab.cli("metrics", "get", "prox", "--metric", "train_loss", "--device", "3", "--since-round", "4",
                              "--format", "json").stdout)
    assert [(x["round"], x["ordinal"]) for x in late] == [(4, 3), (5, 3)], late
    text = lab.cli("metrics", "get", "prox", "--metric", "train_loss", "--device", "aggregate", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(r["value"]) for r in rows] == [x["value"] for x in items]
    # What the server gives as CSV can be drawn, like what a simulation leaves.
    lab.write("server.csv", text)
    exits(lab, FINE, "simulate", lab.write("s.json", synthetic_run()), "--out", lab.path("sim"))
    svg = lab.path("plot.svg")
    lab.cli("metrics", "plot", avg, prox, "--from-csv", lab.path("sim/metrics.csv"), "-o", svg)
    titles = [t.firstChild.nodeValue for t in xml.dom.minidom.parse(svg).getElementsByTagName("text") if t.firstChild]
    assert xml.dom.minidom.parse(svg).documentElement.tagName == "svg"
    with open(svg) as f:
        drawing = f.read()
    for word in ("avg", "prox", "sim", "train loss", "test accuracy (%)", "steps done in the round"):
        assert word in drawing, (word, titles)
    lab.cli("metrics", "plot", prox, "--from-csv", lab.path("sim/metrics.csv"), "--metric", "test_accuracy_p10", "--metric",
            "test_accuracy_p90", "-o", svg)
    with open(svg) as f:
        assert "10th percentile (%)" in f.read()
    png = lab.path("plot.png")
    lab.cli("metrics", "plot", prox, "--from-csv", lab.path("server.csv"), "--metric", "train_loss", "-o", png)
    with open(png, "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"


def test_plot_errors(lab):
    lab.start_server()
    run_id = lab.submit(small_spec(1, name="it's `date` \"$x\"\\n", autostart=False))
    exits(lab, USAGE, "metrics", "plot", run_id, "-o", lab.path("plot.pdf"), words=(".svg or .png",))
    exits(lab, USAGE, "metrics", "plot", "-o", lab.path("plot.svg"), words=("--from-csv",))
    exits(lab, USAGE, "metrics", "plot", run_id, "--metric", "train_los", "-o", lab.path("plot.svg"), words=("train_los",))
    exits(lab, USAGE, "metrics", "plot", "--from-csv", lab.path("nosuch.csv"), "-o", lab.path("plot.svg"), words=("nosuch.csv",))
    exits(lab, USAGE, "metrics", "plot", "--from-csv", lab.write("bad.csv", "round,train_loss\n1\n"), "-o", lab.path("plot.svg"),
          words=("bad.csv", "line 2"))
    exits(lab, FAILED, "metrics", "plot", run_id, "-o", lab.path("plot.svg"), env={"PATH": "/nonexistent"},
          words=("apt install gnuplot-nox",))
    exits(lab, FINE, "metrics", "plot", run_id, "-o", lab.path("plot.svg"))  # a hostile name, and no values yet
    assert sorted(x for x in os.listdir(lab.folder) if x.startswith("plot")) == ["plot.svg"]


# -- who takes part -----------------------------------------------------------------------------------------------

def test_members(lab):
    lab.start_server()
    lab.start_worker(SYNTHETIC, "0-4", name="one")
    harness.wait_for(lambda: ids_of(lab, "/api/v1/devices"), "the devices")
    devices = json.loads(lab.cli("device", "list", "--format", "json").stdout)
    assert [d["ordinal"] for d in sorted(devices, key=lambda d: d["ordinal"])] == list(range(5)), devices
    assert lab.cli("device", "list", "--dataset", "nosuch").stdout.splitlines()[1:] == []
    assert len(lab.cli("device", "list", "--limit", "2").stdout.splitlines()) == 3
    shown = lab.cli("device", "show", devices[0]["name"]).stdout
    assert devices[0]["id"] in shown and "synthetic" in shown, shown
    exits(lab, FINE, "device", "revoke", devices[0]["id"])
    worker = json.loads(lab.cli("worker", "list", "--format", "json").stdout)[0]
    exits(lab, FINE, "worker", "revoke", worker["name"], words=(worker["id"],))
    assert all(d["status"] == "revoked" for d in json.loads(lab.cli("device", "list", "--format", "json").stdout))


def test_tokens(lab):
    lab.start_server()
    token = lab.cli("token", "create", "--role", "viewer", "--name", "eyes").stdout.strip()
    assert re.fullmatch(r"fl_[0-9a-f]{64}", token), token
    exits(lab, USAGE, "token", "create", words=("--role",))
    exits(lab, USAGE, "token", "create", "--role", "king", words=("role",))
    as_viewer = {"FEDLANE_TOKEN": token}
    exits(lab, FINE, "run", "list", env=as_viewer)
    exits(lab, CONNECTION, "run", "submit", lab.write("s.json", synthetic_run()), env=as_viewer, words=("FEDLANE_TOKEN",))
    exits(lab, CONNECTION, "token", "list", env=as_viewer)
    path = lab.write("viewer.token", token + "\n")
    exits(lab, FINE, "run", "list", "--token-file", path, env={"FEDLANE_TOKEN": "fl_wrong"})
    listed = lab.cli("token", "list", "--role", "viewer").stdout
    assert "eyes" in listed and token not in listed, listed
    lab.cli("token", "create", "--role", "enrollment", "--name", "five", "--max-uses", "5")
    titles, *rows = lab.cli("token", "list", "--role", "enrollment").stdout.splitlines()
    five = next(row for row in rows if "five" in row)
    assert re.search(r" uses +max uses ", titles) and re.search(r" 0 +5 ", five), (titles, five)
    exits(lab, FINE, "token", "revoke", "eyes")
    exits(lab, CONNECTION, "run", "list", env=as_viewer)


# -- errors and checks --------------------------------------------------------------------------------------------

def test_connection_errors(lab):
    lab.start_server()
    exits(lab, CONNECTION, "run", "list", env={"FEDLANE_TOKEN": ""}, words=("FEDLANE_TOKEN", "--token-file"))
    exits(lab, CONNECTION, "run", "list", env={"FEDLANE_TOKEN": "fl_" + "0" * 64})
    exits(lab, USAGE, "run", "list", "--token-file", lab.path("nosuch.token"), words=("nosuch.token",))
    exits(lab, USAGE, "run", "list", "--server", "ftp://x", words=("ftp",))
    gone = "http://127.0.0.1:%d" % harness.free_port()
    exits(lab, CONNECTION, "run", "list", "--server", gone, words=(gone,))
    exits(lab, USAGE, "run", "lst", words=("did you mean \"run list\"",))
    assert lab.admin.token not in exits(lab, CONNECTION, "run", "list", "--server", gone).stderr


def test_doctor(lab):
    lab.start_server()
    no_driver = harness.without_opencl()  # test_opencl.py looks at devices that are there
    rows = {r["what"]: r for r in json.loads(exits(lab, FINE, "doctor", "--format", "json", env=no_driver).stdout)}
    for what in ("server", "version", "token", "clock", "disk", "kernels", "opencl"):
        assert what in rows and rows[what]["detail"], rows
    assert all(rows[w]["state"] == "fine" for w in ("server", "version", "token", "clock", "kernels")), rows
    exits(lab, CONNECTION, "doctor", env={"FEDLANE_TOKEN": "fl_" + "0" * 64, **no_driver}, words=("token", "bad"))
    lab.server.kill()
    exits(lab, CONNECTION, "doctor", env=no_driver, words=("server", "bad", "kernels"))


# -- simulate -----------------------------------------------------------------------------------------------------

def test_simulate_files(lab):
    spec = lab.write("spec.json", synthetic_run())
    out = lab.path("new/folder")
    done = subprocess.run([harness.program("fedlane"), "simulate", spec, "--out", out, "--format", "jsonl"], capture_output=True,
                          text=True, timeout=harness.TIMEOUT_S)
    assert done.returncode == FINE, done
    lines = [json.loads(x) for x in done.stdout.splitlines()]
    assert [x["type"] for x in lines] == ["train"] * 5 + ["final"], lines
    final = lines[-1]
    assert sorted(os.listdir(out)) == ["metrics.csv", "model.safetensors", "run.json"]
    with open(os.path.join(out, "metrics.csv")) as f:
        rows = list(csv.DictReader(f))
    assert [r["aggregate_sha256"] for r in rows] == [x["aggregate_sha256"] for x in lines]
    assert [float(r["train_loss"]) for r in rows] == [x["train_loss"] for x in lines]
    with open(os.path.join(out, "run.json")) as f:
        run = json.load(f)
    assert run["outcome"] == "completed" and run["final"] == final and run["spec"]["num_rounds"] == 5, run
    with open(os.path.join(out, "model.safetensors"), "rb") as f:
        raw = f.read()
    length = struct.unpack("<Q", raw[:8])[0]
    assert hashlib.sha256(raw[8 + length:]).hexdigest() == final["aggregate_sha256"]


def test_simulate_leaves_a_whole_folder_or_none(lab):
    path, out = lab.write("spec.json", synthetic_run(num_rounds=1)), lab.path("new/folder")

    def simulate(*args, limit=resource.RLIM_INFINITY):
        return subprocess.run([harness.program("fedlane"), "simulate", path, "--threads", "1", "--out", out, *args], capture_output=True,
                              text=True, timeout=harness.TIMEOUT_S, stdin=subprocess.DEVNULL,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))
    done = simulate(limit=2000)  # less than the model
    assert done.returncode == FAILED and "model.safetensors" in done.stderr and "File too large" in done.stderr, done
    assert not os.path.exists(out)
    assert simulate().returncode == FINE
    done = simulate("--set", "seed=7", limit=2000)
    assert done.returncode == FAILED and os.listdir(out) == [], done
    # A run that never moves is no success.
    done = simulate("--set", "training.learning_rate=1000000", "--set", "strategy.params.proximal_mu=1000", "--set", "reporting.on_too_few=skip")
    assert done.returncode == FAILED and "diverged" in done.stderr and sorted(os.listdir(out))[-1] == "run.json", done
    for bad, words in (("spec.json", "no directory"), ("spec.json/x", "Not a directory"), ("", "name of a folder")):
        done = subprocess.run([harness.program("fedlane"), "simulate", path, "--out", bad and lab.path(bad)], capture_output=True, text=True,
                              timeout=harness.TIMEOUT_S, stdin=subprocess.DEVNULL)
        assert done.returncode == USAGE and words in done.stderr and not done.stdout, done


def test_simulate_errors(lab):
    def simulate(status, *args, words=()):
        done = subprocess.run([harness.program("fedlane"), "simulate", *args], capture_output=True, text=True,
                              timeout=harness.TIMEOUT_S, stdin=subprocess.DEVNULL)
        assert done.returncode == status, (args, done)
        for word in words:
            assert word in done.stderr, (word, done)
    spec = lab.write("spec.json", synthetic_run())
    simulate(USAGE, lab.path("nosuch.json"), words=("nosuch.json",))
    simulate(USAGE, spec, "--set", "training.batch=3", words=("training.batch",))
    simulate(USAGE, spec, "--set", "num_rounds=-1", words=("num_rounds",))
    simulate(USAGE, spec, "--set", "strategy.name=fedfoo", words=("strategy.name", "fedprox", "fedavg"))
    simulate(USAGE, spec, "--set", "data.source=nosuch", words=("data.source",))
    simulate(USAGE, spec, "--set", "data={\"source\": \"idx\", \"train_images\": \"/nonexistent/a\", \"train_labels\": \"/nonexistent/b\"}",
             words=("/nonexistent/a",))
    simulate(USAGE, spec, "--set", "selection.population=31", words=("30 of 31",))
    simulate(USAGE, spec, "--set", "model.input=[61]", words=("model.input", "60"))
    simulate(USAGE, spec, "--out", lab.path("spec.json"), words=("--out", "spec.json"))
    simulate(USAGE, spec, "--out", lab.path("spec.json/b"), words=("--out",))
    simulate(USAGE, spec, "--out", "/proc/fedlane", words=("--out", "/proc/fedlane"))
    simulate(USAGE, spec, "--threads", "0", words=("--threads",))
    assert sorted(os.listdir(lab.folder)) == ["spec.json"]


harness.main(globals())
