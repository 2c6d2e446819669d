#!/usr/bin/env python3
"""A run and its devices mean the same by a token, or they are told so before anything is trained."""
import hashlib
import json
import os

import harness

PAPER = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"
EMBEDDING = [{"type": "embedding", "vocabulary": 5, "dim": 2}, {"type": "lstm", "units": 3}, {"type": "dense", "units": 5}]


def text_data(lab, name, text, **fields):
    path = lab.path(name + ".txt")
    with open(path, "w") as f:
        f.write(text)
    return {"source": "text", "name": "texts", "path": path, "window": 4, "seed": 1, **fields}


def spec(model, devices=2, **fields):
    return {"name": "texts", "seed": 1, "num_rounds": 1, "dataset": "texts", "model": model, "training": {"learning_rate": 0.1},
            "selection": {"devices_per_round": devices, "population": devices}, "evaluation": {"on": "none"}, **fields}


def layered(**fields):
    return {"input": [4], "layers": EMBEDDING, **fields}


def simulate(lab, of, *options, check=True):
    return lab.cli("simulate", lab.write("spec.json", of), "--threads", "1", "--format", "jsonl", *options, check=check)


def stored(lab, out):
    with open(os.path.join(lab.path(out), "run.json")) as f:
        return json.load(f)["spec"]["model"]


def test_a_simulation_stores_the_datas_vocabulary(lab):
    data = text_data(lab, "a", "abcd cab dcba bad cad dab " * 4, vocabulary="data")
    assert json.loads(lab.cli("data", "vocabulary", lab.write("a.json", data)).stdout) == " abcd"
    for k, model in enumerate((layered(), layered(vocabulary="data"), {"preset": "char_lstm", "input": [4], "vocabulary": "data"})):
        simulate(lab, spec(model, 1, data=data), "--out", lab.path("out%d" % k))
        model = stored(lab, "out%d" % k)
        assert model["vocabulary"] == " abcd" and model["layers"][0]["vocabulary"] == model["layers"][-1]["units"] == 5, model
    simulate(lab, spec(layered(), 1, data=data), "--out", lab.path("two"), "--seeds", "1,2")
    runs = [os.path.join(folder, "run.json") for folder, _, files in os.walk(lab.path("two")) if "run.json" in files]
    assert len(runs) == 2, runs
    for path in runs:
        with open(path) as f:
            assert json.load(f)["spec"]["model"]["vocabulary"] == " abcd", path
    simulate(lab, spec({"preset": "char_lstm", "input": [4]}, 1, data={**data, "vocabulary": "paper"}), "--out", lab.path("paper"))
    assert stored(lab, "paper")["vocabulary"] == PAPER
    # More than goes along with every task: by its hash.
    signs = "".join(chr(0x4e00 + k) for k in range(1500))
    wide = [{"type": "embedding", "vocabulary": 1500, "dim": 1}, {"type": "lstm", "units": 1}, {"type": "dense", "units": 1500}]
    data = text_data(lab, "signs", signs, vocabulary="data", train_fraction=0.01)
    simulate(lab, spec({"input": [4], "layers": wide, "vocabulary": "data"}, 1, data=data), "--out", lab.path("signs"))
    assert stored(lab, "signs")["vocabulary"] == "sha256:" + hashlib.sha256(signs.encode()).hexdigest()


