"""A checked call of `learn`, as methods receive it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loopscm._progress import Progress
from loopscm.likelihood.penalty import Penalty
from loopscm.stats import GaussianStats


@dataclass(frozen=True, eq=False)
class Request:
    """Everything a method needs to know; `settings` and `resume` mean what the method says."""

    stats: GaussianStats
    penalty: Penalty
    max_latents: int | None
    seed: int | np.random.Generator
    time_limit: float | None
    n_jobs: int
    progress: Progress | None
    settings: Any
    resume: Any
