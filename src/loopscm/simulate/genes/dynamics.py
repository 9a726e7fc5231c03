"""Compiled kernels: gene activation, the Dormand–Prince integrator, the Langevin scheme.

States are stacked, z = (mRNA, protein). Nothing here allocates inside a step or holds the
interpreter's lock, so blocks of runs go to threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

# The Dormand–Prince pair (1980): the last stage is the fifth-order solution.
STAGES = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
SMALLEST_STEP = 1e-12
# For exp: 1/k! from k = 13 down, log 2 in two parts, and the number whose addition rounds.
TAYLOR = tuple(1 / math.factorial(k) for k in range(13, -1, -1))
LOG2_E, LN2_HIGH, LN2_LOW = 1 / math.log(2), 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDER = 1.5 * 2.0**52

# No fast-math here: `_exponentiate` relies on the order of its operations.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
entry = njit(**_OPTIONS)
kernel = njit(**_OPTIONS, **_NO_WRAPPERS)


@kernel
def _work(p, lanes, wiring):
    """Scratch for `activations`: logarithms, terms, their scratch, states, and a row."""
    log_y, states = np.empty((p, lanes)), np.empty((max(wiring.max_states // 2, 1), lanes))
    size = wiring.offset.size * lanes
    return log_y, np.empty(size), np.empty(size), states, np.empty(lanes)


@kernel
def activations(y, wiring, alpha, work, f):
    """f_i: the mean of alpha over independent on/off modules, folded one module at a time.

    Columns are lanes, independent states that are computed side by side. Logarithms keep
    extreme levels from overflowing or giving NaN.
    """
    log_y, flat, scratch, states, mu = work
    p, lanes = f.shape
    for j in wiring.regulators:
        for w in range(lanes):
            log_y[j, w] = math.log(y[j, w]) if y[j, w] > 0.0 else -np.inf
    terms = flat.reshape((-1, lanes))
    _add_terms(wiring, log_y, terms)
    _exponentiate(flat, scratch)
    for i in range(p):
        first, last = wiring.gene_start[i], wiring.gene_start[i + 1]
        base = wiring.alpha_start[i]
        if first == last:
            for w in range(lanes):
                f[i, w] = alpha[base, w]
            continue
        _activate_module(first, wiring, terms, mu)
        size = 1 << (last - first - 1)
        for s in range(size):
            _mix(alpha, base + 2 * s, mu, states, s)
        for b in range(first + 1, last):
            _activate_module(b, wiring, terms, mu)
            size //= 2
            for s in range(size):
                _mix(states, 2 * s, mu, states, s)
        for w in range(lanes):
            f[i, w] = states[0, w]


@kernel
def _add_terms(wiring, log_y, terms):
    """The logarithm of every term."""
    count, lanes = terms.shape
    for e in range(count):
        offset = wiring.offset[e]
        for w in range(lanes):
            terms[e, w] = -offset
        for r in range(wiring.term_start[e], wiring.term_start[e + 1]):
            j, slope = wiring.inputs[r], wiring.slope[r]
            for w in range(lanes):
                terms[e, w] += slope * log_y[j, w]


@kernel
def _exponentiate(x, scratch):
    """x = exp(x) in place, to rounding, in loops that compilers turn into vector code.

    x = k·log 2 + r: a Taylor polynomial for exp(r), and 2^k written into the exponent bits.
    Arguments are cut off at -700, where exp is as good as zero, and at 710, where the exponent
    bits become those of infinity, so that modules without their activators are exactly off.
    """
    bits = scratch.view(np.int64)
    for w in range(x.size):
        value = min(max(x[w], -700.0), 710.0)
        moved = value * LOG2_E + ROUNDER
        k = moved - ROUNDER
        r = (value - k * LN2_HIGH) - k * LN2_LOW
        total = TAYLOR[0]
        for c in TAYLOR[1:]:
            total = total * r + c
        scratch[w] = moved
        x[w] = total
    for w in range(x.size):
        bits[w] = (bits[w] + 1023) << 52
    for w in range(x.size):
        x[w] *= scratch[w]


@kernel
def _activate_module(b, wiring, terms, mu):
    """mu_b in [0, 1] from the module's terms."""
    first, last = wiring.module_start[b], wiring.module_start[b + 1]
    for w in range(mu.size):
        mu[w] = 1.0 + terms[first, w]
    for e in range(first + 1, last):
        if wiring.is_complex[b]:
            for w in range(mu.size):
                mu[w] += terms[e, w]
        else:
            for w in range(mu.size):
                mu[w] *= 1.0 + terms[e, w]
    for w in range(mu.size):
        mu[w] = 1.0 / mu[w]


@kernel
def _mix(source, row, mu, target, s):
    """target[s] = (1 − mu)·source[row] + mu·source[row + 1]."""
    for w in range(mu.size):
        off = source[row, w]
        target[s, w] = off + mu[w] * (source[row + 1, w] - off)


@kernel
def drift(z, wiring, rates, work, f, out):
    """dz/dt = production − decay, for one state."""
    p = rates.d.size
    activations(z[p:].reshape((p, 1)), wiring, rates.alpha.reshape((-1, 1)), work, f)
    for i in range(p):
        out[i] = rates.m[i] * f[i, 0] - rates.d[i] * z[i]
        out[p + i] = rates.t[i] * z[i] - rates.q[i] * z[p + i]


