#!/usr/bin/python3
"""Local training against PyTorch: loss, gradients and weights after many steps, from the same weights and batches. The
torch side is built from the model's JSON by examples/fedlane_torch.py and orders its batches by docs/algorithms.md."""
from torch_side import fedlane_torch, harness, local_job, numpy, torch

SEED, ROUND, TEST_ROWS = 5, 3, 5
# Of each tensor: of the gradient relative to it, of the weights relative to them and to the way that they went.
GRADIENT = 1e-5
WEIGHTS, WAY = 1e-4, 1e-3
# A pixel that is the largest of its window for one of them only, or above 0, takes the way elsewhere, in PyTorch's own float32 as
# well (7e-4 from float64). The larger the steps, the more so: they are small here, which leaves a tenth of the bar.
CNN_WEIGHTS, KINKED_WAY = 5e-3, 5e-2



def dense(units):
    return {"type": "dense", "units": units}


def conv(filters, kernel, **more):
    return {"type": "conv2d", "filters": filters, "kernel": kernel, **more}


def lstm(units, **more):
    return {"type": "lstm", "units": units, **more}


def embedding(vocabulary, dim):
    return {"type": "embedding", "vocabulary": vocabulary, "dim": dim}


RELU, TANH, FLATTEN, POOL = {"type": "relu"}, {"type": "tanh"}, {"type": "flatten"}, {"type": "max_pool2d", "size": 2}

# The presets as docs/run-spec.md has them; Fedlane gets only their name.
PRESETS = {
    "softmax": ([784], [dense(10)]),
    "mlp": ([784], [dense(200), RELU, dense(200), RELU, dense(10)]),
    "cnn": ([1, 28, 28], [conv(32, 5, padding="same"), RELU, POOL, conv(64, 5, padding="same"), RELU, POOL, FLATTEN, dense(512),
                          RELU, dense(10)]),
    "char_lstm": ([80], [embedding(80, 8), lstm(100, layers=2), dense(80)]),
    "sent_lstm": ([25, 300], [lstm(256, layers=2), dense(30), RELU, dense(1)]),
}

# What the presets do not have; small enough for the plain backend.
OTHERS = {
    "three channels, stride, padding": ([3, 11, 9], [conv(6, 3, stride=2, padding=1), RELU, conv(5, [3, 2], padding=2), TANH,
                                                     FLATTEN, dense(4)]),
    "an even kernel, same": ([2, 8, 8], [conv(7, 4, padding="same"), RELU, POOL, FLATTEN, dense(3)]),
    "an odd image, overlapping pools": ([9, 10], [conv(4, 3), RELU, {"type": "max_pool2d", "size": 3, "stride": 2}, conv(17, 2),
                                                  FLATTEN, dense(6), TANH, dense(3)]),
    "a pool first": ([3, 12, 12], [POOL, conv(8, 3, padding=1), POOL, FLATTEN, dense(5)]),
    "a small cnn": ([1, 8, 8], [conv(6, 5, padding="same"), RELU, POOL, conv(9, 5, padding="same"), RELU, POOL, FLATTEN,
                                dense(20), RELU, dense(10)]),
    "tanh in a row": ([30], [dense(20), TANH, dense(10), TANH, dense(5)]),
    "a small char_lstm": ([20], [embedding(31, 8), lstm(21, layers=2), dense(31)]),
    "every step of an lstm": ([6, 5], [lstm(9, output="all"), TANH, lstm(18, layers=3, output="all"), FLATTEN, dense(4)]),
    "with dropout": ([40], [dense(30), RELU, {"type": "dropout", "rate": 0.5}, dense(4)]),
    "a small sent_lstm": ([7, 12], [lstm(16, layers=2), dense(6), RELU, dense(1)]),
}


def model_of(name):
    """(what Fedlane gets, the same with its layers written out)"""
    shape, layers = {**PRESETS, **OTHERS}[name]
    loss = "sigmoid_cross_entropy" if layers[-1]["units"] == 1 else "softmax_cross_entropy"
    model = {"input": shape, "layers": layers, "loss": loss}
    return ({"preset": name} if name in PRESETS else model), model


def examples(model, rows):
    """Random ones, of which some features are zero, as pixels are."""
    numbers = numpy.random.default_rng(1)
    first, last = model["layers"][0], model["layers"][-1]["units"]
    x = numbers.normal(size=(rows, *model["input"]))
    if first["type"] == "embedding":
        x = numbers.integers(first["vocabulary"], size=x.shape)
    elif first["type"] != "lstm":
        x = numpy.maximum(x, 0)
    return x.astype("<f4"), numbers.integers(max(last, 2), size=rows).astype("<i8")


