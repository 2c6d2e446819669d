#!/usr/bin/env python3
"""Bad run specs and bad data files: refused with the field's name and a remedy, by the server and by the command line alike,
and nothing comes of them."""
import gzip
import json
import os
import struct
import subprocess
import tempfile

import harness
from device import small_spec
from specs import merged, synthetic_run

NAN, INFINITY = float("nan"), float("inf")
USAGE = 4


def dense(units=10):
    return {"type": "dense", "units": units}


def layers(*items):
    return {"model": {"layers": list(items)}}


CONV, FLAT = {"type": "conv2d", "filters": 2, "kernel": 5}, {"type": "flatten"}


def images(shape, *items):
    return {"model": {"input": shape, "layers": list(items)}}


def preset(name, **fields):
    return {"model": {"input": None, "layers": None, "init": None, "preset": name, **fields}}


def tensors(*items):
    return {"model": {"input": None, "layers": None, "init": None, "tensors": list(items)}}


# changes to a good spec -> code, field, words that the detail must have: what is wrong and what would be right
BAD = [
    # unknown
    ({"num_round": 5}, "unknown_field", "num_round", ["num_rounds"]),
    ({"strategy": {"params": {"proximal_muu": 1}}}, "unknown_field", "strategy.params.proximal_muu", ["proximal_mu"]),
    ({"strategy": {"proximal_mu": 1}}, "unknown_field", "strategy.proximal_mu", ["remove it"]),
    ({"strategy": {"params": {"proximal_mu": {"dynamic": {"patients": 5}}}}}, "unknown_field",
     "strategy.params.proximal_mu.dynamic.patients", ["patience"]),
    ({"training": {"nesterov": True}}, "unknown_field", "training.nesterov", ["remove it"]),
    ({"selection": {"device_per_round": 9}}, "unknown_field", "selection.device_per_round", ["devices_per_round"]),
    ({"reporting": {"deadline": 9}}, "unknown_field", "reporting.deadline", ["deadline_s"]),
    ({"evaluation": {"gama": True}}, "unknown_field", "evaluation.gama", ["gamma"]),
    ({"systems": {"stragglers": 0.9}}, "unknown_field", "systems.stragglers", ["remove it"]),
    ({"retention": {"keep_model": "all"}}, "unknown_field", "retention.keep_model", ["keep_models"]),
    ({"model": {"layer": []}}, "unknown_field", "model.layer", ["layers"]),
    (layers({"type": "dense", "unit": 10}), "unknown_field", "model.layers[0].unit", ["units"]),
    (layers(dense(), {"type": "relu", "units": 3}, dense()), "unknown_field", "model.layers[1].units", ["remove it"]),
    # missing
    ({"model": None}, "missing_field", "model", ["required", "object"]),
    ({"num_rounds": None}, "missing_field", "num_rounds", ["required", "integer"]),
    ({"training": None}, "missing_field", "training.learning_rate", ["required", "number"]),
    ({"training": {"learning_rate": None}}, "missing_field", "training.learning_rate", ["required", "number"]),
    ({"model": {"input": None}}, "missing_field", "model.input", ["required", "array"]),
    ({"model": {"layers": None}}, "missing_field", "model.layers", ["required", "array"]),
    (layers({"type": "dense"}), "missing_field", "model.layers[0].units", ["required", "integer"]),
    (layers({"units": 3}), "missing_field", "model.layers[0].type", ["required", "dense", "relu"]),
    (tensors({"name": "w"}), "missing_field", "model.tensors[0].shape", ["required", "array"]),
    # of another type
    ({"num_rounds": "5"}, "invalid_field", "num_rounds", ["must be an integer", "string"]),
    ({"num_rounds": 5.5}, "invalid_field", "num_rounds", ["must be an integer", "real"]),
    ({"num_rounds": True}, "invalid_field", "num_rounds", ["must be an integer", "boolean"]),
    ({"num_rounds": [5]}, "invalid_field", "num_rounds", ["must be an integer", "array"]),
    ({"seed": "x"}, "invalid_field", "seed", ["must be an integer"]),
    ({"name": 5}, "invalid_field", "name", ["must be a string"]),
    ({"autostart": 1}, "invalid_field", "autostart", ["true or false"]),
    ({"model": []}, "invalid_field", "model", ["must be an object"]),
    ({"model": {"input": 60}}, "invalid_field", "model.input", ["must be an array"]),
    ({"model": {"layers": {"type": "dense"}}}, "invalid_field", "model.layers", ["must be an array"]),
    (layers("dense"), "invalid_field", "model.layers[0]", ["must be an object"]),
    ({"strategy": "fedprox"}, "invalid_field", "strategy", ["must be an object"]),
    ({"training": 0.1}, "invalid_field", "training", ["must be an object"]),
    ({"training": {"learning_rate": "0.1"}}, "invalid_field", "training.learning_rate", ["must be a number"]),
    ({"training": {"learning_rate": "NaN"}}, "invalid_field", "training.learning_rate", ["must be a number"]),
    ({"training": {"learning_rate": [0.1]}}, "invalid_field", "training.learning_rate", ["must be a number"]),
    ({"strategy": {"params": {"proximal_mu": "1"}}}, "invalid_field", "strategy.params.proximal_mu", ["must be a number"]),
    ({"strategy": {"params": {"proximal_mu": {"static": 1}}}}, "invalid_field", "strategy.params.proximal_mu", ["dynamic"]),
    ({"strategy": {"params": {"accept_partial": "yes"}}}, "invalid_field", "strategy.params.accept_partial", ["true or false"]),
    ({"selection": {"require_labels": {"gpu": 1}}}, "invalid_field", "selection.require_labels", ["gpu", "must be a string"]),
    # out of bounds
    ({"num_rounds": 0}, "invalid_field", "num_rounds", ["between 1 and"]),
    ({"num_rounds": -5}, "invalid_field", "num_rounds", ["between 1 and", "-5"]),
    ({"num_rounds": 10**15}, "invalid_field", "num_rounds", ["between 1 and"]),
    ({"seed": -1}, "invalid_field", "seed", ["between 0 and"]),
    ({"name": "x" * 201}, "invalid_field", "name", ["at most 200"]),
    ({"experiment": ""}, "invalid_field", "experiment", ["empty"]),
    ({"training": {"learning_rate": 0}}, "invalid_field", "training.learning_rate", ["between"]),
    ({"training": {"learning_rate": -0.1}}, "invalid_field", "training.learning_rate", ["between"]),
    ({"training": {"learning_rate": 1e300}}, "invalid_field", "training.learning_rate", ["between"]),
    ({"training": {"local_epochs": 0}}, "invalid_field", "training.local_epochs", ["between 1 and"]),
    ({"training": {"local_epochs": 10**9}}, "invalid_field", "training.local_epochs", ["between 1 and"]),
    ({"training": {"batch_size": 0}}, "invalid_field", "training.batch_size", ["between 1 and"]),
    ({"training": {"batch_size": 2**40}}, "invalid_field", "training.batch_size", ["between 1 and"]),
    ({"training": {"local_steps": 5}}, "invalid_field", "training.local_steps", ["not both"]),
    ({"strategy": {"params": {"proximal_mu": -1}}}, "invalid_field", "strategy.params.proximal_mu", ["between 0 and"]),
    ({"strategy": {"params": {"proximal_mu": 1e9}}}, "invalid_field", "strategy.params.proximal_mu", ["between 0 and"]),
    ({"strategy": {"params": {"max_weight_fraction": 0}}}, "invalid_field", "strategy.params.max_weight_fraction", ["between"]),
    ({"strategy": {"params": {"max_weight_fraction": 1.5}}}, "invalid_field", "strategy.params.max_weight_fraction", ["between"]),
    ({"selection": {"devices_per_round": 0}}, "invalid_field", "selection.devices_per_round", ["between 1 and"]),
    ({"selection": {"devices_per_round": 31}}, "invalid_field", "selection.devices_per_round", ["31", "30", "lower it"]),
    ({"selection": {"population": 0}}, "invalid_field", "selection.population", ["between 1 and"]),
    ({"selection": {"population": 10**12}}, "invalid_field", "selection.population", ["between 1 and"]),
    ({"selection": {"over_selection": 0}}, "invalid_field", "selection.over_selection", ["between 1 and"]),
    ({"selection": {"over_selection": 0.5}}, "invalid_field", "selection.over_selection", ["between 1 and"]),
    ({"reporting": {"min_updates": 0}}, "invalid_field", "reporting.min_updates", ["between 1 and"]),
    ({"reporting": {"min_updates": 11}}, "invalid_field", "reporting.min_updates", ["11", "10", "devices_per_round"]),
    ({"reporting": {"deadline_s": -1}}, "invalid_field", "reporting.deadline_s", ["between 0 and"]),
    ({"reporting": {"grace_s": -1}}, "invalid_field", "reporting.grace_s", ["between 0 and"]),
    ({"evaluation": {"every": 0}}, "invalid_field", "evaluation.every", ["between 1 and"]),
    ({"systems": {"straggler_fraction": 2}}, "invalid_field", "systems.straggler_fraction", ["between 0 and 1"]),
    ({"systems": {"straggler_fraction": -0.1}}, "invalid_field", "systems.straggler_fraction", ["between 0 and 1"]),
    ({"systems": {"steps_per_s": 0}}, "invalid_field", "systems.steps_per_s", ["above 0", "lognormal"]),
    ({"systems": {"up_bytes_per_s": {"normal": {}}}}, "invalid_field", "systems.up_bytes_per_s", ["above 0", "lognormal"]),
    ({"systems": {"steps_per_s": {"lognormal": {"median": 1}}}}, "missing_field", "systems.steps_per_s.lognormal.sigma", ["required"]),
    # no such choice
    ({"strategy": {"name": "fedprocks"}}, "invalid_field", "strategy.name", ["fedprocks", "fedavg", "fedprox"]),
    ({"strategy": {"name": "fedavg"}}, "unknown_field", "strategy.params.proximal_mu", ["fedprox"]),
    ({"strategy": {"params": {"weighting": "sum"}}}, "invalid_field", "strategy.params.weighting", ["num_examples", "uniform"]),
    ({"training": {"optimizer": "adagrad"}}, "invalid_field", "training.optimizer", ["sgd", "prox_adam"]),
    ({"training": {"optimizer": "momentum", "momentum": 1}}, "invalid_field", "training.momentum", ["between 0 and 0.999999"]),
    ({"training": {"optimizer": "adam", "beta2": 1}}, "invalid_field", "training.beta2", ["between 0 and 0.999999"]),
    ({"training": {"optimizer": "adam", "beta1": "NaN"}}, "invalid_field", "training.beta1", ["must be a number"]),
    ({"training": {"momentum": 0.9}}, "invalid_field", "training.momentum", ["prox_momentum", "sgd"]),
    ({"training": {"beta1": 0.5}}, "invalid_field", "training.beta1", ["adam", "sgd"]),
    ({"training": {"clip_norm": -1}}, "invalid_field", "training.clip_norm", ["between 1e-12"]),
    ({"training": {"learning_rate_schedule": {"type": "poly"}}}, "invalid_field", "training.learning_rate_schedule.type", ["cosine"]),
    ({"training": {"learning_rate_schedule": {"type": "step"}}}, "missing_field", "training.learning_rate_schedule.step_size", ["required"]),
    ({"reporting": {"on_too_few": "wait"}}, "invalid_field", "reporting.on_too_few", ["extend", "skip", "fail"]),
    ({"evaluation": {"on": "server"}}, "invalid_field", "evaluation.on", ["selected", "all_devices", "none"]),
    ({"retention": {"keep_models": "last:0"}}, "invalid_field", "retention.keep_models", ["all", "last:N"]),
    ({"retention": {"keep_models": "first:3"}}, "invalid_field", "retention.keep_models", ["all", "last:N"]),
    ({"retention": {"keep_updates": "some"}}, "invalid_field", "retention.keep_updates", ["round", "all"]),
    ({"model": {"init": "ones"}}, "invalid_field", "model.init", ["zeros", "glorot_uniform", "he_normal"]),
    ({"model": {"loss": "mse"}}, "invalid_field", "model.loss", ["softmax_cross_entropy"]),
    # what does not go together
    ({"strategy": {"params": {"proximal_mu": {"dynamic": {}}}}, "evaluation": {"on": "none"}}, "invalid_field", "evaluation.on",
     ["all_devices"]),
    ({"strategy": {"params": {"proximal_mu": {"dynamic": {}}}}, "evaluation": {"every": 2}}, "invalid_field", "evaluation.every",
     ["must be 1"]),
    # layers that do not fit
    (layers(), "invalid_field", "model.layers", ["at least 1"]),
    (layers({"type": "relu"}), "invalid_field", "model.layers", ["add a dense layer"]),
    (layers(dense(), {"type": "relu"}), "invalid_field", "model.layers", ["last layer must be dense"]),
    (layers(dense(1)), "invalid_field", "model.layers", ["at least 2"]),
    (layers(dense(0)), "invalid_field", "model.layers[0].units", ["between 1 and"]),
    (layers(dense(-3), dense()), "invalid_field", "model.layers[0].units", ["between 1 and"]),
    (layers(dense(2.5)), "invalid_field", "model.layers[0].units", ["must be an integer"]),
    (layers(dense(), {"type": "dence", "units": 3}), "invalid_field", "model.layers[1].type", ["dense", "relu"]),
    (layers(dense(), 5), "invalid_field", "model.layers[1]", ["must be an object"]),
    (layers(*[dense()] * 257), "invalid_field", "model.layers", ["at most 256"]),
    (layers(dense(10**9)), "invalid_field", "model.layers[0].units", ["the most that is allowed"]),
    (layers(dense(10**18)), "invalid_field", "model.layers[0].units", ["between 1 and"]),
    (layers(dense(10**8), dense(10**8), dense()), "invalid_field", "model.layers[0].units", ["the most that is allowed"]),
    (images([4, 8], CONV, FLAT, dense()), "invalid_field", "model.layers[0].kernel", ["5 x 5", "the image of 4 x 8", "smaller one, or more padding"]),
    (images([8, 8], {"type": "max_pool2d", "size": 9}, FLAT, dense()), "invalid_field", "model.layers[0].size", ["9 x 9", "8 x 8", "smaller"]),
    (images([3, 8, 8], CONV, dense()), "invalid_field", "model.layers[1]", ["dense takes a vector", "an image of 2 x 4 x 4", "flatten"]),
    (images([64], CONV, FLAT, dense()), "invalid_field", "model.input", ["model.layers[0] takes images", "[channels, height, width]"]),
    (images([8, 8], FLAT, CONV, FLAT, dense()), "invalid_field", "model.layers[1]", ["conv2d takes an image", "a vector of 64"]),
    (images([8, 2], {"type": "embedding", "vocabulary": 5, "dim": 2}, dense()), "invalid_field", "model.input", ["tokens", "[steps]"]),
    (images([8], {"type": "embedding", "vocabulary": 5, "dim": 2}, dense()), "invalid_field", "model.layers[1]",
     ["dense takes a vector", "a sequence of 8 steps of 2", "flatten", "last"]),
    (images([8], dense(), {"type": "lstm", "units": 3}, dense()), "invalid_field", "model.layers[1]", ["lstm takes a sequence", "embedding"]),
    (preset("resnet"), "invalid_field", "model.preset", ["resnet", "softmax, mlp, cnn, char_lstm, sent_lstm"]),
    (preset("cnn", input=[784]), "invalid_field", "model.input", ["images", "[channels, height, width]"]),
    (preset("sent_lstm", classes=2), "invalid_field", "model.classes", ["one output", "leave it out"]),
    (preset("char_lstm", vocabulary="abca"), "invalid_field", "model.vocabulary", ["\"a\" (U+0061) twice"]),
    (preset("char_lstm", vocabulary="abc", classes=2), "invalid_field", "model.vocabulary", ["3 characters", "room for 2"]),
    (preset("mlp", vocabulary="abc"), "invalid_field", "model.vocabulary", ["first layer is no embedding"]),
    ({"model": {"input": []}}, "invalid_field", "model.input", ["at least 1"]),
    ({"model": {"input": [0]}}, "invalid_field", "model.input", ["1 or more"]),
    ({"model": {"input": [-60]}}, "invalid_field", "model.input", ["1 or more"]),
    ({"model": {"input": ["60"]}}, "invalid_field", "model.input", ["integer"]),
    ({"model": {"input": [2**40, 2**40]}}, "invalid_field", "model.input", ["at most"]),
    ({"model": {"input": [1] * 9}}, "invalid_field", "model.input", ["at most 8"]),
    (tensors({"name": "w", "shape": [2, -1]}), "invalid_field", "model.tensors[0].shape", ["0 or more"]),
    (tensors({"name": "w", "shape": [2]}, {"name": "w", "shape": [2]}), "invalid_field", "model.tensors[1].name", ["w"]),
    (tensors({"name": "w", "shape": [2], "dtype": "F23"}), "invalid_field", "model.tensors[0].dtype", ["F32"]),
    (tensors({"name": "w", "shape": [2**31, 2**31]}), "invalid_field", "model.tensors[0].shape", ["the most that is allowed"]),
    (tensors({"name": "w", "shape": [2**40, 2**40]}), "invalid_field", "model.tensors[0].shape", ["too large"]),
    (tensors({"name": "i", "shape": [2], "dtype": "I64"}), "invalid_field", "model.tensors", ["F32"]),
]


