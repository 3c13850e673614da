"""PyTorch's side: the same objective on the same data, written as one would for a paper.

Reads one JSON request a line and answers with one JSON object, like worker.cpp.
"""

import functools
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch


class Training:
    """L(W) = (1/d^2) sum ||y - softmax(beta h)||^2 + (lambda/d) ||W||^2, h from the products X W."""

    def __init__(self, folder, draw):
        self.dtype = torch.float32 if draw["precision"] == "f32" else torch.float64
        self.d, self.n, self.tokens = draw["dimension"], draw["samples"], draw["tokens"]
        self.lam, self.beta = draw["lambda"], draw["beta"]
        folder = Path(folder)
        inputs = np.fromfile(folder / "inputs", np.float32 if draw["precision"] == "f32" else np.float64)
        self.x = torch.from_numpy(inputs).view(self.n * self.tokens, self.d)
        labels = np.fromfile(folder / "labels", np.float64).reshape(self.tokens, self.tokens, self.n)
        self.y = torch.from_numpy(np.ascontiguousarray(labels.transpose(2, 0, 1))).to(self.dtype)
        self.start = (
            torch.from_numpy(np.fromfile(folder / "start", np.float64)).view(self.d, -1).to(self.dtype)
        )
        self.written = {}
        self.write("matmul")

    def write(self, name):
        """Chooses how the objective is written: matmul, pairs, or either through torch.compile (+compile)."""
        if name not in self.written:
            form, _, compiled = name.partition("+")
            objective = functools.partial(self.of_form, getattr(self, form))
            self.written[name] = torch.compile(objective) if compiled else objective
        self.objective = self.written[name]

    # Two ways to write the products between the tokens of a sample.
    def matmul(self, z):
        return z @ z.mT

    def pairs(self, z):
        tokens = range(self.tokens)
        upper = {(a, b): (z[:, a] * z[:, b]).sum(-1) for a in tokens for b in tokens if a <= b}
        rows = [torch.stack([upper[min(a, b), max(a, b)] for b in tokens], -1) for a in tokens]
        return torch.stack(rows, -2)

    def of_form(self, form, w):
        z = (self.x @ w).view(self.n, self.tokens, -1)
        size = (w * w).sum()
        scores = (form(z) - size * torch.eye(self.tokens, dtype=self.dtype)) / self.d**0.5
        residual = self.y - torch.softmax(self.beta * scores, -1)
        return (residual * residual).sum() / self.d**2 + self.lam / self.d * size

    def leaf(self, scale=1.0):
        return (scale * self.start).clone().requires_grad_()


class Worker:
    def __init__(self):
        self.training = None

    def about(self, _):
        return {"version": torch.__version__, "configuration": torch.__config__.show()}

    def load(self, request):
        self.training = Training(request["folder"], request["draw"])
        return {}

    def form(self, request):
        self.training.write(request["name"])
        return {}

    def value(self, request):
        w = self.training.leaf(request.get("scale", 1.0))
        value = self.training.objective(w)
        value.backward()
        return {"value": value.item(), "gradient_norm": w.grad.norm().item()}

    def step(self, request):
        w = self.training.leaf()
        times = []
        for _ in range(request["repeats"]):
            begin = time.perf_counter()
            w.grad = None
            self.training.objective(w).backward()
            times.append(time.perf_counter() - begin)
        return {"seconds": times}

    def descend(self, request):
        """Until the value reaches `target`, or `limit_seconds` are over; (seconds, value) of each pass."""
        w = self.training.leaf()
        trace = []
        begin = time.perf_counter()

        def closure():
            optimizer.zero_grad()
            value = self.training.objective(w)
            value.backward()
            trace.append((time.perf_counter() - begin, value.item()))
            return value

        if request["optimizer"] == "adam":
            optimizer = torch.optim.Adam([w], lr=request["rate"])
        else:
            optimizer = torch.optim.LBFGS([w], history_size=20, line_search_fn="strong_wolfe")
        target, limit = request.get("target", -np.inf), request.get("limit_seconds", np.inf)
        passes = request.get("passes", np.inf)
        lowest = np.inf
        while lowest > target and time.perf_counter() - begin < limit and len(trace) < passes:
            before = len(trace)
            optimizer.step(closure)
            lowest = min(value for _, value in trace[before:])
            if not np.isfinite(lowest):
                break
        return {"trace": trace}

    def gemm(self, request):
        dtype = torch.float32 if request["precision"] == "f32" else torch.float64
        size = request.get("size", 1024)
        a = torch.ones(size, size, dtype=dtype)
        c = torch.empty_like(a)
        times = []
        for _ in range(request["repeats"]):
            begin = time.perf_counter()
            torch.mm(a, a, out=c)
            times.append(time.perf_counter() - begin)
        return {"seconds": times}


def main():
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        torch.set_num_threads(request.get("threads", 1))
        print(json.dumps(getattr(worker, request["do"])(request)), flush=True)


if __name__ == "__main__":
    main()
