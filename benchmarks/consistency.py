"""How often the exact minimiser of the score lies in G₀(Σ*), by sample size.

    python benchmarks/consistency.py [--trials 40]

For graphs of three variables, against all candidates with at most one latent; the square is
compared with the complete acyclic graph.
"""

from __future__ import annotations

import argparse

import numpy as np

from loopscm import GaussianStats, LatentGraph, LinearSCM, score
from loopscm.equivalence import c_dagger, candidate_class, minimisers, relevant_candidates
from loopscm.simulate import random_scm

SIZES = (30, 100, 1000, 10_000, 100_000)
GRAPHS = {
    "edge": [(0, 1)],
    "chain": [(0, 1), (1, 2)],
    "collider": [(0, 1), (2, 1)],
    "two-cycle with a child": [(0, 1), (1, 0), (1, 2)],
}


def graph_of(edges: list[tuple[int, int]]) -> LatentGraph:
    directed = np.zeros((3, 3), bool)
    directed[tuple(zip(*edges, strict=True))] = True
    return LatentGraph(directed)


def sampled(model: LinearSCM, n: int, trial: int) -> GaussianStats:
    return GaussianStats.from_data(model.sample(n, np.random.default_rng([n, trial])), center=False)


def frequencies(graph: LatentGraph, trials: int) -> list[float]:
    """Share of trials in which all minimisers lie in the relevant set, for every size."""
    model = random_scm(graph, 5)
    # The complete acyclic graph fits perfectly with three edges: nothing above ever wins.
    listed = list(candidate_class(3, 1, max_complexity=3))
    relevant = set(relevant_candidates(model.covariance(), listed, c_dagger(graph, 1)))
    return [
        np.mean([set(minimisers(sampled(model, n, t), listed)) <= relevant for t in range(trials)])
        for n in SIZES
    ]


def square(trials: int) -> None:
    graph = LatentGraph(np.zeros((4, 4)), [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]])
    complete = LatentGraph(np.triu(np.ones((4, 4)), 1))
    model = random_scm(graph, 0)
    for penalty in ("structural", "dimension"):
        wins = [
            np.mean(
                [
                    score(s, graph, penalty=penalty) < score(s, complete, penalty=penalty)
                    for s in (sampled(model, n, t) for t in range(trials))
                ]
            )
            for n in SIZES
        ]
        print(f"square below complete graph, {penalty} penalty:", *(f"{w:.2f}" for w in wins))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40)
    options = parser.parse_args()
    print("n:", *SIZES)
    for name, edges in GRAPHS.items():
        found = frequencies(graph_of(edges), options.trials)
        print(f"{name}:", *(f"{share:.2f}" for share in found), flush=True)
    square(options.trials)


if __name__ == "__main__":
    main()
