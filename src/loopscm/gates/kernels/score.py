"""Score-function sums of hard masks, compiled."""

from __future__ import annotations

import numpy as np

from loopscm._compile import entry, kernel
from loopscm.gates.kernels.draw import Inputs, draw_hard, mask_of, squared_norm
from loopscm.gates.kernels.noise import fill_uniform
from loopscm.gates.kernels.point import Mask, Point, evaluate


@kernel
def add_pathwise(total: np.ndarray, gates: np.ndarray, mask: Mask, point: Point) -> None:
    """Add the derivatives of f in (W, Γ, ω) at the mask's own values to the flat sum."""
    p, slots = point.pi.shape[0], mask.active.shape[0]
    for j in range(p):
        for e in range(mask.ptr[j], mask.ptr[j + 1]):
            k = j * p + mask.tail[e]
            total[k] += gates[k] * point.slope[e]
    for h in range(slots):
        if mask.active[h] > 0.0:
            for j in range(p):
                k = p * p + h * p + j
                slope = point.b[h, j] - point.tau[h, j]
                total[k] += mask.active[h] * gates[k] * slope
    for j in range(p):
        total[p * p + slots * p + j] += 0.5 * (point.pi[j] - point.t[j])


@entry
def score_sums(
    keys: np.ndarray,
    size: int,
    watch: bool,
    inputs: Inputs,
    offset: float,
    totals: np.ndarray,
    values: np.ndarray,
    norms: np.ndarray,
) -> None:
    """Sums of group g = keys[g·size : (g + 1)·size] into row g of the outputs.

    `totals` receives the pathwise derivatives, Σ (f − offset)·gate, and Σ gate, all over
    masks of finite likelihood; `values` f, `norms` ‖A⁻¹‖²_F of every sample if `watch`.
    """
    p, slots = inputs.W.shape[0], inputs.Gamma.shape[0]
    n_gates = inputs.probability.shape[0]
    first = p * p + slots * p + p
    noise, gates = np.empty(n_gates), np.empty(n_gates)
    for s in range(keys.shape[0]):
        g = s // size
        fill_uniform(keys[s], noise)
        draw_hard(noise, inputs, gates)
        mask = mask_of(gates, inputs)
        point = evaluate(inputs.S, inputs.noise, mask, False, watch)
        values[s] = point.value
        norms[s] = np.inf
        if not point.finite:
            continue
        norms[s] = squared_norm(point.V) if watch else 0.0
        add_pathwise(totals[g], gates, mask, point)
        weight = point.value - offset
        for j in range(p):
            for e in range(mask.ptr[j], mask.ptr[j + 1]):
                k = first + j * p + mask.tail[e]
                totals[g, k] += weight
                totals[g, n_gates + k] += 1.0
        for k in range(p * p, n_gates):
            totals[g, first + k] += weight * gates[k]
            totals[g, first + n_gates + k] += gates[k]