def good_spec():
    return synthetic_run(num_rounds=1, autostart=False)


def spec_of(changes):
    return merged(good_spec(), changes)


def problem(reply, code, field, words):
    assert reply.status == 400 and reply.headers["Content-Type"] == "application/problem+json", reply
    assert (reply.json["code"], reply.json.get("field")) == (code, field), reply
    for word in words:
        assert word in reply.json["detail"], "\"%s\" is not in the detail: %r" % (word, reply)


def test_bad_run_specs_are_refused_by_name_and_nothing_is_made(lab):
    lab.start_server()
    before = lab.everything()
    harness.all_of(BAD, lambda changes, code, field, words:
           problem(lab.admin.post("/api/v1/runs", spec_of(changes)), code, field, words))
    assert lab.everything() == before
    assert lab.admin.post("/api/v1/runs", good_spec()).status == 201  # it is the changes that are bad


def test_numbers_that_are_none_are_malformed_json(lab):
    lab.start_server()
    before = lab.everything()
    for value in (NAN, INFINITY, -INFINITY):
        for changes in ({"num_rounds": value}, {"training": {"learning_rate": value}},
                        {"strategy": {"params": {"proximal_mu": value}}}):
            reply = lab.admin.post("/api/v1/runs", spec_of(changes))  # Python writes NaN and Infinity as they are
            assert reply.status == 400 and reply.json["code"] == "malformed_json", reply
            assert "line 1, column" in reply.json["detail"], reply
    too_large = json.dumps(good_spec()).replace('"learning_rate": 0.01', '"learning_rate": 1e999').encode()
    reply = lab.admin.request("POST", "/api/v1/runs", too_large, headers={"Content-Type": "application/json"})
    assert b"1e999" in too_large and reply.status == 400 and reply.json["code"] == "malformed_json", reply
    assert lab.everything() == before


