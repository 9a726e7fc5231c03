"""What a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from loopscm.fitting import Fit
from loopscm.graph import LatentGraph
from loopscm.search.nearby import NearOptimal


class Outcome(Enum):
    """How a search ended; the value is a sentence about it."""

    FINISHED = "The search used its budget of kicks."
    TARGET = "The search reached its target score."
    TIME_LIMIT = "The time limit came first: the graph is the best so far."
    INTERRUPTED = "The search was interrupted: the graph is the best so far."


@dataclass(frozen=True, eq=False)
class Found:
    """The best graph of a search.

    `score` is zero-based under the penalty searched for; `fit` its final fit; `trace` the
    improvements by "kicks", "score", and "seconds"; `fits` the number of graphs fitted.
    """

    graph: LatentGraph
    fit: Fit
    score: float
    outcome: Outcome
    seconds: float
    kicks: int
    fits: int
    trace: Mapping[str, NDArray[np.float64]]
    near: NearOptimal
