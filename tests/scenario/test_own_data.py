#!/usr/bin/env python3
"""Data that people bring: the same devices from CSV, LEAF and a directory train the same model, in one process and on
machines that each hold only their own files."""
import csv
import json
import os
import re
import subprocess

import harness
from specs import merged

EXAMPLES = os.path.join(harness.SRC, "examples")
FEATURES = ["temperature", "vibration", "current", "pressure"]
CLASSES = ["ok", "worn", "broken"]


def spec(data=None, rounds=4):
    with open(os.path.join(EXAMPLES, "machines.json")) as f:
        example = json.load(f)
    example["data"]["path"] = os.path.join(EXAMPLES, "machines.csv")
    return merged(merged(example, {"num_rounds": rounds, "data": None if data else {}}), {"data": data} if data else {})


def docs():
    with open(os.path.join(harness.SRC, "docs", "datasets.md")) as f:
        return f.read()


def machines():
    """{machine: its rows}, in the order of the file."""
    rows = {}
    with open(os.path.join(EXAMPLES, "machines.csv"), newline="") as f:
        for row in csv.DictReader(f):
            rows.setdefault(row["machine"], []).append(row)
    return rows


def table(path, rows):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, FEATURES + ["state"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def leaf(rows_of):
    return {"users": list(rows_of), "num_samples": [len(rows) for rows in rows_of.values()],
            "user_data": {user: {"x": [[float(row[f]) for f in FEATURES] for row in rows],
                                 "y": [CLASSES.index(row["state"]) for row in rows]} for user, rows in rows_of.items()}}


def hashes(of_spec):
    rounds, final = harness.simulate(of_spec)
    assert final["outcome"] == "completed", final
    return [r["aggregate_sha256"] for r in rounds], final


def test_the_same_devices_from_every_format(lab):
    expected, _ = hashes(spec())
    folder = lab.path("machines")
    os.mkdir(folder)
    for k, rows in enumerate(machines().values()):
        table(os.path.join(folder, "%d.csv" % k), rows)
    common = {"name": "machines", "standardise": "device"}
    directory = {"source": "directory", "path": folder, "label": "state", "classes": CLASSES, **common}
    assert hashes(spec(directory))[0] == expected
    path = lab.write("machines.leaf.json", leaf(machines()))
    assert hashes(spec({"source": "leaf", "path": path, **common}))[0] == expected
    # Written out as NumPy files, and read again.
    out = lab.path("arrays")
    lab.cli("data", "partition", lab.write("spec.json", spec()), "--out", out)
    with open(os.path.join(out, "data.json")) as f:
        assert hashes(spec(json.load(f)))[0] == expected


def run_over_http(lab, workers):
    """[(name, data)]: one worker each, all its devices; returns the run."""
    lab.start_server()
    for name, data in workers:
        worker = harness.Process(
            [harness.program("fedlane-worker"), "--server", lab.url, "--enroll-token-file", lab.enroll_file(), "--name", name,
             "--data", lab.write(name + ".json", data), "--state-dir", lab.path(name + ".state")], lab.path(name + ".log"))
        lab.processes.append(worker)
    return lab.wait_run(lab.submit(merged(spec(), {"data": None})))


def test_five_machines_with_a_table_each(lab):
    expected, final = hashes(spec())
    data = json.loads(re.search(r"cat > data.json <<'END'\n(.*?)END\n", docs(), re.S).group(1))  # as the page says it
    workers = []
    for k, (name, rows) in enumerate(machines().items()):
        workers.append((name, {**data, "path": table(lab.path(name + ".csv"), rows), "first_ordinal": k}))
    run = run_over_http(lab, workers)
    assert run["outcome"] == "completed" and lab.hashes(run["id"]) == expected, run
    assert run["metrics"]["values"]["test_accuracy"] == final["test_accuracy"], (run, final)


def split(folder, rows_of, with_test):
    """train/NAME.csv and test/NAME.csv: the last tenth, where the machine tests at all."""
    for part in ("train", "test"):
        os.makedirs(os.path.join(folder, part), exist_ok=True)
    for name, rows in rows_of.items():
        n = len(rows) * 9 // 10
        table(os.path.join(folder, "train", name + ".csv"), rows[:n])
        if name in with_test:
            table(os.path.join(folder, "test", name + ".csv"), rows[n:])


def test_machines_with_directories_and_devices_that_do_not_test(lab):
    names = sorted(machines())
    rows_of = {name: machines()[name] for name in names}
    with_test = names[:1] + names[2:3]
    common = {"source": "directory", "name": "machines", "label": "state", "classes": CLASSES, "standardise": "device"}
    split(lab.path("all"), rows_of, with_test)
    split(lab.path("a"), {n: rows_of[n] for n in names[:3]}, with_test)
    split(lab.path("b"), {n: rows_of[n] for n in names[3:]}, with_test)  # nobody tests there
    expected, final = hashes(spec({**common, "path": lab.path("all")}))
    run = run_over_http(lab, [("west", {**common, "path": lab.path("a")}),
                              ("east", {**common, "path": lab.path("b"), "first_ordinal": 3})])
    assert run["outcome"] == "completed" and lab.hashes(run["id"]) == expected, run
    values = run["metrics"]["values"]
    for name in ("train_loss", "test_accuracy"):
        assert values[name] == final[name], (name, values, final)
    tested = sum(len(rows_of[n]) - len(rows_of[n]) * 9 // 10 for n in with_test)
    correct = values["test_accuracy"] * tested
    assert abs(correct - round(correct)) < 1e-9, (correct, tested)
    devices = {d["ordinal"]: d for d in lab.admin.ok("GET", "/api/v1/devices")["items"]}
    assert [devices[k]["name"] for k in range(5)] == ["west-" + n for n in names[:3]] + ["east-" + n for n in names[3:]]
    assert [devices[k]["num_test_examples"] > 0 for k in range(5)] == [n in with_test for n in names], devices
    rounds = lab.rounds(run["id"])
    assert all(r["received"] == 5 for r in rounds[:-1]) and rounds[-1]["evaluated"] == 5, rounds


def test_nobody_tests(lab):
    split(lab.path("d"), machines(), [])
    data = {"source": "directory", "name": "machines", "label": "state", "classes": CLASSES, "path": lab.path("d")}
    _, final = hashes(spec(data, rounds=2))
    assert final.get("test_accuracy") is None and final["train_loss"] > 0, final


def test_the_commands_of_the_page(lab):
    os.symlink(EXAMPLES, lab.path("examples"))
    env = {**os.environ, "PATH": harness.BIN + os.pathsep + os.environ["PATH"]}
    blocks = re.findall(r"^```sh\n(.*?)^```", docs(), re.S | re.M)
    assert len(blocks) >= 3, blocks
    for block in blocks:
        done = subprocess.run(["bash", "-e", "-c", block], cwd=lab.folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0 and "devices " in done.stdout, (block, done)


def test_bad_data_is_told_before_anything_is_done(lab):
    text = open(os.path.join(EXAMPLES, "machines.csv")).read().splitlines()
    cells = text[7].split(",")
    cells[2] = "n/a"
    path = lab.write("bad.csv", "\n".join(text[:7] + [",".join(cells)] + text[8:]) + "\n")
    bad = spec()
    bad["data"]["path"] = path
    out = lab.path("out")
    done = lab.cli("simulate", lab.write("bad.json", bad), "--out", out, check=False)
    assert done.returncode in (1, 4), done
    assert 'bad.csv, line 8, column "vibration": "n/a" is no number' in done.stderr and "data.path" in done.stderr, done.stderr
    assert not os.path.exists(out) or not os.listdir(out), os.listdir(out)
    lab.start_server()
    worker = lab.start_worker(bad["data"], "0")
    assert worker.wait() == 1 and "line 8" in worker.text(), worker.text()
    assert lab.admin.ok("GET", "/api/v1/devices")["items"] == []


if __name__ == "__main__":
    harness.main(globals())
