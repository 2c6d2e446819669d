#!/usr/bin/python3
"""Models of runs in PyTorch, and PyTorch's weights in runs, by the commands of docs/pytorch.md."""
import json
import os
import re
import subprocess

from torch_side import EXAMPLES, fedlane_torch, harness, local_job, numpy, torch

CLOSE = 1e-5
MODELS = ("cnn", "char_lstm")


def examples(preset, rows):
    numbers = numpy.random.default_rng(3)
    if preset == "cnn":
        return numbers.uniform(size=(rows, 1, 28, 28)).astype("<f4"), numbers.integers(10, size=rows)
    return numbers.integers(80, size=(rows, 80)).astype("<f4"), numbers.integers(80, size=rows)


def pages_blocks(**names):
    """{language: [code]} of docs/pytorch.md, with the names of runs put in."""
    with open(os.path.join(harness.SRC, "docs", "pytorch.md")) as f:
        text = f.read()
    for name, value in names.items():
        text = text.replace(name, value)
    return {language: re.findall(r"^```%s\n(.*?)^```" % language, text, re.S | re.M) for language in ("sh", "python")}


def shell(lab, code):
    """In the lab's folder; what it writes."""
    if not os.path.exists(lab.path("examples")):
        os.symlink(EXAMPLES, lab.path("examples"))
    env = dict(os.environ, PATH=harness.BIN + os.pathsep + os.environ["PATH"], FEDLANE_SERVER=lab.url, FEDLANE_TOKEN=lab.admin.token)
    done = subprocess.run(["bash", "-euc", code], cwd=lab.folder, env=env, capture_output=True, text=True, timeout=harness.TIMEOUT_S)
    assert done.returncode == 0, (code, done)
    return done.stdout


def start(lab, preset):
    """A worker with one device; the spec of a run on it, and the examples."""
    x, y = examples(preset, 24)
    path = lab.path(preset + ".npz")
    numpy.savez(path, x=x[:16], y=y[:16], test_x=x[16:], test_y=y[16:])
    data = {"source": "npy", "name": preset, "path": path, "classes": 10 if preset == "cnn" else 80}
    lab.start_worker(data, "0", name=preset)
    return {"name": preset, "num_rounds": 2, "dataset": preset, "model": {"preset": preset},
            "training": {"local_steps": 2, "batch_size": 8, "learning_rate": 0.05}, "selection": {"devices_per_round": 1},
            "evaluation": {"on": "all_devices"}}, x, y


def loss(model, x, y):
    with torch.no_grad():
        return float(torch.nn.functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y)))


def our_log_softmax(lab, spec, x, classes):
    """Of every example and class, by Fedlane: the loss of a device that has this example with this label."""
    folder = lab.path("one-by-one")
    os.makedirs(os.path.join(folder, "train"))
    os.mkdir(os.path.join(folder, "test"))  # nobody tests
    for i, row in enumerate(x):
        for label in range(classes):
            numpy.savez(os.path.join(folder, "train", "%03d-%03d.npz" % (i, label)), x=row[None], y=numpy.array([label]))
    facts, _, _ = local_job(lab, "openblas", {
        "model": spec["model"], "data": {"source": "directory", "path": folder, "classes": classes},
        "training": {"batch_size": 1, "local_steps": 1, "learning_rate": 0.1}}, lab.path("model.safetensors"))
    return -numpy.array(facts["train_losses"]).reshape(len(x), classes)


def test_a_trained_model_in_pytorch(lab):
    lab.start_server()
    for preset in MODELS:
        spec, x, y = start(lab, preset)
        run = lab.wait_run(lab.submit(spec))
        assert run["outcome"] == "completed", run
        blocks = pages_blocks(RUN=run["id"])
        shell(lab, blocks["sh"][0])
        with open(lab.path("run.json")) as f:
            own = json.load(f)["spec"]
        assert "preset" not in own["model"] and len(own["model"]["layers"]) > 2, own
        model = fedlane_torch.sequential(own["model"])
        model.load_state_dict(fedlane_torch.load(lab.path("model.safetensors")))
        assert {"0.weight", {"cnn": "7.weight", "char_lstm": "1.weight_ih_l1"}[preset]} <= set(model.state_dict())
        # The run's last figures are those of the model that came out.
        ours = run["metrics"]["values"]
        for name, part in (("train_loss", slice(16)), ("test_loss", slice(16, None))):
            theirs = loss(model, x[part], y[part])
            assert abs(ours[name] / theirs - 1) < CLOSE, (preset, name, ours, theirs)
        with torch.no_grad():
            theirs = model(torch.from_numpy(x[:2])).log_softmax(1).numpy()
        difference = numpy.abs(our_log_softmax(lab, spec, x[:2], theirs.shape[1]) - theirs).max()
        print("    %s: log-probabilities differ by %.1e" % (preset, difference))
        assert difference < CLOSE, (preset, difference)
        if preset == "cnn":  # the page's own lines
            said = shell(lab, "/usr/bin/python3 - <<'END'\n%sEND\n" % blocks["python"][0])
            assert said.startswith("tensor([[") and said.count("[") == 6, said
        subprocess.run(["rm", "-r", lab.path("one-by-one")], check=True)


def test_weights_of_pytorch_as_a_runs_first_model(lab):
    lab.start_server()
    for preset in MODELS:
        spec, x, y = start(lab, preset)
        lab.write("first.json", spec)
        first = lab.submit(dict(spec, autostart=False))
        lab.write("run.json", lab.run(first))
        blocks = pages_blocks(NEXT=first)
        assert not os.path.exists(lab.path("first.safetensors"))
        shell(lab, "/usr/bin/python3 - <<'END'\n%sEND\n" % blocks["python"][1])
        shell(lab, blocks["sh"][1])
        run = lab.wait_run(first)
        assert run["outcome"] == "completed", run
        model = fedlane_torch.sequential(lab.run(first)["spec"]["model"])
        model.load_state_dict(fedlane_torch.load(lab.path("first.safetensors")))
        begin = lab.rounds(first)[0]["metrics"]["train_loss"]
        assert abs(begin / loss(model, x[:16], y[:16]) - 1) < CLOSE, (preset, begin)
        # What does not fit is refused by name.
        tensors = fedlane_torch.load(lab.path("first.safetensors"))
        pending = lab.submit(dict(spec, autostart=False))
        tensors["0.weight"] = tensors["0.weight"][:-1]
        fedlane_torch.save(lab.path("wrong.safetensors"), tensors)
        with open(lab.path("wrong.safetensors"), "rb") as f:
            reply = lab.admin.request("PUT", "/api/v1/runs/%s/models/0/weights" % pending, f.read(),
                                      headers={"Content-Type": "application/vnd.safetensors"})
        assert reply.status == 422, reply
        assert "0.weight" in reply.json["detail"] and "shape" in reply.json["detail"], reply
        os.unlink(lab.path("first.safetensors"))


harness.main(globals())
