#!/usr/bin/env python3
"""fedlane data: what it says of data sets, the Dirichlet partition against one written here, pictures, and files per
device."""
import ast
import csv
import json
import math
import os
import resource
import signal
import statistics
import struct
import subprocess
import xml.dom.minidom
import zipfile

import harness
from specs import merged, synthetic_run
from streams import key, output

FINE, FAILED, USAGE = 0, 1, 4
FASHION_MNIST = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
SYNTHETIC = {"source": "synthetic", "devices": 5, "seed": 3}


def data(lab, *args, status=FINE, words=(), env=None):
    done = subprocess.run([harness.program("fedlane"), "data", *args], capture_output=True, text=True, cwd=lab.folder,
                          timeout=harness.TIMEOUT_S, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})})
    assert done.returncode == status, (args, done)
    for word in words:
        assert word in done.stdout + done.stderr, (word, args, done)
    return done


def stats(lab, spec, *options):
    """(devices, summary)"""
    lines = [json.loads(x) for x in data(lab, "stats", lab.write("stats.json", spec), "--format", "jsonl", *options).stdout.splitlines()]
    assert [x["type"] for x in lines] == ["device"] * (len(lines) - 1) + ["summary"]
    return lines[:-1], lines[-1]


def idx_file(lab, name, dims, content):
    with open(lab.path(name), "wb") as f:
        f.write(bytes([0, 0, 8, len(dims)]) + struct.pack(">%dI" % len(dims), *dims) + bytes(content))


def idx_data(lab, labels, partition):
    """Two pixels an image, which number it."""
    idx_file(lab, "images", (len(labels), 1, 2), [b for i in range(len(labels)) for b in divmod(i, 256)])
    idx_file(lab, "labels", (len(labels),), labels)
    return {"source": "idx", "train_images": "images", "train_labels": "labels", "standardise": "none", "partition": partition}


# -- Dirichlet ----------------------------------------------------------------------------------------------------

def above_0(k, i):
    return ((output(k, i) >> 11) + 1) * 2.0 ** -53


def gamma(k, alpha):
    shape = alpha if alpha >= 1 else alpha + 1
    d = shape - 1 / 3
    q, first = 1 / math.sqrt(9 * d), 0
    while True:
        angle = 2 * math.pi * (output(k, first + 1) >> 11) * 2.0 ** -53
        x = math.sqrt(-2 * math.log(above_0(k, first))) * math.cos(angle)
        v = (1 + q * x) ** 3
        if v > 0 and math.log(above_0(k, first + 2)) < x * x / 2 + d - d * v + d * math.log(v):
            break
        first += 4
    return d * v * (above_0(k, 3) ** (1 / alpha) if alpha < 1 else 1)


def dirichlet(labels, devices, alpha, min_examples, seed):
    """(rows of each device, class by class, attempt)"""
    for attempt in range(1000):
        rows = [[] for _ in range(devices)]
        for c in sorted(set(labels)):
            members = [i for i, label in enumerate(labels) if label == c]
            order = sorted(range(len(members)), key=lambda i: (output(key(seed, 19, c), i), i))
            g = [gamma(key(seed, 18, c, k, attempt), alpha) for k in range(devices)]
            cut = [math.floor(sum(g[:k]) / sum(g) * len(members)) for k in range(devices)] + [len(members)]
            for k in range(devices):
                rows[k] += [members[i] for i in order[cut[k]:cut[k + 1]]]
        if min(map(len, rows)) >= min_examples:
            return rows, attempt
    raise AssertionError("no attempt is good")