def test_a_simulation_refuses_another_vocabulary(lab):
    data = text_data(lab, "a", "abcd cab dcba bad cad dab " * 4)

    def check(model, vocabulary, field, words):
        done = simulate(lab, spec(model, 1, data={**data, "vocabulary": vocabulary}), "--out", lab.path("out"), check=False)
        assert done.returncode == 4 and not done.stdout and not os.path.exists(lab.path("out")), done
        for word in ["fedlane: %s: " % field, *words]:
            assert word in done.stderr, (word, done.stderr)
    named = ['token %d of the run is %s, of data set "texts" %s', "data.vocabulary", "fedlane data vocabulary"]
    harness.all_of([
        (layered(vocabulary="abcd "), " abcd", "model.vocabulary", [named[0] % (0, '"a" (U+0061)', '" " (U+0020)'), *named[1:]]),
        (layered(vocabulary=" abc"), "data", "model.vocabulary", [named[0] % (4, "none", '"d" (U+0064)')]),
        (layered(vocabulary=list(" ab\u00e9")), " abcd", "model.vocabulary", ["token 3", '"\u00e9" (U+00E9)', '"c"']),
        ({"preset": "char_lstm", "input": [4]}, "data", "model.vocabulary", ["token 0 of the run is U+000A", '"data" stands for them']),
        (layered(vocabulary="sha256:" + "0" * 64), "data", "model.vocabulary", ["SHA-256 " + "0" * 64, "has characters with df56"]),
        (layered(vocabulary=" abcde"), "data", "model.vocabulary", ["has 6 characters", "room for 5"]),
        (layered(), " abcdef", "model.vocabulary", ["has 7 characters", "room for 5"]),
        (layered(), {"file": lab.path("none.json")}, "data.vocabulary", ["none.json", "No such file"]),
        (layered(), {"file": lab.write("twice.json", json.dumps("abca"))}, "data.vocabulary", ["twice.json", "has \"a\" (U+0061) twice"]),
        (layered(), {"files": 1}, "data.vocabulary", ['{"file": "FILE"}', "fedlane data vocabulary"]),
        (layered(), "data ", "data.vocabulary", ["\"a\" (U+0061) twice"]),
    ], check)
    plain = {"source": "synthetic", "devices": 3}
    done = simulate(lab, spec({**layered(vocabulary="data"), "input": [60]}, 1, dataset="synthetic", data=plain), check=False)
    assert done.returncode == 4 and "model.vocabulary: the data have none" in done.stderr, done
    done = lab.cli("data", "vocabulary", lab.write("plain.json", plain), check=False)
    assert done.returncode == 4 and "features are plain numbers" in done.stderr, done


def test_numbers_that_are_no_tokens_are_named_by_file_and_place(lab):
    users = {"users": ["ann", "bob"], "num_samples": [2, 3], "user_data": {
        "ann": {"x": [[0, 1], [2, 3]], "y": [0, 1]}, "bob": {"x": [[4, 4], [1, 5], [0, 0]], "y": [1, 1, 0]}}}
    model = {"input": [2], "layers": EMBEDDING}
    data = {"source": "leaf", "name": "texts", "path": lab.write("tokens.json", users), "seed": 1}
    done = simulate(lab, spec(model, data=data), check=False)
    for word in ("model.layers[0].vocabulary", 'tokens.json, user "bob", example 1: position 1 is 5, but', "0 to 4", "device 1, bob"):
        assert word in done.stderr, (word, done.stderr)
    with open(lab.path("tokens.csv"), "w") as f:
        f.write("a,b,y\n0,1,0\n1,2,1\n3,2.5,0\n0,0,1\n")
    done = simulate(lab, spec(model, 1, data={"source": "csv", "name": "texts", "path": lab.path("tokens.csv"), "label": "y"}), check=False)
    assert "tokens.csv, example 2: position 1 is 2.5, but" in done.stderr, done.stderr


def test_files_of_numbers_keep_what_the_numbers_stand_for(lab):
    data = text_data(lab, "a", "abcd cab dcba bad cad dab " * 4, vocabulary="data")
    lab.cli("data", "partition", lab.write("a.json", data), "--out", lab.path("parts"))
    with open(lab.path("parts/data.json")) as f:
        parts = json.load(f)
    assert parts["vocabulary"] == " abcd", parts
    rounds = [harness.simulate(spec(layered(vocabulary=" abcd"), 1, data=d))[0] for d in (data, parts)]
    assert rounds[0][0]["aggregate_sha256"] == rounds[1][0]["aggregate_sha256"], rounds
    done = simulate(lab, spec(layered(vocabulary="abcd "), 1, data=parts), check=False)
    assert done.returncode == 4 and 'token 0 of the run is "a" (U+0061)' in done.stderr, done
    # The same for word vectors, which are named by the hash of their file.
    with open(lab.path("t.csv"), "w") as f:
        f.write("label,text\n" + "0,bad\n1,good\n" * 9)
    words = b"good 1 2\nbad 3 4\n"
    with open(lab.path("v"), "wb") as f:
        f.write(words)
    data = {"source": "sentiment", "name": "texts", "path": lab.path("t.csv"), "vectors": lab.path("v"), "tokens": 3, "seed": 1}
    model = {"preset": "sent_lstm", "input": [3, 2]}
    digits = hashlib.sha256(words).hexdigest()
    assert json.loads(lab.cli("data", "vocabulary", lab.write("words.json", data)).stdout) == "sha256:" + digits
    simulate(lab, spec({**model, "vocabulary": "data"}, 1, data=data), "--out", lab.path("words"))
    assert stored(lab, "words")["vocabulary"] == "sha256:" + digits
    done = simulate(lab, spec({**model, "vocabulary": "sha256:" + "0" * 64}, 1, data=data), check=False)
    assert done.returncode == 4 and "has word vectors with " + digits in done.stderr, done


