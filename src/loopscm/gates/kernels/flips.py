"""Local expectation sums: the effect of flipping every gate of every sample, compiled.

Gates are independent, so ∂E[f]/∂q of a gate is E[f(gate on) − f(gate off)] over the others,
and the derivative in a coefficient is q·E[∂f with its gate on]. Both follow for all gates
from one sample in closed form. An edge that changes B_ij by t:

    Δ(t) = −log|1 − t·a| − t·c + ½ t²·d,    a = V_ji, c = (SAΠ)_ij, d = S_ii Π_jj.

A loading of an active latent that changes by δ: take the latent out of Π and T, which leaves
b° = cb, u° = u + cb², τ° = c(τ + cbκ), t° = t + 2cbτ + c²b²κ with c = 1/(1 − v) and u = Π_jj,
t = T_jj, and put it back with the changed row. No difference of near numbers is formed:

    Δ(δ) = ½ log m/c − ½ {c²κ + 2δτ° + δ²t°}/m + ½ cκ,   m = c + 2δb° + δ²u°,

and a latent switched on or off: ±½ log(1 ± v) − or + ½ κ/(1 ± v).
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import entry, kernel
from loopscm.gates.kernels.draw import Inputs, draw_hard, mask_of, squared_norm
from loopscm.gates.kernels.noise import fill_uniform
from loopscm.gates.kernels.point import Mask, Point, evaluate

_TINY = 1e-300  # a smaller |1 − ta| makes A singular


@kernel
def _edge(a: float, c: float, d: float, w: float, on: bool) -> tuple[float, float]:
    """(f on − f off, ∂f/∂B with the edge on); zero where that configuration is singular."""
    t = -w if on else w
    factor = abs(1.0 - t * a)
    if not factor > _TINY:
        return 0.0, (a - c) if on else 0.0
    change = 0.5 * t * t * d - t * c
    if a != 0.0:
        change -= np.log(factor)
    if on:
        return -change, a - c
    return change, a / (1.0 - t * a) - c + t * d


@kernel
def _loading(
    delta: float, u: float, b: float, rest: float, tau: float, kappa: float, t: float
) -> tuple[float, float]:
    """Δ(δ) and dΔ/dδ of an active latent's loading; `rest` is 1 − v."""
    c = 1.0 / rest
    cross = tau + c * b * kappa
    b_out, u_out = c * b, u + c * b * b
    tau_out, t_out = c * cross, t + c * b * (tau + cross)
    m = max(c + delta * (2.0 * b_out + delta * u_out), 1.0)
    top = max(c * c * kappa + delta * (2.0 * tau_out + delta * t_out), 0.0)
    m_rate, top_rate = 2.0 * (b_out + delta * u_out), 2.0 * (tau_out + delta * t_out)
    change = 0.5 * (np.log(m * rest) - top / m + c * kappa)
    return change, 0.5 * (m_rate - (top_rate - top * m_rate / m)) / m


@kernel
def _add_edges(total: np.ndarray, gates: np.ndarray, inputs: Inputs, point: Point) -> None:
    p, slots = inputs.W.shape[0], inputs.Gamma.shape[0]
    first = p * p + slots * p + p
    for j in range(p):
        for i in range(p):
            k = j * p + i
            q = inputs.probability[k]
            if q > 0.0:
                d = inputs.S[i, i] * point.pi[j]
                change, slope = _edge(
                    point.V[j, i], point.Q[j, i], d, inputs.W[j, i], gates[k] != 0.0
                )
                total[first + k] += change
                total[k] += q * slope


@kernel
def _add_latents(
    total: np.ndarray, gates: np.ndarray, inputs: Inputs, mask: Mask, point: Point
) -> None:
    p, slots = inputs.W.shape[0], inputs.Gamma.shape[0]
    first = p * p + slots * p + p
    for h in range(slots):
        z = p * p + slots * p + h
        kappa, rest = point.kappa[h], point.rest[h]
        if mask.active[h] == 0.0:
            v = point.v[h]
            total[first + z] += 0.5 * (np.log(1.0 + v) - kappa / (1.0 + v))
            continue
        total[first + z] -= 0.5 * (np.log(rest) + kappa / rest)
        for j in range(p):
            k = p * p + h * p + j
            on = gates[k] != 0.0
            delta = -inputs.Gamma[h, j] if on else inputs.Gamma[h, j]
            b, tau = point.b[h, j], point.tau[h, j]
            change, slope = _loading(delta, point.pi[j], b, rest, tau, kappa, point.t[j])
            total[first + k] += -change if on else change
            total[k] += inputs.probability[k] * (b - tau if on else slope)


@entry
def flip_sums(
    keys: np.ndarray,
    size: int,
    watch: bool,
    inputs: Inputs,
    totals: np.ndarray,
    values: np.ndarray,
    norms: np.ndarray,
) -> None:
    """Derivatives of group g = keys[g·size : (g + 1)·size], summed into totals[g].

    Entries of gates are derivatives in the probability, per unit of Z for loadings. Samples
    of infinite likelihood are left out.
    """
    p, slots = inputs.W.shape[0], inputs.Gamma.shape[0]
    n_gates = inputs.probability.shape[0]
    noise, gates = np.empty(n_gates), np.empty(n_gates)
    for s in range(keys.shape[0]):
        g = s // size
        fill_uniform(keys[s], noise)
        draw_hard(noise, inputs, gates)
        mask = mask_of(gates, inputs)
        point = evaluate(inputs.S, inputs.noise, mask, True, True)
        values[s] = point.value
        norms[s] = np.inf
        if point.finite:
            norms[s] = squared_norm(point.V) if watch else 0.0
            _add_edges(totals[g], gates, inputs, point)
            _add_latents(totals[g], gates, inputs, mask, point)
            for j in range(p):
                totals[g, p * p + slots * p + j] += 0.5 * (point.pi[j] - point.t[j])
