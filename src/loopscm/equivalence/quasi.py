"""Which graphs the data can tell apart: quasi-equivalence, inclusion, equivalence of families.

A generic draw of one family lies in another with positive probability exactly when the two
overlap in the full dimension of the first (the families are semialgebraic). So one exact fit
of a random member decides for overlap with probability one, up to rounding; failures to fit
are evidence against it that depends on the optimiser, unless dimensions already decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_integer, frozen
from loopscm.equivalence._draws import random_member, wide_member
from loopscm.equivalence._family import family_of
from loopscm.equivalence._nearest import nearest
from loopscm.equivalence.discrepancy import aligned
from loopscm.equivalence.vanishing import zero_pairs
from loopscm.errors import ParameterError
from loopscm.graph import LatentGraph
from loopscm.likelihood.dimension import family_dimension

# A divergence this small is zero up to rounding; one this large is certainly not.
MEMBER, NO_MEMBER = 1e-9, 1e-6


class Answer(Enum):
    """An answer with three values."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"

    def __bool__(self) -> bool:
        return self is Answer.YES


@dataclass(frozen=True, eq=False)
class QuasiEquivalence:
    """The verdict on two graphs and the evidence for it.

    `verdict` answers the question of quasi-equivalence (full-dimensional overlap at equal
    dimension), `equivalent` that of equal families, `included` and `includes` those of the
    first family inside the second (up to closure) and the other way round. `proved` tells
    whether the verdict rests on a proof or on the fits in `forward` (members of the first,
    fitted by the second: divergences) and `reverse`.
    """

    verdict: Answer
    equivalent: Answer
    included: Answer
    includes: Answer
    dimensions: tuple[int, int]
    reason: str
    proved: bool
    forward: NDArray[np.float64]
    reverse: NDArray[np.float64]

    def __bool__(self) -> bool:
        return bool(self.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON."""
        answers = ("verdict", "equivalent", "included", "includes")
        return {
            **{name: getattr(self, name).value for name in answers},
            "dimensions": list(self.dimensions),
            "reason": self.reason,
            "proved": self.proved,
            "forward": self.forward.tolist(),
            "reverse": self.reverse.tolist(),
        }


def quasi_equivalent(
    g1: LatentGraph, g2: LatentGraph, *, draws: int = 10, starts: int = 5, seed: int = 0
) -> QuasiEquivalence:
    """Whether two graphs share a full-dimensional set of covariances (Eq. quasi-equivalence).

    Half of the members are drawn by the protocol's law, half by a wide one. The answers on
    inclusion are "yes" when all members fit, or when one graph is part of the other.
    """
    draws = as_integer(draws, "draws", minimum=1)
    starts = as_integer(starts, "starts", minimum=1)
    left, right = aligned(g1, g2)
    dimensions = family_dimension(left), family_dimension(right)
    seeds = np.random.SeedSequence(as_integer(seed, "seed", minimum=0)).spawn(2)
    forward = _distances(left, right, draws, starts, seeds[0])
    reverse = _distances(right, left, draws, starts, seeds[1])
    included = _inclusion(left, right, dimensions, forward)
    includes = _inclusion(right, left, (dimensions[1], dimensions[0]), reverse)
    verdict, reason, proved = _verdict(left, right, dimensions, forward, reverse)
    return QuasiEquivalence(
        verdict, _both(included, includes), included, includes, dimensions, reason, proved,
        frozen(forward), frozen(reverse),
    )  # fmt: skip


def overlaps(
    source: LatentGraph, target: LatentGraph, *, draws: int = 4, starts: int = 5, seed: int = 0
) -> Answer:
    """Whether generic members of the first family lie in the second.

    Yes implies that the Zariski closure of the first lies in that of the second. The members
    are fitted one after the other until one is exact.
    """
    left, right = aligned(source, target)
    if part_of(left, right):
        return Answer.YES
    if cannot_contain(left, right):
        return Answer.NO
    values = _distances(left, right, draws, starts, np.random.SeedSequence(seed), until=MEMBER)
    return _any_member(values)


def cannot_contain(left: LatentGraph, right: LatentGraph) -> bool:
    """Proofs that no generic member of the first family lies in the second.

    Either the first has the larger dimension, or a covariance vanishes throughout the second
    family but not throughout the first.
    """
    if bool(np.any(zero_pairs(right) & ~zero_pairs(left))):
        return True
    return family_dimension(left) > family_dimension(right)


def part_of(small: LatentGraph, large: LatentGraph) -> bool:
    """Whether the first graph is a subgraph of the second, latents suitably matched."""
    if (small.directed & ~large.directed).any() or (small.bidirected & ~large.bidirected).any():
        return False
    if not small.n_latent:
        return True
    if small.n_latent > large.n_latent:
        return False
    from scipy.optimize import linear_sum_assignment

    fits = ~np.any(small.children[:, None] & ~large.children[None], axis=2)
    rows, columns = linear_sum_assignment(fits.astype(float), maximize=True)
    return bool(np.all(np.asarray(fits)[rows, columns]))


def _distances(
    source: LatentGraph,
    target: LatentGraph,
    draws: int,
    starts: int,
    seed: np.random.SeedSequence,
    until: float = -np.inf,
) -> NDArray[np.float64]:
    """Distances of random members; ends early after one at most `until`, empty if none exist."""
    family, values = family_of(target), []
    for k, child in enumerate(seed.spawn(draws)):
        law, search = (np.random.default_rng(s) for s in child.spawn(2))
        member = _member(source, law, wide=k % 2 == 1)
        if member is None:
            continue
        best = nearest(member.covariance(), family, starts=starts, rng=search, hint=member)
        values.append(best.value)
        if best.value <= until:
            break
    return np.array(values)


def _member(graph: LatentGraph, rng: np.random.Generator, *, wide: bool):
    """A member by one law, or by the other when the first accepts none."""
    laws = (wide_member, random_member) if wide else (random_member, wide_member)
    for law in laws:
        try:
            return law(graph, rng)
        except ParameterError:
            continue
    return None


def _any_member(values: NDArray[np.float64]) -> Answer:
    if np.any(values <= MEMBER):
        return Answer.YES
    return Answer.NO if values.size and np.all(values >= NO_MEMBER) else Answer.UNDECIDED


def _inclusion(
    source: LatentGraph,
    target: LatentGraph,
    dimensions: tuple[int, int],
    values: NDArray[np.float64],
) -> Answer:
    if part_of(source, target):
        return Answer.YES
    if dimensions[0] > dimensions[1] or (values >= NO_MEMBER).any():
        return Answer.NO
    return Answer.YES if values.size and (values <= MEMBER).all() else Answer.UNDECIDED


def _both(first: Answer, second: Answer) -> Answer:
    if Answer.NO in (first, second):
        return Answer.NO
    return Answer.YES if first and second else Answer.UNDECIDED


def _verdict(
    left: LatentGraph,
    right: LatentGraph,
    dimensions: tuple[int, int],
    forward: NDArray[np.float64],
    reverse: NDArray[np.float64],
) -> tuple[Answer, str, bool]:
    """(verdict, reason, whether it is proved)."""
    if dimensions[0] != dimensions[1]:
        text = f"the families have dimensions {dimensions[0]} and {dimensions[1]}"
        return Answer.NO, text, True
    if part_of(left, right) or part_of(right, left):
        return Answer.YES, "one graph is part of the other and the dimensions agree", True
    if not np.array_equal(zero_pairs(left), zero_pairs(right)):
        text = "a covariance that vanishes throughout one family does not in the other"
        return Answer.NO, text, True
    values = np.concatenate([forward, reverse])
    answer = _any_member(values)
    if answer:
        count = int((values <= MEMBER).sum())
        return answer, f"{count} of {values.size} random members lie in both families", False
    if answer is Answer.NO:
        text = f"none of {values.size} random members fits the other family"
        return answer, f"{text}; the closest differs by {values.min():.3g}", False
    if not values.size:
        return answer, "no random member could be drawn", False
    return answer, f"the closest fits differ by {values.min():.3g}, too little to decide", False
