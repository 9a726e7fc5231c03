"""What every learner returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from loopscm.fitting import Status
from loopscm.graph import LatentGraph
from loopscm.likelihood.penalty import Penalty
from loopscm.scm import LinearSCM

if TYPE_CHECKING:
    from loopscm.search.nearby import NearOptimal


class LearnStatus(Enum):
    """How a search ended; the value is a sentence that says what to do about it."""

    FINISHED = "The search used its whole budget of work."
    TARGET = "The search reached its target score."
    TIME_LIMIT = (
        "The time limit came first: the graph is the best so far. Give more time, or continue "
        "with resume=result.state where the method keeps a state."
    )
    INTERRUPTED = "The search was interrupted: the graph is the best so far."


@dataclass(frozen=True, eq=False, repr=False)
class LearnResult:
    """A learned graph with its fitted parameters.

    `score` is n·D(S‖Σ̂) + λ·cost under `penalty`, zero-based: lower is better. `nll` is n·f,
    without the constant ½ n p log 2π. `fit_status` tells how the final fit of the graph ended.
    `trace` holds what the method recorded, by name. `state` continues the search where the method
    supports it, else None. `near` holds the near-optimal graphs where the method keeps them: what
    they agree on is what the data say.
    """

    graph: LatentGraph
    scm: LinearSCM
    score: float
    nll: float
    status: LearnStatus
    seconds: float
    trace: Mapping[str, NDArray[np.float64]]
    settings: Any
    method: str
    penalty: Penalty
    fit_status: Status
    state: Any = None
    near: NearOptimal | None = None

    def __repr__(self) -> str:
        return (
            f"LearnResult({self.method}, score {self.score:.6g}, {self.status.name}, "
            f"{self.seconds:.3g} s)\n{self.graph!r}"
        )
