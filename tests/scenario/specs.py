"""Run specs and data that several scenario tests share."""
import copy

SYNTHETIC = {"source": "synthetic", "alpha": 1, "beta": 1, "devices": 30, "seed": 6}


def synthetic_run(**changes):
    """A short run on Synthetic(1,1) with 90 % stragglers: all paths of a round in well under a second."""
    spec = {
        "name": "synthetic", "seed": 6, "num_rounds": 5, "dataset": "synthetic",
        "model": {"input": [60], "layers": [{"type": "dense", "units": 10}], "init": "zeros"},
        "strategy": {"name": "fedprox", "params": {"proximal_mu": 1.0}},
        "training": {"local_epochs": 2, "batch_size": 10, "learning_rate": 0.01},
        "selection": {"devices_per_round": 10, "population": 30},
        "reporting": {"deadline_s": 300},
        "evaluation": {"on": "all_devices"},
        "systems": {"straggler_fraction": 0.9},
        "data": SYNTHETIC,
    }
    return merged(spec, changes)


def merged(spec, changes):
    """A deep copy of spec with changes laid over it; a value of None takes the key away."""
    spec = copy.deepcopy(spec)
    for key, value in changes.items():
        if value is None:
            spec.pop(key, None)
        elif isinstance(value, dict) and isinstance(spec.get(key), dict):
            spec[key] = merged(spec[key], value)
        else:
            spec[key] = copy.deepcopy(value)
    return spec


def fedavg(spec):
    return merged(spec, {"strategy": {"name": "fedavg", "params": None}})
