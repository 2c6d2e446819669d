"""Fedlane's models in PyTorch, and PyTorch's weights in Fedlane (docs/pytorch.md).

    model = sequential(spec["model"])                      # the "model" of a run's own spec
    model.load_state_dict(load("model.safetensors"))       # what `fedlane model pull` wrote
    save("first.safetensors", model.state_dict())          # what a run may begin with

Tensors have the names and shapes that PyTorch gives them, so nothing is renamed or turned around. It needs torch and numpy,
not the package safetensors: the format is a length, a JSON header and the numbers."""
import json
import math

import numpy
import torch
from torch import nn


def load(path):
    """{name: tensor} of a safetensors file of floats."""
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[begin:end], {"F32": "<f4", "F16": "<f2", "F64": "<f8"}[entry["dtype"]])
        tensors[name] = torch.from_numpy(values.astype("f4").reshape(entry["shape"]))
    return tensors


def save(path, tensors):
    """The other way, as float32."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        values = tensor.detach().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


class Tokens(nn.Embedding):
    """Of tokens that come as floats."""
    def forward(self, x):
        return super().forward(x.long())


class Lstm(nn.LSTM):
    """Puts out the last step, or all of them, without the states."""
    def __init__(self, inputs, units, layers, puts_out):
        super().__init__(inputs, units, layers, batch_first=True)
        self.puts_out = puts_out

    def forward(self, x):
        steps = super().forward(x)[0]
        return steps[:, -1] if self.puts_out == "last" else steps


class Model(nn.Sequential):
    """Layers by their place in the run spec, so that a tensor's name begins with it. Takes examples in any form of the
    right size, [rows, features] too, and puts out logits."""
    def __init__(self, layers, shape):
        super().__init__(*layers)
        self.shape = shape

    def forward(self, x):
        return super().forward(x.reshape(-1, *self.shape))


def input_shape(model):
    """What an example is, the first layer decides that minds."""
    given = model["input"]
    takes = next((l["type"] for l in model["layers"] if l["type"] not in ("relu", "tanh", "dropout")), "dense")
    if takes in ("conv2d", "max_pool2d"):
        return given if len(given) == 3 else [1, *given]
    return given if takes in ("lstm", "embedding") else [math.prod(given)]


def convolution(layer, channels):
    return nn.Conv2d(channels, layer["filters"], layer["kernel"], stride=layer.get("stride", 1), padding=layer.get("padding", 0))


def module(layer, shape):
    """One layer that takes `shape`: [features], [channels, height, width], [steps, features] or [tokens]."""
    return {
        "dense": lambda: nn.Linear(shape[0], layer["units"]),
        "conv2d": lambda: convolution(layer, shape[0]),
        "max_pool2d": lambda: nn.MaxPool2d(layer["size"], layer.get("stride")),
        "flatten": nn.Flatten,
        "relu": nn.ReLU,
        "tanh": nn.Tanh,
        "dropout": lambda: nn.Dropout(layer["rate"]),
        "embedding": lambda: Tokens(layer["vocabulary"], layer["dim"]),
        "lstm": lambda: Lstm(shape[1], layer["units"], layer.get("layers", 1), layer.get("output", "last")),
    }[layer["type"]]()


def sequential(model):
    """The torch module of a run spec's model with its layers written out, with weights of PyTorch's own choice."""
    shape, layers = input_shape(model), []
    example = torch.zeros(1, *shape)
    for layer in model["layers"]:
        layers.append(module(layer, list(example.shape[1:])).eval())
        with torch.no_grad():
            example = layers[-1](example)
    return Model(layers, shape)
