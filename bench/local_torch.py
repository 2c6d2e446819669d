"""The steps of bench/bench_local.c in PyTorch, as a user would write the loop. The same questions: a line "step M B" is
answered by the processor's microseconds for one SGD step of model M with a batch of B on one thread. The rows are shuffled
once an epoch and batches are slices. The proximal term is added to the loss, as most examples of FedProx have it; with
the argument "gradients" it is added to the gradients by hand, which is faster."""
import sys
import time

import torch
from torch import nn

LEARNING_RATE, MU = 0.01, 1.0
BY_HAND = "gradients" in sys.argv


def mlp():
    return nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10))


def cnn():
    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 512),
                         nn.ReLU(), nn.Linear(512, 10))


class CharLstm(nn.Module):
    def __init__(self, units):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(80, 8), nn.LSTM(8, units, 2, batch_first=True)
        self.dense = nn.Linear(units, 80)

    def forward(self, x):
        return self.dense(self.lstm(self.embedding(x))[0][:, -1])


class SentLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(300, 256, 2, batch_first=True)
        self.dense = nn.Sequential(nn.Linear(256, 30), nn.ReLU(), nn.Linear(30, 1), nn.Flatten(0))

    def forward(self, x):
        return self.dense(self.lstm(x)[0][:, -1])


def numbers(*shape):
    return lambda: (torch.rand(100, *shape), torch.randint(10, (100,)))


def characters():
    return torch.randint(80, (640, 80)), torch.randint(80, (640,))


def sentences():
    return torch.randn(640, 25, 300), torch.randint(2, (640,)).float()


def char_lstm(units, steps):
    return characters, lambda: CharLstm(units), nn.CrossEntropyLoss, steps


# data, model, loss, steps of a measurement
MODELS = [(numbers(60), lambda: nn.Linear(60, 10), nn.CrossEntropyLoss, 100),
          (numbers(784), lambda: nn.Linear(784, 10), nn.CrossEntropyLoss, 100),
          (numbers(784), mlp, nn.CrossEntropyLoss, 10), (numbers(784), cnn, nn.CrossEntropyLoss, 10),
          char_lstm(100, 4), (sentences, SentLstm, nn.BCEWithLogitsLoss, 2),
          char_lstm(32, 4), char_lstm(64, 4), char_lstm(128, 2), char_lstm(200, 1), char_lstm(256, 1)]


class Bed:
    def __init__(self, data, make, loss, steps):
        torch.manual_seed(1)
        self.steps = steps
        self.x, self.y = data()
        self.left = {}  # of an epoch, by the batch's size
        self.model = make()
        self.anchor = [p.detach().clone() for p in self.model.parameters()]
        self.loss = loss()
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

    def batches(self, size):
        while True:
            order = torch.randperm(len(self.x))
            yield from zip(self.x[order].split(size), self.y[order].split(size))

    def time(self, batch):
        batches = self.left.setdefault(batch, self.batches(batch))
        start = time.thread_time()
        for _ in range(self.steps):
            self.step(*next(batches))
        return (time.thread_time() - start) * 1e6 / self.steps


def main():
    torch.set_num_threads(1)
    beds = {}
    print("PyTorch %s, %d thread" % (torch.__version__, torch.get_num_threads()), flush=True)
    for line in sys.stdin:
        model, batch = map(int, line.split()[1:])
        if model not in beds:
            beds[model] = Bed(*MODELS[model])
            beds[model].time(batch)
        print("%.4f" % beds[model].time(batch), flush=True)


main()
