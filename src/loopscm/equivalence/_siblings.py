"""Other optima of the loadings and noise variances, the coefficients held.

With A fixed, R = AᵀSA and K = A⁻¹S⁻¹A⁻ᵀ, the symmetric divergence is ¼{tr(Ψ⁻¹R) + tr(ΨK)} − p/2,
a sum over sets of siblings. Each is small, and all its optima are found in no time: mostly
they differ in the child that a latent is nearly equal to, or in signs of loadings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm.equivalence._family import Family, Matrix, Vector, kicked
from loopscm.fitting.driver import minimise_blocks
from loopscm.fitting.fit import NOISE_FLOOR
from loopscm.fitting.newton import Limits
from loopscm.likelihood import factorised
from loopscm.likelihood.gaussian import SYMMETRIC
from loopscm.likelihood.kinds import LOADING, VARIANCE
from loopscm.likelihood.layout import Layout

LIMITS = Limits(1e-7, 25, 1e-6)
RANDOM_STARTS = 1
# Share of a child's noise that the latent takes which it dominates.
DOMINANT = 0.9
# Difference of J that tells optima apart.
SAME_VALUE = 1e-5


class Alternative(NamedTuple):
    """Another optimum of one set of siblings, and what it raises J by, the coefficients held."""

    rise: float
    name: tuple[float, ...]  # set and rough sizes of loadings, which tell optima apart
    places: np.ndarray  # of the parameters in the order by component
    values: Vector


def alternatives(
    family: Family, S: Matrix, inverse: Matrix, theta: Vector, rng: np.random.Generator
) -> list[Alternative]:
    """The other optima of all sets of siblings at given parameters, lowest rise first."""
    if not family.graph.n_latent:
        return []
    layout, tables, order = family.noise, family.noise_tables, family.noise_order
    A = np.eye(len(S)) - family.local.scatter(theta)[0]
    V = np.linalg.inv(A)
    A, V = A[:, family.siblings], V[family.siblings]
    R, K = np.ascontiguousarray(A.T @ S @ A), np.ascontiguousarray(V @ inverse @ V.T)
    base = theta[order]
    current = factorised.block_values(tables, R, K, base, SYMMETRIC)
    found: dict[tuple[float, ...], Alternative] = {}
    for start in _starts(layout, base, rng):
        point, *_ = minimise_blocks(
            tables, R, K, start[None], SYMMETRIC, NOISE_FLOOR, LIMITS, False
        )
        rises = factorised.block_values(tables, R, K, point, SYMMETRIC) - current
        for b in np.flatnonzero(np.abs(rises) > SAME_VALUE).tolist():
            part = slice(int(layout.par_ptr[b]), int(layout.par_ptr[b + 1]))
            loadings = point[part][layout.kind[part] == LOADING]
            name = (float(b), *np.abs(loadings).round(1).tolist())
            rise = float(rises[b])
            if name not in found or rise < found[name].rise:
                found[name] = Alternative(rise, name, order[part], point[part])
    return sorted(found.values(), key=lambda alternative: alternative[:2])


def _starts(layout: Layout, base: Vector, rng: np.random.Generator) -> list[Vector]:
    most = int(layout.graph.children.sum(axis=1).max(initial=0))
    starts = [dominated(layout, base, turn) for turn in range(most)]
    return starts + [kicked(layout, base, rng) for _ in range(RANDOM_STARTS if most else 0)]


def dominated(layout: Layout, theta: Vector, turn: int) -> Vector:
    """Parameters in which every latent is nearly its child number `turn`, if it has so many.

    The covariances with this child and all totals Ψ_jj stay, as far as they can. Latents with
    two children stay as they are: what they explain is one covariance.
    """
    result = theta.copy()
    loading, variance = layout.kind == LOADING, np.flatnonzero(layout.kind == VARIANCE)
    place = np.empty(layout.graph.n_observed, np.intp)
    place[layout.head[variance]] = variance
    for h in range(layout.graph.n_latent):
        mine = np.flatnonzero(loading & (layout.row == h))
        if len(mine) < 3 or turn >= len(mine):
            continue
        own, chosen = place[layout.head[mine]], turn
        room = result[own] + result[mine] ** 2
        room = np.maximum(room, NOISE_FLOOR)
        size = np.sqrt(DOMINANT * room[chosen])
        loadings = result[mine] * abs(result[mine[chosen]]) / size
        loadings[chosen] = np.copysign(size, result[mine[chosen]])
        result[mine], result[own] = loadings, room - loadings**2
    result[variance] = np.maximum(result[variance], NOISE_FLOOR)
    return result
