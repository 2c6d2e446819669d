#!/usr/bin/env python3
"""Training on an OpenCL device. In the check that is PoCL, which is one on the CPU; results only."""
import array
import json
import os
import random
import re
import struct
import subprocess
import sys

import harness
from specs import SYNTHETIC, synthetic_run

# PoCL's compiler and threads are not built with sanitizers: one sees races in them, the other falls over its threads.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"


def fedlane(*args, status=0, words=(), **env):
    done = subprocess.run([harness.program("fedlane"), *args], capture_output=True, text=True, timeout=harness.TIMEOUT_S,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, **env))
    assert done.returncode == status, (args, done)
    for word in words:
        assert word in done.stderr, (word, done)
    return done.stdout


def doctor_rows(lab):
    done = subprocess.run([harness.program("fedlane"), "doctor", "--format", "json", "--server", "http://127.0.0.1:%d" % harness.free_port()],
                          capture_output=True, text=True, timeout=harness.TIMEOUT_S, stdin=subprocess.DEVNULL)
    return {r["what"]: r for r in json.loads(done.stdout)}


def test_doctor_lists_devices(lab):
    rows = doctor_rows(lab)
    assert "GFLOP/s" in rows["kernels"]["detail"], rows
    assert rows["opencl:0"]["state"] == "fine" and "GFLOP/s" in rows["opencl:0"]["detail"], rows


def test_the_same_figures_as_the_cpu(lab):
    spec, finals = lab.write("spec.json", synthetic_run(num_rounds=2)), {}
    for device in ("cpu", "opencl", "opencl:0"):
        lines = fedlane("simulate", spec, "--format", "jsonl", "--threads", "2", "--device", device).splitlines()
        finals[device] = json.loads(lines[-1])
    assert abs(finals["opencl"]["train_loss"] / finals["cpu"]["train_loss"] - 1) < 1e-4, finals
    assert finals["opencl"] == finals["opencl:0"], finals  # bits depend neither on threads nor on how it is named
    assert finals["opencl"]["aggregate_sha256"] != finals["cpu"]["aggregate_sha256"], "it was not used"


def images(lab):
    """Two devices of 20 random images of 12 x 12 pixels."""
    rng = random.Random(6)
    rows = [",".join(["%.3f" % rng.random() for _ in range(144)] + [str(i % 10), str(i % 2)]) for i in range(40)]
    path = lab.write("images.csv", "\n".join([",".join(["x%d" % i for i in range(144)] + ["label", "device"]), *rows, ""]))
    return {"source": "csv", "name": "images", "path": path, "label": "label", "device": "device", "seed": 6,
            "classes": [str(i) for i in range(10)]}


def texts(lab):
    """Two devices of some hundred characters."""
    os.mkdir(lab.path("texts"))
    for name in ("one", "two"):
        lab.write("texts/%s.txt" % name, " ".join("the %s line %d of this text" % (name, i) for i in range(50)))
    return {"source": "text", "name": "texts", "path": lab.path("texts"), "window": 20, "stride": 23, "seed": 6}


def preset_run(preset, shape, dataset):
    return {"name": preset, "seed": 6, "num_rounds": 2, "dataset": dataset, "model": {"preset": preset, "input": shape},
            "strategy": {"name": "fedprox", "params": {"proximal_mu": 0.1}},
            "training": {"local_steps": 2, "batch_size": 10, "learning_rate": 0.1},
            "selection": {"devices_per_round": 2, "population": 2}, "reporting": {"deadline_s": 300},
            "evaluation": {"on": "none"}}


def final_weights(lab, run):
    raw = lab.admin.get("/api/v1/runs/%s/models/latest/weights" % run).body
    return array.array("f", raw[8 + struct.unpack("<Q", raw[:8])[0]:])


def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b)) ** 0.5


