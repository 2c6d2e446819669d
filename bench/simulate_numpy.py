#!/usr/bin/env python3
"""FedProx on Synthetic(1,1) as a NumPy user writes it well: each epoch shuffled at once, batches are views, a batch is one product
forwards and one backwards. usage: simulate_numpy.py SEED ROUNDS; prints steps, seconds, processor seconds, final loss, final accuracy."""
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # products of ten rows are slower on two
import numpy as np  # noqa: E402

import simulate_data as data  # noqa: E402


def evaluate(x, y, tx, ty, w, b):
    z = x @ w + b
    z -= z.max(axis=1, keepdims=True)
    loss = (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]).mean()
    return loss, ((tx @ w + b).argmax(axis=1) == ty).mean()


def train(x, y, w0, b0, job, rng):
    w, b, n, steps = w0.copy(), b0.copy(), len(y), 0
    batch, rate, mu = job["batch_size"], np.float32(job["learning_rate"]), np.float32(job["mu"])
    rows = np.arange(batch)
    for _ in range(job["local_epochs"]):
        order = rng.permutation(n)
        xs, ys = x[order], y[order]
        for first in range(0, n, batch):
            xb, yb = xs[first:first + batch], ys[first:first + batch]
            p = xb @ w + b
            p -= p.max(axis=1, keepdims=True)
            np.exp(p, out=p)
            p /= p.sum(axis=1, keepdims=True)
            p[rows[:len(yb)], yb] -= 1
            p /= len(yb)
            w -= rate * (xb.T @ p + mu * (w - w0))
            b -= rate * (p.sum(axis=0) + mu * (b - b0))
            steps += 1
    return w, b, steps


def main():
    seed, rounds = int(sys.argv[1]), int(sys.argv[2])
    job = {"local_epochs": 20, "batch_size": 10, "learning_rate": 0.01, "mu": 1.0}
    devices = data.devices(seed)
    everything = [np.concatenate([d[i] for d in devices]) for i in range(4)]
    w, b = np.zeros((data.FEATURES, data.CLASSES), np.float32), np.zeros(data.CLASSES, np.float32)
    rng, steps = np.random.default_rng(seed), 0
    start, cpu = time.perf_counter(), time.process_time()
    for t in range(rounds):
        evaluate(*everything, w, b)
        total, w_sum, b_sum = 0, np.zeros(w.shape), np.zeros(b.shape)
        for k in data.selection(seed, t, 10):
            x, y = devices[k][:2]
            w_k, b_k, done = train(x, y, w, b, job, rng)
            w_sum += len(y) * w_k
            b_sum += len(y) * b_k
            total += len(y)
            steps += done
        w, b = (w_sum / total).astype(np.float32), (b_sum / total).astype(np.float32)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(steps, seconds, cpu, *evaluate(*everything, w, b))


main()
