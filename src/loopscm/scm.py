"""Linear structural causal models: a graph with parameters, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loopscm._checks import (
    as_generator,
    as_integer,
    as_matrix,
    as_names,
    as_real,
    as_vector,
    frozen,
    listed,
)
from loopscm.errors import DataError, ParameterError
from loopscm.graph import LatentGraph
from loopscm.stats import GaussianStats, read_table

Matrix = NDArray[np.float64]
# 1 / machine epsilon: beyond this condition number I − B has no meaningful inverse.
SINGULAR = 1e15


@dataclass(frozen=True)
class Stability:
    """Whether feedback dies out: the spectral radius of B against 1.

    With |eigenvalues| below 1 the total effects are the limit of effects passed along paths
    of growing length; otherwise (I − B)⁻¹ still solves the equations, but not as that limit.
    """

    spectral_radius: float

    @property
    def is_stable(self) -> bool:
        """Whether repeated passing of effects converges."""
        return self.spectral_radius < 1

    def __str__(self) -> str:
        if self.spectral_radius == 0.0:
            return "spectral radius 0: no effect returns to its cause"
        verdict = (
            "stable: effects passed around the loops die out"
            if self.is_stable
            else "not stable: effects passed around the loops grow; read total effects as the "
            "solution of the equations, not as the end of a process"
        )
        return f"spectral radius {self.spectral_radius:.3f}, {verdict}"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LinearSCM:
    """X = Bᵀ X + Γᵀ Z + N with independent unit-variance latents Z and noise N.

    Parameters
    ----------
    graph : the structure; coefficients outside it must be zero.
    coefficients : (p, p) B, `B[i, j]` for i → j; I − B must be invertible.
    loadings : (l, p) Γ, with the latents' standard deviations absorbed.
    noise_variances : p positive variances, the diagonal of Cov(N).
    noise_covariances : symmetric (p, p) with zero diagonal, for bidirected edges only.
    """

    graph: LatentGraph
    coefficients: Matrix
    loadings: Matrix
    noise_variances: NDArray[np.float64]
    noise_covariances: Matrix

    def __init__(
        self,
        graph: LatentGraph,
        coefficients: ArrayLike,
        loadings: ArrayLike | None,
        noise_variances: ArrayLike,
        noise_covariances: ArrayLike | None = None,
    ) -> None:
        if not isinstance(graph, LatentGraph):
            raise ParameterError(f"graph must be a LatentGraph, got {type(graph).__name__}.")
        p, n_latent = graph.n_observed, graph.n_latent
        B = as_matrix(coefficients, "coefficients", (p, p), ParameterError)
        rows = np.zeros((n_latent, p)) if loadings is None else loadings
        Gamma = as_matrix(rows, "loadings", (n_latent, p), ParameterError)
        omega = as_vector(noise_variances, "noise_variances", p, ParameterError)
        arcs = np.zeros((p, p)) if noise_covariances is None else noise_covariances
        free = as_matrix(arcs, "noise_covariances", (p, p), ParameterError)
        _refuse_outside(B, graph.directed, "coefficients", graph.names, graph.names)
        _refuse_outside(Gamma, graph.children, "loadings", graph.latent_names, graph.names)
        _refuse_outside(free, graph.bidirected, "noise_covariances", graph.names, graph.names)
        bad = [graph.names[j] for j in np.flatnonzero(omega <= 0)]
        if bad:
            raise ParameterError(f"noise variances must be positive; raise those of {listed(bad)}.")
        if not np.array_equal(free, free.T):
            raise ParameterError("noise_covariances must be symmetric; set both [i, j] and [j, i].")
        if graph.bidirected.any() and np.linalg.eigvalsh(np.diag(omega) + free)[0] <= 0:
            raise ParameterError(
                "noise variances and covariances must form a positive definite matrix; "
                "shrink the covariances."
            )
        _refuse_singular(B, "I - B is singular: the equations have no unique solution.")
        vars(self).update(vars(LinearSCM.trusted(graph, B, Gamma, omega, free)))

    @classmethod
    def trusted(
        cls,
        graph: LatentGraph,
        coefficients: Matrix,
        loadings: Matrix,
        noise_variances: NDArray[np.float64],
        noise_covariances: Matrix,
    ) -> LinearSCM:
        """A model from arrays that already satisfy the rules; they are closed for writing.

        For fits, whose result must exist even next to a singular I − B.
        """
        model = object.__new__(cls)
        vars(model).update(
            graph=graph,
            coefficients=frozen(coefficients),
            loadings=frozen(loadings),
            noise_variances=frozen(noise_variances),
            noise_covariances=frozen(noise_covariances),
        )
        return model

    # ---- the implied distribution -------------------------------------------------------

    def noise_covariance(self) -> Matrix:
        """Ψ = Ω + ΓᵀΓ, the covariance of the noise after the latents are marginalised."""
        return (
            np.diag(self.noise_variances) + self.noise_covariances + self.loadings.T @ self.loadings
        )

    def covariance(self) -> Matrix:
        """Σ = (I − B)⁻ᵀ Ψ (I − B)⁻¹ of the observed variables (Eq. marginal-covariance)."""
        effects = self.total_effects()
        sigma = effects.T @ self.noise_covariance() @ effects
        return (sigma + sigma.T) / 2

    def log_likelihood(self, data: Any) -> float:
        """Log-likelihood of a table (mean known to be zero) or of `GaussianStats`, all terms."""
        if isinstance(data, GaussianStats):
            S, n, names = data.S, data.n, data.names
        else:
            X, names = read_table(data)
            n = len(X)
            S = X.T @ X / n
        self._refuse_other_columns(names)
        sigma = self.covariance()
        log_det = float(np.linalg.slogdet(sigma)[1])
        trace = float(np.trace(np.linalg.solve(sigma, S)))
        return -0.5 * n * (len(S) * math.log(2 * math.pi) + log_det + trace)

    def _refuse_other_columns(self, names: tuple[str, ...]) -> None:
        """Refuse data over other variables; default names (X0, X1, ...) go by position."""
        own, defaults = self.graph.names, as_names(None, len(names), DataError)
        if len(names) != len(own):
            raise DataError(
                f"the data have {len(names)} variables, the model {len(own)}; pass the columns "
                f"{listed(own)} in this order."
            )
        reordered = sorted(names) == sorted(own)
        if names != own and (reordered or defaults not in (names, own)):
            raise DataError(
                f"the data's columns are {listed(names)}, the model's {listed(own)}; pass them in "
                "the model's order."
            )

    def sample(self, n: int, rng: np.random.Generator | int) -> Matrix:
        """n independent observations (rows) of the observed variables."""
        return _sample(self, n, rng, np.zeros(self.graph.n_observed), self.noise_variances)

    # ---- causal effects -----------------------------------------------------------------

    def total_effects(self) -> Matrix:
        """(I − B)⁻¹: entry [i, j] is the change of j per unit of extra input to i."""
        return _solution(self.coefficients)

    @cached_property
    def stability(self) -> Stability:
        """The spectral radius of B and what it says about the loops; prints as a sentence.

        It is the largest over the strong components, and exactly zero without loops.
        """
        radii = [
            np.abs(np.linalg.eigvals(self.coefficients[np.ix_(group, group)])).max()
            for group in self.graph.strongly_connected_components()
            if len(group) > 1
        ]
        return Stability(float(max(radii, default=0.0)))

    @property
    def is_stable(self) -> bool:
        """Whether the spectral radius of B is below one."""
        return self.stability.is_stable

    def do(self, interventions: Mapping[str | int, float]) -> IntervenedSCM:
        """The model with variables set from outside: incoming edges are cut, values fixed."""
        if not isinstance(interventions, Mapping) or not interventions:
            raise ParameterError("do() takes a non-empty mapping {variable: value}.")
        targets = {self._index(key): as_real(v, f"do({key!r})") for key, v in interventions.items()}
        if len(targets) < len(interventions):
            raise ParameterError("do() names a variable twice, by name and by number.")
        return IntervenedSCM(self, targets)

    def pruned(self) -> LinearSCM:
        """The same distribution on `graph.pruned()`: lone loadings move into the noise."""
        lone = self.graph.children.sum(axis=1) < 2
        omega = self.noise_variances + (self.loadings[lone] ** 2).sum(axis=0)
        graph = self.graph.pruned()
        return LinearSCM(
            graph, self.coefficients, self.loadings[~lone], omega, self.noise_covariances
        )

    def _index(self, key: str | int) -> int:
        names = self.graph.names
        if isinstance(key, str) and key in names:
            return names.index(key)
        if (
            isinstance(key, (int, np.integer))
            and not isinstance(key, bool)
            and 0 <= key < len(names)
        ):
            return int(key)
        raise ParameterError(f"unknown variable {key!r}; choose from {listed(names, 10)}.")

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.graph, self.coefficients, self.loadings, self.noise_variances)
        return LinearSCM, (*fields, self.noise_covariances)

    def __repr__(self) -> str:
        """Counts, stability, then one structural equation a line (at most 12)."""
        g = self.graph
        counts = f"{g.n_observed} observed, {g.n_latent} latent, {g.n_edges} edges"
        lines = [self._equation(j) for j in range(min(g.n_observed, 12))]
        more = [f"  ... and {g.n_observed - 12} more equations"] if g.n_observed > 12 else []
        return "\n".join([f"LinearSCM({counts}; {self.stability})", *lines, *more])

    def _equation(self, j: int) -> str:
        g = self.graph
        terms = [
            f"{self.coefficients[i, j]:+.3g} {g.names[i]}" for i in np.flatnonzero(g.directed[:, j])
        ]
        terms += [
            f"{self.loadings[h, j]:+.3g} {g.latent_names[h]}"
            for h in np.flatnonzero(g.children[:, j])
        ]
        noise = f"N(0, {self.noise_variances[j]:.3g})"
        return f"  {g.names[j]} = {' '.join([*terms, '+', noise] if terms else [noise])}"


@dataclass(frozen=True, eq=False)
class IntervenedSCM:
    """A model under do(): the targets hold their values, all else follows its equations.

    `targets` maps variable numbers to values. Its distribution has the targets as constants,
    so `covariance` is singular on purpose.
    """

    model: LinearSCM
    targets: Mapping[int, float]

    def __post_init__(self) -> None:
        names = listed([self.model.graph.names[j] for j in self.targets])
        _refuse_singular(self.coefficients, f"I - B is singular once {names} are held fixed.")

    @cached_property
    def _cut(self) -> NDArray[np.intp]:
        return np.array(sorted(self.targets))

    @cached_property
    def graph(self) -> LatentGraph:
        """The graph without the edges into the targets."""
        g = self.model.graph
        directed, children, arcs = g.directed.copy(), g.children.copy(), g.bidirected.copy()
        directed[:, self._cut] = children[:, self._cut] = arcs[:, self._cut] = False
        arcs[self._cut] = False
        return LatentGraph(directed, children, g.names, arcs)

    @cached_property
    def coefficients(self) -> Matrix:
        """B with the targets' columns set to zero."""
        return frozen(np.where(self.graph.directed, self.model.coefficients, 0.0))

    def mean(self) -> NDArray[np.float64]:
        """Expected values of the observed variables."""
        return self._input @ self._effects

    def covariance(self) -> Matrix:
        """Covariance of the observed variables; rows of targets are zero."""
        psi = self.model.noise_covariance()
        psi[self._cut] = 0
        psi[:, self._cut] = 0
        return self._effects.T @ psi @ self._effects

    def sample(self, n: int, rng: np.random.Generator | int) -> Matrix:
        """n independent observations under the intervention."""
        variances = self.model.noise_variances.copy()
        variances[self._cut] = 0
        return _sample(self, n, rng, self._input, variances)

    @cached_property
    def loadings(self) -> Matrix:
        """Γ with the targets' columns set to zero."""
        return frozen(np.where(self.graph.children, self.model.loadings, 0.0))

    @cached_property
    def noise_covariances(self) -> Matrix:
        """Free noise covariances without those of the targets."""
        return frozen(np.where(self.graph.bidirected, self.model.noise_covariances, 0.0))

    def total_effects(self) -> Matrix:
        """(I − B)⁻¹ of the cut system."""
        return self._effects.copy()

    @cached_property
    def _effects(self) -> Matrix:
        return _solution(self.coefficients)

    @cached_property
    def _input(self) -> NDArray[np.float64]:
        values = np.zeros(self.graph.n_observed)
        values[list(self.targets)] = list(self.targets.values())
        return values


