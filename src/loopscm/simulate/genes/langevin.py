"""Settings of the Langevin dynamics, and many independent runs of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_real
from loopscm._progress import Progress
from loopscm.errors import OptionError
from loopscm.simulate._parallel import blocks, run_blocks, spawned
from loopscm.simulate.genes.wiring import Rates, Wiring

Floats = NDArray[np.float64]
Record = Literal["state", "support"]
RECORDS = ("state", "support")
# Runs that share a seed and are computed side by side (few: caches, many: vector units). Part
# of the random stream, so never change it.
BLOCK = 32


@dataclass(frozen=True)
class Langevin:
    """How the stochastic dynamics is run; the defaults are GeneNetWeaver's.

    noise : c in dz = (V − D) dt + c·√(V + D) ∘ dW.
    step : fixed time step of the Milstein scheme.
    min_duration : shortest run; an experiment whose deterministic run took longer runs as long.
    duration : length of every run, whatever the deterministic runs took; None for their rule.
    """

    noise: float = 0.05
    step: float = 1.0
    min_duration: float = 100.0
    duration: float | None = None

    def __post_init__(self) -> None:
        as_real(self.noise, "noise", minimum=0.0)
        as_real(self.step, "step", minimum=0.0, strict=True)
        for name in ("min_duration", "duration"):
            value = getattr(self, name)
            if value is not None and as_real(value, name, minimum=0.0) < self.step:
                raise OptionError(
                    f"{name} must be at least one step ({self.step:g}), got {value:g}."
                )

    def steps(self, duration: float) -> int:
        """How many steps a run of this length has."""
        return max(1, round(duration / self.step))

    def durations(self, settled: Floats) -> Floats:
        """Lengths of runs whose deterministic counterparts were recorded at these times."""
        if self.duration is not None:
            return np.full(len(settled), float(self.duration))
        return np.maximum(settled, self.min_duration)

    def fitted(self, duration: float) -> Langevin:
        """The same with the nearest step of which a run of this length has a whole number."""
        step = duration / self.steps(duration)
        return replace(self, step=step, min_duration=duration, duration=None)


def as_settings(settings: Any) -> Langevin:
    """The given settings, or the original's."""
    if settings is None:
        return Langevin()
    if not isinstance(settings, Langevin):
        raise OptionError(f"settings must be a Langevin object, got {settings!r:.60}.")
    return settings


class Runs(NamedTuple):
    """Runs from one start; columns of m and alpha belong to runs, a single one serves all."""

    start: Floats
    durations: Floats
    m: Floats
    alpha: Floats


def run_many(
    runs: Runs,
    wiring: Wiring,
    rates: Rates,
    rng: np.random.Generator,
    *,
    settings: Langevin,
    record: Record,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Floats:
    """End state (or last support point) of each run.

    Every block of `BLOCK` runs has its own spawned seed, so the number of threads changes
    nothing.
    """
    from loopscm.simulate.genes import dynamics

    n = len(runs.durations)
    steps = np.array([settings.steps(duration) for duration in runs.durations], dtype=np.int64)
    out = np.empty((n, runs.start.size))
    pieces = blocks(n, BLOCK)
    seeds = spawned(rng, len(pieces))

    def task(b: int) -> int:
        rows = pieces[b]
        dynamics.langevin_runs(
            seeds[b],
            runs.start,
            steps[rows],
            settings.step,
            settings.noise,
            wiring,
            rates,
            _columns(runs.m, rows),
            _columns(runs.alpha, rows),
            record == "support",
            out[rows],
        )
        return rows.stop - rows.start

    run_blocks(task, len(pieces), n, "stochastic runs", n_jobs, progress)
    return out


def _columns(table: Floats, rows: slice) -> Floats:
    count = rows.stop - rows.start
    one = table.shape[1] == 1
    return np.repeat(table, count, axis=1) if one else np.ascontiguousarray(table[:, rows])
