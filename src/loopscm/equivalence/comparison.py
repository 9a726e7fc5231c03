"""Everything there is to say about a recovered graph next to a reference, in one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopscm.equivalence.candidates import equivalence_class
from loopscm.equivalence.discrepancy import DRAWS, STARTS, Compatibility, aligned, compatibility
from loopscm.equivalence.metrics import (
    GraphMetrics,
    class_shd,
    graph_metrics,
    heldout_log_likelihood,
)
from loopscm.equivalence.quasi import QuasiEquivalence, quasi_equivalent
from loopscm.equivalence.rotations import rotation_class
from loopscm.fitting import fit
from loopscm.graph import LatentGraph
from loopscm.likelihood.dimension import family_dimension
from loopscm.stats import GaussianStats

# Up to these sizes the class of a graph with latents is enumerated in seconds.
ENUMERABLE = {2: 3, 3: 1}  # observed variables: latents
# Verdicts of quasi-equivalence rest on random fits of both graphs; beyond this size the
# compatibility error says the same at the same price.
LARGEST_VERDICT = 128


@dataclass(frozen=True, eq=False)
class Comparison:
    """Compatibility, verdict, dimensions, and structural metrics of two graphs.

    `class_shd` is the distance to the nearest listed member of the reference's equivalence
    class, None where the class cannot be listed; `class_size` counts the listed members and
    `class_complete` tells whether they are all of it. `verdict` is None for large graphs.
    `heldout_log_likelihood` holds the mean log-densities of fresh observations under both
    graphs, None where no data were given.
    """

    complexity: tuple[int, int]
    dimension: tuple[int, int]
    compatibility: Compatibility
    verdict: QuasiEquivalence | None
    metrics: GraphMetrics
    class_shd: int | None
    class_size: int | None
    class_complete: bool | None
    heldout_log_likelihood: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON."""
        return {
            "complexity": list(self.complexity),
            "dimension": list(self.dimension),
            "compatibility": self.compatibility.to_dict(),
            "quasi_equivalence": None if self.verdict is None else self.verdict.to_dict(),
            "metrics": self.metrics.to_dict(),
            "class_shd": self.class_shd,
            "class_size": self.class_size,
            "class_complete": self.class_complete,
            "heldout_log_likelihood": _listed(self.heldout_log_likelihood),
        }


def compare(
    reference: LatentGraph,
    recovered: LatentGraph,
    *,
    draws: int = DRAWS,
    starts: int = STARTS,
    seed: int = 0,
    n_jobs: int = 1,
    data: tuple[GaussianStats, GaussianStats] | None = None,
) -> Comparison:
    """Compare a recovered graph with a reference in every way this package knows.

    `data` are statistics to fit both graphs to and statistics of fresh observations, about
    the means of the first; then their held-out log-likelihoods are compared as well.
    """
    left, right = aligned(reference, recovered)
    small = left.n_observed <= LARGEST_VERDICT
    members, complete = _members(left, seed)
    return Comparison(
        complexity=(left.complexity, right.complexity),
        dimension=(family_dimension(left), family_dimension(right)),
        compatibility=compatibility(
            left, right, draws=draws, starts=starts, seed=seed, n_jobs=n_jobs
        ),
        verdict=quasi_equivalent(left, right, starts=starts, seed=seed) if small else None,
        metrics=graph_metrics(left, right),
        class_shd=class_shd(members, right) if members else None,
        class_size=len(members) if members else None,
        class_complete=complete if members else None,
        heldout_log_likelihood=None
        if data is None
        else (_heldout(left, *data), _heldout(right, *data)),
    )


def _heldout(graph: LatentGraph, training: GaussianStats, fresh: GaussianStats) -> float:
    return heldout_log_likelihood(fit(training, graph).scm, fresh)


def _listed(pair: tuple[float, float] | None) -> list[float] | None:
    return None if pair is None else list(pair)


def _members(graph: LatentGraph, seed: int) -> tuple[list[LatentGraph], bool]:
    """(members of the reference's class, whether all are listed); none if out of reach."""
    if not graph.n_latent and not graph.bidirected.any():
        found = rotation_class(graph)
        return list(found.members), found.complete
    if graph.n_latent <= ENUMERABLE.get(graph.n_observed, -1) and not graph.bidirected.any():
        return equivalence_class(graph, seed=seed), True
    return [], False
