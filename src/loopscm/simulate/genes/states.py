"""What gene-network simulations return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class State(NamedTuple):
    """Expression levels; the last axis is the gene, leading axes are times or experiments."""

    mrna: Floats
    protein: Floats


class SteadyStates(NamedTuple):
    """End states of experiments, when each was recorded, and whether it had settled."""

    mrna: Floats
    protein: Floats
    times: Floats
    settled: NDArray[np.bool_]


class TimeSeries(NamedTuple):
    """Expression levels at a series of times."""

    times: Floats
    mrna: Floats
    protein: Floats


def stack(state: State) -> Floats:
    """(mRNA, protein) as one vector a row."""
    return np.concatenate([state.mrna, state.protein], axis=-1)


def unstack(z: Floats) -> State:
    """The inverse of `stack`."""
    mrna, protein = np.split(z, 2, axis=-1)
    return State(mrna.copy(), protein.copy())