def test_dirichlet_is_the_one_that_is_described(lab):
    labels = [i * 7 % 11 % 5 for i in range(1500)]
    attempts = set()
    for devices, alpha, least, seed in ((4, 0.5, 10, 1), (20, 0.2, 10, 2), (12, 1.0, 60, 3), (12, 7.5, 90, 4), (3, 0.05, 2, 5),
                                        (20, 0.5, 10, 2**60)):
        rows, attempt = dirichlet(labels, devices, alpha, least, seed)
        attempts.add(attempt)
        partition = {"name": "dirichlet", "devices": devices, "alpha": alpha, "min_examples": least}
        seen, summary = stats(lab, idx_data(lab, labels, partition), "--seed", str(seed))
        expected = []
        for k in range(devices):
            mine = [labels[i] for i in rows[k]]
            expected.append({str(c): mine.count(c) for c in sorted(set(mine))})
        assert [d["labels"] for d in seen] == expected, (devices, alpha, attempt)
        assert summary["examples"] == 1500
    assert 0 in attempts and max(attempts) > 1, "no attempt failed: %s" % attempts


def test_dirichlet_is_refused(lab):
    def refused(partition, *words):
        path = lab.write("d.json", idx_data(lab, [0, 1] * 100, {"name": "dirichlet", **partition}))
        data(lab, "stats", path, status=USAGE, words=words)
    refused({"alpha": 0}, "data.partition.alpha", "above 0")
    refused({"alpha": -1}, "data.partition.alpha", "above 0")
    refused({"alpha": None}, "data.partition.alpha")
    refused({"devices": 101}, "data.partition.devices", "at most 100")
    refused({"devices": 20, "min_examples": 11}, "data.partition.min_examples", "at most 10")
    refused({"devices": 10, "alpha": 0.001}, "data.partition.alpha", "fewer devices", "larger alpha", "smaller min_examples")
    refused({"name": "dirichlett"}, "data.partition.name", "dirichlet")
    path = lab.write("nan.json", '{"source": "idx", "partition": {"name": "dirichlet", "alpha": NaN}}')
    data(lab, "stats", path, status=USAGE, words=("nan.json", "line 1"))


# -- stats --------------------------------------------------------------------------------------------------------

