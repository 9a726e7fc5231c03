"""Where trajectories end: the original's stopping rule, and the exact fixed point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import ParameterError
from loopscm.simulate.genes import dynamics
from loopscm.simulate.genes.wiring import Rates, Wiring

Floats = NDArray[np.float64]
# Of the integrator wherever the exact trajectory is meant; ATOL of a level at full activation.
RTOL, ATOL = 1e-10, 1e-13
# The original's rule: blocks of 50 time units, at most 2000, and what "still" means.
SETTLE_BLOCK, SETTLE_LIMIT, SETTLE_ABSOLUTE, SETTLE_RELATIVE = 50.0, 2000.0, 1e-5, 1e-3
NEAR = 1e-4  # of the state: how close a trajectory must come before its root counts as reached
RESTING = 1e-9  # of the state: as close as a trajectory stays to an unstable root it rests on
# Time to the first attempt, growth of the time between attempts, and when to give up; for
# networks with half-lives above the original's largest, in units of the longest.
FIRST, GROWTH, LIMIT, LONGEST_HALF_LIFE = 500.0, 1.5, 1e5, 50.0
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
    if not dynamics.integrate_to(z, times, wiring, rates, RTOL, ATOL * _levels(rates), out):
        raise ParameterError(
            "the integration broke down: the step size fell below rounding, because the rates "
            "span too many scales; check them."
        )
    return out


def fixed_point(start: Floats, wiring: Wiring, rates: Rates) -> Floats:
    """The root of the drift that the trajectory from `start` approaches.

    The trajectory is followed until Newton's method from its end finds a stable root next to
    it; so neither a saddle passed on the way nor another basin is mistaken for the answer. An
    unstable root is the answer only when the trajectory has not left it to the end, as where
    equal genes hold each other in balance.
    """
    scale = _levels(rates)
    unit = max(1.0, np.log(2) / min(rates.d.min(), rates.q.min()) / LONGEST_HALF_LIFE)
    z, now, wait = start.copy(), 0.0, FIRST * unit
    while now < LIMIT * unit:
        follow(z, np.array([wait]), wiring, rates)
        now, wait = now + wait, wait * GROWTH
        root = _newton(z, wiring, rates)
        if root is None:
            continue
        stable = is_stable(root, wiring, rates)
        if stable and _is_within(NEAR, root, z, scale):
            return root
        if not stable and now >= LIMIT * unit and _is_within(RESTING, root, z, scale):
            return root
    raise ParameterError(
        f"the network does not come to rest within {now:g} time units (it oscillates, or moves "
        "extremely slowly), so it has no fixed point to report; use trajectory()."
    )


def _is_within(tolerance: float, root: Floats, z: Floats, scale: Floats) -> bool:
    """Whether z is next to the root, measured by the root and a hundredth of the scale."""
    return bool(np.all(np.abs(root - z) <= tolerance * (1e-2 * scale + np.abs(root))))


def _levels(rates: Rates) -> Floats:
    """What counts as a large level of mRNA, then protein: that of full activation, at most 1.

    1 for genes that are not transcribed or translated at all.
    """
    mrna = rates.m / rates.d
    full = np.concatenate([mrna, rates.t * mrna / rates.q])
    return np.where(full > 0, np.minimum(full, 1.0), 1.0)


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
    """Derivative of mRNA production in each protein level, by central differences.

    At level zero, where there is no other side, by a forward difference.
    """
    p = rates.m.size
    result = np.zeros((p, p))
    width = 1e-5 * np.maximum(z, 1e-3 * _levels(rates))[p:]
    for j in wiring.regulators:
        up, down = z.copy(), z.copy()
        up[p + j] += width[j]
        down[p + j] = max(down[p + j] - width[j], 0.0)
        change = dynamics.rate_of_change(up, wiring, rates)
        change -= dynamics.rate_of_change(down, wiring, rates)
        result[:, j] = change[:p] / (up[p + j] - down[p + j])
    return result
