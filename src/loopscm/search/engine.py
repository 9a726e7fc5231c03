"""The compiled search: a local search, then kicks in rounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import entry, kernel, merged
from loopscm.search.kicks import draw_kind, kick
from loopscm.search.local import (
    LEFT,
    SMALLEST_GAIN,
    STEPS,
    Work,
    add_marks,
    drop,
    loops_fit,
    search_locally,
)
from loopscm.search.neighbourhood import connected_set
from loopscm.search.pool import Pool, remember
from loopscm.search.problem import Problem
from loopscm.search.random import below, exponential
from loopscm.search.state import State, clear_marks, take_over

CURRENT, BEST = 0, 1  # places in the array of scores
FIRST, GO_ON, MERGE, COPY, REST = 0, 1, 2, 3, 4  # what `advance` is asked to do


class Control(NamedTuple):
    """How the search goes about it; see `settings.SearchSettings`."""

    first_patience: int
    patience: int
    hope: float
    heat: float
    round_length: int
    region: int
    largest_set: int
    kicks: np.ndarray  # which kinds of kick are used


@entry
def advance(
    problem: Problem,
    work: Work,
    control: Control,
    pool: Pool,
    scores: np.ndarray,
    rng: np.ndarray,
    steps: int,
    order: int,
) -> None:
    """Make a number of steps: kick, search locally, keep or undo the result.

    The FIRST step searches from the edited trial without a kick. MERGE takes the trial as it is
    instead of a kick, unless its loops are too large; COPY takes it over without a search, REST
    goes back to the best graph.
    A new best graph is settled: what changed is fitted once more, with more company.
    """
    done, back, settle = 0, False, False
    while True:
        limit, patience, company = np.inf, 0, problem.company
        if settle:
            limit, patience, company = scores[CURRENT], control.patience, problem.most_heads
        elif not back:
            rested = order == REST or (order == GO_ON and work.counts[LEFT] == 0)
            if rested and scores[CURRENT] > scores[BEST]:
                back = _undo(work, work.best)
                scores[CURRENT] = scores[BEST]
            elif done == steps or order == REST:
                return
            elif order == GO_ON:
                _count(work, control, rng)
                limit = scores[CURRENT] + control.heat * exponential(rng)
                patience = control.patience
                _rearrange(problem, work, control, rng)
            elif order == MERGE:
                if not loops_fit(problem, work):
                    drop(work)
                    return
                limit, patience = scores[CURRENT], control.patience
            elif order == FIRST:
                patience = control.first_patience
        as_it_is = back or (order != GO_ON and not settle)
        score = search_locally(problem, work, control.hope, patience, company, as_it_is)
        if back:
            _set_base(work)
            back = False
            continue
        done += 0 if settle else 1
        settle = False
        if score < np.inf:
            remember(pool, work.state, score)
        if score < limit:
            settle = _accept(work, scores, score, limit) and order != COPY
            settle = settle and _mark_changed(problem, work)
            _set_base(work)
        else:
            back = _undo(work, work.base)


@merged
def _accept(work: Work, scores: np.ndarray, score: float, limit: float) -> bool:
    """Take the current graph's score over, and the graph as the best if it is; whether by far."""
    scores[CURRENT] = score
    gain = np.inf if limit == np.inf else scores[BEST] - score
    if gain > 1e-6:
        scores[BEST] = score
        take_over(work.best, work.state, work.best)
        clear_marks(work.best)
    return gain > SMALLEST_GAIN


@kernel
def _mark_changed(problem: Problem, work: Work) -> bool:
    """Let the next fit be one of all heads that changed; False if they are too many or none."""
    count = 0
    for j in range(work.base.touched.shape[0]):
        count += work.base.touched[j]
    if count == 0 or count > problem.most_heads:
        return False
    for j in range(work.base.touched.shape[0]):
        work.trial.touched[j] = work.base.touched[j]
    return True


@kernel
def _set_base(work: Work) -> None:
    """Let the next kick start from the current state."""
    take_over(work.base, work.state, work.base)
    clear_marks(work.base)


@kernel
def _undo(work: Work, target: State) -> bool:
    """Edit the trial into a state that is marked where it differs from the current one."""
    take_over(work.trial, target, target)
    add_marks(work.trial, target)
    return True


@merged
def _count(work: Work, control: Control, rng: np.ndarray) -> None:
    """Count the kick, and choose a region where a round begins."""
    work.counts[STEPS] += 1
    if work.counts[LEFT] == 0:
        centre = _least(work.rounds, rng)
        region = connected_set(work.state, rng, centre, control.region)
        work.region[: region.shape[0]] = region
        for x in range(region.shape[0]):
            work.rounds[region[x]] += 1
        work.counts[LEFT] = control.round_length
    work.counts[LEFT] -= 1


@kernel
def _least(counts: np.ndarray, rng: np.ndarray) -> int:
    """A random place with the least count."""
    least, ties = counts.min(), 0
    place = 0
    for j in range(counts.shape[0]):
        if counts[j] == least:
            ties += 1
            if below(rng, ties) == 0:
                place = j
    return place


@merged
def _rearrange(problem: Problem, work: Work, control: Control, rng: np.ndarray) -> None:
    """Kick the trial somewhere in the region of the round."""
    state = work.state
    start = work.region[below(rng, min(control.region, state.noise.shape[0]))]
    nodes = connected_set(state, rng, start, 2 + below(rng, control.largest_set - 1))
    kick(problem, work.trial, rng, draw_kind(rng, control.kicks), nodes)