def test_a_bad_change_of_a_run_changes_nothing(lab):
    lab.start_server()
    run_id = lab.submit(good_spec())
    before = lab.run(run_id)
    config = "/api/v1/runs/%s/config" % run_id

    def check(changes, code, field, words):
        problem(lab.admin.request("PATCH", config, changes), code, field, words)
    harness.all_of([
        ({"training": {"learning_rat": 1}}, "unknown_field", "training.learning_rat", ["learning_rate"]),
        ({"training": {"learning_rate": 0}}, "invalid_field", "training.learning_rate", ["between"]),
        ({"training": {"local_steps": 1, "local_epochs": 1}}, "invalid_field", "training.local_steps", ["not both"]),
        ({"training": 1}, "invalid_field", "training", ["must be an object"]),
        ({"strategy": {"params": {"proximal_muu": 1}}}, "unknown_field", "strategy.params.proximal_muu", ["proximal_mu"]),
        ({"strategy": {"name": "fedavg"}}, "unknown_field", "strategy.name", ["only strategy.params"]),
        ({"strategy": []}, "invalid_field", "strategy", ["must be an object"]),
        ({"reporting": {"min_updates": 11}}, "invalid_field", "reporting.min_updates", ["devices_per_round"]),
        ({"evaluation": {"on": "moon"}}, "invalid_field", "evaluation.on", ["selected"]),
        ({"num_rounds": 3}, "unknown_field", "num_rounds", ["cannot change"]),
        ({"training": {"learning_rate": 0.5}, "evaluation": {"every": 0}}, "invalid_field", "evaluation.every", ["between"]),
    ], check)
    assert lab.run(run_id) == before


