#!/usr/bin/env python3
"""Training on an OpenCL device. In the check that is PoCL, which is one on the CPU; results only."""
import json
import os
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


def test_a_worker_trains_on_it(lab):
    lab.start_server()
    lab.start_worker(SYNTHETIC, "0-29", options=("--device", "opencl"))
    path = lab.write("spec.json", synthetic_run(num_rounds=2))
    run = json.loads(lab.cli("run", "submit", path, "--format", "json").stdout)["id"]
    lab.wait_run(run)
    assert lab.run(run)["outcome"] == "completed", lab.run(run)
    with open(lab.path("worker.log")) as f:
        assert "training on opencl:" in f.read()


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
