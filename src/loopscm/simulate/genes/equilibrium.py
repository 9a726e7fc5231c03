"""Where trajectories end: the original's stopping rule, and the exact fixed point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import ParameterError
from loopscm.simulate.genes import dynamics
from loopscm.simulate.genes.wiring import Rates, Wiring

Floats = NDArray[np.float64]
RTOL, ATOL = 1e-10, 1e-13  # of the integrator wherever the exact trajectory is meant
# The original's rule: blocks of 50 time units, at most 2000, and what "still" means.
SETTLE_BLOCK, SETTLE_LIMIT, SETTLE_ABSOLUTE, SETTLE_RELATIVE = 50.0, 2000.0, 1e-5, 1e-3
NEAR = 1e-4  # of the state: how close a trajectory must come before its root counts as reached
# Time to the first attempt, growth of the time between attempts, and when to give up.
FIRST, GROWTH, LIMIT = 500.0, 1.5, 1e5
NEWTON_STEPS = 30


def settle(start: Floats, wiring: Wiring, rates: Rates) -> tuple[Floats, float, bool]:
    """The state, its time, and whether it settled, by the original's rule.

    The trajectory is looked at every `SETTLE_BLOCK` time units and recorded as soon as no
    component moved by more than the tolerances since the last look, at the latest at
    `SETTLE_LIMIT`.
    """
    z = start.copy()
    for block in range(1, int(SETTLE_LIMIT / SETTLE_BLOCK) + 1):
        before = z.copy()
        follow(z, np.array([SETTLE_BLOCK]), wiring, rates)
        if np.all(np.abs(z - before) <= SETTLE_ABSOLUTE + SETTLE_RELATIVE * np.abs(z)):
            return z, block * SETTLE_BLOCK, True
    return z, SETTLE_LIMIT, False


def follow(z: Floats, times: Floats, wiring: Wiring, rates: Rates) -> Floats:
    """The exact states at the given times, rows; z is advanced in place to the last."""
    out = np.empty((times.size, z.size))
    if not dynamics.integrate_to(z, times, wiring, rates, RTOL, ATOL, out):
        raise ParameterError(
            "the integration broke down: the step size fell below rounding, because the rates "
            "span too many scales; check them."
        )
    return out


def fixed_point(start: Floats, wiring: Wiring, rates: Rates) -> Floats:
    """The stable root of the drift that the trajectory from `start` approaches.

    The trajectory is followed until Newton's method from its end finds a stable root next to
    it; so neither a saddle passed on the way nor another basin is mistaken for the answer.
    """
    z, now, wait = start.copy(), 0.0, FIRST
    while now < LIMIT:
        follow(z, np.array([wait]), wiring, rates)
        now, wait = now + wait, wait * GROWTH
        root = _newton(z, wiring, rates)
        near = root is not None and bool(np.all(np.abs(root - z) <= NEAR * (1e-2 + np.abs(root))))
        if root is not None and near and is_stable(root, wiring, rates):
            return root
    raise ParameterError(
        f"the network does not come to rest within {LIMIT:g} time units (it oscillates, or moves "
        "extremely slowly), so it has no fixed point to report; use trajectory()."
    )


def jacobian(z: Floats, wiring: Wiring, rates: Rates) -> Floats:
    """Derivative of the drift (mRNA, then protein) at z."""
    p = rates.m.size
    return np.block(
        [
            [-np.diag(rates.d), _sensitivities(z, wiring, rates)],
            [np.diag(rates.t), -np.diag(rates.q)],
        ]
    ).reshape(2 * p, 2 * p)


def is_stable(z: Floats, wiring: Wiring, rates: Rates) -> bool:
    """Whether small deviations from the fixed point z die out."""
    return bool(np.linalg.eigvals(jacobian(z, wiring, rates)).real.max() < 0)


def _newton(z: Floats, wiring: Wiring, rates: Rates) -> Floats | None:
    """The root of the drift next to z, to machine precision; None when Newton wanders off.

    Protein follows mRNA at a root, y = t·x/q, so the equation is in mRNA alone.
    """
    p = rates.m.size
    ratio = rates.t / rates.q
    x, size, scale = z[:p].copy(), np.inf, 1.0
    for _ in range(NEWTON_STEPS):
        point = np.concatenate([x, ratio * x])
        residual = dynamics.rate_of_change(point, wiring, rates)[:p] / rates.d
        slope = _sensitivities(point, wiring, rates) * ratio / rates.d[:, None] - np.eye(p)
        try:
            step = np.linalg.solve(slope, residual)
        except np.linalg.LinAlgError:
            return None
        x = np.maximum(x - step, 0.0)
        if not np.isfinite(x).all():
            return None
        size, scale = np.abs(step).max(), max(1.0, np.abs(x).max())
        if size <= 1e-14 * scale:
            break
    # Rounding can keep the last steps from vanishing; more than that is no convergence.
    return np.concatenate([x, ratio * x]) if size <= 1e-11 * scale else None


def _sensitivities(z: Floats, wiring: Wiring, rates: Rates) -> Floats:
    """Derivative of mRNA production in each protein level, by central differences."""
    p = rates.m.size
    result = np.zeros((p, p))
    for j in wiring.regulators:
        width = 1e-5 * max(z[p + j], 1e-3)
        up, down = z.copy(), z.copy()
        up[p + j] += width
        down[p + j] -= width
        change = dynamics.rate_of_change(up, wiring, rates)
        change -= dynamics.rate_of_change(down, wiring, rates)
        result[:, j] = change[:p] / (2 * width)
    return result