def test_stats_agree_with_themselves(lab):
    devices, summary = stats(lab, SYNTHETIC)
    sizes = [d["examples"] for d in devices]
    of = summary["per_device"]
    assert [d["ordinal"] for d in devices] == list(range(5)) and summary["devices"] == 5
    assert all(d["train"] == 9 * d["examples"] // 10 and d["train"] + d["test"] == d["examples"] for d in devices)
    assert all(sum(d["labels"].values()) == d["examples"] for d in devices)
    assert summary["examples"] == sum(sizes) and summary["train"] == sum(d["train"] for d in devices)
    assert abs(of["mean"] - statistics.mean(sizes)) < 1e-9 and abs(of["population_sd"] - statistics.pstdev(sizes)) < 1e-9
    assert (of["min"], of["median"], of["max"]) == (min(sizes), statistics.median(sizes), max(sizes))
    assert abs(of["labels"] - statistics.mean(len(d["labels"]) for d in devices)) < 1e-12
    for c in summary["per_class"]:
        mine = [d["labels"].get(str(c["label"]), 0) for d in devices]
        assert (c["examples"], c["devices"]) == (sum(mine), sum(n > 0 for n in mine)), c
    document = json.loads(data(lab, "stats", lab.path("stats.json"), "--format", "json").stdout)
    assert document["devices"] == [{k: v for k, v in d.items() if k != "type"} for d in devices]


def test_stats_of_a_spec_and_of_its_data_are_the_same(lab):
    spec = {"seed": 3, "num_rounds": 1, "data": {"source": "synthetic", "devices": 5}}
    bare = stats(lab, SYNTHETIC)
    assert stats(lab, spec) == bare
    assert stats(lab, {"source": "synthetic", "devices": 5}, "--seed", "3") == bare
    assert stats(lab, {**spec, "seed": 9}, "--seed", "3") == bare
    assert stats(lab, {**spec, "seed": 9}) != bare
    assert stats(lab, {**spec, "data": SYNTHETIC, "seed": 9}) == bare
    assert stats(lab, {**spec, "data": {"source": "synthetic"}}, "--set", "data.devices=5") == bare


def test_stats_as_text(lab):
    path = lab.write("d.json", dict(SYNTHETIC, devices=25))
    text = data(lab, "stats", path).stdout
    assert "... and 5 more devices; --all shows them" in text and "█" in text, text
    assert len(data(lab, "stats", path, "--all").stdout.splitlines()) == len(text.splitlines()) + 4
    plain = data(lab, "stats", path, env={"LC_ALL": "C"}).stdout
    assert "#" in plain and plain.isascii(), plain


def test_pictures(lab):
    for name, spec, words in (("few", SYNTHETIC, ("classes (%)", "synthetic: 5 devices")),
                              ("one", dict(SYNTHETIC, devices=1), ("synthetic: 1 device,",)),
                              ("many", dict(SYNTHETIC, devices=1100), ("devices (1000 of 1100)",)),
                              ("classes", idx_data(lab, [i % 200 for i in range(400)], {"devices": 1}), ("idx",))):
        svg = lab.path(name + ".svg")
        data(lab, "stats", lab.write("d.json", spec), "--plot", svg, words=(svg,))
        texts = [t.firstChild.nodeValue for t in xml.dom.minidom.parse(svg).getElementsByTagName("text") if t.firstChild]
        with open(svg) as f:
            drawing = f.read()
        for word in words:
            assert word in drawing, (word, texts)
    png = lab.path("it's.png")
    data(lab, "stats", lab.write("d.json", dict(SYNTHETIC, name="it's `date` $x")), "--plot", png)
    with open(png, "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
    data(lab, "stats", lab.path("d.json"), "--plot", lab.path("x.pdf"), status=USAGE, words=(".svg or .png",))
    data(lab, "stats", lab.path("d.json"), "--plot", lab.path("no/x.png"), status=FAILED, words=("no/x.png",))
    data(lab, "stats", lab.path("d.json"), "--plot", lab.path("x.png"), status=FAILED, env={"PATH": "/nonexistent"},
         words=("apt install gnuplot-nox",))
    assert not [x for x in os.listdir(lab.folder) if x.startswith("x.") or x.endswith(".part")]


def test_files_without_data(lab):
    def refused(content, *words, options=()):
        data(lab, "stats", lab.write("d.json", content), *options, status=USAGE, words=words)
    refused({"num_rounds": 3, "model": {}}, "d.json", "no data")
    refused({"data": None}, "d.json", "no data")
    refused({"data": 3}, "d.json", "no data")
    refused({"data": SYNTHETIC, "source": "synthetic"}, "d.json", "both")
    refused([], "d.json", "object")
    refused({"data": {}}, "data.source")
    refused({"data": {"source": "synthetic"}, "seed": -1}, "seed", "from 0")
    refused({"source": "synthetic", "seed": 1.5}, "data.seed")
    refused({"source": "syntetic"}, "data.source", "synthetic")
    refused(SYNTHETIC, "--seed", options=("--seed", "-1"))
    data(lab, "stats", lab.path("nowhere.json"), status=USAGE, words=("nowhere.json",))
    data(lab, "stats", status=USAGE, words=("SPEC|DATA",))
    data(lab, status=USAGE, words=("stats",))


def test_fashion_mnist_by_the_papers_recipe(lab):
    if not os.path.exists(FASHION_MNIST):
        print("left out: dataset-fashion-mnist is not installed")
        return
    devices, summary = stats(lab, {"source": "fashion_mnist", "seed": 1})
    with open(os.path.join(harness.SRC, "tests/data/fmnist_golden.json")) as f:
        expected = json.load(f)["data"][0]
    assert (len(devices), summary["examples"], summary["train"]) == (1000, expected["samples"], expected["train"])
    assert (summary["per_device"]["min"], summary["per_device"]["max"]) == (expected["min"], expected["max"])
    assert abs(summary["per_device"]["population_sd"] - expected["stdev"]) < 1e-6
    assert summary["per_device"]["labels"] == 2.0


# -- partition ----------------------------------------------------------------------------------------------------

def array(raw):
    """A .npy file: (shape, values)"""
    assert raw[:8] == b"\x93NUMPY\x01\x00", raw[:8]
    end = 10 + struct.unpack("<H", raw[8:10])[0]
    header = ast.literal_eval(raw[10:end].decode())
    assert not header["fortran_order"] and end % 64 == 0, header
    kind = {"<f4": "f", "<i4": "i"}[header["descr"]]
    return header["shape"], struct.unpack("<%d%s" % ((len(raw) - end) // 4, kind), raw[end:])


def read_npz(path):
    """[(features..., label)]"""
    with zipfile.ZipFile(path) as z:
        assert sorted(z.namelist()) == ["x.npy", "y.npy"] and z.testzip() is None
        ((n, features), x), ((m,), y) = array(z.read("x.npy")), array(z.read("y.npy"))
    assert n == m
    return [x[i * features:(i + 1) * features] + (y[i],) for i in range(n)]


def read_csv(path):
    with open(path, newline="") as f:
        titles, *rows = csv.reader(f)
    assert titles == ["x%d" % j for j in range(len(titles) - 1)] + ["label"], titles
    return [tuple(map(float, row)) for row in rows]


def tree(path):
    return sorted(os.path.relpath(os.path.join(folder, name), path) for folder, _, names in os.walk(path) for name in names)


def test_partition_files(lab):
    labels = [i * 7 % 11 % 3 for i in range(300)]
    spec = lab.write("spec.json", {"seed": 2, "data": idx_data(lab, labels, {"name": "dirichlet", "devices": 4, "min_examples": 20})})
    devices, _ = stats(lab, json.load(open(spec)))
    expected, _ = dirichlet(labels, 4, 0.5, 20, 2)
    for kind, read in (("npz", read_npz), ("csv", read_csv)):
        out = lab.path("deep/" + kind)
        done = json.loads(data(lab, "partition", spec, "--out", out + "/", "--files", kind, "--format", "json").stdout)
        assert (done["devices"], done["num_files"], done["train"] + done["test"]) == (4, 8, 300), done
        assert tree(out) == sorted(["data.json", "partition.json"] + ["%s/%04d.%s" % (split, k, kind) for split in ("train", "test")
                                                                     for k in range(4)])
        for k, device in enumerate(devices):
            rows = [read("%s/%s/%04d.%s" % (out, split, k, kind)) for split in ("train", "test")]
            assert [len(r) for r in rows] == [device["train"], device["test"]]
            numbers = [int(a * 256 + b) for a, b, _ in rows[0] + rows[1]]
            assert [labels[i] for i in numbers] == [label for _, _, label in rows[0] + rows[1]]
            # The device's rows, in the order of the permutation of tag 8.
            order = sorted(range(len(numbers)), key=lambda i: (output(key(2, 8, k), i), i))
            assert numbers == [expected[k][i] for i in order], k
        with open(out + "/data.json") as f:
            written = json.load(f)
        assert written == {"source": "directory", "name": "idx", "path": out, "classes": 3, "first_ordinal": 0,
                           **({"label": "label"} if kind == "csv" else {})}, written
        with open(out + "/partition.json") as f:
            origin = json.load(f)
        assert origin["seed"] == 2 and origin["data"]["train_labels"] == "labels" and origin["all_devices"] == 4, origin
        assert origin["devices"] == [{k: v for k, v in d.items() if k != "type"} for d in devices]


def test_features_are_what_is_trained_on(lab):
    """Nine digits say a float32, and standardising is done already."""
    spec = dict(idx_data(lab, [0, 1] * 50, {"name": "iid", "devices": 2}), standardise="pixels")
    path = lab.write("d.json", spec)
    for kind in ("npz", "csv"):
        data(lab, "partition", path, "--out", lab.path(kind), "--files", kind)
    binary, text = ([r for split in ("train", "test") for k in range(2) for r in read("%s/%s/%04d.%s" % (lab.path(kind), split, k, kind))]
                    for kind, read in (("npz", read_npz), ("csv", read_csv)))
    assert [tuple(struct.unpack("<f", struct.pack("<f", v))[0] for v in row) for row in text] == binary
    second = [row[1] for row in binary]
    assert abs(statistics.mean(second)) < 1e-6 and abs(statistics.pstdev(second) - 1) < 1e-3


def test_share_of_one_machine(lab):
    path = lab.write("d.json", dict(SYNTHETIC, devices=12))
    data(lab, "partition", path, "--out", lab.path("all"))
    data(lab, "partition", path, "--out", lab.path("some"), "--devices", "3-4", words=("3 to 4",))
    data(lab, "partition", path, "--out", lab.path("one"), "--devices", "11")
    assert tree(lab.path("some")) == ["data.json", "partition.json", "test/0003.npz", "test/0004.npz", "train/0003.npz", "train/0004.npz"]
    for name, first in (("some", 3), ("one", 11)):
        with open(lab.path(name + "/data.json")) as f:
            assert json.load(f)["first_ordinal"] == first
    for name in ("some/train/0003.npz", "one/test/0011.npz"):
        with open(lab.path(name), "rb") as a, open(lab.path("all/" + name.split("/", 1)[1]), "rb") as b:
            assert a.read() == b.read()


def rounds_of(spec, source):
    rounds, final = harness.simulate({**spec, "data": source}, threads=2)
    assert final["outcome"] == "completed", final
    return [{k: r.get(k) for k in ("aggregate_sha256", "train_loss", "test_loss", "test_accuracy", "steps_done")} for r in rounds + [final]]


def test_training_on_the_files_gives_the_same_bits(lab):
    specs = [(("npz", "csv"), SYNTHETIC, synthetic_run(num_rounds=3, selection={"devices_per_round": 3, "population": 5}))]
    if os.path.exists(FASHION_MNIST):
        mnist = {"source": "fashion_mnist", "partition": {"name": "dirichlet", "devices": 600, "alpha": 5}, "seed": 1}
        specs.append((("npz",), mnist, merged(synthetic_run(num_rounds=2), {"dataset": None,
            "model": {"input": [784]}, "training": {"local_epochs": 1}, "evaluation": {"on": "selected"},
            "selection": {"devices_per_round": 4, "population": 600}})))
    for kinds, source, spec in specs:
        path = lab.write("d.json", source)
        for kind in kinds:
            out = lab.path(source["source"] + "-" + kind)
            data(lab, "partition", path, "--out", out, "--files", kind)
            with open(out + "/data.json") as f:
                written = json.load(f)
            assert rounds_of(spec, written) == rounds_of(spec, source), (source, kind)
            ours, theirs = stats(lab, written), stats(lab, source)
            assert [{**d, "name": ""} for d in ours[0]] == [{**d, "name": ""} for d in theirs[0]]
            assert ours[1]["per_device"] == theirs[1]["per_device"]


def test_two_shares_are_the_whole(lab):
    path = lab.write("d.json", SYNTHETIC)
    devices = []
    for share in ("0-1", "2-4"):
        data(lab, "partition", path, "--out", lab.path(share), "--devices", share)
        with open(lab.path(share + "/data.json")) as f:
            devices += stats(lab, json.load(f))[0]
    assert [{k: v for k, v in d.items() if k != "name"} for d in devices] == stats(lab, SYNTHETIC)[0]
    assert [d["name"] for d in devices] == ["%04d" % k for k in range(5)]


def test_machines_with_a_share_each_train_the_same_model(lab):
    spec = synthetic_run(num_rounds=3, data=None, selection={"devices_per_round": 3, "population": 5})
    path = lab.write("d.json", SYNTHETIC)
    lab.start_server()
    for share in ("0-1", "2-4"):
        data(lab, "partition", path, "--out", lab.path(share), "--devices", share)
        with open(lab.path(share + "/data.json")) as f:
            lab.start_worker(json.load(f), share, name="worker-" + share)
    run = lab.wait_run(lab.submit(spec))
    rounds, _ = harness.simulate({**spec, "data": SYNTHETIC})
    assert run["outcome"] == "completed" and lab.hashes(run["id"]) == [r["aggregate_sha256"] for r in rounds]


def test_devices_without_test_data(lab):
    for name in ("train/a", "train/b", "test/b"):
        os.makedirs(lab.path("in/" + name[:-2]), exist_ok=True)
        lab.write("in/%s.csv" % name, "u,v,is_spam\n1,2,0\n3,4,1\n5,6,0\n")
    path = lab.write("d.json", {"source": "directory", "path": lab.path("in"), "label": "is_spam", "name": "mail"})
    for kind in ("npz", "csv"):
        for share, files in (("0-1", 3), ("0", 1)):
            out = lab.path(kind + share)
            done = json.loads(data(lab, "partition", path, "--out", out, "--files", kind, "--devices", share, "--format", "json").stdout)
            with open(out + "/data.json") as f:
                written = json.load(f)
            seen, summary = stats(lab, written)
            assert done["num_files"] == files and written["name"] == "mail" and summary["classes"] == 2
            assert [(d["train"], d["test"]) for d in seen] == [(3, 0), (3, 3)][:len(seen)], seen
    with open(lab.path("npz0-1/partition.json")) as f:
        assert [d["name"] for d in json.load(f)["devices"]] == ["a", "b"]
    lab.write("npz0/test/0000.cvs", "u\n")
    data(lab, "stats", lab.path("npz0/data.json"), status=USAGE, words=("npz0/test", "has no *.csv"))


def test_what_partition_refuses(lab):
    path = lab.write("d.json", SYNTHETIC)
    os.mkdir(lab.path("full"))
    lab.write("full/mine", "text")
    os.mkdir(lab.path("left.part"))
    before = tree(lab.folder)

    def refused(*args, words, status=USAGE):
        data(lab, "partition", *args, status=status, words=words)
        assert tree(lab.folder) == before and not os.path.exists(lab.path("new")) and not os.path.exists(lab.path("new.part"))
    refused(path, words=("--out DIR",))
    refused(path, "--out", "", words=("--out DIR",))
    refused(path, "--out", lab.path("full"), words=("full", "not empty"))
    refused(path, "--out", lab.path("full/mine"), words=("mine", "no folder"))
    refused(path, "--out", lab.path("full/mine/x"), words=("mine/x", "Not a directory"))
    refused(path, "--out", lab.path("left"), words=("left.part", "remove it"))
    refused(path, "--out", "/proc/fedlane", words=("/proc/fedlane", "cannot be made"))
    refused(path, "--out", lab.path("new"), "--files", "xml", words=("npz or csv",))
    for devices in ("", "x", "3-", "-3", "4-3", "1-2-3", "9" * 40, "1,2"):
        refused(path, "--out", lab.path("new"), "--devices=" + devices, words=("--devices",))
    refused(path, "--out", lab.path("new"), "--devices", "3-5", words=("0 to 4",))
    refused(path, "--out", lab.path("new"), "--set", "devices=0", words=("data.devices",))
    refused(lab.path("nowhere.json"), "--out", lab.path("new"), words=("nowhere.json",))
    os.mkdir(lab.path("new"))
    data(lab, "partition", path, "--out", lab.path("new"))  # an empty folder may be there
    assert "new/data.json" in tree(lab.folder)


def test_a_full_disk_and_a_signal_leave_nothing(lab):
    path = lab.write("d.json", dict(SYNTHETIC, devices=300))
    argv = [harness.program("fedlane"), "data", "partition", path, "--out", lab.path("new"), "--files"]
    for kind in ("npz", "csv"):
        done = subprocess.run([*argv, kind], capture_output=True, text=True, timeout=harness.TIMEOUT_S,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000)))
        assert done.returncode == FAILED and "cannot be written: " in done.stderr and "File too large" in done.stderr, done
        assert os.listdir(lab.folder) == ["d.json"], os.listdir(lab.folder)
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen([*argv, "csv"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_for(lambda: os.path.exists(lab.path("new.part/train/0000.csv")), "the first file")
        process.send_signal(number)
        assert process.wait(harness.TIMEOUT_S) == -number
        assert os.listdir(lab.folder) == ["d.json"], os.listdir(lab.folder)


harness.main(globals())