@entry
def rate_of_change(z, wiring, rates):
    """`drift` as a new array."""
    p = rates.d.size
    out = np.empty(2 * p)
    drift(z, wiring, rates, _work(p, 1, wiring), np.empty((p, 1)), out)
    return out


@kernel
def integrate(z, duration, step, wiring, rates, rtol, atol):
    """Advance z in place by `duration` with the Dormand–Prince 5(4) pair.

    `atol` has one number a component.
    Returns the step size to go on with, negative when the step size broke down.
    """
    p = rates.m.size
    work, f = _work(p, 1, wiring), np.empty((p, 1))
    slopes, trial = np.zeros((7, 2 * p)), np.empty(2 * p)
    done, h = 0.0, step
    drift(z, wiring, rates, work, f, slopes[0])
    while done < duration:
        last = done + h >= duration
        size = duration - done if last else h
        for stage in range(1, 7):
            for i in range(2 * p):
                total = 0.0
                for s in range(stage):
                    total += STAGES[stage, s] * slopes[s, i]
                trial[i] = z[i] + size * total
            drift(trial, wiring, rates, work, f, slopes[stage])
        worst = _error(z, trial, size, slopes, rtol, atol)
        factor = 5.0 if worst == 0.0 else min(5.0, max(0.2, 0.9 * worst**-0.2))
        if worst <= 1.0:
            z[:] = trial
            slopes[0] = slopes[6]
            done = duration if last else done + size
            h = max(h, size * factor) if last else size * factor
        else:
            h = size * factor
            if not h > SMALLEST_STEP:
                return -1.0
    return h


@kernel
def _error(z, trial, size, slopes, rtol, atol):
    """Largest error estimate of a step in units of the tolerance; NaN counts as infinite."""
    worst = 0.0
    for i in range(z.size):
        total = 0.0
        for s in range(7):
            total += ERROR[s] * slopes[s, i]
        scaled = abs(size * total) / (atol[i] + rtol * max(abs(z[i]), abs(trial[i])))
        if not scaled <= worst:
            worst = scaled if scaled == scaled else np.inf
    return worst


@entry
def integrate_to(z, times, wiring, rates, rtol, atol, out):
    """Rows of `out`: the state at each of the non-decreasing times; z ends at the last."""
    now, step = 0.0, 1.0
    for row in range(times.size):
        if times[row] > now:
            step = integrate(z, times[row] - now, step, wiring, rates, rtol, atol)
            if step < 0.0:
                return False
            now = times[row]
        out[row] = z
    return True


@kernel
def _predict(z, wiring, alpha, m, rates, h, c, force, spread, support, work, f):
    """Drift·h, noise amplitude, and support point of every component and lane."""
    p, lanes = f.shape
    root = math.sqrt(h)
    activations(z[p:], wiring, alpha, work, f)
    for i in range(p):
        for w in range(lanes):
            made, lost = m[i, w] * f[i, w], rates.d[i] * z[i, w]
            force[i, w], spread[i, w] = h * (made - lost), c * math.sqrt(made + lost)
            support[i, w] = z[i, w] + force[i, w] + spread[i, w] * root
        for w in range(lanes):
            made, lost = rates.t[i] * z[i, w], rates.q[i] * z[p + i, w]
            force[p + i, w], spread[p + i, w] = h * (made - lost), c * math.sqrt(made + lost)
            support[p + i, w] = z[p + i, w] + force[p + i, w] + spread[p + i, w] * root
    activations(support[p:], wiring, alpha, work, f)


@kernel
def _correct(z, normal, m, rates, h, c, force, spread, support, f):
    """The Milstein step from a prediction, clipped at zero; `f` belongs to the support."""
    p, lanes = f.shape
    root = math.sqrt(h)
    for i in range(2 * p):
        for w in range(lanes):
            if i < p:
                total = m[i, w] * f[i, w] + rates.d[i] * support[i, w]
            else:
                total = rates.t[i - p] * support[i - p, w] + rates.q[i - p] * support[i, w]
            there = c * math.sqrt(max(total, 0.0))
            change = spread[i, w] + (there - spread[i, w]) * normal[i, w] / 2
            z[i, w] = max(z[i, w] + force[i, w] + root * normal[i, w] * change, 0.0)


@entry
def langevin_runs(rng, start, steps, h, c, wiring, rates, m, alpha, use_support, out):
    """Independent runs from `start` by the Stratonovich Milstein scheme, side by side.

    One Wiener process per component with intensity c²·(production + decay). Column r of m and
    alpha belongs to run r, which lasts steps[r]; out[r] is its end state, or its last support
    point. Every run draws to the end of the longest, so none depends on another's length.
    """
    p, lanes = rates.d.size, out.shape[0]
    z, normal = np.empty((2 * p, lanes)), np.empty((2 * p, lanes))
    force, spread, support = np.empty_like(z), np.empty_like(z), np.empty_like(z)
    work, f = _work(p, lanes, wiring), np.empty((p, lanes))
    for i in range(2 * p):
        z[i] = start[i]
    for step in range(1, steps.max() + 1):
        _predict(z, wiring, alpha, m, rates, h, c, force, spread, support, work, f)
        for i in range(2 * p):
            for w in range(lanes):
                normal[i, w] = rng.standard_normal()
        _correct(z, normal, m, rates, h, c, force, spread, support, f)
        for w in range(lanes):
            if steps[w] == step:
                out[w] = support[:, w] if use_support else z[:, w]
