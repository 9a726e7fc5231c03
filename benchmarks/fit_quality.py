"""Does one cold start find the best optimum?

300 random graphs of the paper's protocol (p from 4 to 64, degree 2 and 4, latent ratio 0 to
0.3), n = 10,000. The reference is the best of 20 random starts, the generating parameters,
and the cold start itself. A graph counts as reached when n·Δf ≤ 1e-3.

    python benchmarks/fit_quality.py [--graphs 300] [--starts 20] [--seed 2026] [--samples 10000]
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import product

import numpy as np

from loopscm import GaussianStats, LinearSCM, fit
from loopscm.simulate import random_graph, random_scm

CASES = list(product((4, 8, 16, 32, 64), (2, 4), (0.0, 0.1, 0.2, 0.3)))


def random_start(stats: GaussianStats, model: LinearSCM, rng: np.random.Generator) -> LinearSCM:
    """A random model on the same graph, in the units of the data."""
    graph, scale = model.graph, stats.scale
    p = graph.n_observed
    B = np.where(graph.directed, rng.normal(0, 0.5, (p, p)), 0) * scale / scale[:, None]
    Gamma = np.where(graph.children, rng.normal(0, 0.5, graph.children.shape), 0) * scale
    return LinearSCM(graph, B, Gamma, rng.uniform(0.2, 1.0, p) * scale**2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--samples", type=int, default=10_000)
    options = parser.parse_args()
    reached, statuses, worst, iterations = 0, Counter(), [], []
    for k in range(options.graphs):
        p, degree, ratio = CASES[k % len(CASES)]
        rng = np.random.default_rng([options.seed, k])
        model = random_scm(random_graph(p, degree, ratio, rng), rng)
        stats = GaussianStats.from_data(model.sample(options.samples, rng), center=False)
        cold = fit(stats, model.graph)
        others = [fit(stats, model.graph, start=model)] + [
            fit(stats, model.graph, start=random_start(stats, model, rng))
            for _ in range(options.starts)
        ]
        gap = cold.nll - min([cold.nll, *(other.nll for other in others)])
        reached += gap <= 1e-3
        statuses[cold.status.name] += 1
        iterations.append(cold.n_iterations)
        if gap > 1e-3:
            worst.append((gap, k, p, degree, ratio, cold.status.name, cold.n_iterations))
    print(
        f"reached the best known optimum: {reached} of {options.graphs} "
        f"({100 * reached / options.graphs:.1f} %)"
    )
    print("statuses of the cold starts:", dict(statuses))
    print(
        "iterations of the slowest component: median "
        f"{np.median(iterations):.0f}, 90 % {np.quantile(iterations, 0.9):.0f}, "
        f"max {max(iterations)}"
    )
    for row in sorted(worst, reverse=True):
        gap, k, p, degree, ratio, status, count = row
        print(
            f"missed by {gap:.4g}: graph {k}, p {p}, degree {degree}, ratio {ratio}, "
            f"{status}, {count} iterations"
        )


if __name__ == "__main__":
    main()
