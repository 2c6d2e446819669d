#!/usr/bin/env python3
"""A worker is small and frugal: its program, its memory, how often it reads its data, and what it refuses to train."""
import json
import os
import re
import subprocess

import harness
import worker_memory
from worker_memory import MB

# Their libraries take memory of their own, and their programs are larger.
SANITIZED = os.environ.get("ASAN_OPTIONS") or os.environ.get("TSAN_OPTIONS")
CNN = {"input": [1, 28, 28], "layers": [{"type": "conv2d", "filters": 4, "kernel": 5}, {"type": "relu"}, {"type": "max_pool2d", "size": 2},
                                        {"type": "flatten"}, {"type": "dense", "units": 10}]}
CHARACTERS = {"input": [80], "layers": [{"type": "embedding", "vocabulary": 80, "dim": 4}, {"type": "lstm", "units": 8},
                                        {"type": "dense", "units": 80}]}


def spec(name, model, **more):
    return {"num_rounds": 3, "dataset": name, "model": model, "training": {"local_steps": 4, "batch_size": 4, "learning_rate": 0.1},
            "selection": {"devices_per_round": 1, "population": 1}, "evaluation": {"on": "all_devices"}, "seed": 2, **more}


def registered(worker):
    harness.wait_for(lambda: "registered with" in worker.text(), "the worker to register")


def test_the_program_is_small(lab):
    if SANITIZED:
        return
    stripped = lab.path("fedlane-worker")
    subprocess.run(["strip", "-o", stripped, harness.program("fedlane-worker")], check=True)
    size = os.path.getsize(stripped)
    print("    %d bytes" % size)
    assert size < 2 * MB, size
    said = subprocess.run([stripped, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith("fedlane-worker "), said  # and it is whole


def test_training_takes_what_was_planned_and_little_else(lab):
    """`./dev bench worker` shows the weights once beside the plan, at most 8 MB. On a busy machine the receipt of an update may come
    after the next round's weights: then both are there."""
    if SANITIZED:
        return
    lab.start_server()
    planned, before, most = worker_memory.measure(lab, worker_memory.images(lab), 784, 10, "cnn")
    above = most - before - planned
    print("    planned %.2f MB, before %.2f MB, most %.2f MB: %.2f MB above" % (planned / MB, before / MB, most / MB, above / MB))
    weights = 4 * 1663370
    assert planned > 4 * weights and above <= 8 * MB + weights, above


def test_data_are_read_once(lab):
    """Not once per round: the files are gone before the first round, and the models are those of a simulation of the files."""
    lab.start_server()
    numbers = [[round(0.1 * ((7 * i + j) % 13) - 0.5, 1) for j in range(3)] + [i % 2] for i in range(40)]
    table = lab.write("table.csv", "a,b,c,label\n" + "".join("%s\n" % ",".join(map(str, row)) for row in numbers))
    cases = [(worker_memory.images(lab), CNN), (worker_memory.text(lab), CHARACTERS),
             ({"source": "csv", "name": "table", "path": table, "label": "label", "seed": 1},
              {"input": [3], "layers": [{"type": "dense", "units": 2}]})]
    expected = [[r["aggregate_sha256"] for r in harness.simulate(spec(data["name"], model, data=data))[0]] for data, model in cases]
    for data, _ in cases:
        registered(lab.start_worker(data, "0", name=data["name"]))
    for name in ("images", "labels", "text.txt", "table.csv"):
        os.unlink(lab.path(name))
    for (data, model), hashes in zip(cases, expected):
        run = lab.submit(spec(data["name"], model))
        assert lab.wait_run(run)["outcome"] == "completed", lab.run(run)
        assert len(hashes) == 3 and lab.hashes(run) == hashes, data


def failed_task(lab, run):
    """Of a run whose device cannot train: the first task, once it has failed."""
    def task():
        rounds = lab.admin.get("/api/v1/runs/%s/rounds/0/tasks" % run)
        failed = [t for t in rounds.json["items"] if t["status"] == "failed"] if rounds.status == 200 else []
        return failed[0] if failed else None
    return harness.wait_for(task, "a task to fail")


def test_a_model_that_cannot_fit_is_refused_with_both_numbers(lab):
    lab.start_server()
    data = worker_memory.images(lab)
    small = spec("images", CNN, reporting={"on_too_few": "fail"})

    def with_memory(limit, name):
        worker = lab.start_worker(data, "0", name=name, state=lab.path("state"), options=("--memory", str(limit)))
        return worker, lab.submit(small)
    worker, run = with_memory(10000, "little")
    task = failed_task(lab, run)
    said = re.search(r"needs (\d+) bytes for training with batches of (\d+), and (\d+) are left of the (\d+)", task["detail"])
    assert task["code"] == "out_of_memory" and said, task
    needed, rows, left, limit = map(int, said.groups())
    assert (left, limit) == (10000, 10000) and needed > 10000 and rows == 64, task  # batches of 4, but evaluations of 64
    assert task["steps_done"] in (None, 0), task
    assert lab.wait_run(run)["outcome"] == "failed", lab.run(run)
    assert "4 of 4 steps" not in worker.text() and worker.stop() == 0
    # One byte too few, and just enough: evaluation and training take what was planned, and nothing more.
    worker, run = with_memory(needed - 1, "less")
    assert str(needed) in failed_task(lab, run)["detail"] and worker.stop() == 0
    worker, run = with_memory(needed, "enough")
    done = lab.wait_run(run)
    assert done["outcome"] == "completed" and done["metrics"]["values"]["test_loss"] > 0, done
    planned = int(re.search(r"planned (\d+) bytes", worker.text()).group(1))
    assert 0 <= planned - needed < 10000, (planned, needed)  # and the order of the device's examples


harness.main(globals())
