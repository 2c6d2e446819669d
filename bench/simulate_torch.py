#!/usr/bin/env python3
"""FedProx on Synthetic(1,1) as a PyTorch user writes it: nn.Linear, SGD, CrossEntropyLoss, the proximal term added to the loss. With
"loader" the batches come from a shuffling DataLoader, as in most examples; else each epoch is shuffled at once and batches are slices,
which is faster. usage: simulate_torch.py SEED ROUNDS THREADS slices|loader; prints steps, seconds, processor seconds,
final loss, final accuracy."""
import copy
import sys
import time

import torch
from torch import nn

import simulate_data as data


def batches(x, y, size, with_loader):
    if with_loader:
        yield from torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=size, shuffle=True)
        return
    order = torch.randperm(len(y))
    yield from zip(x[order].split(size), y[order].split(size))


def train(model, x, y, job, with_loader):
    model, steps = copy.deepcopy(model), 0
    anchor = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=job["learning_rate"])
    criterion = nn.CrossEntropyLoss()
    for _ in range(job["local_epochs"]):
        for xb, yb in batches(x, y, job["batch_size"], with_loader):
            optimizer.zero_grad()
            proximal = sum((p - a).square().sum() for p, a in zip(model.parameters(), anchor))
            loss = criterion(model(xb), yb) + job["mu"] / 2 * proximal
            loss.backward()
            optimizer.step()
            steps += 1
    return model, steps


def evaluate(model, everything):
    x, y, tx, ty = everything
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model(x), y)
        return loss.item(), (model(tx).argmax(dim=1) == ty).float().mean().item()


def average(models, weights):
    result, total = copy.deepcopy(models[0]), sum(weights)
    with torch.no_grad():
        for into, *parts in zip(result.parameters(), *(m.parameters() for m in models)):
            into.copy_(sum(n / total * p for n, p in zip(weights, parts)))
    return result


def run(seed, rounds, with_loader):
    job = {"local_epochs": 20, "batch_size": 10, "learning_rate": 0.01, "mu": 1.0}
    devices = [tuple(torch.from_numpy(a) for a in d) for d in data.devices(seed)]
    everything = [torch.cat([d[i] for d in devices]) for i in range(4)]
    model, steps = nn.Linear(data.FEATURES, data.CLASSES), 0
    for p in model.parameters():
        nn.init.zeros_(p)
    start, cpu = time.perf_counter(), time.process_time()
    for t in range(rounds):
        evaluate(model, everything)
        models, weights = [], []
        for k in data.selection(seed, t, 10):
            x, y = devices[k][:2]
            trained, done = train(model, x, y, job, with_loader)
            models.append(trained)
            weights.append(len(y))
            steps += done
        model = average(models, weights)
    times = time.perf_counter() - start, time.process_time() - cpu
    return steps, *times, *evaluate(model, everything)


def main():
    seed, rounds, threads, how = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(threads)
    print(*run(seed, rounds, how == "loader"))


main()