def test_more_devices_than_exist_is_said(lab):
    lab.start_server()
    run = lab.run(lab.submit(small_spec(3)))
    run = harness.wait_for(lambda: (lambda r: r if "0 of 3" in r["status_reason"] else None)(lab.run(run["id"])), "the reason")
    assert run["status"] == "waiting_for_devices", run
    for selection, words in (({"population": 31}, "30 of 31"), ({"population": None, "devices_per_round": 31}, "30 of at least 31")):
        done = simulate(lab, merged(good_spec(), {"selection": selection, "autostart": None}))
        complains(done, "selection", [words, "selection.population"])


# ---- the command line ----

def simulate(lab, spec, *options):
    path = spec if isinstance(spec, str) else lab.write("spec.json", spec)
    return subprocess.run([harness.program("fedlane"), "simulate", path, "--threads", "1", "--format", "jsonl", *options],
                          capture_output=True, text=True, timeout=harness.TIMEOUT_S, cwd=lab.folder)


def complains(done, field, words):
    said = "exit %d, stdout %r, stderr %r" % (done.returncode, done.stdout[-500:], done.stderr[-1000:])
    assert done.returncode == USAGE and not done.stdout, said
    assert done.stderr.count("\n") == 1, said
    for word in [field, *words]:
        assert word in done.stderr, "\"%s\" is not in %s" % (word, said)


