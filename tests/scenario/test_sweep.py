#!/usr/bin/env python3
"""Several seeds and grids of values: the same runs as one by one, their means, and what is left when a sweep is ended."""
import csv
import fcntl
import json
import os
import signal
import statistics
import xml.dom.minidom

import harness
from specs import fedavg, merged, synthetic_run

MU = "strategy.params.proximal_mu"
FINE, FAILED, USAGE = 0, 1, 4
RUN_FILES = ["metrics.csv", "model.safetensors", "run.json"]


def spec(**changes):
    """Small, as there are many of them: 8 devices, 3 rounds."""
    return merged(synthetic_run(num_rounds=3, data={"seed": None, "devices": 8}, selection={"devices_per_round": 4, "population": 8}), changes)


def simulate(lab, path, *args, status=FINE, words=()):
    done = lab.cli("simulate", path, *args, check=False)
    assert done.returncode == status, (args, done)
    for word in words:
        assert word in done.stdout + done.stderr, (word, args, done)
    return done


def lines(done, kind):
    return [x for x in map(json.loads, done.stdout.splitlines()) if x["type"] == kind]


def read(*parts):
    with open(os.path.join(*parts), "rb") as f:
        return f.read()


def table(*parts):
    with open(os.path.join(*parts), newline="") as f:
        return list(csv.DictReader(f))


def files(folder):
    return {os.path.relpath(os.path.join(where, name), folder): read(where, name)
            for where, _, names in os.walk(folder) for name in names}


def has_plots():
    return any(os.access(os.path.join(p, "gnuplot"), os.X_OK) for p in os.environ["PATH"].split(":"))


# -- the same runs --------------------------------------------------------------------------------------------------

def test_grid_is_its_single_runs(lab):
    path, out = lab.write("spec.json", spec(num_rounds=2, training={"local_epochs": None})), lab.path("out")
    done = simulate(lab, path, "--sweep", MU + "=0,1", "--sweep", "training.local_steps=5,7", "--seeds", "3,5-6", "--out", out,
                    "--format", "jsonl", "--threads", "2")
    runs = lines(done, "run")
    assert len(runs) == 12 and len(lines(done, "mean")) == 4
    assert [x["type"] for x in map(json.loads, done.stdout.splitlines())] == ["run"] * 12 + ["mean"] * 4
    rows = table(out, "sweep.csv")
    assert [(r[MU], r["training.local_steps"], r["seed"]) for r in rows] == [
        (m, s, seed) for m in "01" for s in "57" for seed in "356"]
    by_name = {r["name"]: r for r in runs}
    for row in rows[::5]:
        name = "proximal_mu=%s,local_steps=%s,seed=%s" % (row[MU], row["training.local_steps"], row["seed"])
        single = lab.path("single")
        simulate(lab, path, "--set", "%s=%s" % (MU, row[MU]), "--set",
                 "training.local_steps=" + row["training.local_steps"], "--set", "seed=" + row["seed"], "--out", single)
        for file in RUN_FILES:
            assert read(single, file) == read(out, name, file), (name, file)
        assert by_name[name]["aggregate_sha256"] == row["aggregate_sha256"] == json.loads(read(single, "run.json"))["final"]["aggregate_sha256"]


def test_threads_change_no_byte(lab):
    path = lab.write("spec.json", spec())
    args = ["--sweep", MU + '=0,{"dynamic":{"start":0.1,"step":0.1}}', "--sweep", 'evaluation.on="all_devices",selected', "--seeds", "1-2"]
    simulate(lab, path, *args, "--out", lab.path("one"), "--threads", "1")
    simulate(lab, path, *args, "--out", lab.path("two"), "--threads", "2")
    simulate(lab, path, *args, "--out", lab.path("many"), "--threads", "17")
    one, two, many = (files(lab.path(x)) for x in ("one", "two", "many"))
    assert len(one) == 8 * 3 + 3 + 2 * has_plots(), sorted(one)
    for name in one:
        assert one[name] == two[name] == many[name], name
    assert os.path.isdir(lab.path("one/proximal_mu=dynamic_start_0.1_step_0.1,on=selected,seed=2")), sorted(one)
    for name in ("loss.svg", "accuracy.svg"):
        if has_plots():
            assert "path" in xml.dom.minidom.parseString(one[name]).documentElement.toxml()


