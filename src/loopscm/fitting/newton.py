"""Damped Newton for one block, compiled.

The likelihood of a factor is a bent valley: what the data fix are the products γ_j γ_k and
the totals Ψ_jj = ω_j + Σγ_j². In the coordinates log|γ| and log Ψ_jj that valley is straight.
Variances stay above an explicit floor. A step may neither make Ψ indefinite nor change the
sign of det A: across det A = 0 lies another valley of the likelihood, usually a worse one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.block import Block, Point, evaluate, gradient, hessian
from loopscm.likelihood.dense import cholesky, cholesky_solve
from loopscm.likelihood.kinds import COVARIANCE, EDGE, LOADING, VARIANCE

NATURAL, LOG, HELD = 0, 1, 2  # coordinates of a parameter
SMALL_SHARE = 0.1  # of Ψ_jj, below which a variance is its own coordinate
LOG_SHARE = 0.1  # of √Ψ_jj, above which a loading on j moves on the log scale
CONVERGED, STALLED, BUDGET_SPENT, GIVEN_UP = 0, 1, 2, 3

CHORD_STEPS = 2  # steps with one factor beyond the first

# Levenberg damping, relative to the diagonal of the Hessian in standardised units.
FIRST_DAMPING, SMALL_DAMPING = 1e-3, 1e-3
SMALLEST_DAMPING, SMALLEST_RISE, LARGEST_DAMPING = 1e-10, 1e-8, 1e12

# Steps whose gains are compared to foresee the end of a descent, and the safety factor on it.
WINDOW, PATIENCE = 1, 4.0


class Limits(NamedTuple):
    """When a descent ends."""

    tolerance: float  # an almost undamped step predicts less
    max_iterations: int
    negligible: float = -np.inf  # two steps in a row gain less
    rival: float = np.inf  # the objective is not expected to come below


@merged
def _chart(
    block: Block, point: Point, theta: np.ndarray, g: np.ndarray, floor: float
) -> np.ndarray:
    """The coordinate of each parameter; g is the gradient in the natural parameters.

    The coordinate of a variance is log Ψ_jj while it is more than a small share of Ψ_jj, else
    itself; it is held when it is at its floor and wants to go lower. A loading's coordinate
    is its logarithm unless it is small.
    """
    kind, head, Psi = block.kind, block.head, point.Psi
    chart = np.zeros(theta.shape[0], np.int64)
    for a in range(theta.shape[0]):
        total = Psi[head[a], head[a]]
        if kind[a] == VARIANCE:
            if theta[a] > SMALL_SHARE * total:
                chart[a] = LOG
            elif theta[a] <= floor * 1.0000001 and g[a] > 0.0:
                chart[a] = HELD
        elif kind[a] == LOADING and abs(theta[a]) > LOG_SHARE * np.sqrt(total):
            chart[a] = LOG
    return chart


@kernel
def _scales(block: Block, Psi: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The values whose logarithms are coordinates: Ψ_jj for a variance, else the parameter."""
    kind, head = block.kind, block.head
    result = theta.copy()
    for a in range(theta.shape[0]):
        if kind[a] == VARIANCE:
            result[a] = Psi[head[a], head[a]]
    return result


