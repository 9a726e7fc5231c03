"""Compatibility error: how far two graphs' covariance families are apart, both ways.

Appendix "Bidirectional compatibility evaluation": draw members of one family, fit the other
to each in the symmetric divergence J, and take the largest discrepancy.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_integer, frozen
from loopscm.equivalence._draws import random_member
from loopscm.equivalence._family import Family, family_of
from loopscm.equivalence._nearest import nearest
from loopscm.errors import GraphError, ParameterError
from loopscm.graph import LatentGraph
from loopscm.simulate._parallel import workers

DRAWS, STARTS, MAX_ITERATIONS = 20, 5, 1000  # the published settings


class DrawStatus(Enum):
    """Whether the discrepancies of one direction could be computed; the value says what to do."""

    COMPLETE = "Every draw was fitted to convergence."
    UNCONVERGED = (
        "The best fit of some draw stopped before it converged: the figure may be too large, "
        "never too small. Near zero it stands; otherwise repeat with a larger max_iterations or "
        "more starts and see whether it falls."
    )
    INCOMPLETE = (
        "Some draws found no coefficients that satisfy the acceptance rule and are missing (NaN); "
        "the discrepancy is the largest of the others."
    )
    UNSATISFIABLE = (
        "No coefficients of this graph satisfy the acceptance rule (spectral radius and condition "
        "number); its loops are too dense for the protocol, and the discrepancy is undefined (NaN)."
    )


@dataclass(frozen=True, eq=False)
class Compatibility:
    """Discrepancies between a reference and a recovered graph; zero means compatible.

    `forward` is the largest over draws of the reference family of the distance to the
    recovered family, `reverse` the same with the roles exchanged, `total` their sum. The
    values of single draws are in `forward_draws` and `reverse_draws`. An undefined direction
    is NaN; its status says why.
    """

    forward: float
    reverse: float
    total: float
    forward_draws: NDArray[np.float64]
    reverse_draws: NDArray[np.float64]
    forward_status: DrawStatus = DrawStatus.COMPLETE
    reverse_status: DrawStatus = DrawStatus.COMPLETE

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON; undefined values are None."""
        return {
            "forward": _number(self.forward),
            "reverse": _number(self.reverse),
            "total": _number(self.total),
            "forward_draws": [_number(v) for v in self.forward_draws],
            "reverse_draws": [_number(v) for v in self.reverse_draws],
            "forward_status": self.forward_status.name.lower(),
            "reverse_status": self.reverse_status.name.lower(),
        }

    def __repr__(self) -> str:
        lines = [
            f"Compatibility(total {self.total:.6g} = forward {self.forward:.6g} + "
            f"reverse {self.reverse:.6g}, {len(self.forward_draws)} draws each way)"
        ]
        for name, status in (("forward", self.forward_status), ("reverse", self.reverse_status)):
            if status is not DrawStatus.COMPLETE:
                lines.append(f"  {name}: {status.value}")
        return "\n".join(lines)


def compatibility(
    reference: LatentGraph,
    recovered: LatentGraph,
    *,
    draws: int = DRAWS,
    starts: int = STARTS,
    seed: int = 0,
    n_jobs: int = 1,
    max_iterations: int = MAX_ITERATIONS,
) -> Compatibility:
    """The published compatibility error of two graphs over the same observed variables.

    Parameters
    ----------
    reference, recovered : their numbers of latents may differ, names must agree (default
        names match any). Latents with fewer than two children are removed; bidirected edges
        are fitted as free error covariances.
    draws : members of each family to draw, by the protocol's law of parameters.
    starts : starts of each fit; further ones are skipped once a fit is exact.
    seed : a draw depends on the seed, the graph drawn from, and its number only.
    n_jobs : threads, -1 for all cores; without influence on the result.
    max_iterations : of one start.
    """
    draws = as_integer(draws, "draws", minimum=1)
    starts = as_integer(starts, "starts", minimum=1)
    seed = as_integer(seed, "seed", minimum=0)
    max_iterations = as_integer(max_iterations, "max_iterations", minimum=1)
    threads = workers(n_jobs)
    left, right = aligned(reference, recovered)
    seeds = np.random.SeedSequence(seed).spawn(2)
    sides = [(left, right), (right, left)]
    budget = (starts, max_iterations)
    results = [
        discrepancies(source, target, side.spawn(draws), budget, threads)
        for (source, target), side in zip(sides, seeds, strict=True)
    ]
    (forward_draws, forward_status), (reverse_draws, reverse_status) = results
    forward, reverse = _largest(forward_draws), _largest(reverse_draws)
    return Compatibility(
        forward, reverse, forward + reverse, forward_draws, reverse_draws,
        forward_status, reverse_status,
    )  # fmt: skip


