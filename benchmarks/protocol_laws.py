"""Whether the synthetic protocol draws from the laws that the paper states.

    python benchmarks/protocol_laws.py [--draws 4000] [--seed 4]

Coefficients: drawn loop by loop (ours) against whole matrices redrawn until both rules hold, the
spectral radius below 0.99 and cond(I − B) at most 20 (the definition). Graphs: ours against the
growth procedure by the letter, recomputing every strong component from a dense matrix. Each row
lists the share of draws that the rules reject, and the smallest p-value of two-sample tests over
all statistics, times their number (Bonferroni): the laws differ where it is small.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import chi2_contingency, ks_2samp

from loopscm import LatentGraph
from loopscm.simulate import protocol, random_graph, random_scm

Stack = np.ndarray  # draws of a coefficient matrix


def signed(mask, count, rng) -> Stack:
    """Matrices from the law before any rule."""
    shape = (count, *mask.shape)
    return rng.uniform(0.2, 0.8, shape) * rng.choice((-1.0, 1.0), shape) * mask


def accepted(B: Stack) -> np.ndarray:
    """Which matrices pass both rules as wholes."""
    radius = np.abs(np.linalg.eigvals(B)).max(axis=1)
    condition = np.linalg.cond(np.eye(B.shape[1]) - B)
    return (radius < protocol.SPECTRAL_RADIUS) & (condition <= protocol.CONDITION_NUMBER)


def by_rejection(mask, count, rng) -> tuple[Stack, float]:
    """Accepted whole matrices, and the share that was rejected."""
    kept, tried = [], 0
    while sum(map(len, kept)) < count:
        B = signed(mask, 1000, rng)
        kept.append(B[accepted(B)])
        tried += len(B)
    return np.concatenate(kept)[:count], 1 - sum(map(len, kept)) / tried


def statistics(mask) -> dict[str, Callable[[Stack], np.ndarray]]:
    """Numbers that a wrong law would move: edges, products along loops, whole-matrix ones."""
    eye = np.eye(len(mask))
    edges = np.argwhere(mask)
    result = {
        "radius": lambda B: np.abs(np.linalg.eigvals(B)).max(axis=1),
        "condition": lambda B: np.linalg.cond(eye - B),
        "determinant": lambda B: np.linalg.det(eye - B),
        "magnitude": lambda B: np.abs(B).sum(axis=(1, 2)),
        "total effects": lambda B: np.abs(np.linalg.inv(eye - B)).sum(axis=(1, 2)),
        "squares": lambda B: np.trace(B @ B, axis1=1, axis2=2),
        "cubes": lambda B: np.trace(B @ B @ B, axis1=1, axis2=2),
    }
    for i, j in edges[:8]:
        result[f"{i}->{j}"] = lambda B, i=i, j=j: B[:, i, j]
    return result


def coefficients(draws: int) -> None:
    print("coefficients                            rejected   tests   smallest p · tests")
    for name, graph in graphs().items():
        ours_rng, joint_rng = np.random.default_rng(1), np.random.default_rng(2)
        ours = np.array([random_scm(graph, ours_rng).coefficients for _ in range(draws)])
        joint, rejected = by_rejection(graph.directed, draws, joint_rng)
        p = [
            ks_2samp(statistic(ours), statistic(joint)).pvalue
            for statistic in statistics(graph.directed).values()
            if np.ptp(statistic(joint)) > 1e-9
        ]
        print(f"  {name:<36} {rejected:9.1%} {len(p):7} {min(1.0, min(p) * len(p)):20.2f}")


def graphs() -> dict[str, LatentGraph]:
    """Loops and protocol graphs on which whole-matrix rejection is feasible."""
    two = np.zeros((9, 9), bool)
    two[:4, :4] = two[4:8, 4:8] = True
    two[3, 4] = two[7, 8] = two[0, 8] = True
    np.fill_diagonal(two, False)
    result = {"two full loops of four, chained": LatentGraph(two)}
    rng = np.random.default_rng(3)
    while len(result) < 5:
        graph = random_graph(16, 8, 0.0, rng)
        loops = [len(c) for c in graph.strongly_connected_components() if len(c) > 1]
        if len(loops) >= 2:
            result[f"protocol, p = 16, loops of {loops}"] = graph
    return result


def grown_slowly(p: int, max_degree: int, max_cycle: int, rng) -> np.ndarray:
    """The growth procedure on a dense matrix, by the letter."""
    edges = np.zeros((p, p), bool)
    cap = rng.integers(max_degree, size=p) + 1
    for i in range(p):
        for j in rng.permutation(p):
            if j == i:
                continue
            degree = edges.sum(axis=0) + edges.sum(axis=1)
            if degree[i] >= cap[i]:
                break
            end = (i, j) if rng.integers(2) else (j, i)
            if degree[j] < cap[j]:
                was = edges[end]
                edges[end] = True
                reach = np.linalg.matrix_power(np.eye(p) + edges, p) > 0
                if (reach[j] & reach[:, j]).sum() > max_cycle:
                    edges[end] = was
    return edges


def features(edges) -> tuple[int, ...]:
    """Edges, two-cycles, nodes on loops, largest loop, sources, largest degree."""
    loops = [c for c in LatentGraph(edges).strongly_connected_components() if len(c) > 1]
    sizes = list(map(len, loops))
    degree = edges.sum(axis=0) + edges.sum(axis=1)
    pairs = int((edges & edges.T).sum() // 2)
    sources = int((edges.sum(axis=0) == 0).sum())
    return int(edges.sum()), pairs, sum(sizes), max(sizes, default=1), sources, int(degree.max())


def growth(draws: int, seed: int) -> None:
    print("\ngraphs                                  on loops   tests   smallest p · tests")
    for p, degree, cycle in ((6, 4, 3), (8, 2, 5), (8, 6, 5), (12, 4, 5)):
        ours_rng, slow_rng = np.random.default_rng(seed), np.random.default_rng(seed + 1)
        ours, slow = (
            np.array([features(draw()) for _ in range(draws)])
            for draw in (
                lambda a=(p, degree, 0.0, ours_rng, cycle): random_graph(*a).directed,
                lambda a=(p, degree, cycle, slow_rng): grown_slowly(*a),
            )
        )
        values = [same(ours[:, k], slow[:, k]) for k in range(ours.shape[1])]
        tests = [value for value in values if value is not None]
        name = f"p = {p}, degree {degree}, loops up to {cycle}"
        share = ours[:, 2].mean() / p
        print(f"  {name:<36} {share:9.1%} {len(tests):7} {min(1.0, min(tests) * len(tests)):20.2f}")


def same(a, b) -> float | None:
    """p-value of a comparison of two samples of small integers; None when there is one value."""
    values = np.unique(np.concatenate([a, b]))
    counts = np.array([[(x == v).sum() for v in values] for x in (a, b)])
    rare = counts.sum(axis=0) < 20
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    return None if counts.shape[1] < 2 else float(chi2_contingency(counts).pvalue)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=4, help="of the graphs")
    options = parser.parse_args()
    start = time.perf_counter()
    coefficients(options.draws)
    growth(options.draws, options.seed)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