@kernel
def _shares(kind: np.ndarray, own: np.ndarray, chart: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """−∂ω/∂γ of every loading at constant total Ψ_jj, zero where the total is no coordinate."""
    result = np.zeros(theta.shape[0])
    for a in range(theta.shape[0]):
        if kind[a] == LOADING and chart[own[a]] == LOG:
            result[a] = 2.0 * theta[a]
    return result


@kernel
def _to_chart(
    own: np.ndarray, chart: np.ndarray, scale: np.ndarray, share: np.ndarray, g: np.ndarray
) -> np.ndarray:
    """The gradient in the chart, from that in the natural parameters."""
    result = np.empty(g.shape[0])
    for a in range(g.shape[0]):
        result[a] = g[a] - share[a] * g[own[a]]
        if chart[a] == HELD:
            result[a] = 0.0
        elif chart[a] == LOG:
            result[a] *= scale[a]
    return result


@merged
def _hessian_to_chart(
    H: np.ndarray,
    own: np.ndarray,
    chart: np.ndarray,
    scale: np.ndarray,
    share: np.ndarray,
    g: np.ndarray,
    slope: np.ndarray,
) -> None:
    """Change a Hessian to the chart, in place; g and slope are the gradient without and in it."""
    count = g.shape[0]
    for a in range(count):
        if share[a] != 0.0:
            for b in range(count):
                H[a, b] -= share[a] * H[own[a], b]
    for a in range(count):
        for b in range(count):
            if share[b] != 0.0:
                H[a, b] -= share[b] * H[a, own[b]]
        if share[a] != 0.0:
            H[a, a] -= 2.0 * g[own[a]]
        for b in range(count):
            left = scale[a] if chart[a] == LOG else 1.0
            right = scale[b] if chart[b] == LOG else 1.0
            H[a, b] *= left * right
        if chart[a] == LOG:
            H[a, a] += slope[a]


@merged
def _lift_dead_latents(block: Block, H: np.ndarray, chart: np.ndarray) -> None:
    """Make the Hessian definite in the small loadings of each latent, in place.

    Loadings near zero are near a saddle point. Without this the damping that one dead latent
    needs would slow down all other parameters; with it they leave the saddle by doubling.
    """
    kind, row = block.kind, block.row
    first = 0
    while first < kind.shape[0]:
        last = first + 1
        if kind[first] == LOADING:
            while kind[last] == LOADING and row[last] == row[first]:
                last += 1
            if not _is_definite(H, chart, first, last):
                for a in range(first, last):
                    if chart[a] == NATURAL:
                        H[a, a] = abs(H[a, a])
                        for b in range(first, last):
                            if b != a and chart[b] == NATURAL:
                                H[a, a] += 2.0 * abs(H[a, b])
        first = last


@kernel
def _is_definite(H: np.ndarray, chart: np.ndarray, first: int, last: int) -> bool:
    """Whether the part of H for the natural coordinates in first:last is positive definite."""
    part = np.zeros((last - first, last - first))
    for a in range(first, last):
        part[a - first, a - first] = H[a, a] if chart[a] == NATURAL else 1.0
        for b in range(first, a):
            if chart[a] == NATURAL and chart[b] == NATURAL:
                part[a - first, b - first] = H[a, b]
    return cholesky(part)


@kernel
def _moved(
    kind: np.ndarray,
    own: np.ndarray,
    theta: np.ndarray,
    chart: np.ndarray,
    scale: np.ndarray,
    step: np.ndarray,
    floor: float,
) -> np.ndarray:
    """The parameters after a step in the chart, variances kept at or above their floor."""
    result = np.empty(theta.shape[0])
    for a in range(theta.shape[0]):
        if chart[a] == LOG:
            result[a] = scale[a] * np.exp(min(max(step[a], -3.0), 3.0))
        else:
            result[a] = theta[a] + step[a]
    for a in range(theta.shape[0]):
        if kind[a] == LOADING and chart[own[a]] == LOG:
            result[own[a]] -= result[a] * result[a]
    for a in range(theta.shape[0]):
        if kind[a] == VARIANCE:
            result[a] = max(floor, result[a])
    return result


@merged
def _damped_factor(H: np.ndarray, chart: np.ndarray, damping: float) -> tuple[bool, np.ndarray]:
    """Cholesky factor of H + damping·|diag H|, the identity for held parameters."""
    size = H.shape[0]
    M = np.empty((size, size))
    for a in range(size):
        for b in range(a):
            M[a, b] = 0.0 if chart[a] == HELD or chart[b] == HELD else H[a, b]
        M[a, a] = 1.0 if chart[a] == HELD else H[a, a] + damping * (abs(H[a, a]) + 1e-3)
    return cholesky(M), M


@kernel
def _newton_step(factor: np.ndarray, g: np.ndarray) -> np.ndarray:
    """−M⁻¹ g."""
    step = cholesky_solve(factor, g)
    for a in range(step.shape[0]):
        step[a] = -step[a]
    return step


@merged
def _predicted_decrease(H: np.ndarray, g: np.ndarray, step: np.ndarray) -> float:
    """−gᵀs − ½ sᵀHs."""
    total = 0.0
    for a in range(g.shape[0]):
        curvature = 0.0
        for b in range(g.shape[0]):
            curvature += H[a, b] * step[b]
        total -= step[a] * (g[a] + 0.5 * curvature)
    return total


@merged
def _follow(
    block: Block,
    own: np.ndarray,
    chart: np.ndarray,
    factor: np.ndarray,
    point: Point,
    candidate: Point,
    floor: float,
    weights: tuple,
) -> Point:
    """The point after further steps with the same factor.

    They follow the valley where it bends, and are kept while they help.
    """
    for _ in range(CHORD_STEPS):
        theta = candidate.theta
        g = gradient(block, candidate, weights[0], weights[1])
        scale = _scales(block, candidate.Psi, theta)
        share = _shares(block.kind, own, chart, theta)
        step = _newton_step(factor, _to_chart(own, chart, scale, share, g))
        trial = _moved(block.kind, own, theta, chart, scale, step, floor)
        better = evaluate(block, trial, weights[0], weights[1])
        if not better.feasible or better.sign != point.sign or better.value >= candidate.value:
            break
        gain, last = candidate.value - better.value, point.value - candidate.value
        candidate = better
        if gain < 0.02 * last:
            break
    return candidate


@merged
def _feasible_start(block: Block, start: np.ndarray, weights: tuple) -> Point:
    """The start; without edges and covariances if A or Ψ is singular there."""
    theta = start.copy()
    point = evaluate(block, theta, weights[0], weights[1])
    if not point.feasible:
        kind = block.kind
        for a in range(theta.shape[0]):
            if kind[a] == EDGE or kind[a] == COVARIANCE:
                theta[a] = 0.0
        point = evaluate(block, theta, weights[0], weights[1])
    return point


@kernel
def _slow(trace: np.ndarray, count: int, negligible: float) -> bool:
    """Whether the last two steps gained next to nothing."""
    return (
        count >= 2
        and max(trace[count - 2] - trace[count - 1], trace[count - 1] - trace[count]) < negligible
    )


@kernel
def _hopeless(trace: np.ndarray, count: int, rival: float) -> bool:
    """Whether gains that go on shrinking as they do would end above a rival value."""
    if count < 2 * WINDOW or trace[count] <= rival:
        return False
    last = trace[count - WINDOW] - trace[count]
    before = trace[count - 2 * WINDOW] - trace[count - WINDOW]
    return last < before and trace[count] - PATIENCE * last * last / (before - last) > rival


@merged
def minimise(
    block: Block,
    start: np.ndarray,
    weights: tuple,
    floor: float,
    limits: Limits,
) -> tuple[np.ndarray, float, int, np.ndarray]:
    """(parameters, value, outcome, trace) of the objective forward·f + reverse·h."""
    tolerance, max_iterations = limits.tolerance, limits.max_iterations
    kind, own = block.kind, block.head + (block.kind.shape[0] - block.heads)  # variances come last
    point = _feasible_start(block, start, weights)
    trace = np.full(max_iterations + 1, point.value)
    damping, outcome, count = FIRST_DAMPING, BUDGET_SPENT, 0
    while count < max_iterations:
        theta = point.theta
        natural = gradient(block, point, weights[0], weights[1])
        chart = _chart(block, point, theta, natural, floor)
        scale, share = _scales(block, point.Psi, theta), _shares(kind, own, chart, theta)
        g = _to_chart(own, chart, scale, share, natural)
        H = hessian(block, point, weights[0], weights[1])
        _hessian_to_chart(H, own, chart, scale, share, natural, g)
        _lift_dead_latents(block, H, chart)
        candidate = point
        gain, predicted, promise = -1.0, 0.0, -1.0
        while damping < LARGEST_DAMPING:
            solvable, factor = _damped_factor(H, chart, damping)
            if solvable:
                step = _newton_step(factor, g)
                predicted = _predicted_decrease(H, g, step)
                promise = predicted if promise < 0.0 else promise
                trial = _moved(kind, own, theta, chart, scale, step, floor)
                candidate = evaluate(block, trial, weights[0], weights[1])
                gain = -1.0
                if candidate.feasible and candidate.sign == point.sign:
                    candidate = _follow(block, own, chart, factor, point, candidate, floor, weights)
                    gain = point.value - candidate.value
                if gain > 1e-4 * predicted or predicted < tolerance:
                    break
            damping = max(4.0 * damping, SMALLEST_RISE)
        # The last step is taken on trust: its gain may drown in rounding, its accuracy not.
        if gain <= 1e-4 * predicted and not (predicted < tolerance and gain > -0.01 * tolerance):
            outcome = CONVERGED if promise < 100.0 * tolerance else STALLED
            break
        point = candidate
        count += 1
        trace[count] = point.value
        if predicted < tolerance and damping <= SMALL_DAMPING:
            outcome = CONVERGED
            break
        if _slow(trace, count, limits.negligible):
            outcome = CONVERGED
            break
        if _hopeless(trace, count, limits.rival):
            outcome = GIVEN_UP
            break
        if gain > 0.75 * predicted or predicted < tolerance:
            damping = max(damping / 8.0, SMALLEST_DAMPING)
        elif gain < 0.25 * predicted:
            damping = damping * 2.0
    return point.theta, point.value, outcome, trace[: count + 1]
