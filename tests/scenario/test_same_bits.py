#!/usr/bin/env python3
"""The same spec and seed give the same model, bit for bit: in one process, over HTTP, with any number of workers."""
import harness
from specs import SYNTHETIC, fedavg, merged, synthetic_run

MLP = {"input": [60], "layers": [{"type": "dense", "units": 24}, {"type": "relu"}, {"type": "dense", "units": 10}],
       "init": "glorot_uniform"}


def specs():
    base = synthetic_run()
    return {
        "fedprox mu 1, 90 % stragglers": base,
        "fedavg, 90 % stragglers": fedavg(base),
        "mlp": merged(base, {"model": MLP, "num_rounds": 3}),
        "evaluation on the selected": merged(base, {"evaluation": {"on": "selected", "gamma": True}}),
        "what gradients say": merged(base, {"evaluation": {"gamma": True, "dissimilarity": True, "grad_variance": True}}),
        "one epoch, partial work in batches": merged(base, {"training": {"local_epochs": 1}}),
        "steps in place of epochs": merged(base, {"training": {"local_epochs": None, "local_steps": 17}}),
        "adam on a cosine": merged(base, {"num_rounds": 4, "model": MLP, "training": {
            "optimizer": "adam", "learning_rate": 0.003, "clip_norm": 0.5, "weight_decay": 0.001,
            "learning_rate_schedule": {"type": "cosine", "warmup_rounds": 1}}}),
        "momentum through the proximal term": merged(base, {"num_rounds": 3, "training": {
            "optimizer": "prox_momentum", "momentum": 0.5, "learning_rate_schedule": {"type": "step", "step_size": 1, "gamma": 0.5}}}),
        "dynamic mu": merged(base, {"strategy": {"params": {"proximal_mu": {"dynamic": {"start": 0, "step": 0.1, "patience": 5}}}}}),
    }


def compare(lab, workers):
    lab.start_server()
    for name, devices in workers.items():
        lab.start_worker(SYNTHETIC, devices, name=name, threads=2)
    for title, spec in specs().items():
        rounds, final = harness.simulate(spec, threads=2)
        run_id = lab.submit(dict(spec, name=title))
        run = lab.wait_run(run_id)
        assert run["outcome"] == "completed", run
        assert run["deterministic"] is True, run
        over_http = [r for r in lab.rounds(run_id) if r["type"] == "train"]
        assert len(over_http) == len(rounds) == spec["num_rounds"], (title, len(over_http), len(rounds))
        for ours, theirs in zip(rounds, over_http):
            for field in ("aggregate_sha256", "steps_done", "steps_assigned", "received", "partial", "dropped"):
                assert ours[field] == theirs[field], (title, field, ours, theirs)
            for field in ("proximal_mu", "mean_gamma", "dissimilarity_b", "grad_variance_weighted", "grad_variance_uniform"):
                assert ours.get(field) == theirs[field], (title, field, ours, theirs)
            assert ours["metrics"] == theirs["metrics"] and "test_accuracy_p10" in ours["metrics"], (title, ours, theirs)
        last = [r for r in lab.rounds(run_id) if r["type"] == "final"][0]
        assert last["metrics"] == final["metrics"], (title, last, final)


def test_one_worker(lab):
    compare(lab, {"one": "0-29"})


def test_three_workers(lab):
    compare(lab, {"one": "0-4,20-24", "two": "5-19", "three": "25-29"})


def test_threads_of_simulate(lab):
    for title, spec in specs().items():
        assert harness.simulate(spec, threads=1) == harness.simulate(spec, threads=3), title


def test_fedavg_is_fedprox_with_mu_0(lab):
    spec = synthetic_run(systems={"straggler_fraction": 0.0})
    prox = merged(spec, {"strategy": {"params": {"proximal_mu": 0}}})
    a, b = harness.simulate(fedavg(spec))[0], harness.simulate(prox)[0]
    assert [r["aggregate_sha256"] for r in a] == [r["aggregate_sha256"] for r in b]


def test_mu_does_nothing_in_one_step_and_something_in_two(lab):
    def final(steps, mu):
        spec = synthetic_run(systems=None, training={"local_epochs": None, "local_steps": steps}, num_rounds=1,
                             strategy={"params": {"proximal_mu": mu}})
        return harness.simulate(spec)[0][0]["aggregate_sha256"]
    assert final(1, 0) == final(1, 10)
    assert final(2, 0) != final(2, 10)


harness.main(globals())