def aligned(reference: LatentGraph, recovered: LatentGraph) -> tuple[LatentGraph, LatentGraph]:
    """Both graphs without empty latents, the second in the order and names of the first."""
    for what, graph in (("reference", reference), ("recovered", recovered)):
        if not isinstance(graph, LatentGraph):
            hint = "; pass its `graph`" if hasattr(graph, "graph") else ""
            raise GraphError(f"{what} must be a LatentGraph, got {type(graph).__name__}{hint}.")
    p = reference.n_observed
    if recovered.n_observed != p:
        raise GraphError(
            f"the reference has {p} observed variables, the recovered graph "
            f"{recovered.n_observed}; compare graphs over the same variables."
        )
    left, right = reference.pruned(), recovered.pruned()
    default = tuple(f"X{j}" for j in range(p))
    if left.names == right.names:
        return left, right
    if set(left.names) == set(right.names):
        return left, right.permuted([right.names.index(name) for name in left.names])
    if default in (left.names, right.names):
        names = right.names if left.names == default else left.names
        return _renamed(left, names), _renamed(right, names)
    missing = sorted(set(left.names) - set(right.names))
    raise GraphError(
        f"the graphs are over different variables: {', '.join(map(repr, missing[:5]))} of the "
        "reference are not in the recovered graph. Give both the same names."
    )


def discrepancies(
    source: LatentGraph,
    target: LatentGraph,
    seeds: list[np.random.SeedSequence],
    budget: tuple[int, int],
    threads: int = 1,
) -> tuple[NDArray[np.float64], DrawStatus]:
    """Distance to the target's family of one random member of the source's for every seed.

    `budget` is (starts, max_iterations). When the first draw satisfies no acceptance rule in
    the protocol's number of tries the others are not attempted.
    """
    family = family_of(target)
    first = _one(source, family, seeds[0], budget)
    if first is None:
        return frozen(np.full(len(seeds), np.nan)), DrawStatus.UNSATISFIABLE

    def task(seed: np.random.SeedSequence) -> tuple[float, bool] | None:
        return _one(source, family, seed, budget)

    if threads == 1:
        rest = list(map(task, seeds[1:]))
    else:
        with ThreadPoolExecutor(threads) as pool:
            rest = list(pool.map(task, seeds[1:]))
    found = [first, *rest]
    values = np.array([np.nan if pair is None else pair[0] for pair in found])
    if any(pair is None for pair in found):
        return frozen(values), DrawStatus.INCOMPLETE
    converged = all(pair[1] for pair in found if pair is not None)
    return frozen(values), DrawStatus.COMPLETE if converged else DrawStatus.UNCONVERGED


def _one(
    source: LatentGraph, family: Family, seed: np.random.SeedSequence, budget: tuple[int, int]
) -> tuple[float, bool] | None:
    """(distance, converged) of one draw; None when the acceptance rule is not satisfied."""
    law, search = (np.random.default_rng(child) for child in seed.spawn(2))
    try:
        member = random_member(source, law)
    except ParameterError:
        return None
    starts, max_iterations = budget
    best = nearest(
        member.covariance(), family, starts=starts, rng=search, hint=member,
        max_iterations=max_iterations,
    )  # fmt: skip
    return best.value, best.converged


def _renamed(graph: LatentGraph, names: tuple[str, ...]) -> LatentGraph:
    return LatentGraph(graph.directed, graph.children, names, graph.bidirected)


def _largest(values: NDArray[np.float64]) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else float("nan")


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
