#!/usr/bin/env python3
"""Devices with speeds and times online: the same in every run, whatever the threads, and in simulations only."""
import csv
import json
import os
import subprocess

import harness
from specs import fedavg, merged, synthetic_run

SPEEDS = {"straggler_fraction": None, "steps_per_s": {"lognormal": {"median": 20, "sigma": 1}},
          "up_bytes_per_s": {"lognormal": {"median": 5000, "sigma": 1}}, "down_bytes_per_s": 20000}


def slow_run(**changes):
    spec = synthetic_run(systems=SPEEDS, reporting={"deadline_s": 3, "grace_s": 1}, num_rounds=6)
    return merged(spec, changes)


def trace(lab):
    rows = ["device,steps_per_s,online_from_s,online_to_s"]
    for k in range(30):
        rows += ["%d,%g,%d,%d" % (k, 5 + k, k % 4, 8 + k % 3), "%d,,%d,10000" % (k, 11 + k % 5)]
    return lab.write("trace.csv", "\n".join(rows) + "\n")


def test_same_bits_with_any_number_of_threads(lab):
    specs = {
        "fedprox": slow_run(),
        "fedavg": fedavg(slow_run()),
        "trace": slow_run(systems={"trace": trace(lab)}),
        "over-selection": slow_run(selection={"over_selection": 1.5}),
        "stragglers as well": slow_run(systems={"straggler_fraction": 0.5}),
        "dynamic mu": slow_run(strategy={"params": {"proximal_mu": {"dynamic": {"start": 0, "step": 0.1, "patience": 5}}}}),
        "evaluation on the selected": slow_run(evaluation={"on": "selected", "gamma": True}),
        "too few": slow_run(reporting={"min_updates": 10}),
    }
    for title, spec in specs.items():
        one = harness.simulate(spec, threads=1)
        assert one == harness.simulate(spec, threads=2), title
        rounds, final = one
        assert final["deterministic"] is True and final["outcome"] == "completed", (title, final)
        times = [r["time_s"] for r in rounds]
        assert times == sorted(times) and 0 < times[0] and times[-1] == final["time_s"], (title, times)
        assert all(abs(r["time_s"] - r["duration_s"] - t) < 1e-9 for r, t in zip(rounds, [0] + times)), (title, rounds)
        cut = sum(r["partial"] + r["dropped"] + r["late"] for r in rounds)
        assert 0 < cut < sum(r["selected"] for r in rounds), (title, rounds)


def test_the_deadline_cuts(lab):
    def done(deadline_s):
        rounds, final = harness.simulate(slow_run(reporting={"deadline_s": deadline_s}))
        assert all(r["duration_s"] <= deadline_s + 1 for r in rounds if deadline_s), rounds
        return sum(r["steps_done"] for r in rounds), sum(r["steps_assigned"] for r in rounds), final["time_s"]
    short, long, none = done(1), done(10), done(0)
    assert short[0] < long[0] < none[0] == none[1] and short[1] == long[1] == none[1], (short, long, none)
    assert short[2] < long[2] < none[2], (short, long, none)


def test_speed_changes_time_and_nothing_else_where_nothing_is_cut(lab):
    spec = synthetic_run(systems={"straggler_fraction": 0.5}, reporting={"deadline_s": 0})
    plain, _ = harness.simulate(spec)
    timed, _ = harness.simulate(merged(spec, {"systems": {"steps_per_s": 7, "down_bytes_per_s": 1000}}))
    assert [r["aggregate_sha256"] for r in plain] == [r["aggregate_sha256"] for r in timed]
    assert all("time_s" not in r for r in plain) and all(r["time_s"] > 0 for r in timed)


def test_a_server_refuses_it(lab):
    lab.start_server()
    for field, value in (("steps_per_s", 5), ("up_bytes_per_s", {"lognormal": {"median": 5, "sigma": 1}}),
                         ("down_bytes_per_s", 5), ("trace", "trace.csv")):
        reply = lab.admin.post("/api/v1/runs", synthetic_run(systems={"straggler_fraction": 0.5, field: value}))
        problem = reply.json
        assert reply.status == 400 and problem["code"] == "invalid_field", reply
        assert problem["field"] == "systems." + field and "fedlane simulate" in problem["detail"], problem
    assert lab.admin.ok("GET", "/api/v1/runs")["items"] == []
    assert lab.submit(synthetic_run(systems={"straggler_fraction": 0.5, "steps_per_s": None}))


def test_what_is_written(lab):
    out = lab.path("out")
    good = lab.write("good.json", json.dumps(slow_run(systems={"trace": trace(lab)})))
    done = lab.cli("simulate", good, "--out", out)
    assert " time s" in done.stdout and "simulated seconds" in done.stdout, done.stdout
    with open(os.path.join(out, "metrics.csv")) as f:
        rows = list(csv.DictReader(f))
    assert [float(r["time_s"]) > 0 and float(r["duration_s"]) > 0 for r in rows[:-1]] == [True] * 6, rows
    with open(os.path.join(out, "run.json")) as f:
        run = json.load(f)
    assert float(rows[-1]["time_s"]) == run["final"]["time_s"] and "straggler_fraction" not in run["spec"]["systems"], run
    bad = lab.write("bad.csv", open(lab.path("trace.csv")).read() + "7,1,1e5,2e5\n")
    done = subprocess.run([harness.program("fedlane"), "simulate", good, "--set", "systems.trace=" + bad, "--out", lab.path("not")],
                          capture_output=True, text=True, timeout=harness.TIMEOUT_S)
    assert done.returncode != 0 and "bad.csv: line 62, device 7: steps_per_s is 1 here and 12" in done.stderr, done
    assert done.stdout == "" and not os.path.exists(lab.path("not")), done


harness.main(globals())
