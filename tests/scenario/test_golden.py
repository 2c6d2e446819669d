#!/usr/bin/env python3
"""The paper's experiments, simulated, against an independent float64 implementation: final loss and accuracy."""
import json
import os
import sys
import time

import harness

LOSS, POINTS = 2e-4, 0.15
FASHION_MNIST = "/usr/share/datasets/fashion-mnist"
FEDAVG = "strategy={\"name\": \"fedavg\"}"


def golden(name):
    with open(os.path.join(harness.SRC, "tests", "data", name)) as f:
        return json.load(f)


def example(name):
    with open(os.path.join(harness.SRC, "examples", name)) as f:
        return json.load(f)


def check(spec, expected, configuration, seed, *sets):
    options = [x for s in ("seed=%d" % seed,) + sets for x in ("--set", s)]
    start = time.monotonic()
    rounds, final = harness.simulate(spec, *options, threads=2)
    seconds = time.monotonic() - start
    runs, at = expected["runs"][configuration], expected["seeds"].index(seed)
    loss, accuracy = runs["final_train_loss_per_seed"][at], runs["final_test_acc_per_seed"][at]
    print("%s %s seed %d: loss %.6f (golden %.6f), accuracy %.3f %% (golden %.3f %%), %.1f s" % (
        spec["experiment"], configuration, seed, final["train_loss"], loss, 100 * final["test_accuracy"], 100 * accuracy,
        seconds))
    sys.stdout.flush()
    assert final["outcome"] == "completed" and len(rounds) == spec["num_rounds"], final
    assert abs(final["train_loss"] - loss) <= LOSS, (final["train_loss"], loss)
    assert 100 * abs(final["test_accuracy"] - accuracy) <= POINTS, (final["test_accuracy"], accuracy)
    return rounds


def test_synthetic_1_1(lab):
    expected = golden("paper_golden.json")["datasets"]["synthetic_1_1"]
    spec = example("synthetic-1-1.json")
    dropped = check(spec, expected, "fedavg_mu0_strag90", 6, FEDAVG)
    assert all(r["received"] == 1 and r["dropped"] == 9 for r in dropped), dropped[0]
    partial = check(spec, expected, "fedprox_mu1_strag90", 6)
    assert all(r["received"] == 10 for r in partial), partial[0]
    # Both did the same work: only what counts differs, and a whole job that FedAvg leaves out by one step.
    for a, b in zip(dropped, partial):
        assert a["steps_assigned"] == b["steps_assigned"] and 0 <= b["steps_done"] - a["steps_done"] <= 9, (a, b)
    check(spec, expected, "fedprox_mu0_strag90", 6, "strategy.params.proximal_mu=0")
    check(spec, expected, "fedprox_mudyn0_strag90", 6,
          "strategy.params.proximal_mu={\"dynamic\": {\"start\": 0, \"step\": 0.1, \"patience\": 5}}")


def test_synthetic_1_1_all_seeds(lab):
    if not harness.FULL:
        return print("only with FEDLANE_FULL=yes")
    expected = golden("paper_golden.json")["datasets"]["synthetic_1_1"]
    spec = example("synthetic-1-1.json")
    for seed in expected["seeds"]:
        check(spec, expected, "fedavg_mu0_strag90", seed, FEDAVG)
        check(spec, expected, "fedprox_mu1_strag90", seed)
        check(spec, expected, "fedprox_mu1_strag0", seed, "systems.straggler_fraction=0")


def test_fashion_mnist(lab):
    if not os.path.isdir(FASHION_MNIST):
        return print("needs the Debian package dataset-fashion-mnist")
    expected = golden("fmnist_golden.json")
    spec = example("fashion-mnist.json")
    check(spec, expected, "fedavg_mu0_strag90", 1, FEDAVG)
    check(spec, expected, "fedprox_mu1_strag90", 1)


if "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ:
    harness.skip("sanitizers make it minutes long; the other build does the same arithmetic")
harness.main(globals())
