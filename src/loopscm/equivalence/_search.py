"""The state of one search for the closest member of a family, and its descents of J."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loopscm.equivalence._family import Family, Matrix, Vector
from loopscm.equivalence._siblings import Alternative, alternatives
from loopscm.fitting.driver import minimise_blocks
from loopscm.fitting.fit import NOISE_FLOOR
from loopscm.fitting.newton import CONVERGED, GIVEN_UP, Limits
from loopscm.likelihood import factorised
from loopscm.likelihood.gaussian import LIKELIHOOD, SYMMETRIC

# J is bounded by zero: a fit this close has reached the bound up to rounding.
EXACT = 1e-10
# Predicted decrease of the last step of a descent of J for graphs above LARGE variables (the
# step itself leaves its square), and for small graphs or where J is so small that it may be
# zero.
TOLERANCE, FINE_TOLERANCE, SMALL, LARGE = 1e-7, 1e-12, 1e-5, 40
# Gain of two steps in a row at which a descent ends above SMALL (flat valleys towards noise
# variances of zero or infinite coefficients go on for ever), for large graphs and others.
NEGLIGIBLE, NEGLIGIBLE_SMALL = 1e-9, 1e-10
# A descent is given up when it is not expected to lower the best value by more.
WORTHWHILE = 1e-7
REVIVALS = 3  # descents of one start, at most
# Likelihood optima only start descents of J, so they need not be sharp.
LOCAL_LIMITS = Limits(1e-5, 15, 1e-5)

_NO_INVERSE = np.zeros((0, 0))


@dataclass(eq=False)
class Search:
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
        first = Limits(
            TOLERANCE if self.large else FINE_TOLERANCE, self.max_iterations,
            NEGLIGIBLE if self.large else NEGLIGIBLE_SMALL, self.value + constant - WORTHWHILE,
        )  # fmt: skip
        theta, value, outcome, spent = self._minimised(theta[f.order], first)
        if value < SMALL and spent < self.max_iterations:
            fine = Limits(FINE_TOLERANCE, self.max_iterations - spent)
            theta, value, outcome, _ = self._minimised(theta, fine)
        back = np.empty_like(theta)
        back[f.order] = theta
        if outcome != GIVEN_UP:
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
    def large(self) -> bool:
        """Whether the graph is so large that single descents count."""
        return len(self.S) > LARGE

    @property
    def done(self) -> bool:
        """Whether the lower bound is reached."""
        return self.value <= EXACT
