"""Straight-through and fully relaxed Binary Concrete sums, compiled."""

from __future__ import annotations

import numpy as np

from loopscm._compile import entry, kernel
from loopscm.gates.kernels.draw import Inputs, draw_hard, draw_soft, mask_of, squared_norm
from loopscm.gates.kernels.noise import fill_uniform
from loopscm.gates.kernels.point import Mask, Point, evaluate
from loopscm.gates.kernels.score import add_pathwise


@kernel
def _add_gates(
    total: np.ndarray, rate: np.ndarray, inputs: Inputs, mask: Mask, point: Point
) -> None:
    """Add ∂f/∂(gate) · ∂(soft gate)/∂(logit) of all gates."""
    p, slots = inputs.W.shape[0], inputs.Gamma.shape[0]
    first = p * p + slots * p + p
    for j in range(p):
        for i in range(p):
            k = j * p + i
            slope = point.V[j, i] - point.Q[j, i]
            total[first + k] += inputs.W[j, i] * slope * rate[k]
    for h in range(slots):
        k = p * p + slots * p + h
        total[first + k] += 0.5 * (point.v[h] - point.kappa[h]) * rate[k]
        if mask.active[h] > 0.0:
            for j in range(p):
                k = p * p + h * p + j
                slope = mask.active[h] * (point.b[h, j] - point.tau[h, j])
                total[first + k] += inputs.Gamma[h, j] * slope * rate[k]


@entry
def concrete_sums(
    keys: np.ndarray,
    size: int,
    watch: bool,
    inputs: Inputs,
    temperature: float,
    relaxed: bool,
    totals: np.ndarray,
    values: np.ndarray,
    norms: np.ndarray,
) -> None:
    """Derivatives of group g = keys[g·size : (g + 1)·size], summed into totals[g].

    The likelihood is evaluated at hard gates, or at the soft ones when `relaxed`; gates are
    differentiated through the soft ones. Samples of infinite likelihood are left out.
    """
    n_gates = inputs.probability.shape[0]
    noise, gates = np.empty(n_gates), np.empty(n_gates)
    soft, rate = np.empty(n_gates), np.empty(n_gates)
    for s in range(keys.shape[0]):
        g = s // size
        fill_uniform(keys[s], noise)
        draw_soft(noise, inputs, temperature, soft, rate)
        if relaxed:
            for k in range(n_gates):
                gates[k] = soft[k] if inputs.probability[k] > 0.0 else 0.0
        else:
            draw_hard(noise, inputs, gates)
        mask = mask_of(gates, inputs)
        point = evaluate(inputs.S, inputs.noise, mask, True, True)
        values[s] = point.value
        norms[s] = np.inf
        if point.finite:
            norms[s] = squared_norm(point.V) if watch else 0.0
            add_pathwise(totals[g], gates, mask, point)
            _add_gates(totals[g], rate, inputs, mask, point)