def close(text, value):
    assert abs(float(text) - value) <= 1e-12 * max(1, abs(value)), (text, value)


def check_mean(row, name, values):
    close(row[name + "_mean"], statistics.fmean(values))
    if len(values) > 1:
        close(row[name + "_sd"], statistics.stdev(values))
    else:
        assert row[name + "_sd"] in ("", None), (name, row[name + "_sd"])


def test_means_are_right(lab):
    path, out = lab.write("spec.json", spec(evaluation={"gamma": True})), lab.path("out")
    done = simulate(lab, path, "--sweep", MU + "=0,2", "--seeds", "1-4", "--out", out, "--format", "jsonl")
    finals = {(r["overrides"][MU], r["seed"]): r for r in lines(done, "run")}
    for mean in lines(done, "mean"):
        assert mean["runs"] == 4 and mean["failed"] == 0 and mean["seeds"] == [1, 2, 3, 4]
        for figure in ("train_loss", "test_accuracy", "rounds"):
            check_mean(mean, figure, [finals[mean["overrides"][MU], seed][figure] for seed in mean["seeds"]])
    rows = table(out, "mean.csv")
    assert [(r[MU], r["round"], r["type"]) for r in rows] == [
        (mu, str(t), "final" if t == 3 else "train") for mu in "02" for t in range(4)]
    for row in rows:
        runs = [table(out, "proximal_mu=%s,seed=%d" % (row[MU], seed), "metrics.csv")[int(row["round"])] for seed in range(1, 5)]
        for column in ("train_loss", "test_loss", "test_accuracy", "test_accuracy_p50", "steps_done", "mean_gamma"):
            values = [float(r[column]) for r in runs if r[column]]
            if values:
                check_mean(row, column, values)
            else:
                assert row[column + "_mean"] == row[column + "_sd"] == "", (column, row)
        assert row["runs"] == "4"


def test_without_gnuplot(lab):
    path, out = lab.write("spec.json", spec()), lab.path("out")
    done = lab.cli("simulate", path, "--seeds", "1,2", "--out", out, env={"PATH": lab.folder})
    assert "gnuplot is not installed" in done.stderr and "apt install" in done.stderr, done
    assert sorted(os.listdir(out)) == ["mean.csv", "seed=1", "seed=2", "sweep.csv", "sweep.json"]


def test_one_seed_has_no_sd(lab):
    done = simulate(lab, lab.write("spec.json", spec()), "--seeds", "9", "--format", "json")
    both = json.loads(done.stdout)
    assert both["runs"][0]["name"] == "seed=9" and both["runs"][0]["rounds"] == 3
    check_mean(both["means"][0], "train_loss", [both["runs"][0]["train_loss"]])


def test_strategies_side_by_side(lab):
    values = [json.dumps(fedavg(spec())["strategy"]), json.dumps(spec()["strategy"])]
    done = simulate(lab, lab.write("spec.json", spec()), "--sweep", "strategy=" + ",".join(values), words=["fedavg", "fedprox", "n - 1"])
    assert done.stdout.count("3 rounds") == 2, done.stdout


# -- what is refused ------------------------------------------------------------------------------------------------