def test_simulate_refuses_the_same_specs(lab):
    harness.all_of(BAD, lambda changes, code, field, words: complains(simulate(lab, spec_of(changes)), field, words))
    assert simulate(lab, merged(good_spec(), {"autostart": None})).returncode == 0


def test_submit_refuses_the_same_specs(lab):
    lab.start_server()
    before = lab.everything()

    def check(changes, code, field, words):
        complains(lab.cli("run", "submit", lab.write("spec.json", spec_of(changes)), check=False), field, words)
    harness.all_of(BAD[::6], check)
    assert lab.everything() == before


def test_spec_files_that_cannot_be_read(lab):
    lab.start_server()
    before = lab.everything()
    cases = [("nowhere.json", None, ["nowhere.json", "No such file"]), ("empty.json", "", ["empty.json", "line 1"]),
             ("cut.json", '{"num_rounds": 5,\n "model": {', ["cut.json", "line 2"]),
             ("nan.json", '{"num_rounds": NaN}', ["nan.json", "line 1", "NaN"]),
             ("twice.json", '{"seed": 1, "seed": 2}', ["twice.json", "duplicate"]),
             ("list.json", "[1]", ["list.json", "object"])]
    for name, text, words in cases:
        path = lab.path(name) if text is None else lab.write(name, text)
        complains(simulate(lab, path), name, words)
        complains(lab.cli("run", "submit", path, check=False), name, words)
    complains(simulate(lab, lab.folder), lab.folder, ["directory"])
    good = lab.write("good.json", merged(good_spec(), {"autostart": None}))
    for change, words in (("training.learning_rat=1", ["training.learning_rat", "learning_rate"]), ("num_rounds=-1", ["num_rounds"]),
                          ("num_rounds", ["=", "missing"]), ("model.layers[7].units=3", ["model.layers[7]", "no element"]),
                          ("num_rounds.x=1", ["num_rounds", "plain value"]), ("=1", ["name"])):
        complains(simulate(lab, good, "--set", change), "", words)
        complains(lab.cli("run", "submit", good, "--set", change, check=False), "", words)
    assert lab.everything() == before


# ---- data ----

def test_bad_data_is_refused_by_name(lab):
    def check(data, field, words):
        complains(simulate(lab, merged(good_spec(), {"data": data, "autostart": None})), field, words)
    harness.all_of([
        (None, "data", ["source", "synthetic"]),
        ({"source": "syntetic"}, "data.source", ["synthetic", "fashion_mnist", "idx"]),
        ({"source": None}, "data.source", ["synthetic", "fashion_mnist", "idx"]),
        ({"alfa": 1}, "data.alfa", ["alpha"]),
        ({"alpha": "1"}, "data.alpha", ["must be a number"]),
        ({"alpha": -1}, "data.alpha", ["between"]),
        ({"devices": 0}, "data.devices", ["between 1 and"]),
        ({"devices": 10**12}, "data.devices", ["between 1 and"]),
        ({"seed": -1}, "data.seed", ["between 0 and"]),
    ], check)


