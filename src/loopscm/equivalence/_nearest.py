"""The member of a covariance family closest to a covariance in the symmetric divergence.

J couples all parameters, the likelihood does not: its local optima are found component by
component in a fraction of the time. So every descent of J starts from local optima of the
likelihood, whose component-wise alternatives are exchanged one at a time wherever that
lowers J. Further starts take the exchanges that came closest, and random points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from loopscm.equivalence._family import Family, Matrix, Vector
from loopscm.equivalence._siblings import Alternative, alternatives, dominated
from loopscm.fitting.driver import minimise_blocks, starting_point
from loopscm.fitting.fit import NOISE_FLOOR
from loopscm.fitting.newton import BUDGET_SPENT, CONVERGED, Limits
from loopscm.likelihood import factorised
from loopscm.likelihood.gaussian import LIKELIHOOD, SYMMETRIC, precision
from loopscm.scm import LinearSCM

# J is bounded by zero: a fit this close has reached the bound up to rounding.
EXACT = 1e-10
# Predicted decrease of the last step of a descent of J for graphs above LARGE variables (the
# step itself leaves its square), and for small graphs or where J is so small that it may be
# zero.
TOLERANCE, FINE_TOLERANCE, SMALL, LARGE = 1e-7, 1e-12, 1e-5, 40

# Likelihood optima only start descents of J, so they need not be sharp; those of one
# component that differ by less than SAME_OPTIMUM count as one.
LOCAL_LIMITS, SAME_OPTIMUM = Limits(1e-5, 15, 1e-5), 1e-4
# For graphs up to so many variables: likelihood starts of every component, and whole random
# points of J, for each further start. Many where they cost nothing; large graphs get
# fewer of the first, and none of the second, because with many components one such point
# is in a poor valley somewhere.
EFFORT = ((12, 8, 4), (40, 4, 1), (np.inf, 1, 0))
# Standard deviations of random coefficients: moderate ones as published, and large
# ones, which lie in the valleys where a loop's det A is negative.
SPREADS = (0.5, 1.5)
# Share of random likelihood starts whose loops are turned, and the number of such starts before
# the first descent of J, from the first likelihood optima.
TURNED_SHARE, TURNED_FIRST = 0.7, 8
# Of the latter, so many are followed, those that differ by less than ALIKE once.
TURNED_KEPT, ALIKE = 3, 1e-3
# Exchanges weighed in each further start.
EXCHANGES = 8
WORTH_TRYING = 0.05
REVIVALS = 3  # descents of one start, at most
# Gain of two steps in a row at which a descent ends above SMALL: flat valleys towards noise
# variances of zero or infinite coefficients go on for ever.
NEGLIGIBLE, NEGLIGIBLE_SMALL = 1e-9, 1e-10

_NO_INVERSE = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Nearest:
    """The best member found, its divergence, whether its descent converged, and the number of
    descents taken (none when a first guess already reaches zero)."""

    value: float
    scm: LinearSCM
    converged: bool
    starts: int


@dataclass(eq=False)
class _Search:
    """The state of one search: the target and the best point so far."""

    family: Family
    S: Matrix
    inverse: Matrix
    max_iterations: int
    value: float = np.inf
    theta: Vector | None = None  # by component
    converged: bool = False
    starts: int = 0
    known: list[Alternative] = field(default_factory=list)
    known_at: float = np.nan

    def divergence(self, theta: Vector) -> float:
        """J at a parameter vector given by component; infinite outside the domain."""
        f = self.family
        values = factorised.block_values(
            f.whole_tables, self.S, self.inverse, theta[f.order], SYMMETRIC
        )
        return max(float(values[0]) - 0.5 * len(self.S), 0.0)

    def likelihood_optimum(self, theta: Vector) -> tuple[Vector, Vector]:
        """(parameters, value of each component) of the local likelihood optimum below a start."""
        f = self.family
        found, *_ = minimise_blocks(
            f.local_tables, self.S, _NO_INVERSE, theta[None], LIKELIHOOD,
            NOISE_FLOOR, LOCAL_LIMITS, False,
        )  # fmt: skip
        return found, self.likelihoods(found)

    def likelihoods(self, theta: Vector) -> Vector:
        """The likelihood of every component; infinite outside the domain."""
        return factorised.block_values(
            self.family.local_tables, self.S, _NO_INVERSE, theta, LIKELIHOOD
        )

    def alternatives(self, rng: np.random.Generator) -> list[Alternative]:
        """The other optima of the noise at the best point."""
        if self.known_at != self.value:
            self.known = alternatives(self.family, self.S, self.inverse, self.best(), rng)
            self.known_at = self.value
        return self.known

    def keep(self, theta: Vector, value: float, converged: bool) -> None:
        """Remember a point if it is the best."""
        if value < self.value:
            self.theta, self.value, self.converged = theta, value, converged

    def best(self) -> Vector:
        """The best point, by component; there is one after the first proposal."""
        assert self.theta is not None
        return self.theta

    def descend(self, theta: Vector) -> None:
        """One start: the local optimum of J below a point, latents that died on the way revived."""
        self.starts += 1
        for _ in range(REVIVALS):
            before = self.value
            found = self._descended(theta)
            if self.done or self.value >= before or not self.family.graph.n_latent:
                return
            revived = self.family.revived(found, self._slope(found))
            if revived is None:
                return
            theta = revived

    def _slope(self, theta: Vector) -> Matrix:
        """Half the derivative of J in Ψ at a point."""
        B, Gamma, variances, arcs = self.family.local.scatter(theta)
        A = np.eye(len(self.S)) - B
        V, Pi = np.linalg.inv(A), np.linalg.inv(np.diag(variances) + arcs + Gamma.T @ Gamma)
        return 0.125 * (V @ self.inverse @ V.T - Pi @ (A.T @ self.S @ A) @ Pi)

    def _descended(self, theta: Vector) -> Vector:
        """The local optimum of J below a point, given up where it looks hopeless midway."""
        f, constant = self.family, 0.5 * len(self.S)
        large = len(self.S) > LARGE
        first = Limits(
            TOLERANCE if large else FINE_TOLERANCE, self.max_iterations,
            NEGLIGIBLE if large else NEGLIGIBLE_SMALL, self.value + constant - 1e-7,
        )  # fmt: skip
        theta, value, outcome, spent = self._minimised(theta[f.order], first)
        if value < SMALL and spent < self.max_iterations:
            fine = Limits(FINE_TOLERANCE, self.max_iterations - spent)
            theta, value, outcome, _ = self._minimised(theta, fine)
        back = np.empty_like(theta)
        back[f.order] = theta
        self.keep(back, value, outcome == CONVERGED)
        return back

    def _minimised(self, theta: Vector, limits: Limits) -> tuple[Vector, float, int, int]:
        """(parameters, J, outcome, iterations) of a descent of J, all in one block."""
        found, outcomes, iterations, trace = minimise_blocks(
            self.family.whole_tables, self.S, self.inverse, theta[None], SYMMETRIC,
            NOISE_FLOOR, limits, False,
        )  # fmt: skip
        value = max(float(trace[-1]) - 0.5 * len(self.S), 0.0)
        return found, value, int(outcomes[0]), int(iterations[0])

    @property
    def done(self) -> bool:
        """Whether the lower bound is reached."""
        return self.value <= EXACT


def nearest(
    sigma: Matrix,
    family: Family,
    *,
    starts: int,
    rng: np.random.Generator,
    max_iterations: int = 1000,
    hint: LinearSCM | None = None,
) -> Nearest:
    """The closest member of a family to `sigma`.

    `hint` is a model on another graph that implies `sigma`; what the graphs share of it
    serves as a start.
    """
    scale = np.sqrt(np.diagonal(sigma))
    S = sigma / scale / scale[:, None]
    S = np.ascontiguousarray((S + S.T) / 2)
    search = _Search(family, S, precision(S), max_iterations)
    for theta in _proposals(search, starts, rng, hint, scale):
        search.descend(theta)
        if search.done:
            break
    parts = family.local.scatter(search.best() * family.local.units(scale))
    scm = LinearSCM.trusted(family.graph, *parts)
    return Nearest(search.value, scm, search.converged, search.starts)


def _proposals(
    search: _Search,
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
        bases = [optima[k % len(optima)][0] for k in range(TURNED_FIRST)]
        turned = [family.turned(theta, search.S, rng) for theta in bases]
        optima += [search.likelihood_optimum(theta) for theta in _best_distinct(search, turned)]
    yield from _further(search, starts, rng, optima)


def _further(
    search: _Search,
    starts: int,
    rng: np.random.Generator,
    optima: list[tuple[Vector, Vector]],
) -> Iterator[Vector]:
    """The best assembled likelihood optimum, then what more of them suggest, and random points."""
    family = search.family
    assembled = _best_of_components(family, optima)
    reached = search.divergence(assembled)
    yield assembled
    tried: set[tuple[int, float]] = set()
    tried_noise: set[tuple[float, ...]] = set()
    local, whole = _effort(len(search.S))
    turned_count = 0
    for _ in range(starts - 1):
        other = _other_noise(search, rng, tried_noise)
        if other is not None:
            yield other
            if len(search.S) > LARGE:
                continue
        best, lowered = search.value, reached - search.value
        if len(search.S) > LARGE and family.graph.n_latent:
            optima.append(search.likelihood_optimum(dominated(family.local, search.best(), turned_count)))
            turned_count += 1
        else:
            optima += [search.likelihood_optimum(_restart(search, rng)) for _ in range(local)]
        theta, pending = _exchanged(search, _best_of_components(family, optima), optima, tried)
        value = search.divergence(theta)
        if abs(value - reached) > SAME_OPTIMUM:
            yield theta
        elif pending and pending[0].rise <= lowered:
            tried.add(pending[0].name)
            theta = search.best().copy()
            theta[pending[0].part] = pending[0].values
            yield theta
        reached = min(value, reached)
        if len(search.S) > LARGE and search.value > best - SAME_OPTIMUM:
            return
        for k in range(whole):
            yield family.random_parameters(rng, rng.choice(SPREADS) if k % 2 else SPREADS[0])


def _other_noise(
    search: _Search, rng: np.random.Generator, tried: set[tuple[float, ...]]
) -> Vector | None:
    """The best point with sets of siblings at other optima: all that lower J, or the closest."""
    found = search.alternatives(rng)
    found = [other for other in found if other.name not in tried and other.rise < WORTH_TRYING]
    if not found:
        return None
    theta = search.best().copy()
    chosen = [other for other in reversed(found) if other.rise < 0] or found[:1]
    for other in chosen:
        theta[other.places] = other.values
        tried.add(other.name)
    return theta


def _restart(search: _Search, rng: np.random.Generator) -> Vector:
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


def _effort(p: int) -> tuple[int, int]:
    """(random likelihood starts, random points of J) for each further start."""
    return next((local, whole) for size, local, whole in EFFORT if p <= size)


def _best_distinct(search: _Search, starts: list[Vector]) -> list[Vector]:
    """Starts assembled anew: of every component its best values that differ, a few of them."""
    family = search.family
    values = np.stack([search.likelihoods(theta) for theta in starts])
    ranked = [_ranked(column) for column in values.T]
    result: list[Vector] = []
    for k in range(min(TURNED_KEPT, max(map(len, ranked)))):
        theta = starts[0].copy()
        for b, rows in enumerate(ranked):
            theta[family.block(b)] = starts[rows[min(k, len(rows) - 1)]][family.block(b)]
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
    search: _Search,
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
