"""The likelihood of every configuration and its derivatives, weighted, compiled."""

from __future__ import annotations

import numpy as np

from loopscm._compile import entry, kernel
from loopscm.gates.kernels.draw import Inputs, mask_of
from loopscm.gates.kernels.point import evaluate
from loopscm.gates.kernels.score import add_pathwise


@kernel
def _others(probability: np.ndarray, gates: np.ndarray, free: np.ndarray, out: np.ndarray) -> float:
    """Probability of a configuration; `out` the same without the factor of each free gate."""
    before = 1.0
    for x in range(free.shape[0]):
        out[x] = before
        q = probability[free[x]]
        before *= float(q if gates[free[x]] != 0.0 else 1.0 - q)
    after = 1.0
    for x in range(free.shape[0] - 1, -1, -1):
        out[x] *= after
        q = probability[free[x]]
        after *= q if gates[free[x]] != 0.0 else 1.0 - q
    return before


@entry
def expectation(inputs: Inputs, free: np.ndarray, total: np.ndarray) -> float:
    """E[f] over all configurations of the free gates, the others being off.

    `total` receives the derivatives: E[∂f] of the coefficients and ∂E[f]/∂q of the gates, in
    the flat order of the parameters. Configurations of probability zero do not contribute to
    the result; a singular one of positive probability makes it infinite, and is left out of
    the derivatives.
    """
    p, slots = inputs.W.shape[0], inputs.Gamma.shape[0]
    first = p * p + slots * p + p
    gates = np.zeros(inputs.probability.shape[0])
    without = np.empty(free.shape[0])
    part = np.empty(total.shape[0])
    result = 0.0
    for code in range(1 << free.shape[0]):
        for x in range(free.shape[0]):
            gates[free[x]] = float((code >> x) & 1)
        weight = _others(inputs.probability, gates, free, without)
        mask = mask_of(gates, inputs)
        point = evaluate(inputs.S, inputs.noise, mask, False, False)
        if weight > 0.0:
            result += weight * point.value
        if not point.finite:
            continue
        for k in range(first):
            part[k] = 0.0
        add_pathwise(part, gates, mask, point)
        for k in range(first):
            total[k] += weight * part[k]
        for x in range(free.shape[0]):
            if without[x] > 0.0:
                change = without[x] * point.value
                total[first + free[x]] += change if gates[free[x]] != 0.0 else -change
    return result
