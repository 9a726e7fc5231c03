"""The state of a gate learner: enough to go on, bit for bit, where it stopped."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_generator
from loopscm.gates.extraction import Candidate
from loopscm.gates.parameters import GateParameters, Shape, inverse_softplus, logit
from loopscm.gates.problem import Problem
from loopscm.gates.settings import GateSettings
from loopscm.graph import LatentGraph

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Adam:
    """Moments of Adam (Kingma & Ba 2015) and the steps behind them."""

    mean: Vector
    square: Vector
    steps: int = 0

    MEAN_DECAY, SQUARE_DECAY, GUARD = 0.9, 0.999, 1e-8

    @classmethod
    def at_rest(cls, size: int) -> Adam:
        """No steps yet."""
        return cls(np.zeros(size), np.zeros(size))

    def step(self, gradient: Vector, rate: float) -> tuple[Adam, Vector]:
        """(moments, change of the parameters) after one gradient."""
        count = self.steps + 1
        mean = self.MEAN_DECAY * self.mean + (1 - self.MEAN_DECAY) * gradient
        square = self.SQUARE_DECAY * self.square + (1 - self.SQUARE_DECAY) * gradient**2
        root = np.sqrt(square / (1 - self.SQUARE_DECAY**count))
        change = -rate / (1 - self.MEAN_DECAY**count) * mean / (root + self.GUARD)
        return Adam(mean, square, count), change


@dataclass(frozen=True, eq=False)
class Trace:
    """What a learner recorded: one entry an update, σ_min at the updates `monitored`."""

    objective: list[float] = field(default_factory=list)
    expected_edges: list[float] = field(default_factory=list)
    expected_latents: list[float] = field(default_factory=list)
    n_singular: list[int] = field(default_factory=list)
    monitored: list[int] = field(default_factory=list)
    sigma_min: list[float] = field(default_factory=list)

    def copy(self) -> Trace:
        """A trace that can grow without changing this one."""
        return Trace(*(list(column) for column in vars(self).values()))

    def arrays(self) -> dict[str, Vector]:
        """The columns as arrays."""
        return {name: np.asarray(column, np.float64) for name, column in vars(self).items()}


@dataclass(frozen=True, eq=False)
class LearnerState:
    """Parameters, optimiser, random numbers, and history of a learner.

    The samples of update t come from a counter-based generator with `key` and counter t, so
    nothing else need be remembered of the random numbers. `since` is the update at which the
    current plateau may have begun, `best` the best refitted candidate so far, `settled` the
    last support that refinement could not improve, `data` the fingerprint of the data. A state
    survives `pickle`, to go on in another process.
    """

    parameters: GateParameters
    adam: Adam
    key: int
    updates: int = 0
    trace: Trace = field(default_factory=Trace)
    since: int = 0
    best: Candidate | None = None
    settled: LatentGraph | None = None
    data: str = ""

    def keys(self, count: int) -> NDArray[np.uint64]:
        """One key for each sample of the next update."""
        stream = np.random.Philox(key=self.key, counter=[0, 0, 0, self.updates])
        return stream.random_raw(count)


def initial_state(
    problem: Problem, slots: int, settings: GateSettings, seed: int | np.random.Generator
) -> LearnerState:
    """The published start: constant gate probabilities, normal coefficients."""
    rng = as_generator(seed, "seed")
    p = len(problem.S)
    shape = Shape(p, slots)
    W = settings.coefficient_scale * rng.standard_normal((p, p))
    Gamma = settings.coefficient_scale * rng.standard_normal((slots, p))
    np.fill_diagonal(W, 0.0)
    logits = (
        np.full((p, p), logit(settings.edge_probability)),
        np.full((slots, p), logit(settings.loading_probability)),
        np.full(slots, logit(settings.latent_probability)),
    )
    noise = inverse_softplus(np.diagonal(problem.S) - problem.floor)
    parameters = GateParameters.of(W, Gamma, noise, logits)
    key = int(rng.integers(0, 2**63))
    return LearnerState(parameters, Adam.at_rest(shape.size), key, data=problem.digest)
