"""Synthetic(alpha, beta) as `fedlane simulate` draws it (docs/datasets.md), in NumPy, for the loops that it is timed against: the same
examples on the same devices, the same selection, so as many steps. Only the order within an epoch is NumPy's or PyTorch's own."""
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "scenario"))
from streams import GOLDEN, key  # noqa: E402

FEATURES, CLASSES, DEVICES = 60, 10, 30
SIZES, U, B, V, W, BIAS, X, SPLIT, SELECT = 1, 2, 3, 4, 5, 6, 7, 8, 9


def outputs(stream, n):
    z = np.uint64(stream) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def normals(stream, n):
    bits = (outputs(stream, n + n % 2) >> np.uint64(11)).astype(np.float64)
    radius = np.sqrt(-2 * np.log((bits[0::2] + 1) * 2.0 ** -53))
    angle = 2 * math.pi * bits[1::2] * 2.0 ** -53
    z = np.empty(n + n % 2)
    z[0::2], z[1::2] = radius * np.cos(angle), radius * np.sin(angle)
    return z[:n]


def permutation(stream, n):
    return np.argsort(outputs(stream, n), kind="stable")


def devices(seed, alpha=1.0, beta=1.0):
    """For each device (train x, train y, test x, test y); float32 and int64."""
    sizes = [int(math.exp(4 + 2 * z)) + 50 for z in normals(key(seed, SIZES), DEVICES)]
    u = alpha * normals(key(seed, U), DEVICES)
    b = beta * normals(key(seed, B), DEVICES)
    sd = np.sqrt(np.arange(1, FEATURES + 1) ** -1.2)
    result = []
    for k, n in enumerate(sizes):
        v = b[k] + normals(key(seed, V, k), FEATURES)
        w = (u[k] + normals(key(seed, W, k), CLASSES * FEATURES)).reshape(CLASSES, FEATURES)
        bias = u[k] + normals(key(seed, BIAS, k), CLASSES)
        x = v + sd * normals(key(seed, X, k), n * FEATURES).reshape(n, FEATURES)
        y = np.argmax(x @ w.T + bias, axis=1)
        order = permutation(key(seed, SPLIT, k), n)
        x, y, train = x[order].astype(np.float32), y[order], 9 * n // 10
        result.append((x[:train], y[:train], x[train:], y[train:]))
    return result


def selection(seed, t, count):
    return permutation(key(seed, SELECT, t), DEVICES)[:count]
