"""The families of named scenarios: how a name turns into a graph and data."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm._progress import Progress
from loopscm.graph import LatentGraph
from loopscm.scm import LinearSCM
from loopscm.simulate import stress
from loopscm.simulate.genes.front import expression
from loopscm.simulate.genes.langevin import Langevin
from loopscm.simulate.genes.network import GeneNetwork
from loopscm.simulate.genes.perturbations import Perturbations
from loopscm.simulate.protocol import random_graph, random_scm
from loopscm.simulate.regulation import regulatory_graph

SYNTHETIC_SAMPLES = 10_000
GENE_SAMPLES = 20_000
STRESS_SAMPLES = 10_000


@dataclass(frozen=True)
class World:
    """What a family generates."""

    graph: LatentGraph
    data: NDArray[np.float64]
    model: LinearSCM | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """A pattern of names, and the generator behind it.

    `version` is part of the cache key: raise it when the generator's output changes.
    """

    title: str
    template: str
    example: str
    pattern: re.Pattern[str]
    generate: Callable[[Mapping[str, str], Streams, Runner], World]
    centered: bool
    version: int = 1
    expressed: bool = False  # data are expression levels of a gene network


@dataclass(frozen=True)
class Runner:
    """How to run a simulation; changes no bit of it."""

    n_jobs: int = 1
    progress: Progress | None = None


class Streams:
    """Independent generators for the parts of one scenario, derived from its name alone."""

    def __init__(self, name: str) -> None:
        digest = hashlib.sha256(name.encode()).digest()
        self._entropy = [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 32, 4)]

    def rng(self, part: int) -> np.random.Generator:
        """The generator of part 0, 1, ..."""
        return np.random.default_rng(np.random.SeedSequence([*self._entropy, part]))


GRAPH, PARAMETERS, DATA, SCALES = range(4)


def _synthetic(values: Mapping[str, str], streams: Streams, runner: Runner) -> World:
    p, degree, ratio = int(values["p"]), int(values["d"]), float(values["r"])
    graph = random_graph(p, degree, ratio, streams.rng(GRAPH))
    model = random_scm(graph, streams.rng(PARAMETERS))
    n = int(values["n"] or SYNTHETIC_SAMPLES)
    return World(graph, model.sample(n, streams.rng(DATA)), model)


def _gnw(values: Mapping[str, str], streams: Streams, runner: Runner) -> World:
    p, n_latent = int(values["p"]), int(values["l"])
    graph = regulatory_graph(p, n_latent, streams.rng(GRAPH))
    return _expressed(graph, streams, runner, values["noise"])


def _dream4(values: Mapping[str, str], streams: Streams, runner: Runner) -> World:
    from loopscm import datasets

    reference = datasets.load(f"dream4-size{values['p']}-{values['k']}").references
    graph = next(iter(reference.values())).graph
    return _expressed(graph, streams, runner, values["noise"])


def network_of(graph: LatentGraph, streams: Streams) -> GeneNetwork:
    """The gene network behind a scenario's expression levels."""
    return GeneNetwork.random(graph, streams.rng(PARAMETERS))


def _expressed(graph: LatentGraph, streams: Streams, runner: Runner, noise: str | None) -> World:
    network = network_of(graph, streams)
    alone = network.steady_states(Perturbations.none(network, 1))
    data = expression(
        network,
        GENE_SAMPLES,
        streams.rng(DATA),
        observed=graph.names,
        record="support",
        measurement="microarray" if noise else "none",
        normalise=bool(noise),
        n_jobs=runner.n_jobs,
        progress=runner.progress,
    )
    details = {
        "record": "support",
        "noise": noise or "none",
        "settled": bool(alone.settled[0]),
        "duration": float(Langevin().durations(alone.times)[0]),
    }
    return World(graph, data, details=details)


def _stress(values: Mapping[str, str], streams: Streams, runner: Runner) -> World:
    kind, p = values["kind"], int(values["p"])
    rng = streams.rng(GRAPH)
    if kind in ("cycles", "radius"):
        graph = stress.dense_cycles(p, rng, latents=p // 10)
    elif kind == "hubs":
        graph = stress.hub_latents(p, rng)
    else:
        graph = random_graph(p, 2, 0.1, rng)
    draw = stress.near_unit_radius if kind == "radius" else random_scm
    model = draw(graph, streams.rng(PARAMETERS))
    n = {"few": p + p // 8 + 1, "fewer": max(p // 2, 2)}.get(kind, STRESS_SAMPLES)
    options: dict[str, Any] = {"autocorrelation": 0.9} if kind == "autocorrelated" else {}
    if kind in stress.NOISES:
        options["noise"] = kind
    data = stress.stressed_sample(model, n, streams.rng(DATA), **options)
    if kind == "scales":
        data, factors = stress.unequal_scales(data, streams.rng(SCALES))
        details = {"factors": factors.tolist()}
        return World(graph, data, stress.rescaled(model, factors), details)
    return World(graph, data, model, options)


_SEED = r"/seed(?P<seed>0|[1-9]\d*)"
_COUNT = r"[1-9]\d*"
STRESS_KINDS = (
    "cycles",
    "radius",
    "hubs",
    "laplace",
    "student",
    "uniform",
    "exponential",
    "scales",
    "few",
    "fewer",
    "autocorrelated",
)
FAMILIES: dict[str, Family] = {
    "synthetic": Family(
        "linear Gaussian models of the paper's protocol, n = 10,000 unless -n is given",
        "synthetic/p<variables>-d<max degree>-r<latent ratio>[-n<samples>]/seed<seed>",
        "synthetic/p16-d4-r0.2/seed3",
        re.compile(
            rf"synthetic/p(?P<p>{_COUNT})-d(?P<d>{_COUNT})-r(?P<r>0|0\.\d*[1-9]|1)"
            rf"(-n(?P<n>{_COUNT}))?{_SEED}"
        ),
        _synthetic,
        centered=False,
    ),
    "gnw": Family(
        "the paper's gene networks: 20,000 unperturbed cells, latents hidden",
        "gnw/<genes>-<latents>[-microarray][/seed<seed>]",
        "gnw/100-20",
        re.compile(rf"gnw/(?P<p>{_COUNT})-(?P<l>0|{_COUNT})(-(?P<noise>microarray))?({_SEED})?"),
        _gnw,
        centered=True,
        version=2,
        expressed=True,
    ),
    "dream4": Family(
        "the DREAM4 topologies with random kinetics: 20,000 unperturbed cells",
        "dream4/size10-<1..5> or dream4/size100-<1..2>[-microarray][/seed<seed>]",
        "dream4/size100-1",
        re.compile(
            rf"dream4/size(?P<p>10(?=-[1-5])|100(?=-[12]))-(?P<k>\d)(-(?P<noise>microarray))?({_SEED})?"
        ),
        _dream4,
        centered=True,
        version=2,
        expressed=True,
    ),
    "stress": Family(
        f"one strained assumption each: {', '.join(STRESS_KINDS)}",
        "stress/<kind>-p<variables>/seed<seed>",
        "stress/cycles-p30/seed0",
        re.compile(rf"stress/(?P<kind>{'|'.join(STRESS_KINDS)})-p(?P<p>{_COUNT}){_SEED}"),
        _stress,
        centered=False,
        version=2,
    ),
}
