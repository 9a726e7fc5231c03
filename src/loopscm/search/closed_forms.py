"""Closed forms for single changes, compiled twins of those in `likelihood.flips`."""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel


@kernel
def edge_change(t: float, a: float, c: float, d: float) -> float:
    """−log|1 − t a| − t c + ½ t² d: change of f when a coefficient changes by t."""
    cycle = np.log(abs(1.0 - t * a)) if a != 0.0 else 0.0
    return -cycle - t * c + 0.5 * t * t * d


@kernel
def best_edge_change(a: float, c: float, d: float) -> tuple[float, float]:
    """(t, change of f) that minimises `edge_change`, on either side of det A = 0."""
    if abs(a) < 1e-12:
        return c / d, -0.5 * c * c / d
    half = 0.5 * (a * c + d)
    root = np.sqrt(max(half * half - a * d * (c - a), 0.0))
    large = half + root if half >= 0.0 else half - root  # no cancellation
    near, far = (c - a) / large, large / (a * d)
    gain_near, gain_far = edge_change(near, a, c, d), edge_change(far, a, c, d)
    if gain_far < gain_near:
        return far, gain_far
    return near, gain_near