def mean_loss(model, logits, y):
    if model["loss"] == "sigmoid_cross_entropy":
        return torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], y.float())
    return torch.nn.functional.cross_entropy(logits, y)


def num_correct(logits, y):
    return int(((logits[:, 0] > 0) == (y > 0) if logits.shape[1] == 1 else logits.argmax(1) == y).sum())


# -- the order of batches ------------------------------------------------------------------------------------------

G, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def mix64(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def permutation(n, seed, *words):
    key = mix64(seed + G & MASK)
    for word in words:
        key = mix64((key ^ word) + G & MASK)
    return sorted(range(n), key=lambda i: (mix64(key + (i + 1) * G & MASK), i))


def batches(n, size, steps):
    """Indices of `steps` batches of device 0, epoch after epoch; the last of an epoch may be short."""
    epoch = 0
    while True:
        order = permutation(n, SEED, 12, ROUND, 0, epoch)
        for at in range(0, n, size):
            if steps == 0:
                return
            steps -= 1
            yield order[at:at + size]
        epoch += 1


# -- both sides ----------------------------------------------------------------------------------------------------

class Case:
    def __init__(self, lab, name, rows, training):
        self.given, self.model = model_of(name)
        self.training = training
        self.x, self.y = examples(self.model, rows + TEST_ROWS)
        self.rows, self.lab = rows, lab
        torch.manual_seed(2)
        self.net = fedlane_torch.sequential(self.model)
        self.start = {name: p.clone() for name, p in self.net.state_dict().items()}
        self.weights = lab.path("first.safetensors")
        fedlane_torch.save(self.weights, self.start)

    def ours(self, backend):
        data = self.lab.path("data.npz")
        numpy.savez(data, x=self.x[:self.rows], y=self.y[:self.rows], test_x=self.x[self.rows:], test_y=self.y[self.rows:])
        facts, gradient, weights = local_job(self.lab, backend, {
            "model": self.given, "data": {"source": "npy", "path": data}, "seed": SEED, "round": ROUND, "training": self.training},
            self.weights)
        facts["train_loss"], = facts.pop("train_losses")
        return facts, gradient, weights

    def loss(self, x, y):
        logits = self.net(torch.from_numpy(x))
        return mean_loss(self.model, logits, torch.from_numpy(y)), logits

    def theirs(self):
        """The same by PyTorch."""
        train, test = slice(self.rows), slice(self.rows, None)
        loss, _ = self.loss(self.x[train], self.y[train])
        loss.backward()
        with torch.no_grad():
            test_loss, logits = self.loss(self.x[test], self.y[test])
        facts = {"train_loss": float(loss), "test_loss": float(test_loss),
                 "test_correct": num_correct(logits, torch.from_numpy(self.y[test]))}
        gradient = {name: p.grad.clone() for name, p in self.net.named_parameters()}
        facts["last_loss"] = self.train()
        return facts, gradient, self.net.state_dict()

    def optimizer(self, parameters):
        t = self.training
        common = {"lr": t["learning_rate"], "weight_decay": t.get("weight_decay", 0)}
        if "adam" in t["optimizer"]:
            return torch.optim.Adam(parameters, betas=(t.get("beta1", 0.9), t.get("beta2", 0.999)), eps=t.get("epsilon", 1e-8), **common)
        return torch.optim.SGD(parameters, momentum=t.get("momentum", 0.9) if "momentum" in t["optimizer"] else 0, **common)

    def train(self):
        """docs/algorithms.md; the last batch's F. Plain: w <- w - eta grad (F(w) + mu/2 ||w - w0||^2)."""
        t, parameters, loss = self.training, list(self.net.parameters()), torch.tensor(0.0)
        mu, is_plain, is_prox = t["proximal_mu"], t["optimizer"] == "sgd" and "clip_norm" not in t, t["optimizer"].startswith("prox_")
        anchor = [p.detach().clone() for p in parameters]
        optimizer = self.optimizer(parameters)
        for batch in batches(self.rows, t["batch_size"], t["local_steps"]):
            optimizer.zero_grad()
            loss, _ = self.loss(self.x[batch], self.y[batch])
            distance = sum(((p - p0) ** 2).sum() for p, p0 in zip(parameters, anchor))
            (loss + mu / 2 * distance if is_plain else loss).backward()
            if "clip_norm" in t:
                torch.nn.utils.clip_grad_norm_(parameters, t["clip_norm"])
            pulls = [mu * (p.detach() - p0) for p, p0 in zip(parameters, anchor)]
            for p, pull in zip(parameters, pulls if is_prox else ()):
                p.grad += pull
            optimizer.step()
            with torch.no_grad():
                for p, pull in zip(parameters, () if is_plain or is_prox else pulls):
                    p -= t["learning_rate"] * pull
        return float(loss)


def errors(ours, theirs, start=None):
    """The largest error of a tensor, relative to its norm, or to how far it went from `start`; and its name."""
    assert list(ours) == list(theirs), (list(ours), list(theirs))
    return max((float((ours[n] - t).norm() / (t - start[n] if start else t).norm()), n) for n, t in theirs.items())


def compare(lab, name, backends, rows=25, batch_size=10, steps=100, mu=0.0, learning_rate=0.01, trains=True, optimizer="sgd", **more):
    case = Case(lab, name, rows, {"batch_size": batch_size, "local_steps": steps, "proximal_mu": mu, "learning_rate": learning_rate,
                                  "optimizer": optimizer, **more})
    facts, gradient, weights = case.theirs()
    kinds = {layer["type"] for layer in case.model["layers"]}
    most = CNN_WEIGHTS if "conv2d" in kinds else WEIGHTS
    way = KINKED_WAY if kinds & {"relu", "max_pool2d"} else WAY
    for backend in backends:
        our_facts, our_gradient, our_weights = case.ours(backend)
        of_gradient, of_weights = errors(our_gradient, gradient), errors(our_weights, weights)
        of_way = errors(our_weights, weights, case.start)
        line = "%s, %s, mu %g, %s: gradient %.1e (%s), %d steps %.1e (%s), of the way %.1e (%s)" % (
            name, optimizer, mu, backend, *of_gradient, steps, *of_weights, *of_way)
        print("    " + line)
        assert of_gradient[0] <= GRADIENT, line
        assert our_facts["test_correct"] == facts["test_correct"], (line, our_facts, facts)
        limits = {"train_loss": GRADIENT, "test_loss": GRADIENT, **({"last_loss": most} if trains else {})}
        for key, limit in limits.items():
            assert abs(our_facts[key] / facts[key] - 1) <= limit, (line, key, our_facts, facts)
        assert (of_weights[0] <= most and of_way[0] <= way) or not trains, line


def test_the_presets(lab):
    """A hundred steps each on the fast backend."""
    compare(lab, "softmax", ["openblas"], mu=1.0)
    compare(lab, "mlp", ["openblas"], mu=1.0)
    compare(lab, "cnn", ["openblas"], mu=1.0, learning_rate=0.003)
    compare(lab, "char_lstm", ["openblas"], mu=0.001, learning_rate=0.8, batch_size=3)
    compare(lab, "sent_lstm", ["openblas"], mu=0.01, learning_rate=0.3, batch_size=3)


def test_the_presets_on_the_plain_backend(lab):
    """Sums in double are slow: few examples, few steps."""
    for name in PRESETS:
        compare(lab, name, ["reference"], rows=3, batch_size=2, steps=2, mu=0.5)


def test_other_models(lab):
    for name in (n for n in OTHERS if n != "with dropout"):
        for mu in (0.0, 0.5):
            compare(lab, name, ["reference", "openblas"], rows=23, batch_size=6, mu=mu,
                    learning_rate=0.01 if "conv2d" in str(OTHERS[name]) else 0.05)


def test_dropout_is_off_where_nothing_is_trained(lab):
    """In losses and full gradients."""
    compare(lab, "with dropout", ["reference", "openblas"], steps=1, trains=False)


def test_optimizers(lab):
    """Steps so large that the way is more than rounding."""
    for name, faster in (("tanh in a row", 1), ("a small cnn", 1), ("a small char_lstm", 10)):
        for optimizer, rate, more in (("momentum", 0.01, {}), ("momentum", 0.01, {"momentum": 0.5, "weight_decay": 0.01}),
                                      ("adam", 0.001, {}), ("adam", 0.001, {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6, "clip_norm": 0.1}),
                                      ("prox_momentum", 0.01, {}), ("prox_adam", 0.001, {"epsilon": 1e-4, "weight_decay": 0.001}),
                                      ("sgd", 0.05, {"clip_norm": 0.2, "weight_decay": 0.1})):
            compare(lab, name, ["reference", "openblas"], rows=23, batch_size=6, steps=15, mu=0.5, learning_rate=faster * rate,
                    optimizer=optimizer, **more)


harness.main(globals())
