"""How fast the synthetic protocol draws graphs and parameters.

    python benchmarks/protocol.py [--graphs 10000] [--largest 2048]

First table: many small graphs. Second table: one large model each, with the redraws that the
condition-number rule needed and the share of draws that plain rejection of the spectral radius
would accept (estimated per loop; plain rejection needs its inverse in draws). Figures are CPU
seconds on one thread; of large models the worst of several seeds.
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np

from loopscm import LatentGraph
from loopscm.simulate import dense_cycles, protocol, random_graph, random_scm

SEEDS = 5  # of each large model
DRAWS = 400  # per loop, for the acceptance estimate


def timed(function):
    """Result and CPU seconds (everything here runs on one thread)."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def small(count: int) -> None:
    print(f"{count} graphs at p = 16        graphs [s]   parameters [s]")
    for degree, ratio in ((1, 0.1), (2, 0.2), (4, 0.2), (4, 0.3), (8, 0.3)):
        rng = np.random.default_rng(0)
        graphs, drawing = timed(
            lambda d=degree, r=ratio, g=rng: [random_graph(16, d, r, g) for _ in range(count)]
        )
        _, filling = timed(lambda gs=graphs, g=rng: [random_scm(graph, g) for graph in gs])
        print(f"  degree {degree}, latents {ratio:<4}      {drawing:9.2f}   {filling:12.2f}")


def log_acceptance(graph: LatentGraph, rng: np.random.Generator) -> float:
    """log₁₀ of the chance that all loops pass the spectral-radius rule at once."""
    total = 0.0
    for members in graph.strongly_connected_components():
        if len(members) > 1:
            mask = graph.directed[np.ix_(members, members)]
            signs = rng.choice((-1, 1), (DRAWS, *mask.shape))
            B = rng.uniform(0.2, 0.8, (DRAWS, *mask.shape)) * signs * mask
            radius = np.abs(np.linalg.eigvals(B)).max(axis=1)
            total += np.log10(max((radius < protocol.SPECTRAL_RADIUS).mean(), 1 / DRAWS))
    return total


def one(p: int, degree: int, seed: int) -> tuple[float, float, float]:
    """Seconds for the graph and for its parameters, and the chance of plain rejection."""
    rng = np.random.default_rng(seed)
    graph, drawing = timed(lambda: random_graph(p, degree, 0.3, rng))
    _, filling = timed(lambda: random_scm(graph, rng))
    return drawing, filling, log_acceptance(graph, rng)


def large(largest: int) -> None:
    print("\none model                   graph [s]   parameters [s]   log10 P(radius rule at once)")
    cases = [(p, d) for p in (256, 512, 1024, 2048) for d in (4, 8) if p <= largest]
    for p, degree in cases:
        rows = np.array([one(p, degree, seed) for seed in range(SEEDS)])
        (drawing, filling), chance = rows[:, :2].max(axis=0), rows[:, 2].min()
        print(
            f"  p = {p:<5} degree {degree}      {drawing:9.2f}   {filling:12.2f}   {chance:12.2f}"
        )
    for p in (256, 1024):
        rng = np.random.default_rng(2)
        graph, drawing = timed(lambda p=p, g=rng: dense_loops(p, g))
        _, filling = timed(lambda gr=graph, g=rng: random_scm(gr, g))
        chance = log_acceptance(graph, rng)
        print(f"  p = {p:<5} full loops    {drawing:9.2f}   {filling:12.2f}   {chance:12.2f}")


def dense_loops(p: int, rng: np.random.Generator) -> LatentGraph:
    """A third of the nodes in loops of four with every edge inside."""
    graph = dense_cycles(p, rng, extra_edges=p // 2)
    directed = graph.directed.copy()
    for members in graph.strongly_connected_components():
        if len(members) > 1:
            directed[np.ix_(members, members)] = ~np.eye(len(members), dtype=bool)
    return LatentGraph(directed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("--largest", type=int, default=2048)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}")
    small(options.graphs)
    large(options.largest)


if __name__ == "__main__":
    main()
