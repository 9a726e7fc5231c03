"""Seconds of one whole update against a straightforward PyTorch autograd implementation.

Double precision, 256 samples, Adam included, the same number of threads, contestants in
turn in blocks of ten updates, medians; processor time with one thread (other work on the
machine matters less), wall time with more. Worlds of the paper's protocol (degree 4, 20 %
latents, n = 10,000); the observed-only learner with leave-one-out gradients and the latent
learner with straight-through gradients, at initialisation and after some updates. Memory is
that of a process of its own (Linux).

    python benchmarks/gates_speed.py [--sizes 32 64 100] [--threads 1] [--repeats 7] [--late 1000]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from loopscm import GaussianStats
from loopscm.gates.driver import problem_of, start_or_resume, step
from loopscm.gates.estimators import Workers
from loopscm.gates.problem import Problem
from loopscm.gates.settings import GateSettings, published_settings, published_slots
from loopscm.gates.state import LearnerState
from loopscm.simulate import random_graph, random_scm

SAMPLES = 256
BLOCK = 10  # one of ten updates of ours monitors the smallest singular value of A


class Autograd:
    """One update as one would write it down in PyTorch."""

    def __init__(self, problem: Problem, state: LearnerState) -> None:
        parameters = state.parameters
        alpha, beta, gamma = parameters.shape.split(parameters.logits)
        parts = (parameters.W, parameters.Gamma, parameters.noise, alpha.T, beta, gamma)
        self.leaves = [torch.tensor(np.array(part), requires_grad=True) for part in parts]
        self.S, self.floor = torch.tensor(np.array(problem.S)), torch.tensor(problem.floor)
        self.n, self.weight = problem.n, problem.weight
        self.eye = torch.eye(parameters.shape.p, dtype=torch.float64)
        self.adam = torch.optim.Adam(self.leaves, lr=1e-2)

    def likelihood(self, M: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
        """f of a batch of masks and effective loadings."""
        W, _, noise = self.leaves[:3]
        omega = self.floor + torch.nn.functional.softplus(noise)
        A = self.eye - M * W
        R = A.transpose(1, 2) @ self.S @ A
        if rows is None:
            diagonal = torch.diagonal(R, dim1=1, dim2=2)
            return 0.5 * (torch.log(omega) + diagonal / omega).sum(1) - torch.linalg.slogdet(A)[1]
        factor = torch.linalg.cholesky(torch.diag(omega) + rows.transpose(1, 2) @ rows)
        trace = torch.diagonal(torch.cholesky_solve(R, factor), dim1=1, dim2=2).sum(1)
        log_det = torch.log(torch.diagonal(factor, dim1=1, dim2=2)).sum(1)
        return log_det + 0.5 * trace - torch.linalg.slogdet(A)[1]

    def penalty(self) -> torch.Tensor:
        q, r, pi = (torch.sigmoid(leaf) for leaf in self.leaves[3:])
        return self.weight * ((q * (1 - self.eye)).sum() + (pi * (1 + r.sum(1))).sum())

    def leave_one_out(self) -> None:
        """Score-function gradients with the mean of the others as the baseline."""
        alpha = self.leaves[3]
        law = torch.distributions.Bernoulli(logits=alpha)
        M = law.sample((SAMPLES,)) * (1 - self.eye)
        f = self.n * self.likelihood(M, None)
        baseline = (f.detach().sum() - f.detach()) / (SAMPLES - 1)
        log_q = (law.log_prob(M) * (1 - self.eye)).sum((1, 2))
        loss = (f + (f.detach() - baseline) * log_q).mean() + self.penalty()
        self.advance(loss)

    def straight_through(self) -> None:
        """Hard forward, soft backward."""
        gates = []
        for logits in self.leaves[3:]:
            u = torch.rand((SAMPLES, *logits.shape), dtype=torch.float64)
            soft = torch.sigmoid(logits + torch.log(u) - torch.log1p(-u))
            gates.append(soft + ((soft > 0.5).double() - soft).detach())
        M, H, Z = gates
        rows = Z[:, :, None] * H * self.leaves[1]
        loss = self.n * self.likelihood(M * (1 - self.eye), rows).mean() + self.penalty()
        self.advance(loss)

    def advance(self, loss: torch.Tensor) -> None:
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()


def ours(
    problem: Problem, settings: GateSettings, state: LearnerState, workers: Workers
) -> Callable[[], None]:
    """An update that goes on from the one before."""

    def update() -> None:
        nonlocal state
        state, _, _ = step(problem, settings, state, workers)

    return update


def in_turn(
    contestants: list[Callable[[], None]], repeats: int, clock: Callable[[], float]
) -> list[float]:
    """Median seconds of an update of each, measured in turn in blocks of updates."""
    times: list[list[float]] = [[] for _ in contestants]
    for _ in range(repeats + 1):
        for contestant, record in zip(contestants, times, strict=True):
            contestant()  # brings its own data back into the caches
            began = clock()
            for _ in range(BLOCK):
                contestant()
            record.append((clock() - began) / BLOCK)
    return [float(np.median(record[1:])) for record in times]


def peak(p: int, slots: int, threads: int) -> float:
    """Peak memory in GB of a process that makes some of our updates and nothing else."""
    code = (
        "import numpy as np; from dataclasses import replace; from pathlib import Path;"
        "from loopscm import GaussianStats; from loopscm.gates import *;"
        f"X = np.random.default_rng(0).standard_normal((1000, {p}));"
        "stats = GaussianStats.from_data(X);"
        f"settings = replace(published_settings({p}, {slots}), updates=3);"
        f"run(stats, settings, start_or_resume(stats, settings, {slots}, 0), n_jobs={threads});"
        "status = Path('/proc/self/status').read_text().split('VmHWM:')[1];"
        "print(int(status.split()[0]) / 2**20)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64, 100])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--late", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    print(
        "| p | learner | after updates | ours, ms | torch, ms | ratio | our peak, GB |\n|"
        + "---|" * 7
    )
    for p in options.sizes:
        rng = np.random.default_rng(p)
        model = random_scm(random_graph(p, 4, 0.2, rng), rng)
        stats = GaussianStats.from_data(model.sample(10_000, rng), center=False)
        for slots, name in ((0, "leave_one_out"), (published_slots(p, 0.2), "straight_through")):
            settings = replace(published_settings(p, slots), refinement=None)
            problem = problem_of(stats, settings)
            state = start_or_resume(stats, settings, slots, 0)
            memory = peak(p, slots, options.threads)
            with Workers(options.threads) as workers:
                for late in (0, options.late):
                    while state.updates < late:
                        state, _, _ = step(problem, settings, state, workers)
                    rival = Autograd(problem, state)
                    pair = [ours(problem, settings, state, workers), getattr(rival, name)]
                    mine, theirs = in_turn(pair, options.repeats, clock)
                    print(f"| {p} | {name} | {late} | {1e3 * mine:.1f} | {1e3 * theirs:.1f} | "
                          f"{theirs / mine:.1f} | {memory:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