def _solution(B: Matrix) -> Matrix:
    """(I − B)⁻¹."""
    return np.asarray(np.linalg.inv(np.eye(len(B)) - B), dtype=np.float64)


def _sample(
    model: LinearSCM | IntervenedSCM,
    n: int,
    rng: np.random.Generator | int,
    constants: NDArray[np.float64],
    variances: NDArray[np.float64],
) -> Matrix:
    """X = (c + ZΓ + N)(I − B)⁻¹, one row an observation; latents are drawn first."""
    generator = as_generator(rng)
    count = as_integer(n, "n", minimum=1)
    graph = model.graph
    hidden = generator.standard_normal((count, graph.n_latent)) @ model.loadings
    noise = generator.standard_normal((count, graph.n_observed))
    if graph.bidirected.any():
        values, vectors = np.linalg.eigh(np.diag(variances) + model.noise_covariances)
        noise = noise @ (vectors * np.sqrt(np.maximum(values, 0))).T
    else:
        noise = noise * np.sqrt(variances)
    return (constants + hidden + noise) @ model.total_effects()


def _refuse_outside(
    values: Matrix,
    mask: NDArray[np.bool_],
    what: str,
    tails: tuple[str, ...],
    heads: tuple[str, ...],
) -> None:
    extra = np.argwhere((values != 0) & ~mask)
    if extra.size:
        i, j = extra[0]
        raise ParameterError(
            f"{what}[{i}, {j}] is {values[i, j]:g}, but the graph has no edge between "
            f"{tails[i]!r} and {heads[j]!r}; add the edge or set it to zero."
        )


def _refuse_singular(B: Matrix, message: str) -> None:
    A = np.eye(len(B)) - B
    try:
        condition = np.linalg.norm(A, 1) * np.linalg.norm(np.linalg.inv(A), 1)
    except np.linalg.LinAlgError:
        condition = np.inf
    if condition > SINGULAR:
        raise ParameterError(f"{message} Change the coefficients around the loops.")
