#!/usr/bin/env python3
"""fedlane lanes simulate: what it prints, and what it refuses."""
import csv
import io
import json
import os

import harness

TRACE = os.path.join(harness.SRC, "tests", "data", "trace100.csv")
FIGURES = ["average_completion_s", "p95_completion_s", "makespan_s", "jain", "overtakes"]


def simulate(lab, *args):
    return lab.cli("lanes", "simulate", TRACE, *args).stdout


def test_formats(lab):
    one = json.loads(simulate(lab, "--policy", "srtf", "--format", "json"))
    assert one["policy"] == "srtf" and one["jobs"] == 100 and one["refused"] == 0, one
    assert all(isinstance(one[name], (int, float)) for name in FIGURES), one
    row, = csv.DictReader(io.StringIO(simulate(lab, "--policy", "srtf", "--format", "csv")))
    assert {name: float(row[name]) for name in FIGURES} == {name: one[name] for name in FIGURES}, row
    table = simulate(lab, "--policy", "srtf")
    assert "average completion s" in table and "overtakes" in table, table
    reason = json.loads(simulate(lab, "--format", "json"))["reason"]
    assert "last" in reason and "jobs" in reason, reason


def test_all_policies_side_by_side(lab):
    rows = {row["policy"]: row for row in json.loads(simulate(lab, "--policy", "all", "--format", "json"))}
    assert set(rows) == {"auto", "srtf", "las", "fair", "pack", "fifo", "priority", "salus-fifo", "salus-srtf", "salus-fair"}
    fifo = rows["fifo"]["average_completion_s"]
    assert fifo / rows["srtf"]["average_completion_s"] >= 4.3 and rows["fifo"]["overtakes"] == 0, rows
    lines = [json.loads(line) for line in simulate(lab, "--policy", "all", "--format", "jsonl").splitlines()]
    assert {line["policy"]: line for line in lines} == rows


def test_a_recorded_trace(lab):
    job = {"type": "job", "arrival_ns": 0, "start_ns": 0, "end_ns": 3, "outcome": "finished", "steps": 3, "told_steps": 3,
           "step_ns": 1000000000, "persistent_bytes": 10, "ephemeral_bytes": 10, "priority": 0, "weight": 1}
    head = {"type": "lanes_trace", "version": 1, "capacity_bytes": [50, 50]}
    path = lab.path("trace.jsonl")
    with open(path, "w") as f:
        f.write("\n".join(json.dumps(line) for line in [head, job, job, dict(job, persistent_bytes=100)]) + "\n")
    out = json.loads(lab.cli("lanes", "simulate", path, "--format", "json").stdout)
    # Two devices, a job each; the third fits on none.
    assert (out["jobs"], out["refused"], out["makespan_s"]) == (3, 1, 3), out
    out = json.loads(lab.cli("lanes", "simulate", path, "--format", "json", "--capacity", "200").stdout)
    assert (out["jobs"], out["refused"], out["makespan_s"]) == (3, 0, 9), out


def test_what_is_refused(lab):
    bad = lab.path("bad.csv")
    with open(bad, "w") as f:
        f.write("# jobs\narrival_s,steps,step_s,persistent_mb,ephemeral_mb\n0,1,1,1,1\n0,many,1,1,1\n")
    for args, words in [([TRACE, "--policy", "lifo"], ["lifo", "salus-fair"]),
                        ([TRACE, "--capacity", "1000"], ["no job fits", "needs", "bytes", "1000"]),
                        ([TRACE, "--capacity", "0"], ["capacity"]),
                        ([bad], ["bad.csv: line 4", "steps", "many"]),
                        ([lab.path("none.csv")], ["none.csv"]),
                        ([lab.folder], [lab.folder])]:
        done = lab.cli("lanes", "simulate", *args, check=False)
        assert done.returncode == 4 and done.stdout == "", (args, done)
        assert all(word in done.stderr for word in words), (args, done)


if __name__ == "__main__":
    harness.main(globals())
