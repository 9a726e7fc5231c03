"""Ordinary structural metrics, beside the compatibility error.

All compare one particular graph with another, so they count as errors what the data cannot
decide; `class_shd` removes that for graphs whose equivalence class can be listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm.equivalence._family import matched_latents
from loopscm.equivalence.discrepancy import aligned
from loopscm.errors import GraphError, ParameterError
from loopscm.graph import LatentGraph
from loopscm.scm import LinearSCM
from loopscm.stats import GaussianStats

BoolMatrix = NDArray[np.bool_]


@dataclass(frozen=True)
class Recovery:
    """How many of the true items were found, and how many of the found are true.

    Without items to find recall is one, without items found precision is one.
    """

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float:
        """Share of the found items that are true."""
        return _share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """Share of the true items that were found."""
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        errors = self.false_positives + self.false_negatives
        return _share(2 * self.true_positives, 2 * self.true_positives + errors)

    def to_dict(self) -> dict[str, Any]:
        """Counts and ratios."""
        return asdict(self) | {"precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True)
class GraphMetrics:
    """Structural agreement of a recovered graph with a reference.

    `shd` counts pairs of observed variables: one for each edge to add or remove and one for a
    reversal, the same for bidirected edges. `latent_shd` counts latent edges to add or remove
    after the best matching of latents, plus one for each unmatched latent. `skeleton` and
    `orientation` are over adjacent pairs and directed edges, `loops` over pairs on a common
    directed cycle, `confounded` over pairs with a common latent or bidirected edge, `latents`
    over matched latent edges; `latent_similarity` is the mean Jaccard similarity of children.
    """

    shd: int
    latent_shd: int
    skeleton: Recovery
    orientation: Recovery
    loops: Recovery
    confounded: Recovery
    latents: Recovery
    latent_similarity: float
    n_latents: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        names = ("skeleton", "orientation", "loops", "confounded", "latents")
        return {
            "shd": self.shd,
            "latent_shd": self.latent_shd,
            **{name: getattr(self, name).to_dict() for name in names},
            "latent_similarity": self.latent_similarity,
            "n_latents": list(self.n_latents),
        }


def graph_metrics(reference: LatentGraph, recovered: LatentGraph) -> GraphMetrics:
    """All structural metrics of a recovered graph."""
    truth, found = aligned(reference, recovered)
    latent_errors, latents, similarity = _latent_recovery(truth, found)
    return GraphMetrics(
        shd=shd(truth, found),
        latent_shd=latent_errors,
        skeleton=_recovery(np.triu(_skeleton(truth)), np.triu(_skeleton(found))),
        orientation=_recovery(truth.directed, found.directed),
        loops=_recovery(_loop_pairs(truth), _loop_pairs(found)),
        confounded=_recovery(confounded_pairs(truth), confounded_pairs(found)),
        latents=latents,
        latent_similarity=similarity,
        n_latents=(truth.n_latent, found.n_latent),
    )


def shd(reference: LatentGraph, recovered: LatentGraph) -> int:
    """Structural Hamming distance over the observed variables; a reversed edge counts once."""
    truth, found = aligned(reference, recovered)
    missing, extra = truth.directed & ~found.directed, found.directed & ~truth.directed
    reversals = int((missing & extra.T).sum())
    arcs = int(np.triu(truth.bidirected ^ found.bidirected).sum())
    return int(missing.sum() + extra.sum()) - reversals + arcs


def class_shd(members: Iterable[LatentGraph], recovered: LatentGraph) -> int:
    """SHD, latents included, to the nearest member of an equivalence class."""
    distances = [
        shd(member, recovered) + _latent_recovery(*aligned(member, recovered))[0]
        for member in members
    ]
    if not distances:
        raise GraphError("the class has no members; list at least the reference itself.")
    return min(distances)


def heldout_log_likelihood(model: LinearSCM, data: Any) -> float:
    """Mean log-likelihood of an observation that the model was not fitted to (mean zero)."""
    if not isinstance(model, LinearSCM):
        raise ParameterError(
            f"model must be a LinearSCM, got {type(model).__name__}; pass the `scm` of a fit."
        )
    stats = data if isinstance(data, GaussianStats) else GaussianStats.from_data(data, center=False)
    return model.log_likelihood(stats) / stats.n


def confounded_pairs(graph: LatentGraph) -> BoolMatrix:
    """Pairs i < j with a common latent or a bidirected edge."""
    children = graph.children.astype(int)
    return np.triu((children.T @ children > 0) | graph.bidirected, 1)


def _loop_pairs(graph: LatentGraph) -> BoolMatrix:
    """Pairs i < j on a common directed cycle."""
    pairs = np.zeros(graph.directed.shape, bool)
    for members in graph.strongly_connected_components():
        pairs[np.ix_(members, members)] = True
    return np.triu(pairs, 1)


def _skeleton(graph: LatentGraph) -> BoolMatrix:
    return graph.directed | graph.directed.T


def _recovery(truth: BoolMatrix, found: BoolMatrix) -> Recovery:
    return Recovery(
        int((truth & found).sum()), int((found & ~truth).sum()), int((truth & ~found).sum())
    )


def _latent_recovery(truth: LatentGraph, found: LatentGraph) -> tuple[int, Recovery, float]:
    """(latent SHD, recovery of latent edges, mean similarity) after matching latents."""
    pairs = matched_latents(truth, found)
    total, similarity = Recovery(0, 0, 0), 0.0
    for h, g in pairs:
        one = _recovery(truth.children[h], found.children[g])
        total = Recovery(
            total.true_positives + one.true_positives,
            total.false_positives + one.false_positives,
            total.false_negatives + one.false_negatives,
        )
        union = one.true_positives + one.false_positives + one.false_negatives
        similarity += one.true_positives / union
    lost = np.delete(truth.children, [h for h, _ in pairs], axis=0)
    invented = np.delete(found.children, [g for _, g in pairs], axis=0)
    total = Recovery(
        total.true_positives,
        total.false_positives + int(invented.sum()),
        total.false_negatives + int(lost.sum()),
    )
    errors = total.false_positives + total.false_negatives + len(lost) + len(invented)
    return errors, total, _share(similarity, max(truth.n_latent, found.n_latent))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0