def test_what_cannot_start_is_refused_and_leaves_nothing(lab):
    def check(changes, field, words):
        for options in ([], ["--seeds", "1,2"]):
            complains(simulate(lab, merged(good_spec(), dict(changes, autostart=None)), "--out", "out/of", *options), field, words)
            assert not os.path.exists(lab.path("out")), (changes, options)
    harness.all_of([
        ({"model": {"input": [61]}}, "model.input", ["60", "61"]),
        (layers(dense(3)), "model.layers", ["10", "3"]),
        (tensors({"name": "w", "shape": [3], "dtype": "F32"}), "model.tensors", ["model.layers"]),
        ({"dataset": "other"}, "dataset", ["other", "synthetic"]),
        ({"selection": {"population": 31}}, "selection", ["30 of 31", "missing ordinals 30"]),
        ({"selection": {"population": None, "devices_per_round": 31}}, "selection", ["30 of at least 31"]),
        ({"selection": {"require_labels": {"colour": "red"}}}, "selection", ["required labels"]),
        ({"data": {"first_ordinal": 5}}, "selection", ["missing ordinals 0, 1, 2, 3, 4"]),
        ({"data": {"devices": 0}}, "data.devices", ["between"]),
        ({"systems": {"trace": "nowhere.csv"}}, "systems.trace", ["nowhere.csv"]),
    ], check)


def idx(magic, dims, content):
    return struct.pack(">4B", *magic) + struct.pack(">%dI" % len(dims), *dims) + content


IMAGES = idx((0, 0, 8, 3), (40, 2, 2), bytes(range(160)))
LABELS = idx((0, 0, 8, 1), (40,), bytes([0, 1] * 20))


def image_spec(images="images", labels="labels"):
    return {"seed": 1, "num_rounds": 1, "model": {"input": [4], "layers": [dense(2)]}, "training": {"learning_rate": 0.1},
            "data": {"source": "idx", "train_images": images, "train_labels": labels, "partition": {"name": "iid", "devices": 2}},
            "selection": {"devices_per_round": 2, "population": 2}}


def put(lab, name, content):
    with open(lab.path(name), "wb") as f:
        f.write(content)


def test_damaged_data_files_are_named_with_the_offset(lab):
    put(lab, "images", IMAGES)
    put(lab, "labels", LABELS)
    assert simulate(lab, image_spec()).returncode == 0
    packed = gzip.compress(IMAGES, mtime=0)
    flipped = packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]  # in the checksum
    wrong_kind = bytes([0, 0, 13]) + IMAGES[3:]
    cases = [(IMAGES[:n], "byte %d" % n, "truncated") for n in (0, 3, 7, 15)]
    cases += [(IMAGES[:n], "byte %d" % n, "truncated") for n in (16, 17, 100, len(IMAGES) - 1)]
    cases += [(packed[:n], "byte", "") for n in (1, 5, 12, 30, len(packed) - 8, len(packed) - 1)]
    cases += [(flipped, "byte", "damaged"), (packed[:20] + b"\xff\xff\xff\xff" + packed[24:], "byte", ""),
              (IMAGES + b"x", "byte %d" % len(IMAGES), "goes on"), (gzip.compress(IMAGES + b"x"), "byte %d" % len(IMAGES), "goes on"),
              (gzip.compress(IMAGES[:100]), "byte 100", "truncated"), (b"PK" + IMAGES[2:], "byte 0", "no IDX file"),
              (wrong_kind, "byte 2", "0x0d"), (LABELS, "byte 3", "exchanged"), (IMAGES[:4] + b"\0" * 4 + IMAGES[8:], "byte 4", "0"),
              (IMAGES[:4] + b"\xff" * 12, "byte", "truncated"), (gzip.compress(IMAGES[:4] + b"\xff" * 12), "byte", "truncated")]

    def check(number):
        content, place, word = cases[number]
        put(lab, "bad-images", content)
        complains(simulate(lab, image_spec("bad-images")), "data.train_images", ["bad-images", place, word])
    harness.all_of([(n,) for n in range(len(cases))], check)
    for content, place, word in ((LABELS[:20], "byte 20", "truncated"), (IMAGES, "byte 3", "exchanged"),
                                 (idx((0, 0, 8, 1), (39,), LABELS[8:47]), "", "40")):
        put(lab, "bad-labels", content)
        complains(simulate(lab, image_spec(labels="bad-labels")), "data.train_labels", ["bad-labels", place, word])


def test_data_files_that_are_not_there(lab):
    put(lab, "images", IMAGES)
    put(lab, "labels", LABELS)
    os.mkdir(lab.path("folder"))
    os.mkfifo(lab.path("pipe"))
    for data, field in (({"source": "idx", "train_images": "pipe", "train_labels": "labels"}, "data.train_images"),
                        ({"source": "csv", "path": "pipe", "label": "y"}, "data.path"), ({"source": "leaf", "path": "pipe"}, "data.path"),
                        ({"source": "npy", "x": "pipe", "y": "labels"}, "data.x"), ({"source": "npy", "path": "pipe"}, "data.path")):
        complains(simulate(lab, merged(merged(image_spec(), {"data": None}), {"data": data})), field, ["pipe", "not a regular file"])
    complains(simulate(lab, image_spec("nowhere")), "data.train_images", ["nowhere", "No such file", "relative"])
    complains(simulate(lab, image_spec(labels="folder")), "data.train_labels", ["folder", "not a regular file"])
    complains(simulate(lab, merged(image_spec(), {"data": {"test_images": "images"}})), "data.test_labels", ["both or neither"])
    complains(simulate(lab, merged(image_spec(), {"data": {"classes": 1}})), "", ["labels", "byte 9", "classes"])


