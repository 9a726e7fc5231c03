"""The one loop of all gate learners: estimate, step, record, refine at plateaus."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from loopscm._checks import as_choice, as_integer, as_real
from loopscm._progress import Progress, Silent
from loopscm.errors import OptionError, UnboundedLikelihoodError
from loopscm.gates.estimators import Draw, Estimate, Workers
from loopscm.gates.extraction import Candidate, extract, refitted, rescored
from loopscm.gates.parameters import GateParameters
from loopscm.gates.problem import Problem
from loopscm.gates.refinement import best_branch, continued, plateaued
from loopscm.gates.settings import GateSettings
from loopscm.gates.state import Adam, LearnerState, Trace, initial_state
from loopscm.likelihood.penalty import Penalty
from loopscm.stats import GaussianStats

SHY = 1.0 - 1e-12  # of the bound on ‖|W|‖₂, so that rounding does not make W shrink twice


@dataclass(frozen=True, eq=False)
class Run:
    """The state at the end and the best candidate; `finished` unless time ran out."""

    state: LearnerState
    best: Candidate
    finished: bool


def step(
    problem: Problem, settings: GateSettings, state: LearnerState, workers: Workers
) -> tuple[LearnerState, Estimate, Draw]:
    """One update of all parameters; the trace is left to the caller."""
    share = state.updates / max(settings.updates, 1)
    watch = state.updates % settings.monitor_every == 0
    draw = Draw(state.keys(settings.estimator.samples), share, watch)
    estimate = settings.estimator.estimate(problem, state.parameters, draw, workers)
    adam, change = state.adam.step(estimate.gradient, settings.learning_rate)
    parameters = replace(state.parameters, theta=state.parameters.theta + change)
    parameters = _restricted(parameters, settings)
    after = replace(state, parameters=parameters, adam=adam, updates=state.updates + 1)
    return after, estimate, draw


def run(
    stats: GaussianStats,
    settings: GateSettings,
    state: LearnerState,
    *,
    penalty: Penalty = "structural",
    time_limit: float | None = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Run:
    """Update until the budget of updates or time is spent, then extract and refit.

    The result is the best of all refitted candidates: the final support and those that the
    refinement accepted on the way.
    """
    as_choice(penalty, "penalty", get_args(Penalty))
    if time_limit is not None:
        as_real(time_limit, "time_limit", minimum=0.0)
    problem = problem_of(stats, settings)
    _refuse_refinement_of_latents(settings, state.parameters.shape.slots)
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    meter = progress or Silent()
    best = None if state.best is None else rescored(stats, state.best, penalty)
    state = replace(state, trace=state.trace.copy(), best=best)
    meter.start(max(settings.updates - state.updates, 0), "gate updates")
    try:
        with Workers(n_jobs, settings.chunk) as workers:
            while state.updates < settings.updates and time.monotonic() < deadline:
                before = state
                state, estimate, draw = step(problem, settings, state, workers)
                _record(problem, settings, before, estimate, draw)
                state = _refined(stats, problem, settings, state, penalty)
                meter.advance()
    finally:
        meter.finish()
    best = _best(stats, problem, settings, state, penalty)
    return Run(state, best, state.updates >= settings.updates)


def start_or_resume(
    stats: GaussianStats,
    settings: GateSettings,
    slots: int,
    seed: int | np.random.Generator,
    resume: object = None,
) -> LearnerState:
    """The initial state of a learner, or an earlier one after a check that it fits the data."""
    slots = as_integer(slots, "latent slots", minimum=0)
    _refuse_refinement_of_latents(settings, slots)
    problem = problem_of(stats, settings)
    if resume is None:
        state = initial_state(problem, slots, settings, seed)
    else:
        state = _checked(resume, problem, slots)
    return replace(state, parameters=_restricted(state.parameters, settings))


def problem_of(stats: GaussianStats, settings: GateSettings) -> Problem:
    """The data in the units of the search."""
    return Problem.of(
        stats, standardised=settings.units == "standardised", noise_floor=settings.noise_floor
    )


def _best(
    stats: GaussianStats,
    problem: Problem,
    settings: GateSettings,
    state: LearnerState,
    penalty: Penalty,
) -> Candidate:
    """The better of the support that the gates select now and the best one before."""
    model = extract(problem, state.parameters, settings, stats.names)
    try:
        final = refitted(stats, model.graph, model, penalty)
    except UnboundedLikelihoodError:
        if state.best is None:
            raise
        return state.best  # too many edges for so few observations, but an earlier one will do
    return final if state.best is None or final.score < state.best.score else state.best


def _record(
    problem: Problem, settings: GateSettings, state: LearnerState, estimate: Estimate, draw: Draw
) -> None:
    """Append what the update saw to the trace that this run owns."""
    trace: Trace = state.trace
    shape = state.parameters.shape
    q, r, pi = shape.split(state.parameters.probabilities)
    trace.objective.append(estimate.objective)
    trace.expected_edges.append(float(q.sum() + pi @ r.sum(axis=1)))
    trace.expected_latents.append(float(pi.sum()))
    trace.n_singular.append(estimate.n_singular)
    if estimate.worst_key is not None:
        worst = replace(draw, keys=np.array([estimate.worst_key], np.uint64))
        gates = settings.estimator.worst_mask(problem, state.parameters, worst)
        B = shape.split(gates)[0].T * state.parameters.W
        A = np.eye(shape.p) - B
        trace.monitored.append(state.updates)
        trace.sigma_min.append(float(np.linalg.svd(A, compute_uv=False)[-1]))


def _refined(
    stats: GaussianStats,
    problem: Problem,
    settings: GateSettings,
    state: LearnerState,
    penalty: Penalty,
) -> LearnerState:
    """The state after a look for a better support, if the objective is on a plateau."""
    plan = settings.refinement
    if plan is None or not plateaued(state.trace.objective, state.since, plan):
        return state
    state = replace(state, since=state.updates)
    model = extract(problem, state.parameters, settings, stats.names)
    if model.graph == state.settled:
        return state
    try:
        base = refitted(stats, model.graph, model, penalty)
    except UnboundedLikelihoodError:
        return state  # too many edges for so few observations: nothing to compare yet
    best = base if state.best is None or base.score < state.best.score else state.best
    allowed = state.parameters.shape.split(state.parameters.allowed)[0].T  # type: ignore[arg-type]
    branch = best_branch(stats, base, plan, penalty, np.asarray(allowed, bool))
    if branch is None:
        return replace(state, best=best, settled=model.graph)
    best = branch.candidate if branch.candidate.score < best.score else best
    parameters = _restricted(continued(problem, state.parameters, branch), settings)
    return replace(
        state, parameters=parameters, adam=Adam.at_rest(len(parameters.theta)), best=best
    )


def _restricted(parameters: GateParameters, settings: GateSettings) -> GateParameters:
    """W shrunk so that ‖|W|‖₂ ≤ 1 − ε_A, if the settings ask for it."""
    if settings.norm_margin is None:
        return parameters
    norm, bound = float(np.linalg.norm(np.abs(parameters.W), 2)), 1.0 - settings.norm_margin
    if norm <= bound:
        return parameters
    theta = parameters.theta.copy()
    theta[: parameters.shape.p**2] *= SHY * bound / norm
    return replace(parameters, theta=theta)


def _refuse_refinement_of_latents(settings: GateSettings, slots: int) -> None:
    if slots > 0 and settings.refinement is not None:
        raise OptionError(
            "the support refinement is for graphs without latents; set refinement=None, or "
            "max_latents=0."
        )


def _checked(state: object, problem: Problem, slots: int) -> LearnerState:
    if not isinstance(state, LearnerState):
        raise OptionError(
            f"resume must be the state of an earlier result, got {type(state).__name__}."
        )
    shape, p = state.parameters.shape, len(problem.S)
    if (shape.p, shape.slots) != (p, slots):
        raise OptionError(
            f"resume is a state of {shape.p} variables and {shape.slots} latent slots, this call "
            f"has {p} and {slots}; pass the same data and max_latents."
        )
    if state.data != problem.digest:
        raise OptionError(
            "resume is a state of other data, or of other units; pass the data and the "
            "settings.units it came from."
        )
    return state
