"""The front door of structure learning."""

from __future__ import annotations

import os
from typing import Any, get_args

import numpy as np

from loopscm._checks import as_choice, as_generator, as_integer, as_real
from loopscm._progress import Progress
from loopscm.errors import DataError, OptionError
from loopscm.learning.registry import method_named, usual_penalty
from loopscm.learning.request import Request
from loopscm.learning.result import LearnResult
from loopscm.likelihood.penalty import Penalty
from loopscm.stats import GaussianStats


def learn(
    stats: GaussianStats,
    *,
    method: str = "search",
    penalty: Penalty | None = None,
    max_latents: int | None = None,
    seed: int | np.random.Generator = 0,
    time_limit: float | None = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
    settings: Any = None,
    resume: Any = None,
) -> LearnResult:
    """Learn a causal graph with loops and latents from sufficient statistics.

    Parameters
    ----------
    stats : what is known of the data.
    method : "search", the default, is a discrete local search restarted by kicks. "paper" is the
        published procedure with the published settings: "bernoulli" when `max_latents` is 0 and
        "concrete" otherwise; these two take other `settings` as well.
    penalty : "structural", the paper's, or "dimension", with EBIC's λ. None: "dimension" for
        "search", because it recovers graphs better, and "structural" for the gate methods. These
        search with the structural one in any case, whose expectation is closed, and use this
        one to compare and report candidates.
    max_latents : upper bound on latents. None lets the method choose: half the variables plus
        two for "search", the published 2⌊p·ratio + ½⌋ + 1 with ratio 0.2 for the gate methods.
    seed : of all random numbers; the same seed gives the same result for any `n_jobs`.
    time_limit : in seconds, after which the best graph so far is returned. An interrupt
        (Ctrl-C) does the same for "search".
    n_jobs : threads; -1 for all cores. "search" uses as many as it has lanes, see its settings.
    progress : told of every step, see `loopscm._progress`.
    settings : the method's own settings: `loopscm.search.SearchSettings` or
        `loopscm.gates.settings.GateSettings`.
    resume : `state` of an earlier result of the same method on the same data, to go on from.
    """
    if not isinstance(stats, GaussianStats):
        raise DataError(
            f"stats must be GaussianStats, got {type(stats).__name__}; build it with "
            "GaussianStats.from_data or from_covariance."
        )
    chosen = method_named(method)
    if penalty is None:
        penalty = usual_penalty(method)
    as_choice(penalty, "penalty", get_args(Penalty))
    if max_latents is not None:
        max_latents = as_integer(max_latents, "max_latents", minimum=0)
    if progress is not None and not hasattr(progress, "advance"):
        raise OptionError(
            "progress must have the methods start, advance, and finish of `loopscm._progress`, "
            f"got {type(progress).__name__}."
        )
    if time_limit is not None:
        time_limit = as_real(time_limit, "time_limit", minimum=0.0)
    as_generator(seed, "seed")
    request = Request(
        stats, penalty, max_latents, seed, time_limit, _threads(n_jobs), progress, settings, resume
    )
    return chosen(request)


def _threads(n_jobs: Any) -> int:
    if n_jobs == -1 and not isinstance(n_jobs, bool):
        available = getattr(os, "sched_getaffinity", None)
        return len(available(0)) if available else os.cpu_count() or 1
    try:
        return as_integer(n_jobs, "n_jobs", minimum=1)
    except OptionError:
        raise OptionError(f"n_jobs must be a positive integer or -1, got {n_jobs!r}.") from None