def test_refused_before_any_training(lab):
    path, out = lab.write("spec.json", spec()), lab.path("out")
    for args, words in (
            (["--sweep", "strategy.params.proximal_nu=0,1"], ["strategy.params.proximal_nu", "did you mean \"proximal_mu\""]),
            (["--sweep", "strateg.params=0"], ["strateg"]),
            (["--sweep", "data.alhpa=0,1"], ["data.alhpa", "alpha"]),
            (["--sweep", "data.path=x"], ["data.path"]),
            (["--sweep", "num_rounds=1,2,0"], ["num_rounds", "in the run num_rounds=0"]),
            (["--sweep", "model.layers[1].units=5"], ["model.layers[1].units", "no element"]),
            (["--sweep", "model.layers[0].units=5,0"], ["model.layers[0].units"]),
            (["--sweep", MU + "=1,1.0"], ["1.0", "twice"]),
            (["--sweep", MU + "=1", "--sweep", MU + "=2"], ["twice"]),
            (["--sweep", MU + "=1", "--sweep", 'strategy={"name":"fedprox"}'], ["strategy", "give it first"]),
            (["--sweep", MU + "=1,,2"], ["a value is missing"]),
            (["--sweep", MU], ["write it like"]),
            (["--sweep", "seed=1,2"], ["--seeds"]),
            (["--sweep", "selection.population=8,9"], ["missing ordinals 8", "in the run population=9"]),
            (["--sweep", "model.input=[60],[61]"], ["model.input", "61", "in the run input=[61]"]),
            (["--seeds", "1", "--seeds", "2"], ["--seeds is given twice"]),
            (["--seeds", "3-1"], ["3-1", "backwards"]),
            (["--seeds", "1,,2"], ["missing"]),
            (["--seeds", "1,2,"], ["missing"]),
            (["--seeds", ""], ["missing"]),
            (["--seeds", "one"], ["one", "whole number"]),
            (["--seeds", "1-"], ["1-"]),
            (["--seeds", "-1"], ["-1"]),
            (["--seeds", "1.5"], ["1.5"]),
            (["--seeds", "1-3,2"], ["\"2\"", "already"]),
            (["--seeds", "9007199254740993"], ["2^53"]),
            (["--seeds", "1-100000"], ["4096"]),
            (["--seeds", "1-100", "--sweep", "num_rounds=" + ",".join(map(str, range(1, 60)))], ["4096"])):
        done = simulate(lab, path, *args, "--out", out, status=USAGE, words=words)
        assert done.stdout == "", done
        assert not os.path.exists(out), args


def test_folder_of_another_sweep(lab):
    path, out = lab.write("spec.json", spec()), lab.path("out")
    simulate(lab, path, "--sweep", MU + "=0,1", "--out", out)
    before = files(out)
    simulate(lab, path, "--sweep", MU + "=0,2", "--out", out, status=USAGE, words=["another sweep", "[0,1]", "[0,2]"])
    simulate(lab, path, "--sweep", MU + "=0,1", "--seeds", "1,2", "--out", out, status=USAGE, words=["seeds is [6] there and [1,2] here"])
    simulate(lab, path, "--sweep", MU + "=0,1", "--set", "training.learning_rate=0.5", "--out", out, status=USAGE,
             words=["spec.training.learning_rate is 0.01 there and 0.5 here"])
    assert files(out) == before
    single = lab.path("single")
    simulate(lab, path, "--out", single)
    simulate(lab, path, "--seeds", "1", "--out", single, status=USAGE, words=["single run"])
    simulate(lab, path, "--out", out, status=USAGE, words=["holds a sweep"])
    assert files(out) == before


# -- runs that fail -------------------------------------------------------------------------------------------------

def test_failed_runs_do_not_stop_the_others(lab):
    path, out = lab.write("spec.json", spec(strategy={"params": {"proximal_mu": 1000}}, reporting={"on_too_few": "skip", "deadline_s": 0},
                                            systems=None, training={"local_epochs": 4})), lab.path("out")
    args = ["--sweep", "training.learning_rate=1000000,0.0001", "--sweep", "systems.up_bytes_per_s=1e6,1e-9", "--out", out]
    done = simulate(lab, path, *args, status=FAILED, words=["diverged", "the run cannot go on"])
    rows = table(out, "sweep.csv")
    assert [r["outcome"] for r in rows] == ["failed", "failed", "completed", "failed"], rows
    assert "diverged" in rows[0]["reason"] and rows[0]["failed_updates"] == "12" and "cannot go on" in rows[1]["reason"], rows
    assert {r["training.learning_rate"] for r in table(out, "mean.csv")} == {"0.0001"}
    assert done.stdout.count("failed: ") == 6, done.stdout  # as each ended, and below the table
    simulate(lab, path, *args, status=FAILED, words=["2 of 4 runs are done already"])
    assert table(out, "sweep.csv") == rows
    none = lab.path("none")
    simulate(lab, path, "--sweep", "systems.up_bytes_per_s=1e-9", "--out", none, status=FAILED)
    assert read(none, "mean.csv") == b"systems.up_bytes_per_s,round,type,runs\n"


# -- ended and gone on ----------------------------------------------------------------------------------------------

def complete(out):
    return [d for d in sorted(os.listdir(out)) if os.path.exists(os.path.join(out, d, "run.json"))] if os.path.isdir(out) else []


