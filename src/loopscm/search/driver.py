"""Runs the compiled search within a budget and re-evaluates what it found."""

from __future__ import annotations

import time

import numpy as np

from loopscm._checks import as_generator, as_integer
from loopscm._progress import Progress, Silent
from loopscm.errors import DataError, GraphError
from loopscm.fitting import Fit, fit
from loopscm.fitting.fit import NOISE_FLOOR, matched
from loopscm.graph import LatentGraph
from loopscm.likelihood.gaussian import likelihood
from loopscm.likelihood.penalty import Penalty, penalty_cost
from loopscm.scm import LinearSCM
from loopscm.search.lane import Lane
from loopscm.search.nearby import near_optimal
from loopscm.search.problem import Problem, counted_cost
from loopscm.search.result import Found, Outcome
from loopscm.search.settings import KICKS_PER_NODE, LEAST_KICKS, SearchSettings
from loopscm.search.state import State, graph_of, matrices_of, state_of
from loopscm.search.team import Team
from loopscm.stats import GaussianStats

FIT_ACCURACY = 0.01  # of the score, per fit during the search
MAX_ITERATIONS = 30  # of a local fit
MISMATCH = 1e-6  # of the score, between the search and its re-evaluation


def search(
    stats: GaussianStats,
    *,
    penalty: Penalty = "dimension",
    max_latents: int | None = None,
    seed: int | np.random.Generator = 0,
    time_limit: float | None = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
    settings: SearchSettings | None = None,
) -> Found:
    """The best graph found by local search and kicks within a budget of time or kicks.

    The same seed and budget of kicks give the same answer for any `n_jobs`. `max_latents`
    defaults to half the variables plus two. An interrupt (Ctrl-C) returns the best graph so far.
    """
    began = time.perf_counter()
    settings = SearchSettings() if settings is None else settings
    if stats.is_singular:
        raise DataError(
            "the search needs a covariance of full rank; collect more observations than "
            "variables, or drop variables that depend on the others."
        )
    slots = (
        stats.p // 2 + 2
        if max_latents is None
        else as_integer(max_latents, "max_latents", minimum=0)
    )
    run = _Run(stats, penalty, slots, as_generator(seed, "seed"), n_jobs, settings, began)
    kicks = settings.kicks
    if kicks is None and time_limit is None:
        kicks = max(LEAST_KICKS, KICKS_PER_NODE * stats.p)
    with run.team:
        outcome = run.spend(kicks, time_limit, progress or Silent())
    return run.found(outcome)


