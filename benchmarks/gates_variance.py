"""Variance of the logit gradient by estimator, and the bias of straight-through gradients.

Variance: total over all edge logits of one update with 256 samples, local expectation against
leave-one-out, observed-only, at the published initialisation and after half of the published
updates of the published learner. Worlds of the paper's protocol (degree 4, n = 10,000).

Bias: at p = 3 with one latent slot, ‖E[straight-through] − exact‖/‖exact‖ over the logits of
each kind of gate, the exact gradient by enumeration, the expectation from 200,000 draws.

    python benchmarks/gates_variance.py [--sizes 8 16 32] [--repeats 200]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from loopscm import GaussianStats
from loopscm.gates import (
    Draw,
    Estimator,
    GateParameters,
    LeaveOneOut,
    LocalExpectation,
    StraightThrough,
    Workers,
    exact_objective,
    problem_of,
    published_settings,
    start_or_resume,
    step,
)
from loopscm.gates.problem import Problem
from loopscm.simulate import random_graph, random_scm


def world(p: int, ratio: float) -> GaussianStats:
    rng = np.random.default_rng(p)
    model = random_scm(random_graph(p, 4, ratio, rng), rng)
    return GaussianStats.from_data(model.sample(10_000, rng), center=False)


def gradients(
    estimator: Estimator, problem: Problem, parameters: GateParameters, repeats: int
) -> np.ndarray:
    """Logit gradients of independent updates, one a row."""
    rng = np.random.default_rng(0)
    first, rows = parameters.shape.first_gate, []
    with Workers() as workers:
        for _ in range(repeats):
            keys = rng.integers(0, 2**64, estimator.samples, dtype=np.uint64)
            draw = Draw(keys)
            rows.append(estimator.estimate(problem, parameters, draw, workers).gradient[first:])
    return np.array(rows)


def variance_row(p: int, repeats: int) -> None:
    stats = world(p, 0.0)
    settings = replace(published_settings(p, 0), refinement=None)
    problem, state = problem_of(stats, settings), start_or_resume(stats, settings, 0, 0)
    with Workers() as workers:
        for when in (0, settings.updates // 2):
            while state.updates < when:
                state, _, _ = step(problem, settings, state, workers)
            score, local = (
                gradients(estimator, problem, state.parameters, repeats).var(axis=0)
                for estimator in (LeaveOneOut(256), LocalExpectation(256))
            )
            allowed = state.parameters.allowed
            each = np.median(score[allowed] / local[allowed])
            print(f"| {p} | {when} | {score.sum():.3g} | {local.sum():.3g} | "
                  f"{score.sum() / local.sum():.3g} | {each:.3g} |", flush=True)  # fmt: skip


def bias(repeats: int = 400) -> None:
    stats = world(3, 0.3)
    settings = published_settings(3, 1)
    problem, state = problem_of(stats, settings), start_or_resume(stats, settings, 1, 0)
    shape = state.parameters.shape
    spread = np.random.default_rng(1).uniform(-2, 2, shape.size)
    theta = state.parameters.theta.copy()
    for name, logits in (("published start", None), ("logits in (−2, 2)", spread)):
        if logits is not None:
            theta[shape.first_gate :] = logits[shape.first_gate :]
        parameters = replace(state.parameters, theta=theta)
        exact = exact_objective(problem, parameters).gradient[shape.first_gate :]
        for estimator in (StraightThrough(512), LeaveOneOut(512), LocalExpectation(512)):
            draws = gradients(estimator, problem, parameters, repeats)
            error = draws.std(axis=0) / np.sqrt(repeats)
            cells = [
                f"{np.linalg.norm(gap) / np.linalg.norm(part):.2g} "
                f"(± {np.linalg.norm(noise) / np.linalg.norm(part):.1g})"
                for gap, part, noise in zip(
                    shape.split(draws.mean(axis=0) - exact),
                    shape.split(exact),
                    shape.split(error),
                    strict=True,
                )
            ]
            print(f"| {name} | {type(estimator).__name__} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--repeats", type=int, default=200)
    options = parser.parse_args()
    print("| p | after updates | leave-one-out | local expectation | ratio of totals | "
          "median ratio of a gate |\n|" + "---|" * 6)  # fmt: skip
    for p in options.sizes:
        variance_row(p, options.repeats)
    print("\n| at | estimator | edges | latent edges | latents |\n|" + "---|" * 5)
    bias()


if __name__ == "__main__":
    main()
