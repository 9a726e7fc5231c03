"""How fast is one cold fit, and how does it compare with a general optimiser?

Random graphs of the paper's protocol, degree 4, 20 % latents, n = 10,000, one core. The time
includes everything `fit` does with a graph it has not seen: components, layout, start,
iteration, result. The contestant is L-BFGS-B (SciPy) on the same objective of all variables
at once, with its gradient, from the same start, variances on the log scale; it runs to its
tightest tolerances. Both run alternately; medians over seeds, in processor time of the one
thread, which is the elapsed time of a machine that does nothing else.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/fit_speed.py
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from scipy.optimize import minimize

from loopscm import GaussianStats, LatentGraph, fit
from loopscm.fitting.driver import starting_point
from loopscm.likelihood.factorised import tables_of
from loopscm.likelihood.kinds import VARIANCE
from loopscm.likelihood.layout import Layout, layout_of
from loopscm.simulate import random_graph, random_scm

N = 10_000


def world(p: int, seed: int) -> tuple[GaussianStats, LatentGraph]:
    rng = np.random.default_rng([p, seed])
    model = random_scm(random_graph(p, 4, 0.2, rng), rng)
    stats = GaussianStats.from_data(model.sample(N, rng), center=False)
    return stats, model.graph


def monolithic(S: np.ndarray, layout: Layout, x: np.ndarray) -> tuple[float, np.ndarray]:
    """The likelihood of all variables at once and its gradient, in plain NumPy."""
    logs = layout.kind == VARIANCE
    theta = np.where(logs, np.exp(x), x)
    B, Gamma, variances, covariances = layout.scatter(theta)
    A = np.eye(len(B)) - B
    Psi = np.diag(variances) + Gamma.T @ Gamma + covariances
    Pi = np.linalg.inv(Psi)
    SA = S @ A
    Q = SA @ Pi
    value = -np.linalg.slogdet(A)[1] + 0.5 * np.linalg.slogdet(Psi)[1] + 0.5 * np.sum(A * Q)
    slope = Pi - Pi @ A.T @ Q
    dB, dGamma = np.linalg.inv(A).T - Q, Gamma @ slope
    g = layout.gather(dB, dGamma, 0.5 * np.diagonal(slope), slope)
    return value, np.where(logs, g * theta, g)


def general_optimiser(S: np.ndarray, layout: Layout, start: np.ndarray) -> float:
    x = np.where(layout.kind == VARIANCE, np.log(np.abs(start)), start)
    bounds = [(np.log(1e-10), None) if kind == VARIANCE else (None, None) for kind in layout.kind]
    result = minimize(
        lambda v: monolithic(S, layout, v), x, jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-13, "gtol": 1e-7, "maxcor": 20},
    )  # fmt: skip
    return float(result.fun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=11)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 512])
    options = parser.parse_args()
    warm_up_stats, warm_up_graph = world(16, 0)
    fit(warm_up_stats, warm_up_graph)
    print("   p  largest component  fit (median, slowest)  L-BFGS-B (median)  ratio: median, least"
          "  worst n(f - f_other)")  # fmt: skip
    for p in options.sizes:
        ours, theirs, gaps, largest = [], [], [], []
        for seed in range(options.seeds if p < 512 else options.seeds // 2):
            stats, graph = world(p, seed)
            S = np.ascontiguousarray(stats.correlation)
            repeats = []
            for _ in range(5):
                layout_of.cache_clear()
                fresh = LatentGraph(graph.directed, graph.children)
                tick = time.process_time()
                result = fit(stats, fresh)
                repeats.append(time.process_time() - tick)
            ours.append(statistics.median(repeats))
            layout = layout_of(graph)
            start = starting_point(tables_of(layout), S)
            tick = time.process_time()
            other = general_optimiser(S, layout, start)
            theirs.append(time.process_time() - tick)
            mine = result.value - np.log(stats.scale).sum()
            gaps.append(N * (mine - other))
            largest.append(max(map(len, graph.components())))
        ratios = [theirs_k / ours_k for ours_k, theirs_k in zip(ours, theirs, strict=True)]
        print(
            f"{p:4d}  {statistics.median(largest):17.0f}  {1e3 * statistics.median(ours):9.2f}, "
            f"{1e3 * max(ours):8.2f} ms  {statistics.median(theirs):15.2f} s  "
            f"{statistics.median(ratios):13.0f}, {min(ratios):5.0f}  {max(gaps):20.2g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
