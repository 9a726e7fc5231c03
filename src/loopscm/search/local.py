"""Local search: try the most promising moves, keep the first that helps; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.search.candidates import Candidates, clear_all, clear_row, take_best
from loopscm.search.components import largest_loop
from loopscm.search.edge_screening import look_at, offer_entries, offer_exits
from loopscm.search.exchange_screening import offer_directing, offer_veiling
from loopscm.search.latent_screening import offer_confounding, offer_latent_changes
from loopscm.search.local_problem import refit
from loopscm.search.moves import apply
from loopscm.search.problem import Problem, cost_of
from loopscm.search.state import State, clear_marks, take_over
from loopscm.search.tables import Tables, effects_from, refresh

SMALLEST_GAIN = 0.02  # of the score: twice the accuracy of the fits
FITS, STEPS, LEFT = 0, 1, 2  # places in `Work.counts`


class Work(NamedTuple):
    """Everything a search writes to; the marks of a state say where it differs from `state`."""

    state: State  # the current graph, which the tables describe
    trial: State
    base: State  # where the present kick started
    best: State
    tables: Tables
    candidates: Candidates
    counts: np.ndarray  # (3,) graphs fitted, steps done, kicks left in the round
    region: np.ndarray  # (p,) nodes from which the kicks of the round start


@kernel
def screen(problem: Problem, work: Work, marks: State, hope: float) -> None:
    """New candidates for the touched heads and for the latents over them."""
    state, tables, candidates = work.state, work.tables, work.candidates
    p = state.noise.shape[0]
    effects = np.empty(p)
    for j in range(p):
        if marks.touched[j]:
            clear_row(candidates, j)
            effects_from(state, tables, j, effects)
            head = look_at(problem, state, tables, j, effects)
            offer_entries(problem, state, tables, candidates, head, hope)
            offer_exits(problem, state, tables, candidates, head, hope)
            offer_veiling(problem, state, tables, candidates, j, hope)
            offer_confounding(problem, state, tables, candidates, j, marks.touched, hope)
    for h in range(state.n_children.shape[0]):
        if state.n_children[h] == 0:
            clear_row(candidates, p + h)
            continue
        meets = marks.stirred[h]
        for k in range(state.n_children[h]):
            meets = meets or marks.touched[state.children[h, k]]
        if meets:
            clear_row(candidates, p + h)
            offer_latent_changes(problem, state, tables, candidates, h, hope)
            if state.n_children[h] == 2:
                offer_directing(problem, state, tables, candidates, h, hope)


@kernel
def add_marks(target: State, source: State) -> None:
    """Let a state be marked wherever another is."""
    for j in range(source.touched.shape[0]):
        target.touched[j] = target.touched[j] or source.touched[j]
    for h in range(source.stirred.shape[0]):
        target.stirred[h] = target.stirred[h] or source.stirred[h]


@merged
def _adopt(problem: Problem, work: Work) -> float:
    """Make the current state equal to the trial, whose marks stay; returns f."""
    take_over(work.state, work.trial, work.trial)
    add_marks(work.base, work.trial)
    add_marks(work.best, work.trial)
    return refresh(problem, work.state, work.tables, work.trial.touched)


@kernel
def drop(work: Work) -> None:
    """Undo the edits of the trial."""
    take_over(work.trial, work.state, work.trial)
    clear_marks(work.trial)


@merged
def _next_trial(problem: Problem, work: Work) -> bool:
    """Edit the trial by the most promising move that fits it; False if none is left."""
    while True:
        predicted, move = take_best(work.candidates)
        if predicted == np.inf:
            return False
        if apply(problem, work.trial, move):
            return True
        drop(work)


@kernel
def _loops_fit(problem: Problem, state: State) -> bool:
    """Whether no loop is larger than allowed; costs nothing where all are allowed."""
    if problem.largest_loop >= state.noise.shape[0]:
        return True
    return largest_loop(state) <= problem.largest_loop


@merged
def search_locally(
    problem: Problem, work: Work, hope: float, patience: int, company: int, as_it_is: bool
) -> float:
    """Fit the edited trial (or take it as it is), then try moves around it; returns the score.

    Ends after `patience` trials in a row without a gain, or without moves whose predicted
    change is below `hope`. If the edit has no fit, nothing changes and the score is infinite.
    """
    clear_all(work.candidates)
    score, failures, aim, known = np.inf, 0, np.inf, as_it_is
    while True:
        work.counts[FITS] += 1
        if known or (
            _loops_fit(problem, work.trial)
            and refit(problem, work.state, work.trial, work.tables, aim, company) < aim
        ):
            f = _adopt(problem, work)
            if patience > 0:
                screen(problem, work, work.trial, hope)
            clear_marks(work.trial)
            score = problem.n * f + problem.weight * cost_of(problem, work.state)
            failures = 0
        else:
            drop(work)
            failures += 1
        known, company = False, problem.company
        if failures >= patience or not score < np.inf or not _next_trial(problem, work):
            return score
        price = cost_of(problem, work.trial) - cost_of(problem, work.state)
        aim = -(SMALLEST_GAIN + problem.weight * price) / problem.n
