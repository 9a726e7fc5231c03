"""The discrete search as a method of `learn`: "search"."""

from __future__ import annotations

from loopscm.errors import OptionError
from loopscm.learning.request import Request
from loopscm.learning.result import LearnResult, LearnStatus
from loopscm.search.driver import search
from loopscm.search.settings import SearchSettings


def discrete(request: Request) -> LearnResult:
    """Local search with closed-form gains, restarted by kicks."""
    settings = SearchSettings() if request.settings is None else request.settings
    if not isinstance(settings, SearchSettings):
        raise OptionError(f"settings must be SearchSettings, got {type(settings).__name__}.")
    if request.resume is not None:
        raise OptionError(
            "method 'search' does not resume; go on from a graph with "
            "settings=SearchSettings(start=result.graph)."
        )
    found = search(
        request.stats,
        penalty=request.penalty,
        max_latents=request.max_latents,
        seed=request.seed,
        time_limit=request.time_limit,
        n_jobs=request.n_jobs,
        progress=request.progress,
        settings=settings,
    )
    return LearnResult(
        graph=found.graph,
        scm=found.fit.scm,
        score=found.score,
        nll=found.fit.nll,
        status=LearnStatus[found.outcome.name],
        seconds=found.seconds,
        trace=found.trace,
        settings=settings,
        method="search",
        penalty=request.penalty,
        fit_status=found.fit.status,
        near=found.near,
    )
