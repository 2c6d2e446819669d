"""What a worker takes to train a model: for the test and for ./dev bench worker."""
import random
import re
import struct

import harness

MB = 1e6


def images(lab, count=100):
    """A data set of one device: images of 28 x 28 in 10 classes."""
    numbers = random.Random(1)

    def idx(name, dims, values):
        with open(lab.path(name), "wb") as f:
            f.write(struct.pack(">HBB%dI" % len(dims), 0, 8, len(dims), *dims) + bytes(values))
        return lab.path(name)
    return {"source": "idx", "name": "images", "classes": 10, "seed": 1, "partition": {"name": "iid", "devices": 1},
            "train_images": idx("images", [count, 28, 28], (numbers.randrange(256) for _ in range(count * 784))),
            "train_labels": idx("labels", [count], (numbers.randrange(10) for _ in range(count)))}


def text(lab, characters=4000):
    """A data set of one device: windows of 80 characters and the next one."""
    numbers = random.Random(2)
    path = lab.write("text.txt", "".join(numbers.choice("abcdefghijklmnopqrstuvwxyz ,.") for _ in range(characters)))
    return {"source": "text", "name": "text", "path": path, "stride": 40, "seed": 1}


def most_bytes(worker):
    with open("/proc/%d/status" % worker.process.pid) as f:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", f.read(), re.M).group(1)) * 1024


def train(lab, dataset, model):
    run = lab.wait_run(lab.submit({
        "num_rounds": 3, "dataset": dataset, "model": model, "training": {"local_steps": 5, "batch_size": 10, "learning_rate": 0.01},
        "selection": {"devices_per_round": 1}, "evaluation": {"on": "all_devices"}}))
    assert run["outcome"] == "completed", run


def measure(lab, data, features, classes, preset):
    """(bytes planned, bytes of the worker before, most bytes that it had). Before: with its libraries, its data and all that a run
    needs whatever its model is, so after one of softmax regression on the same data."""
    worker = lab.start_worker(data, "0", name=preset)
    train(lab, data["name"], {"input": [features], "layers": [{"type": "dense", "units": classes}]})
    before = most_bytes(worker)
    train(lab, data["name"], {"preset": preset})
    most = most_bytes(worker)
    planned = [int(n) for n in re.findall(r"planned (\d+) bytes", worker.text())]
    assert len(planned) == 2, worker.text()
    assert worker.stop() == 0
    return planned[1], before, most
