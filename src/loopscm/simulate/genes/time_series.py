"""Time series under a perturbation that is removed on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from loopscm.simulate.genes.langevin import Langevin, Record, Runs, run_many
from loopscm.simulate.genes.states import State, TimeSeries, stack, unstack

if TYPE_CHECKING:
    from loopscm.simulate.genes.network import GeneNetwork

Floats = NDArray[np.float64]
BURN_IN = 100.0


def deterministic_series(
    network: GeneNetwork, shift: Floats, times: Floats, until: float
) -> TimeSeries:
    """The exact trajectory from the wild type."""
    under = times[times <= until]
    first = network.trajectory(np.append(under, until), shift)
    release = State(first.mrna[-1], first.protein[-1])
    second = network.trajectory(times[times > until] - until, start=release)
    return TimeSeries(
        times,
        np.vstack([first.mrna[:-1], second.mrna]),
        np.vstack([first.protein[:-1], second.protein]),
    )


def stochastic_series(
    network: GeneNetwork,
    shift: Floats,
    times: Floats,
    until: float,
    rng: np.random.Generator,
    record: Record,
    settings: Langevin,
) -> TimeSeries:
    """A Langevin run: burn-in from the wild type, then the series, perturbed up to `until`.

    With `record="support"` the first row is replaced by a separate wild-type sample.
    """
    none = np.zeros(network.n_genes)
    wild = stack(network.wild_type())
    first = None
    if record == "support":
        length = settings.duration or settings.min_duration
        first = _advance(network, wild, none, length, rng, settings, "support")
    z = _advance(network, wild, none, BURN_IN, rng, settings)
    rows, now = [z], 0.0
    for time in times[1:]:
        if now < until:
            z = _advance(network, z, shift, min(time, until) - now, rng, settings)
        if time > until:
            z = _advance(network, z, none, time - max(now, until), rng, settings)
        rows.append(z)
        now = time
    if first is not None:
        rows[0] = first
    return TimeSeries(times, *unstack(np.array(rows)))


def _advance(
    network: GeneNetwork,
    z: Floats,
    shift: Floats,
    duration: float,
    rng: np.random.Generator,
    settings: Langevin,
    record: Record = "state",
) -> Floats:
    wiring, _ = network._wired
    rates = network._rates(shift)
    runs = Runs(z, np.array([duration]), rates.m[:, None], rates.alpha[:, None])
    exact = settings.fitted(duration)
    return run_many(runs, wiring, rates, rng, settings=exact, record=record)[0]
