#!/usr/bin/env python3
"""A simulation holds its examples once: one more thread costs a working set, one more round nothing."""
import json
import os
import subprocess
import tempfile

import harness

PIXELS_MIB = 70000 * 784 / 2 ** 20  # held as bytes
FASHION = {
    "name": "memory", "seed": 1, "num_rounds": 2, "dataset": "fashion_mnist",
    "model": {"input": [784], "layers": [{"type": "dense", "units": 10}], "init": "zeros"},
    "strategy": {"name": "fedprox", "params": {"proximal_mu": 1.0}},
    "training": {"local_epochs": 1, "batch_size": 10, "learning_rate": 0.03},
    "selection": {"devices_per_round": 10, "population": 1000},
    "evaluation": {"on": "all_devices"},
    "data": {"source": "fashion_mnist", "partition": {"name": "paper_label_shards", "devices": 1000}},
}


def most_mib(threads, rounds):
    """The most memory that the process ever had."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(dict(FASHION, num_rounds=rounds), f)
        f.flush()
        process = subprocess.Popen([harness.program("fedlane"), "simulate", f.name, "--threads", str(threads)],
                                   stdout=subprocess.DEVNULL, env=dict(os.environ, MALLOC_ARENA_MAX="2"))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, process.returncode
    print("%d threads, %d rounds: %.1f MiB" % (threads, rounds, usage.ru_maxrss / 1024))
    return usage.ru_maxrss / 1024


def test_pixels_once(lab):
    one, four = most_mib(1, 2), most_mib(4, 2)
    assert one < PIXELS_MIB + 40, one
    assert four - one < 16, (one, four)


def test_rounds_leave_nothing(lab):
    few, many = most_mib(1, 2), most_mib(1, 12)
    assert many - few < 4, (few, many)  # what 1000 devices say in a round is more than 1 MiB


if "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ:
    harness.skip("sanitizers take memory of their own")
if not os.path.exists("/usr/share/datasets/fashion-mnist"):
    harness.skip("the package dataset-fashion-mnist is not installed")
harness.main(globals())