def array(rows, dtype):
    """The bytes of a .npy file, without NumPy."""
    shape = "(%d, %d)" % (len(rows), len(rows[0])) if isinstance(rows[0], tuple) else "(%d,)" % len(rows)
    head = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (dtype, shape)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    values = [v for row in rows for v in (row if isinstance(row, tuple) else (row,))]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(values), {"f4": "f", "i4": "i"}[dtype]), *values)


def leaf(x, y, **more):
    users = {"ann": {"x": [[0, 1], [1, 0]], "y": [0, 1]}, "bob": {"x": x, "y": y}}
    return {"users": list(users), "num_samples": [len(u["y"]) for u in users.values()], "user_data": users, **more}


GOOD_CSV = "a,b,who,y\n0,1,ann,0\n1,0,ann,1\n2,1,bob,0\n1,3,bob,1\n"
TWEETS = "label,text\n0,bad\n1,good\n"
VECTORS = "bad 1 2\ngood 3 4\n"
TABLE = {"source": "csv", "path": "d.csv", "label": "y", "device": "who"}
PAIR = {"source": "npy", "x": "x.npy", "y": "y.npy"}
SENTIMENT = {"source": "sentiment", "path": "t.csv", "vectors": "v.txt"}
FOLDER = {"source": "directory", "path": "d", "label": "y"}
TEXT = {"source": "text", "path": "texts", "window": 4}

# files, data -> field, words: the file, the place, and what is wrong or to be done
BAD_DATA = [
    # no examples, or too few
    ({"d.csv": GOOD_CSV + "2,2,eve,1\n"}, TABLE, "data.path", ['device 2 "eve" has 1 example', "needs two", "leave it out"]),
    ({"d/a.csv": "a,y\n1,0\n2,1\n", "d/b.csv": "a,y\n"}, FOLDER, "data.path", ["d/b.csv, line 1", "no row"]),
    ({"l.json": leaf([], [])}, {"source": "leaf", "path": "l.json"}, "data.path", ['device 1 "bob" has 0 examples', "leave it out"]),
    ({"x.npy": array([(1.0, 2.0)], "f4"), "y.npy": array([1], "i4")}, PAIR, "data.path", ["device 0 has 1 example"]),
    ({"texts/a.txt": "abcdefghij", "texts/b.txt": "abc"}, TEXT, "data.path", ["texts/b.txt: has 3 characters", "needs 5", "data.window"]),
    ({"texts/a.txt": ""}, TEXT, "data.path", ["texts/a.txt: has 0 characters"]),
    ({"t.csv": "label,text\n0,bad\n", "v.txt": VECTORS}, SENTIMENT, "data.path", ["has 1 example"]),
    # labels that are no class
    ({"d.csv": GOOD_CSV + "1,1,bob,2\n"}, {**TABLE, "classes": 2}, "data.path", ['d.csv, line 6, column "y"', "label 2", "0 to 1"]),
    ({"d.csv": GOOD_CSV + "1,1,bob,-1\n"}, TABLE, "data.path", ['line 6, column "y"', "label -1", "count from 0"]),
    ({"d.csv": GOOD_CSV}, {**TABLE, "classes": ["0", "2"]}, "data.path", ['line 3, column "y"', 'label "1"', "data.classes"]),
    ({"l.json": leaf([[1, 1]] * 2, [0, 7])}, {"source": "leaf", "path": "l.json", "classes": 3}, "data.path",
     ["l.json, byte", 'user "bob"', "label 7", "0 to 2"]),
    ({"x.npy": array([(1.0, 2.0)] * 3, "f4"), "y.npy": array([0, 1, 9], "i4")}, {**PAIR, "classes": 3}, "data.y",
     ["y.npy, byte 136", "label 9", "0 to 2", "example 2"]),
    ({"t.csv": TWEETS + "3,good\n", "v.txt": VECTORS}, SENTIMENT, "data.path", ['t.csv, line 4, column "label"', "label 3", "0, or 1 or 4"]),
    # what is no number
    ({"d.csv": GOOD_CSV + "1,nan,bob,1\n"}, TABLE, "data.path", ['d.csv, line 6, column "b"', "no finite number", "leave the row out"]),
    ({"d.csv": GOOD_CSV + "-inf,1,bob,1\n"}, TABLE, "data.path", ['d.csv, line 6, column "a"', "no finite number"]),
    ({"l.json": json.dumps(leaf([[1, NAN], [1, 1]], [0, 1]))}, {"source": "leaf", "path": "l.json"}, "data.path", ["l.json, byte", "NaN"]),
    ({"x.npy": array([(1.0, 2.0), (0.0, NAN)], "f4"), "y.npy": array([0, 1], "i4")}, PAIR, "data.x", ["x.npy, byte 140", "nan"]),
    ({"t.csv": TWEETS, "v.txt": "bad 1 2\ngood 3 nan\n"}, SENTIMENT, "data.vectors", ['v.txt, line 2: number 2 of "good"', "no finite number"]),
    # vectors and texts
    ({"t.csv": TWEETS, "v.txt": "bad 1 2\ngood 3\n"}, SENTIMENT, "data.vectors", ["v.txt, line 2: has 1 numbers behind its word, not 2"]),
    ({"t.csv": TWEETS, "v.txt": "gut 1 2\n"}, SENTIMENT, "data.vectors", ["v.txt: has none of the 2 different words"]),
    ({"texts/a.txt": b"abcdefg\xff"}, TEXT, "data.path", ["texts/a.txt, byte 7", "no UTF-8"]),
    ({"texts/a.txt": "abcdefg~"}, {**TEXT, "unknown": ""}, "data.path", ["texts/a.txt, byte 7", '"~" (U+007E) is not in the vocabulary', "data.unknown"]),
    ({"texts/a.txt": "abcdefg"}, {**TEXT, "vocabulary": "abca"}, "data.vocabulary", ['has "a" (U+0061) twice']),
    ({"texts/a.txt": "abcdefg"}, {**TEXT, "vocabulary": {"file": "none.json"}}, "data.vocabulary", ["none.json", "No such file"]),
]


