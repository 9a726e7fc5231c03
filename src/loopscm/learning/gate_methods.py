"""The gate learners as methods of `learn`: "bernoulli", "concrete", and "paper"."""

from __future__ import annotations

import time

from loopscm.errors import OptionError
from loopscm.gates.driver import run, start_or_resume
from loopscm.gates.settings import GateSettings, published_settings, published_slots
from loopscm.learning.request import Request
from loopscm.learning.result import LearnResult, LearnStatus


def bernoulli(request: Request) -> LearnResult:
    """The observed-only learner: hard masks, leave-one-out gradients, support refinement."""
    if request.max_latents not in (None, 0):
        raise OptionError(
            f"method 'bernoulli' has no latents, got max_latents={request.max_latents}; use "
            "method 'concrete', or max_latents=0."
        )
    return _learned(request, "bernoulli", 0)


def concrete(request: Request) -> LearnResult:
    """The latent learner: straight-through Binary Concrete gates."""
    slots = _slots(request)
    if slots == 0:
        raise OptionError(
            "method 'concrete' needs latent slots; use method 'bernoulli' for max_latents=0."
        )
    return _learned(request, "concrete", slots)


def paper(request: Request) -> LearnResult:
    """The published procedure: bernoulli without latents, else concrete."""
    return _learned(request, "paper", _slots(request))


def _slots(request: Request) -> int:
    if request.max_latents is None:
        return published_slots(request.stats.p)
    return request.max_latents


def _learned(request: Request, method: str, slots: int) -> LearnResult:
    began = time.perf_counter()
    stats = request.stats
    settings = _settings(request, method, slots)
    state = start_or_resume(stats, settings, slots, request.seed, request.resume)
    found = run(
        stats,
        settings,
        state,
        penalty=request.penalty,
        time_limit=request.time_limit,
        n_jobs=request.n_jobs,
        progress=request.progress,
    )
    best = found.best
    return LearnResult(
        graph=best.graph,
        scm=best.fit.scm,
        score=best.score,
        nll=best.fit.nll,
        status=LearnStatus.FINISHED if found.finished else LearnStatus.TIME_LIMIT,
        seconds=time.perf_counter() - began,
        trace=found.state.trace.arrays(),
        settings=settings,
        method=method,
        penalty=request.penalty,
        fit_status=best.fit.status,
        state=found.state,
    )


def _settings(request: Request, method: str, slots: int) -> GateSettings:
    settings = request.settings
    if settings is None:
        return published_settings(request.stats.p, slots)
    if method == "paper":
        raise OptionError(
            "method 'paper' has the published settings and no others; use method 'bernoulli' or "
            "'concrete' to change them."
        )
    if not isinstance(settings, GateSettings):
        raise OptionError(f"settings must be GateSettings, got {type(settings).__name__}.")
    return settings
