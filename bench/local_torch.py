"""The steps of bench/bench_local.c in PyTorch, as a user would write the loop. The same questions: a line "step M" is
answered by the processor's microseconds for one SGD step of model M at batch 10 on one thread. The rows are shuffled
once an epoch and batches are slices. The proximal term is added to the loss, as most examples of FedProx have it; with
the argument "gradients" it is added to the gradients by hand, which is faster."""
import sys
import time

import torch
from torch import nn

BATCH, ROWS, LEARNING_RATE, MU = 10, 100, 0.01, 1.0
BY_HAND = "gradients" in sys.argv


def mlp():
    return nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10))


def cnn():
    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 512),
                         nn.ReLU(), nn.Linear(512, 10))


MODELS = [(60, lambda: nn.Linear(60, 10), 100), (784, lambda: nn.Linear(784, 10), 100), (784, mlp, 10), (784, cnn, 10)]


class Bed:
    def __init__(self, features, make, steps):
        torch.manual_seed(1)
        self.steps = steps
        self.x, self.y = torch.rand(ROWS, features), torch.randint(10, (ROWS,))
        self.model = make()
        self.anchor = [p.detach().clone() for p in self.model.parameters()]
        self.loss = nn.CrossEntropyLoss()
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=LEARNING_RATE)

    def step(self, x, y):
        self.sgd.zero_grad()
        loss = self.loss(self.model(x), y)
        if not BY_HAND:
            loss = loss + MU / 2 * sum((p - p0).square().sum() for p, p0 in zip(self.model.parameters(), self.anchor))
        loss.backward()
        if BY_HAND:
            with torch.no_grad():
                for p, p0 in zip(self.model.parameters(), self.anchor):
                    p.grad.add_(p - p0, alpha=MU)
        self.sgd.step()

    def time(self):
        start = time.thread_time()
        done = 0
        while done < self.steps:
            order = torch.randperm(ROWS)
            for x, y in zip(self.x[order].split(BATCH), self.y[order].split(BATCH)):
                self.step(x, y)
                done += 1
        return (time.thread_time() - start) * 1e6 / done


def main():
    torch.set_num_threads(1)
    beds = [Bed(*m) for m in MODELS]
    for bed in beds:
        bed.time()
    print("PyTorch %s, %d thread" % (torch.__version__, torch.get_num_threads()), flush=True)
    for line in sys.stdin:
        print("%.4f" % beds[int(line.split()[1])].time(), flush=True)


main()
