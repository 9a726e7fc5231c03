"""Masks from noise: hard gates, and the soft gates of the Binary Concrete distribution.

Gates are numbered [M by head, H, Z]: gate j·p + i is the edge i → j. All estimators turn
one uniform number per gate into its value in the same way, so that a key names one mask.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import entry, kernel
from loopscm.gates.kernels.noise import fill_uniform
from loopscm.gates.kernels.point import Mask, Noise


class Inputs(NamedTuple):
    """One value of the parameters, as kernels take it; edges by head."""

    S: np.ndarray
    noise: Noise
    W: np.ndarray  # (p, p), [j, i] for i → j
    Gamma: np.ndarray  # (L, p)
    probability: np.ndarray  # of every gate; zero where forbidden
    odds: np.ndarray  # (1 − q)/q of every gate


@kernel
def draw_hard(noise: np.ndarray, inputs: Inputs, gates: np.ndarray) -> None:
    """Gate k is one with its probability: where u > 1 − q."""
    for k in range(noise.shape[0]):
        gates[k] = 1.0 if noise[k] > 1.0 - inputs.probability[k] else 0.0


@kernel
def draw_soft(
    noise: np.ndarray, inputs: Inputs, tau: float, soft: np.ndarray, rate: np.ndarray
) -> None:
    """Binary Concrete gates σ((a + G)/τ) and their derivatives in the logit a.

    σ((a + G)/τ) = 1/(1 + ρ^(1/τ)) with ρ = (1 − u)/u·(1 − q)/q, so that the published τ = 1
    needs no logarithm.
    """
    power = 1.0 / tau
    if tau == 1.0:
        for k in range(noise.shape[0]):
            ratio = inputs.odds[k] * (1.0 - noise[k])
            inverse = 1.0 / (noise[k] + ratio)
            soft[k] = noise[k] * inverse
            rate[k] = soft[k] * (ratio * inverse)
        return
    for k in range(noise.shape[0]):
        ratio = min((inputs.odds[k] * (1.0 - noise[k]) / noise[k]) ** power, 1e150)
        inverse = 1.0 / (1.0 + ratio)
        soft[k] = inverse
        rate[k] = power * inverse * (ratio * inverse)


@kernel
def mask_of(gates: np.ndarray, inputs: Inputs) -> Mask:
    """The mask of gate values; absent edges (value zero, or on the diagonal) take no room."""
    p, slots = inputs.W.shape[0], inputs.Gamma.shape[0]
    count = 0
    for k in range(p * p):
        count += gates[k] != 0.0
    ptr = np.zeros(p + 1, np.int64)
    tail, minus = np.empty(count, np.int64), np.empty(count)
    n = 0
    for j in range(p):
        for i in range(p):
            if gates[j * p + i] != 0.0 and i != j:
                tail[n] = i
                minus[n] = -gates[j * p + i] * inputs.W[j, i]
                n += 1
        ptr[j + 1] = n
    rows, active = np.empty((slots, p)), np.empty(slots)
    for h in range(slots):
        active[h] = gates[p * p + slots * p + h]
        for j in range(p):
            rows[h, j] = gates[p * p + h * p + j] * inputs.Gamma[h, j]
    return Mask(ptr, tail[:n], minus[:n], rows, active)


@kernel
def squared_norm(V: np.ndarray) -> float:
    """‖V‖²_F, whose inverse root bounds the smallest singular value of A = V⁻¹ from below."""
    total = 0.0
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            total += V[i, j] * V[i, j]
    return total


@entry
def hard_gates(key: np.uint64, inputs: Inputs) -> np.ndarray:
    """The hard gates that a key names."""
    size = inputs.probability.shape[0]
    noise, gates = np.empty(size), np.empty(size)
    fill_uniform(key, noise)
    draw_hard(noise, inputs, gates)
    return gates


@entry
def soft_gates(key: np.uint64, inputs: Inputs, tau: float) -> np.ndarray:
    """The Binary Concrete gates that a key names."""
    size = inputs.probability.shape[0]
    noise, soft, rate = np.empty(size), np.empty(size), np.empty(size)
    fill_uniform(key, noise)
    draw_soft(noise, inputs, tau, soft, rate)
    for k in range(size):
        if inputs.probability[k] == 0.0:
            soft[k] = 0.0
    return soft
