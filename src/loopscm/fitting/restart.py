"""Further starts for a block whose cold start ended on the noise floor, compiled.

A latent that explains a variable without noise (a Heywood case) may be the best fit, but is
often a poor local optimum: of 5,800 small graphs of the paper's protocol with n = 10,000, one
in fifty ended there and two in five of those had a better optimum, while only two graphs
missed theirs anywhere else. Mostly the sign of a loading was wrong. These starts turn such
signs and weaken what holds the fit where it is; all are functions of the data and the first
fit, so the order of the variables does not matter.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel
from loopscm.fitting.newton import STALLED
from loopscm.likelihood.block import Block
from loopscm.likelihood.kinds import COVARIANCE, EDGE, LOADING, VARIANCE

# In the order of how many of 45 missed optima each reaches alone (30, 32, 27, 20, 25);
# together they reach 44. The first is the cheapest and the only one tried on a LARGE block.
FROM_OPTIMUM, TURNED, LEVEL, OPPOSITE, WEAK = 0, 1, 2, 3, 4
RESTARTS, LARGE = 5, 64
LEVEL_LOADING, LEVEL_NOISE, FREED_NOISE = 0.4, 0.8, 0.75  # shares of the total


@kernel
def is_suspect(block: Block, theta: np.ndarray, outcome: int, floor: float) -> bool:
    """Whether a fit stalled or a variance ended on its floor."""
    kind = block.kind
    suspect = outcome == STALLED
    for a in range(theta.shape[0]):
        if kind[a] == VARIANCE and theta[a] <= 1.01 * floor:
            suspect = True
    return suspect


@kernel
def another_start(
    block: Block, cold: np.ndarray, found: np.ndarray, floor: float, number: int
) -> np.ndarray:
    """One of the further starts, from the cold start and the best parameters so far."""
    kind, row, head, m = block.kind, block.row, block.head, block.heads
    count = cold.shape[0]
    floored = np.zeros(block.S.shape[0], np.bool_)
    total = np.zeros(m)
    for a in range(count):
        if kind[a] == VARIANCE:
            floored[head[a]] = found[a] <= 1.01 * floor
            total[head[a]] += found[a]
        elif kind[a] == LOADING:
            total[head[a]] += found[a] ** 2
    theta = found.copy() if number == FROM_OPTIMUM else cold.copy()
    for a in range(count):
        j = head[a]
        turn = -1.0 if floored[j] else 1.0
        if kind[a] == EDGE:
            touched = floored[j] or floored[row[a]]
            if number == OPPOSITE:
                theta[a] = -theta[a]
            elif number in (TURNED, LEVEL) or (number == FROM_OPTIMUM and touched):
                theta[a] *= 0.5
        elif kind[a] == COVARIANCE:
            theta[a] *= 0.5
        elif kind[a] == LOADING:
            if number == FROM_OPTIMUM:
                theta[a] *= -0.5 if floored[j] else 1.0
            elif number == TURNED:
                theta[a] *= 0.5 * turn
            elif number == WEAK:
                theta[a] *= 0.3 * turn
            elif number == LEVEL:
                theta[a] = LEVEL_LOADING
        elif number == FROM_OPTIMUM and floored[j]:
            theta[a] = FREED_NOISE * total[j]
        elif number == LEVEL:
            theta[a] = LEVEL_NOISE
    return theta
