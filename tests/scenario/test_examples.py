#!/usr/bin/env python3
"""What lies in examples/ works: the walk-through as it stands, the run specs in a short form."""
import glob
import json
import os
import shutil
import subprocess

import harness
from specs import merged

EXAMPLES = os.path.join(harness.SRC, "examples")
FASHION_MNIST = "/usr/share/datasets/fashion-mnist"
SPECS = ("synthetic-1-1.json", "slow-devices.json", "fashion-mnist.json", "fashion-mnist-cnn.json",
         "fashion-mnist-dirichlet.json", "kjv-char-lstm.json", "demo-fedavg.json", "demo-fedprox.json")
SANITIZED = os.environ.get("ASAN_OPTIONS") or os.environ.get("TSAN_OPTIONS")


def load(name):
    with open(os.path.join(EXAMPLES, name)) as f:
        return json.load(f)


def with_data(lab, name):
    """The spec, with the folder of the King James Bible where its data want it; None where the data are not installed."""
    spec = load(name)
    source, folder = spec["data"]["source"], lab.path("kjv")
    if source == "fashion_mnist" and not os.path.isdir(FASHION_MNIST):
        return print("%s needs the Debian package dataset-fashion-mnist" % name)
    if source == "text" and not shutil.which("bible"):
        return print("%s needs the Debian packages bible-kjv and bible-kjv-text" % name)
    if source == "text":
        subprocess.run([os.path.join(EXAMPLES, "kjv.sh"), folder], check=True, stdin=subprocess.DEVNULL)
        spec["data"]["path"] = folder
    return spec


def is_large(name):
    return "preset" in load(name)["model"]


def short(spec):
    less = {"num_rounds": 2, "training": {"local_epochs": 1}}
    if "preset" in spec["model"]:
        less = {"num_rounds": 2, "training": {"local_epochs": None, "local_steps": 2}, "evaluation": {"on": "none"}}
    return merged(spec, less)


def test_a_device_in_curl(lab):
    lab.start_server()
    script = ["bash", os.path.join(EXAMPLES, "curl-device.sh"), lab.url, os.path.join(lab.data_dir, "admin.token"),
              lab.enroll_file()]
    for _ in range(2):  # it cleans up behind itself, so it can be walked again
        done = subprocess.run(script, capture_output=True, text=True, timeout=harness.TIMEOUT_S, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr
        for words in ("$ curl -H @enroll", "model: OK", '"accepted":true', '"duplicate":true', '"received":1'):
            assert words in done.stdout, (words, done.stdout)
        for name in ("admin.token", "enrollment.token"):
            assert lab.token(name) not in done.stdout + done.stderr
    runs = lab.admin.ok("GET", "/api/v1/runs")["items"]
    assert len(runs) == 2 and all(lab.wait_run(r["id"])["outcome"] == "completed" for r in runs), runs
    first = lab.rounds(runs[0]["id"])[0]
    assert (first["received"], first["steps_done"]) == (1, 4), first


def test_a_device_in_curl_says_what_is_wrong(lab):
    lab.start_server()
    wrong = lab.write("wrong.token", "fl_" + "0" * 64)
    done = subprocess.run(["bash", os.path.join(EXAMPLES, "curl-device.sh"), lab.url, wrong, lab.enroll_file()],
                          capture_output=True, text=True, timeout=harness.TIMEOUT_S, stdin=subprocess.DEVNULL)
    assert done.returncode not in (0, 4) and "unauthorized" in done.stdout, done
    done = subprocess.run(["bash", os.path.join(EXAMPLES, "curl-device.sh")], capture_output=True, text=True,
                          timeout=harness.TIMEOUT_S, stdin=subprocess.DEVNULL)
    assert done.returncode == 4 and "usage: curl-device.sh URL" in done.stderr, done


def test_specs_in_short(lab):
    for name in [n for n in SPECS if not is_large(n)]:  # the others: test_large_models
        spec = with_data(lab, name)
        if not spec:
            continue
        rounds, final = harness.simulate(short(spec))
        assert final["outcome"] == "completed" and final["deterministic"] is True, final
        assert len(rounds) == 2 and all(r["selected"] == 10 for r in rounds), rounds
        assert all(r["evaluated"] == r["evaluators"] for r in rounds), rounds


def test_every_spec_is_known_here(lab):
    names = {os.path.basename(p) for p in glob.glob(os.path.join(EXAMPLES, "*.json"))}
    assert names == set(SPECS) | {"curl-run.json", "machines.json"}, names  # the latter: test_own_data.py


def test_workers_data_are_the_specs_data(lab):
    """A worker with the file of examples/data has the very devices that the spec names."""
    pairs = {"synthetic-1-1.json": "synthetic-1-1.json", "fashion-mnist.json": "fashion-1000.json",
             "fashion-mnist-cnn.json": "fashion-100.json", "fashion-mnist-dirichlet.json": "fashion-10.json",
             "kjv-char-lstm.json": "kjv.json",
             "demo-fedavg.json": "fashion-100.json", "demo-fedprox.json": "fashion-100.json"}
    for spec_name, data_name in pairs.items():
        spec, data = load(spec_name), load(os.path.join("data", data_name))
        assert dict(spec["data"], seed=spec["seed"]) == data, (spec_name, spec["data"], data)
        assert spec["dataset"] == data.get("name", data["source"]), spec_name
    fedavg, fedprox = load("demo-fedavg.json"), load("demo-fedprox.json")
    for key in fedavg:
        assert key in ("name", "strategy") or fedavg[key] == fedprox[key], key


def test_specs_over_http(lab):
    """Submitted to workers with the data of the examples: the bits of the simulation. The first one as it is, short by --set."""
    lab.start_server()
    lab.start_worker(load("data/synthetic-1-1.json"), "0-29", name="synthetic")
    less = ("--set", "num_rounds=2", "--set", "training.local_epochs=1")
    run = json.loads(lab.cli("run", "submit", os.path.join(EXAMPLES, "synthetic-1-1.json"), *less, "--format", "json").stdout)
    assert lab.wait_run(run["id"])["outcome"] == "completed"
    rounds, _ = harness.simulate(load("synthetic-1-1.json"), *less)
    assert lab.hashes(run["id"])[:2] == [r["aggregate_sha256"] for r in rounds]


def test_large_models(lab):
    """Simulated, and by a worker, to the same bits; with stragglers, whose part counts. Under sanitizers one of them, since reading
    the images alone takes half a minute there."""
    lab.start_server()
    for name in ["kjv-char-lstm.json"] if SANITIZED else [n for n in SPECS if is_large(n)]:
        spec = with_data(lab, name)
        if not spec:
            continue
        spec = short(spec)
        last_device = spec["selection"]["population"] - 1
        worker = lab.start_worker(dict(spec["data"], seed=spec["seed"]), "0-%d" % last_device, name=spec["experiment"], threads=2)
        run = lab.submit(spec)
        assert lab.wait_run(run)["outcome"] == "completed"
        rounds, final = harness.simulate(spec)
        assert final["outcome"] == "completed" and final["deterministic"] is True, final
        assert lab.hashes(run) == [r["aggregate_sha256"] for r in rounds], name
        assert sum(r["partial"] for r in rounds) > 0, rounds
        worker.kill()


harness.main(globals())