class _Run:
    """One search in progress: its lanes and the record of their improvements."""

    def __init__(
        self,
        stats: GaussianStats,
        penalty: Penalty,
        slots: int,
        rng: np.random.Generator,
        n_jobs: int,
        settings: SearchSettings,
        began: float,
    ) -> None:
        p = stats.p
        self.stats, self.settings, self.began = stats, settings, began
        self.penalty: Penalty = penalty
        self.weight = settings.weight_for(stats, penalty)
        allowed, required = settings.knowledge.masks(stats.names)
        self.problem = Problem(
            S=np.array(stats.correlation),
            n=float(stats.n),
            weight=self.weight,
            dimension=penalty == "dimension",
            allowed=np.asfortranarray(allowed),
            required=required,
            floor=NOISE_FLOOR,
            tolerance=FIT_ACCURACY / stats.n,
            max_iterations=MAX_ITERATIONS,
            company=settings.company,
            slack=settings.slack * self.weight / stats.n,
            largest_loop=settings.largest_loop_for(p),
            most_heads=settings.most_heads,
        )
        start = _start(stats, settings.start, slots, allowed, required)
        control, keep = settings.control(self.weight), settings.keep
        seeds = rng.integers(0, 2**63, settings.lanes_for(p), dtype=np.uint64)
        self.team = Team([Lane(self.problem, control, start, keep, k) for k in seeds], n_jobs)
        self.shift = stats.n * (stats.saturated - float(np.log(stats.scale).sum()))
        self.trace: list[tuple[float, float, float]] = []

    def spend(self, kicks: int | None, time_limit: float | None, progress: Progress) -> Outcome:
        """Search until the budget is spent; the first local search is always finished."""
        progress.start(100, "search")
        shown, target = 0, -np.inf if self.settings.target is None else self.settings.target
        try:
            self.team.begin()
            if not np.isfinite(self.team.leader.best):
                raise GraphError("the search cannot fit its start: start from a sparser graph.")
            while True:
                self._note()
                done, seconds = self.team.kicks, time.perf_counter() - self.began
                share = max(
                    done / kicks if kicks else 0.0, seconds / time_limit if time_limit else 0.0
                )
                progress.advance(int(100 * min(share, 1.0)) - shown)
                shown = int(100 * min(share, 1.0))
                if self.trace[-1][1] <= target:
                    return Outcome.TARGET
                if kicks is not None and done >= kicks:
                    return Outcome.FINISHED
                if time_limit is not None and seconds >= time_limit:
                    return Outcome.TIME_LIMIT
                self.team.advance(None if kicks is None else kicks - done)
        except KeyboardInterrupt:
            return Outcome.INTERRUPTED
        finally:
            progress.finish()

    def _note(self) -> None:
        """Record the best score if it fell."""
        score = self.team.leader.best - self.shift
        if not self.trace or score < self.trace[-1][1]:
            self.trace.append((self.team.kicks, score, time.perf_counter() - self.began))

    def found(self, outcome: Outcome) -> Found:
        """The best graph, fitted to full accuracy and re-evaluated."""
        leader = self.team.leader
        best = leader.work.best
        graph = graph_of(best, self.stats.names)
        final = self._reevaluated(graph, best, leader.best)
        cost = penalty_cost(graph, self.penalty)
        columns = np.array(self.trace).reshape(-1, 3).T
        return Found(
            graph=graph,
            fit=final,
            score=final.nll - self.stats.n * self.stats.saturated + self.weight * cost,
            outcome=outcome,
            seconds=time.perf_counter() - self.began,
            kicks=self.team.kicks,
            fits=sum(lane.fits for lane in self.team.lanes),
            trace=dict(zip(("kicks", "score", "seconds"), columns, strict=True)),
            near=near_optimal(
                [lane.pool for lane in self.team.lanes],
                self.stats.names,
                self.shift,
                self.settings.keep,
            ),
        )

    def _reevaluated(self, graph: LatentGraph, best: State, held: float) -> Fit:
        """The final fit, after checking the search's own score of the same parameters.

        The check uses the library's own likelihood of the graph, which shares neither lists
        nor labels with the search. A cold start may still do better.
        """
        B, Gamma = matrices_of(best)
        scale = self.stats.scale
        scm = LinearSCM(graph, B * scale / scale[:, None], Gamma * scale, best.noise * scale**2)
        checked = self.stats.n * (likelihood(self.stats.S, scm) - float(np.log(scale).sum()))
        own = held - self.weight * counted_cost(graph, self.problem.dimension)
        if not abs(checked - own) <= MISMATCH * max(1.0, abs(own) * 1e-4):
            raise RuntimeError(
                f"the search holds {own!r} for the likelihood of its best graph, but its "
                f"re-evaluation gives {checked!r}. This is a defect of the search; please report "
                "it with the covariance matrix, the seed, and the settings."
            )
        warm, cold = fit(self.stats, graph, start=scm), fit(self.stats, graph)
        return cold if cold.nll < warm.nll else warm


def _start(
    stats: GaussianStats,
    graph: LatentGraph | None,
    slots: int,
    allowed: np.ndarray,
    required: np.ndarray,
) -> State:
    """The state to start from, with cold parameters, in standardised units."""
    if graph is None:
        graph = LatentGraph(required, names=stats.names)
    graph = matched(stats, graph).pruned()
    if graph.bidirected.any():
        raise GraphError("the search has no bidirected edges; use latents with two children.")
    if (graph.directed & ~allowed).any() or (required & ~graph.directed).any():
        raise GraphError("start contradicts the knowledge; add required and drop forbidden edges.")
    scm, scale = fit(stats, graph).scm, stats.scale
    B = scm.coefficients / scale * scale[:, None]
    return state_of(graph, slots, B, scm.loadings / scale, scm.noise_variances / scale**2)
