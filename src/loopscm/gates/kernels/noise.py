"""Uniform noise from a 64-bit key, so that any sample can be drawn again at any place.

The numbers of a sample depend on its key alone: which thread draws it, and with which
others, changes nothing. The generator is SplitMix64 (Steele, Lea & Flood 2014).
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import entry, kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)
_UNIT = 2.0**-53


@kernel
def fill_uniform(key: np.uint64, out: np.ndarray) -> None:
    """Fill a vector with numbers strictly between zero and one."""
    for k in range(out.shape[0]):
        z = key + (np.uint64(k) + _ONE) * _GOLDEN
        z = (z ^ (z >> _S30)) * _FIRST
        z = (z ^ (z >> _S27)) * _SECOND
        z = (z ^ (z >> _S31)) >> _S11
        out[k] = (np.float64(np.int64(z)) + 0.5) * _UNIT


@entry
def uniforms(key: np.uint64, count: int) -> np.ndarray:
    """The first `count` uniform numbers of a sample's key."""
    out = np.empty(count)
    fill_uniform(key, out)
    return out