def test_workers_train_as_on_the_cpu(lab):
    """Convolutions and an LSTM through server and worker: the CPU's model within rounding, and each time the same bits."""
    lab.start_server()
    made = {"cnn": ([1, 12, 12], images(lab)), "char_lstm": ([20], texts(lab))}
    runs = {}
    for device, threads in (("cpu", 1), ("opencl", 1), ("opencl", 2)):
        workers = []
        for preset, (shape, data) in made.items():
            workers.append(lab.start_worker(data, "0-1", name=preset, threads=threads, options=("--device", device)))
            runs[preset, device, threads] = lab.submit(preset_run(preset, shape, data["name"]))
        for preset in made:
            run = lab.wait_run(runs[preset, device, threads])
            assert run["outcome"] == "completed", run
        for worker in workers:
            worker.stop()
    for preset in made:
        first, second = [lab.hashes(runs[preset, "opencl", n])[-1] for n in (1, 2)]
        assert first == second, preset
        assert first != lab.hashes(runs[preset, "cpu", 1])[-1], "it was not used"
        cpu, opencl = [final_weights(lab, runs[preset, device, 1]) for device in ("cpu", "opencl")]
        first = array.array("f", lab.admin.get("/api/v1/runs/%s/models/0/weights" % runs[preset, "cpu", 1]).body[-4 * len(cpu):])
        assert distance(opencl, cpu) < 1e-4 * distance(first, cpu), (preset, distance(opencl, cpu), distance(first, cpu))
    with open(lab.path("cnn.log")) as f:
        assert "training on opencl:" in f.read()


def start_failing_worker(lab, **env):
    """One whose device is what the environment says (tests/opencl/failing_device.c)."""
    worker = harness.Process([os.path.join(harness.BUILD, "tests", "bin", "fedlane-worker-opencl"), "--server", lab.url,
                              "--enroll-token-file", lab.enroll_file(), "--data", lab.write("data.json", SYNTHETIC),
                              "--devices", "0-29", "--state-dir", lab.path("failing.state"), "--device", "opencl"],
                             lab.path("failing.log"), env)
    lab.processes.append(worker)
    return worker


def tasks_of(lab, run, n):
    return lab.admin.ok("GET", "/api/v1/runs/%s/rounds/%d/tasks?limit=100" % (run, n))["items"]


def test_a_model_that_the_device_cannot_hold(lab):
    """Refused before any training, with what it needs and what there is: first in one piece, then at all."""
    lab.start_server()
    for env, left in (({"TEST_OPENCL_LARGEST": "20000"}, "20000"), ({"TEST_OPENCL_MEMORY": "30000"}, "30000")):
        worker = start_failing_worker(lab, **env)
        run = lab.submit(synthetic_run(reporting={"deadline_s": 300, "on_too_few": "fail"}, systems=None))
        assert lab.wait_run(run)["outcome"] == "failed"
        for task in tasks_of(lab, run, 0):
            assert task["status"] == "failed" and task["code"] == "out_of_memory" and not task["steps_done"], task
            assert re.search("the model needs [0-9]{5} bytes in one piece .* and %s are left on opencl:0: " % left,
                             task["detail"]), task
        worker.stop()


def test_a_device_that_is_lost(lab):
    """The task that was under way fails and names it; the worker goes on, and the device, too."""
    lab.start_server()
    worker = start_failing_worker(lab, TEST_OPENCL_LOST_AT="100")
    run = lab.submit(synthetic_run(num_rounds=2))
    assert lab.wait_run(run)["outcome"] == "completed"
    failed = [t for t in tasks_of(lab, run, 0) + tasks_of(lab, run, 1) if t["status"] == "failed"]
    assert len(failed) == 1 and failed[0]["round"] == 0 and failed[0]["code"] == "internal", failed
    assert re.search("training did not work: opencl:0: .*: [a-z_]+: CL_OUT_OF_RESOURCES -5$", failed[0]["detail"]), failed
    text = worker.text()
    assert failed[0]["detail"].partition(": ")[2] in text and text.count(" error ") == 1, text


def test_refusals(lab):
    spec = lab.write("spec.json", synthetic_run(num_rounds=1))
    fedlane("simulate", spec, "--device", "opencl:99", status=4, words=("no OpenCL device 99",))
    fedlane("simulate", spec, "--device", "opencl:x", status=4, words=("opencl:x", "number"))
    fedlane("simulate", spec, "--device", "cuda", status=4, words=("cuda", "openblas", "opencl"))
    fedlane("simulate", spec, "--device", "openblas:1", status=4, words=("openblas:1",))
    # Kernels that do not build: the compiler's own text, then a refusal, or the CPU where that was allowed.
    broken = {"FEDLANE_OPENCL_OPTIONS": "-Dmu=3"}
    fedlane("simulate", spec, "--device", "opencl", status=4,
            words=("conv.cl:", "expected", "--device: opencl:0: ", "the kernels of conv.cl do not build"), **broken)
    fedlane("simulate", spec, "--device", "auto", words=("training on the cpu",), **broken)


if os.environ.get("TSAN_OPTIONS"):
    sys.exit(77)
if not os.environ.get("CI") and "opencl:0" not in doctor_rows(None):
    print("no OpenCL device: ./dev deps check installs PoCL")
    sys.exit(77)
harness.main(globals())
