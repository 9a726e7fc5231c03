"""Measurement noise and normalisation of simulated expression levels.

Each function takes levels (mRNA or protein, any shape) and returns new ones, clipped at zero;
multiplicative noise leaves zeros at zero.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loopscm._checks import as_choice, as_generator, as_real
from loopscm.errors import DataError

Floats = NDArray[np.float64]
Measurement = Literal["none", "microarray", "normal", "lognormal", "lognormal+normal"]
MEASUREMENTS = ("none", "microarray", "normal", "lognormal", "lognormal+normal")
LOG_SD, NORMAL_SD = 0.075, 0.025
# Variance of the log-ratio of a microarray spot: from HIGH at no signal to LOW, half at K.
MICROARRAY_LOW, MICROARRAY_HIGH, MICROARRAY_K = 0.001, 0.69, 0.01


def measured(levels: ArrayLike, rng: np.random.Generator | int, kind: Measurement) -> Floats:
    """Levels with one of the kinds of measurement noise; the original's default is microarray."""
    as_choice(kind, "kind", MEASUREMENTS)
    rng = as_generator(rng)
    if kind == "microarray":
        return microarray_noise(levels, rng)
    values = _levels(levels)
    if "lognormal" in kind:
        values = lognormal_noise(values, rng)
    if kind.endswith("normal") and kind != "lognormal":
        values = normal_noise(values, rng)
    return values


def lognormal_noise(
    levels: ArrayLike, rng: np.random.Generator | int, sd: float = LOG_SD
) -> Floats:
    """v → 10^(log₁₀ v + N(0, sd²))."""
    values = _levels(levels)
    sd = as_real(sd, "sd", minimum=0.0)
    return values * 10.0 ** (sd * as_generator(rng).standard_normal(values.shape))


def normal_noise(
    levels: ArrayLike, rng: np.random.Generator | int, sd: float = NORMAL_SD
) -> Floats:
    """v → max(v + N(0, sd²), 0)."""
    values = _levels(levels)
    sd = as_real(sd, "sd", minimum=0.0)
    return np.maximum(values + sd * as_generator(rng).standard_normal(values.shape), 0.0)


def microarray_noise(levels: ArrayLike, rng: np.random.Generator | int) -> Floats:
    """v → v·exp(w) with w ~ N(0, s²(v)); weak signals are noisier."""
    values = _levels(levels)
    spread = MICROARRAY_HIGH - MICROARRAY_LOW
    variance = MICROARRAY_LOW + spread / (1 + values / MICROARRAY_K)
    return values * np.exp(np.sqrt(variance) * as_generator(rng).standard_normal(values.shape))


def normalised(mrna: ArrayLike, *others: ArrayLike) -> tuple[tuple[Floats, ...], float]:
    """All tables divided by the single largest mRNA level, and that level."""
    tables = [_levels(mrna), *(_levels(other) for other in others)]
    largest = float(tables[0].max(initial=0.0))
    if largest <= 0:
        raise DataError("cannot normalise: no mRNA level is above zero.")
    return tuple(table / largest for table in tables), largest


def _levels(levels: ArrayLike) -> Floats:
    values = np.asarray(levels, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise DataError("expression levels must be finite and not negative.")
    return values
