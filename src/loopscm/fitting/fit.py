"""Maximum likelihood and minimum divergence for a fixed graph."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_choice, as_generator, as_integer, as_real, listed
from loopscm.errors import DataError, GraphError, OptionError, ParameterError
from loopscm.fitting.bounded import refuse_unbounded
from loopscm.fitting.driver import minimise_blocks, starting_point
from loopscm.fitting.newton import BUDGET_SPENT, STALLED, Limits
from loopscm.fitting.result import Fit, Status
from loopscm.graph import LatentGraph
from loopscm.likelihood import factorised, gaussian
from loopscm.likelihood.kinds import EDGE, LOADING, VARIANCE
from loopscm.likelihood.layout import Layout, layout_of
from loopscm.scm import LinearSCM
from loopscm.stats import GaussianStats

Objective = Literal["likelihood", "divergence"]
Matrix = NDArray[np.float64]

MAX_ITERATIONS = 500
# Predicted decrease of the per-sample objective of one component; at n = 10,000 a
# ten-millionth of a log-likelihood unit.
TOLERANCE = 1e-11
# Smallest noise variance, as a share of the variable's own variance.
NOISE_FLOOR = 1e-10


def fit(
    stats: GaussianStats,
    graph: LatentGraph,
    *,
    start: LinearSCM | None = None,
    starts: int = 1,
    seed: int = 0,
    objective: Objective = "likelihood",
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
    noise_floor: float = NOISE_FLOOR,
) -> Fit:
    """The best parameters of a fixed graph.

    Parameters
    ----------
    stats, graph : over the same variables in the same order.
    start : a model to start from, over the same variables and number of latents; edges it
        lacks start at zero. By default the start comes from regressions, and a component
        that ends on the noise floor, or stalls, gets up to five further starts.
    starts, seed : number of starts, the further ones random; each component keeps its best.
    objective : "likelihood" minimises D(S‖Σ), "divergence" the symmetric J(S, Σ).
    max_iterations, tolerance : stop of the damped Newton iteration, per component.
    noise_floor : smallest noise variance as a share of the variable's variance.

    Numerically hard graphs do not raise; read `Fit.status`. The work is done in standardised
    units, so rescaling the variables rescales the answer and changes nothing else.
    """
    graph = matched(stats, graph)
    as_choice(objective, "objective", get_args(Objective))
    max_iterations = as_integer(max_iterations, "max_iterations", minimum=1)
    tolerance = as_real(tolerance, "tolerance", minimum=0.0, strict=True)
    noise_floor = as_real(noise_floor, "noise_floor", minimum=0.0, strict=True)
    if noise_floor >= 1:
        raise OptionError(f"noise_floor must be below 1, got {noise_floor:g}.")
    starts = as_integer(starts, "starts", minimum=1)
    rng = as_generator(seed, "seed")
    if start is not None:
        _check_start(start, graph)
    refuse_unbounded(stats, graph)
    options = (noise_floor, Limits(tolerance, max_iterations))
    if objective == "likelihood":
        layout = layout_of(graph)
        theta = _starting_points(stats, layout, start, noise_floor, starts, rng)
        return _minimise(stats, layout, gaussian.LIKELIHOOD, theta, options, restarts=start is None)
    if start is None:
        start = fit(stats, graph, starts=starts, seed=seed).scm
    layout = layout_of(graph, whole=True)
    theta = _starting_points(stats, layout, start, noise_floor, starts, rng)
    return _minimise(stats, layout, gaussian.SYMMETRIC, theta, options)


def matched(stats: GaussianStats, graph: LatentGraph) -> LatentGraph:
    """The graph with the data's names, after checking that both speak of the same variables.

    A graph with default names (X0, X1, ...) takes the names of the data.
    """
    if not isinstance(stats, GaussianStats):
        raise DataError(
            f"stats must be GaussianStats, got {type(stats).__name__}; build it with "
            "GaussianStats.from_data or from_covariance."
        )
    if not isinstance(graph, LatentGraph):
        raise GraphError(f"graph must be a LatentGraph, got {type(graph).__name__}.")
    if graph.n_observed != stats.p:
        raise GraphError(
            f"the graph has {graph.n_observed} variables, the data {stats.p}; give a graph over "
            "all variables of the data, without edges at those that have none."
        )
    if graph.names == stats.names:
        return graph
    reordered = sorted(graph.names) == sorted(stats.names)
    if graph.names == tuple(f"X{j}" for j in range(stats.p)) and not reordered:
        return LatentGraph(graph.directed, graph.children, stats.names, graph.bidirected)
    position = next(
        j for j, pair in enumerate(zip(graph.names, stats.names, strict=True)) if pair[0] != pair[1]
    )
    raise GraphError(
        f"variable {position} is {graph.names[position]!r} in the graph but "
        f"{stats.names[position]!r} in the data; bring both to the same names and order "
        "(see `permuted`)."
    )


def _check_start(start: LinearSCM, graph: LatentGraph) -> None:
    if not isinstance(start, LinearSCM):
        raise ParameterError(f"start must be a LinearSCM, got {type(start).__name__}.")
    if start.graph.n_observed != graph.n_observed or start.graph.n_latent != graph.n_latent:
        raise ParameterError(
            f"start has {start.graph.n_observed} variables and {start.graph.n_latent} latents, "
            f"the graph {graph.n_observed} and {graph.n_latent}; they must agree."
        )
    default = tuple(f"X{j}" for j in range(graph.n_observed))
    if start.graph.names != graph.names and default != start.graph.names:
        raise ParameterError(
            f"the variables of start are {listed(start.graph.names)}, those of the graph "
            f"{listed(graph.names)}; bring both to one order."
        )


def _starting_points(
    stats: GaussianStats,
    layout: Layout,
    start: LinearSCM | None,
    floor: float,
    count: int,
    rng: np.random.Generator,
) -> Matrix:
    """Standardised starting parameters, one start a row: the given or cold one, then random."""
    kind = layout.kind
    theta = np.zeros((count, layout.size))
    theta[0] = starting_point(factorised.tables_of(layout), _standardised(stats))
    if start is not None:
        warm = gaussian.parameters(start, layout) / layout.units(stats.scale)
        known = (kind != LOADING) | (warm != 0)  # a zero loading would never move
        theta[0, known] = warm[known]
        theta[0, kind == VARIANCE] = np.maximum(theta[0, kind == VARIANCE], floor)
    for row in theta[1:]:
        row[kind == EDGE] = rng.normal(0.0, 0.5, (kind == EDGE).sum())
        row[kind == LOADING] = rng.normal(0.0, 0.5, (kind == LOADING).sum())
        row[kind == VARIANCE] = rng.uniform(0.2, 1.0, stats.p)
    return theta


def _minimise(
    stats: GaussianStats,
    layout: Layout,
    weights: tuple[float, float],
    starts: Matrix,
    options: tuple[float, Limits],
    *,
    restarts: bool = False,
) -> Fit:
    S = _standardised(stats)
    symmetric = weights == gaussian.SYMMETRIC
    inverse = gaussian.precision(S) if symmetric else np.zeros((0, 0))
    theta, outcomes, iterations, trace = minimise_blocks(
        factorised.tables_of(layout), S, inverse, starts, weights, *options, restarts
    )
    scm = LinearSCM.trusted(layout.graph, *layout.scatter(theta * layout.units(stats.scale)))
    trace = trace + (-0.5 * stats.p if symmetric else float(np.log(stats.scale).sum()))
    f = gaussian.likelihood(stats.S, scm) if symmetric else float(trace[-1])
    low = (layout.kind == VARIANCE) & (theta <= 1.01 * options[0])
    return Fit(
        scm=scm,
        nll=stats.n * f,
        status=_status(outcomes, bool(low.any()), stats),
        n_iterations=int(iterations.max()),
        objective="divergence" if symmetric else "likelihood",
        value=float(trace[-1]),
        trace=trace,
        at_floor=tuple(stats.names[j] for j in np.sort(layout.head[low])),
        n=stats.n,
    )


def _standardised(stats: GaussianStats) -> Matrix:
    """The correlations, writable: kernels are compiled once more for read-only arrays."""
    return np.array(stats.correlation, order="C")


def _status(outcomes: NDArray[np.int64], floored: bool, stats: GaussianStats) -> Status:
    if floored and stats.n <= stats.p and stats.is_singular:
        return Status.UNBOUNDED
    if (outcomes == BUDGET_SPENT).any():
        return Status.ITERATION_LIMIT
    if (outcomes == STALLED).any():
        return Status.STALLED
    return Status.AT_NOISE_FLOOR if floored else Status.CONVERGED
