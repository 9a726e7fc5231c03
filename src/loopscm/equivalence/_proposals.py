"""Where descents of J start.

J couples all parameters, the likelihood does not: its local optima are found component by
component in a fraction of the time. So every descent of J starts from local optima of the
likelihood, whose component-wise alternatives are exchanged one at a time wherever that
lowers J. Further starts take the exchanges that came closest, other optima of the noise with
the coefficients held, and random points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from loopscm.equivalence._family import Family, Vector
from loopscm.equivalence._search import Search
from loopscm.equivalence._siblings import dominated
from loopscm.fitting.driver import starting_point
from loopscm.fitting.fit import NOISE_FLOOR
from loopscm.scm import LinearSCM

# Likelihood optima of one component that differ by less count as one.
SAME_OPTIMUM = 1e-4
# For graphs up to so many variables, none of them large: likelihood starts of every component,
# and whole random points of J, for each further start. Many where they cost nothing.
EFFORT = ((12, 8, 4), (40, 4, 1))
# Standard deviations of random coefficients: moderate ones as published, and large
# ones, which lie in the valleys where a loop's det A is negative.
SPREADS = (0.5, 1.5)
# Share of random likelihood starts whose loops are turned. Before the first descent of J such
# starts are drawn until so many in a row brought nothing new, at most so many; so many are
# followed, those that differ by less than ALIKE once.
TURNED_SHARE, TURNED_IDLE, TURNED_MOST, TURNED_KEPT, ALIKE = 0.7, 12, 50, 3, 1e-3
# Exchanges weighed in each further start.
EXCHANGES = 8
# Rise of J at another optimum of the noise from which a descent may still end lower.
WORTH_TRYING = 0.05


def proposals(
    search: Search,
    starts: int,
    rng: np.random.Generator,
    hint: LinearSCM | None,
    scale: Vector,
) -> Iterator[Vector]:
    """Starting points of J, best guess first; none when a first guess is already exact.

    With more starts the points of fewer come first, so more starts never give a larger J.
    """
    family = search.family
    optima = [search.likelihood_optimum(starting_point(family.local_tables, search.S))]
    if hint is not None:
        projected = family.projected(hint, scale, NOISE_FLOOR)
        search.keep(projected, search.divergence(projected), True)
        if search.done:
            return
        optima.append(search.likelihood_optimum(projected))
    for theta, _ in optima:
        search.keep(theta, search.divergence(theta), True)
        if search.done:
            return
    if family.has_loops:
        turned = _turned(search, [theta for theta, _ in optima], rng)
        optima += [search.likelihood_optimum(theta) for theta in turned]
    suggestions = _Suggestions(search, rng, optima)
    yield suggestions.assembled
    further = _few_starts if search.large else _many_starts
    yield from further(suggestions, starts - 1)


def _few_starts(suggestions: _Suggestions, count: int) -> Iterator[Vector]:
    """Further starts of a large graph, the two sources in turn, while they suggest anything.

    The likelihood is left alone once a start from it lowers nothing. Random points are no
    use: with many components each is in a poor valley somewhere.
    """
    search, fruitful = suggestions.search, True
    for turn in range(count):
        theta = None if fruitful and turn % 2 else suggestions.from_noise()
        if theta is not None:
            yield theta
            continue
        if not fruitful:
            return
        before = search.value
        theta = suggestions.from_likelihood([suggestions.dominated_start()])
        if theta is not None:
            yield theta
        fruitful = search.value < before - SAME_OPTIMUM


def _many_starts(suggestions: _Suggestions, count: int) -> Iterator[Vector]:
    """Further starts of a small graph, where they cost little: from all sources."""
    search, rng = suggestions.search, suggestions.rng
    p = len(search.S)
    local, whole = next((local, whole) for size, local, whole in EFFORT if p <= size)
    for _ in range(count):
        theta = suggestions.from_noise()
        if theta is not None:
            yield theta
        theta = suggestions.from_likelihood([_restart(search, rng) for _ in range(local)])
        if theta is not None:
            yield theta
        for k in range(whole):
            spread = rng.choice(SPREADS) if k % 2 else SPREADS[0]
            yield search.family.random_parameters(rng, spread)


@dataclass(eq=False)
class _Suggestions:
    """What other optima of the likelihood and of the noise suggest as starts of J."""

    search: Search
    rng: np.random.Generator
    optima: list[tuple[Vector, Vector]]
    tried: set[tuple[int, float]] = field(default_factory=set)
    tried_noise: set[tuple[float, ...]] = field(default_factory=set)
    turn: int = 0

    def __post_init__(self) -> None:
        self.assembled = _best_of_components(self.search.family, self.optima)
        self.reached = self.search.divergence(self.assembled)

    def from_noise(self) -> Vector | None:
        """The best point with siblings at other optima: at all that lower J, or at the closest."""
        found = [
            other
            for other in self.search.alternatives(self.rng)
            if other.rise < WORTH_TRYING and other.name not in self.tried_noise
        ]
        if not found:
            return None
        theta = self.search.best().copy()
        for other in [other for other in reversed(found) if other.rise < 0] or found[:1]:
            theta[other.places] = other.values
            self.tried_noise.add(other.name)
        return theta

    def dominated_start(self) -> Vector:
        """The best point with every latent nearly one of its children, in turn."""
        self.turn += 1
        return dominated(self.search.family.local, self.search.best(), self.turn - 1)

    def from_likelihood(self, starts: list[Vector]) -> Vector | None:
        """What the likelihood optima suggest, with those of further starts.

        Exchanges of components that lower J; else the best point with one exchange that
        raises J by less than the descents lowered it.
        """
        search, lowered = self.search, self.reached - self.search.value
        self.optima += [search.likelihood_optimum(theta) for theta in starts]
        assembled = _best_of_components(search.family, self.optima)
        theta, pending = _exchanged(search, assembled, self.optima, self.tried)
        value = search.divergence(theta)
        differs = abs(value - self.reached) > SAME_OPTIMUM
        self.reached = min(value, self.reached)
        if differs:
            return theta
        if not pending or pending[0].rise > lowered:
            return None
        self.tried.add(pending[0].name)
        theta = search.best().copy()
        theta[pending[0].part] = pending[0].values
        return theta


def _restart(search: Search, rng: np.random.Generator) -> Vector:
    """A start of the likelihood: a random point, or the best one with all loadings anew.

    Most of them with turned loops, if there are any.
    """
    family = search.family
    if rng.random() < 0.5 and family.graph.n_latent:
        theta = family.kicked(search.best(), rng)
    else:
        theta = family.random_parameters(rng, rng.choice(SPREADS))
    if family.has_loops and rng.random() < TURNED_SHARE:
        return family.turned(theta, search.S, rng)
    return theta


def _turned(search: Search, bases: list[Vector], rng: np.random.Generator) -> list[Vector]:
    """Starts with turned loops: of every component a few that differ, best first.

    Draws end when the last ones, from the bases in turn, have bettered no component.
    """
    family = search.family
    starts: list[Vector] = []
    rows: list[Vector] = []
    best, idle = np.inf, 0
    while idle < TURNED_IDLE and len(starts) < TURNED_MOST:
        starts.append(family.turned(bases[len(starts) % len(bases)], search.S, rng))
        rows.append(search.likelihoods(starts[-1]))
        idle = 0 if (rows[-1] < best - ALIKE).any() else idle + 1
        best = np.minimum(best, rows[-1])
    ranked = [_ranked(column) for column in np.stack(rows).T]
    result: list[Vector] = []
    for k in range(min(TURNED_KEPT, max(map(len, ranked)))):
        theta = starts[0].copy()
        for b, places in enumerate(ranked):
            chosen = starts[places[min(k, len(places) - 1)]]
            theta[family.block(b)] = chosen[family.block(b)]
        result.append(theta)
    return result


def _ranked(values: Vector) -> list[int]:
    """Positions of values that differ by more than ALIKE, smallest first."""
    order = np.argsort(values, kind="stable").tolist()
    kept = order[:1]
    for k in order[1:]:
        if values[k] > values[kept[-1]] + ALIKE:
            kept.append(k)
    return kept


def _best_of_components(family: Family, optima: list[tuple[Vector, Vector]]) -> Vector:
    """Each component from the row where its likelihood is best."""
    values = np.stack([value for _, value in optima])
    winner = values.argmin(axis=0)
    theta = optima[0][0].copy()
    for b, row in enumerate(winner.tolist()):
        theta[family.block(b)] = optima[row][0][family.block(b)]
    return theta


class _Exchange(NamedTuple):
    """Another likelihood optimum of one component, and what it raises J by."""

    rise: float
    name: tuple[int, float]  # component and likelihood, which tell optima apart
    part: slice
    values: Vector


def _exchanged(
    search: Search,
    theta: Vector,
    optima: list[tuple[Vector, Vector]],
    tried: set[tuple[int, float]],
) -> tuple[Vector, list[_Exchange]]:
    """Exchange components for their other likelihood optima wherever that lowers J.

    Returns the result and the exchanges not made that were not tried, lowest rise first.
    """
    family, current, theta = search.family, search.divergence(theta), theta.copy()
    pending: list[_Exchange] = []
    for b, row, name in _alternatives(optima, tried):
        part = family.block(b)
        values = optima[row][0][part].copy()
        trial = theta.copy()
        trial[part] = values
        value = search.divergence(trial)
        if value < current:
            values, theta = theta[part].copy(), trial
            value, current = current, value
        pending.append(_Exchange(value - current, name, part, values))
    return theta, sorted(pending, key=lambda exchange: exchange[:2])


def _alternatives(
    optima: list[tuple[Vector, Vector]], tried: set[tuple[int, float]]
) -> list[tuple[int, int, tuple[int, float]]]:
    """(component, row, name) of distinct untried optima other than the best, closest first."""
    values = np.stack([value for _, value in optima])
    values = np.where(np.isfinite(values), values, np.inf)
    found: list[tuple[float, int, int, tuple[int, float]]] = []
    for b in range(values.shape[1]):
        rows = np.argsort(values[:, b], kind="stable")
        best = last = values[rows[0], b]
        for row in rows[1:].tolist():
            value = values[row, b]
            if last + SAME_OPTIMUM < value < np.inf:
                name = (b, round(float(value), 4))
                if name not in tried:
                    found.append((float(value - best), b, row, name))
                last = value
    found.sort()
    return [(b, row, name) for _, b, row, name in found[:EXCHANGES]]