def ended_by(lab, number, expected):
    path, whole, out = lab.write("spec.json", spec(num_rounds=6)), lab.path("whole"), lab.path("out")
    args = ["--sweep", MU + "=0,1", "--seeds", "1-3"]
    simulate(lab, path, *args, "--out", whole, "--threads", "1")
    process = harness.Process([harness.program("fedlane"), "simulate", path, *args, "--out", out, "--threads", "2"], lab.path("sweep.log"))
    lab.processes.append(process)
    harness.wait_for(lambda: complete(out), "a run to be done")
    process.process.send_signal(number)
    status = process.wait()
    assert status in (expected, FINE), (status, process.text())
    done = complete(out)
    for name in done:
        for file in RUN_FILES:
            assert read(out, name, file) == read(whole, name, file), (name, file)
    simulate(lab, path, *args, "--out", out, words=["%d of 6 runs are done already" % len(done)])
    assert files(out) == files(whole), sorted(files(out))
    return process.text(), len(done)


def test_killed_and_gone_on(lab):
    ended_by(lab, signal.SIGKILL, -signal.SIGKILL)


def test_interrupted_and_gone_on(lab):
    text, done = ended_by(lab, signal.SIGINT, -signal.SIGINT)
    assert done == 6 or "%d of 6 runs are done, and the same command goes on" % done in text, text
    assert not [name for name in files(lab.path("out")) if name.endswith(".part")]


def test_damaged_runs_are_done_again(lab):
    path, out = lab.write("spec.json", spec()), lab.path("out")
    args = ["--seeds", "1-7", "--out", out]
    simulate(lab, path, *args)
    whole = files(out)
    os.unlink(os.path.join(out, "seed=1", "metrics.csv"))
    os.unlink(os.path.join(out, "seed=2", "model.safetensors"))
    with open(os.path.join(out, "seed=3", "run.json"), "w") as f:
        f.write("{")
    with open(os.path.join(out, "seed=4", "metrics.csv"), "w") as f:
        f.write("junk")
    os.truncate(os.path.join(out, "seed=5", "metrics.csv"), whole["seed=5/metrics.csv"].rindex(b"\n", 0, -1) + 1)  # without the last row
    os.truncate(os.path.join(out, "seed=6", "model.safetensors"), len(whole["seed=6/model.safetensors"]) - 4)
    simulate(lab, path, *args, words=["1 of 7 runs are done already"])
    assert files(out) == whole


def test_no_commands_in_a_folder(lab):
    path, out = lab.write("spec.json", spec()), lab.path("out")
    simulate(lab, path, "--seeds", "1-2", "--out", out)
    whole, rows, made = files(out), table(out, "seed=1", "metrics.csv"), lab.path("made")
    rows[1]["round"] = "1\nEOD\nsystem('touch %s')\n$d9 << EOD\n1" % made
    with open(os.path.join(out, "seed=1", "metrics.csv"), "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    simulate(lab, path, "--seeds", "1-2", "--out", out, words=["1 of 2 runs are done already"])
    assert files(out) == whole and not os.path.exists(made)
    run = json.loads(whole["seed=2/run.json"])
    lab.write("out/seed=2/run.json", merged(run, {"final": {"rounds": -1}}))
    lab.write("out/seed=2/metrics.csv", whole["seed=2/metrics.csv"].decode().splitlines()[0] + "\n")
    simulate(lab, path, "--seeds", "1-2", "--out", out, words=["1 of 2 runs are done already"])
    assert files(out) == whole


def test_two_at_a_time(lab):
    path, out = lab.write("spec.json", spec()), lab.path("out")
    os.mkdir(out)
    held = os.open(out, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    simulate(lab, path, "--seeds", "1", "--out", out, status=FAILED, words=["another fedlane simulate"])
    os.close(held)
    assert os.listdir(out) == []


# -- how it looks ---------------------------------------------------------------------------------------------------

def test_bar_on_a_terminal(lab):
    path = lab.write("spec.json", spec(num_rounds=10))
    status, shown = harness.on_terminal("simulate", path, "--seeds", "1-3", "--threads", "2", columns=100)
    assert status == FINE, shown
    assert "of 3 runs" in shown and "of 30 rounds" in shown and "left" in shown, shown
    assert "\033[1A\033[J" in shown.replace("\r", "") and "3/3" in shown and "mean and standard deviation" in shown, shown


harness.main(globals())