def start(lab, name, ordinal, data):
    worker = harness.Process(
        [harness.program("fedlane-worker"), "--server", lab.url, "--enroll-token-file", lab.enroll_file(), "--name", name,
         "--data", lab.write(name + ".json", {**data, "first_ordinal": ordinal}), "--state-dir", lab.path(name + ".state")],
        lab.path(name + ".log"))
    lab.processes.append(worker)
    return worker


def test_devices_of_two_vocabularies(lab):
    """Five characters each, so every number of the one is a number of the other."""
    lab.start_server()
    west = text_data(lab, "west", "abcd cab dcba bad cad dab " * 4, vocabulary="data")
    east = text_data(lab, "east", "wxyz zwx yxwz zyx wxy xyz " * 4, vocabulary="data")
    start(lab, "west", 0, west)
    worker = start(lab, "east", 1, east)
    run = lab.wait_run(lab.submit(spec(layered())))
    assert run["outcome"] == "failed" and run["round"] == 0, run
    for word in ('device "east-1" (ordinal 1) has another vocabulary', 'than device "west-0" (ordinal 0)', "fedlane data vocabulary"):
        assert word in run["status_reason"], run
    run = lab.wait_run(lab.submit(spec(layered(vocabulary=" wxyz"))))
    assert 'device "west-0" (ordinal 0) has another vocabulary' in run["status_reason"] and "than the run's model" in run["status_reason"], run
    # The one that fits goes on alone, and why the other is not there is told.
    run_id = lab.submit(spec(layered(vocabulary=" wxyz"), 1, selection={"devices_per_round": 1}))
    assert lab.wait_run(run_id)["outcome"] == "completed"
    warned = [e["data"]["detail"] for e in lab.admin.ok("GET", "/api/v1/runs/%s/events?since=0" % run_id)["items"] if e["type"] == "warning"]
    assert len(warned) == 1 and "goes without 1 of the devices" in warned[0], warned
    assert '"west-0" (ordinal 0) has another vocabulary' in warned[0], warned
    # What helps, as it was said.
    both = lab.cli("data", "vocabulary", lab.write("both.json", text_data(lab, "both", "abcd wxyz " * 9, vocabulary="data"))).stdout
    path = lab.path("vocabulary.json")
    with open(path, "w") as f:
        f.write(both)
    worker.stop()
    lab.processes[-2].stop()
    start(lab, "west", 0, {**west, "vocabulary": {"file": path}})
    start(lab, "east", 1, {**east, "vocabulary": json.loads(both)})
    shared = {"preset": "char_lstm", "input": [4], "vocabulary": json.loads(both)}

    def telling():
        devices = lab.admin.ok("GET", "/api/v1/devices")["items"]
        return len({d["capabilities"]["vocabulary_sha256"] for d in devices}) == 1
    harness.wait_for(telling, "both workers to tell one vocabulary")
    done = lab.cli("run", "submit", lab.write("shared.json", spec(shared)), "--watch")
    run = lab.admin.ok("GET", "/api/v1/runs")["items"][0]
    assert run["outcome"] == "completed", (run, done)
    assert lab.admin.ok("GET", "/api/v1/runs/" + run["id"])["spec"]["model"]["vocabulary"] == " abcdwxyz"


if __name__ == "__main__":
    harness.main(globals())