def test_bad_data_files_are_refused_by_workers_and_simulations(lab):
    """With the file and the place, before anything is registered or trained."""
    lab.start_server()
    spec = {"num_rounds": 1, "model": {"input": [2], "layers": [dense(2)]}, "training": {"learning_rate": 0.1}}

    def check(files, data, field, words):
        folder = tempfile.mkdtemp(dir=lab.folder)
        for name, content in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            content = json.dumps(content) if isinstance(content, dict) else content
            with open(path, "wb") as f:
                f.write(content if isinstance(content, bytes) else content.encode())
        for name, content in (("spec.json", {**spec, "data": data}), ("data.json", data)):
            with open(os.path.join(folder, name), "w") as f:
                json.dump(content, f)
        for argv, status in (([harness.program("fedlane"), "simulate", "spec.json", "--out", "out"], USAGE),
                             ([harness.program("fedlane-worker"), "--server", lab.url, "--enroll-token-file", lab.enroll_file(),
                               "--data", "data.json", "--state-dir", "state"], 1)):
            done = subprocess.run(argv, capture_output=True, text=True, timeout=harness.TIMEOUT_S, cwd=folder, stdin=subprocess.DEVNULL)
            said = "%s: exit %d, stdout %r, stderr %r" % (argv[1], done.returncode, done.stdout[-500:], done.stderr[-1000:])
            assert done.returncode == status, said
            for word in [field + ": ", *words]:
                assert word in done.stderr, "\"%s\" is not in %s" % (word, said)
            assert not os.path.exists(os.path.join(folder, "out")), said
    harness.all_of(BAD_DATA, check)
    assert lab.admin.ok("GET", "/api/v1/devices")["items"] == []


def test_devices_whose_data_fit_no_model_of_the_run(lab):
    """What the server knows of the data: shapes and classes. The runs fail before any round."""
    lab.start_server()
    enroll = harness.Client(lab.url, lab.token("enrollment.token"))

    def check(number, device, model, words):
        name = "set-%d" % number
        enroll.ok("POST", "/api/v1/devices", {"name": "odd", "dataset": name, "ordinal": 0, "num_examples": 4, **device})
        run = lab.wait_run(lab.submit({"num_rounds": 1, "dataset": name, "model": model, "training": {"learning_rate": 0.1},
                                       "selection": {"population": 1}}))
        assert run["outcome"] == "failed" and run["round"] == 0, run
        for word in ['device "odd" (ordinal 0)', *words]:
            assert word in run["status_reason"], (word, run)
    harness.all_of([
        (0, {"input": [25, 50], "classes": 2}, {"preset": "sent_lstm"}, ["1250 features, [25,50]", "takes 7500", "model.input"]),
        (1, {"input": [300, 25], "classes": 2}, {"preset": "sent_lstm"}, ["7500 features, [300,25]"]),
        (2, {"input": [28, 28, 1], "classes": 10}, {"preset": "cnn"}, ["784 features, [28,28,1]"]),
        (3, {"input": [784], "classes": 62}, {"preset": "cnn"}, ["62 classes", "10 apart", "unit for each"]),
        (4, {"input": [80], "classes": 81}, {"preset": "char_lstm"}, ["81 classes", "80 apart"]),
        (5, {"input": [80], "classes": 80, "capabilities": {"vocabulary_sha256": "0" * 64}}, {"preset": "char_lstm"},
         ["another vocabulary", "model.vocabulary"]),
    ], check)


def test_vectors_of_another_width_than_the_models(lab):
    put(lab, "t.csv", TWEETS.encode())
    put(lab, "v.txt", VECTORS.encode())
    spec = {"num_rounds": 1, "model": {"preset": "sent_lstm"}, "training": {"learning_rate": 0.1}, "data": SENTIMENT,
            "selection": {"devices_per_round": 1}}
    complains(simulate(lab, spec), "model.input", ["7500 features, [25, 300]", "50, [25, 2]", "data.vectors of another width"])


harness.main(globals())
