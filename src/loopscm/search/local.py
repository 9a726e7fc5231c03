"""Local search: try the most promising moves, keep the first that helps; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.search.candidates import Candidates, clear_all, clear_row, take_best
from loopscm.search.components import closes_no_loop, largest_loop
from loopscm.search.edge_screening import look_at, offer_entries, offer_exits
from loopscm.search.exchange_screening import offer_directing, offer_veiling
from loopscm.search.latent_screening import offer_confounding, offer_latent_changes, strength_of
from loopscm.search.local_problem import refit
from loopscm.search.moves import apply
from loopscm.search.problem import Problem, cost_of
from loopscm.search.state import State, clear_marks, take_over
from loopscm.search.tables import Tables, effects_of, forget_effects, refresh, slopes_into

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
    rounds: np.ndarray  # (p,) how many rounds had each node in their region


@kernel
def screen(problem: Problem, work: Work, marks: State, hope: float) -> None:
    """New candidates for the touched heads and for the latents over them."""
    state, tables, candidates = work.state, work.tables, work.candidates
    p = state.noise.shape[0]
    slopes = np.empty(p)
    strengths = np.empty(state.n_children.shape[0])
    for h in range(strengths.shape[0]):
        strengths[h] = strength_of(state, tables, h)
    for j in range(p):
        if marks.touched[j]:
            clear_row(candidates, j)
            slopes_into(state, tables, j, slopes)
            head = look_at(problem, state, tables, j, effects_of(state, tables, j), slopes)
            offer_entries(problem, state, tables, candidates, head, hope)
            offer_exits(problem, state, tables, candidates, head, hope)
            offer_veiling(problem, state, tables, candidates, j, hope)
            offer_confounding(
                problem, state, tables, candidates, j, slopes, strengths, marks.touched, hope
            )
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
    forget_effects(work.tables, work.state, work.trial)
    take_over(work.state, work.trial, work.trial)
    add_marks(work.base, work.trial)
    add_marks(work.best, work.trial)
    return refresh(problem, work.state, work.tables, work.trial)


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
def loops_fit(problem: Problem, work: Work) -> bool:
    """Whether the trial has no loop larger than allowed; costs nothing where all are allowed."""
    state, trial = work.state, work.trial
    if problem.largest_loop >= trial.noise.shape[0]:
        return True
    if closes_no_loop(state, trial, trial.touched) or _unreached(work):
        return True
    return largest_loop(trial) <= problem.largest_loop


@kernel
def _unreached(work: Work) -> bool:
    """Whether no touched head has an effect on a parent of any, later in the order.

    The trial then has no loop that the current graph has not.
    """
    state, trial, p = work.state, work.trial, work.trial.noise.shape[0]
    for j in range(p):
        if not trial.touched[j]:
            continue
        for k in range(trial.n_tails[j]):
            tail = trial.tails[j, k]
            if state.place[tail] < state.place[j] or state.loop[tail] == state.loop[j]:
                continue
            for i in range(p):
                if trial.touched[i] and effects_of(state, work.tables, i)[tail] != 0.0:
                    return False
    return True


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
            loops_fit(problem, work)
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
