"""Random numbers inside kernels: splitmix64 on an explicit state of one word.

Numba's own generator is global to a thread, so it cannot give the same answer for any number
of threads.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel

# Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators".
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_A, _B, _C, _D = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def mixed(z: np.uint64) -> np.uint64:
    """A word in which every bit depends on every bit of the given one."""
    z = (z ^ (z >> _A)) * _FIRST
    z = (z ^ (z >> _B)) * _SECOND
    return z ^ (z >> _C)


@kernel
def uniform(rng: np.ndarray) -> float:
    """A uniform number on [0, 1)."""
    rng[0] = rng[0] + _STEP
    return float(mixed(rng[0]) >> _D) * 2.0**-53


@kernel
def below(rng: np.ndarray, count: int) -> int:
    """A uniform integer on 0 .. count − 1."""
    return min(int(uniform(rng) * count), count - 1)


@kernel
def exponential(rng: np.ndarray) -> float:
    """A standard exponential number."""
    return -np.log(1.0 - uniform(rng))
