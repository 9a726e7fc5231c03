"""The published estimator of latent problems: Binary Concrete gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_choice, as_integer, as_real
from loopscm.gates.estimators.base import Draw, Estimate, Workers, assembled, grouped
from loopscm.gates.kernels.concrete import concrete_sums
from loopscm.gates.kernels.draw import hard_gates, soft_gates
from loopscm.gates.parameters import GateParameters
from loopscm.gates.problem import Problem

Forward = Literal["hard", "relaxed"]


@dataclass(frozen=True)
class StraightThrough:
    """Gradients through Binary Concrete gates.

    Parameters
    ----------
    samples : masks of an update.
    temperature : τ of Eq. binary-concrete-gate.
    final_temperature : reached geometrically at the end of the budget; constant if None.
    forward : "hard" evaluates the likelihood at binary gates and differentiates the soft ones
        (the published choice, biased for the exact objective); "relaxed" evaluates it at the
        soft gates too, the surrogate of Eq. concrete-objective.
    """

    samples: int = 256
    temperature: float = 1.0
    final_temperature: float | None = None
    forward: Forward = "hard"

    def __post_init__(self) -> None:
        as_integer(self.samples, "samples", minimum=1)
        as_real(self.temperature, "temperature", minimum=0.0, strict=True)
        if self.final_temperature is not None:
            as_real(self.final_temperature, "final_temperature", minimum=0.0, strict=True)
        as_choice(self.forward, "forward", get_args(Forward))

    def temperature_at(self, progress: float) -> float:
        """τ after a share of the budget."""
        if self.final_temperature is None:
            return float(self.temperature)
        return float(self.temperature * (self.final_temperature / self.temperature) ** progress)

    def estimate(
        self, problem: Problem, parameters: GateParameters, draw: Draw, workers: Workers
    ) -> Estimate:
        """The objective and its gradient."""
        inputs = parameters.inputs(problem.S, problem.floor)
        temperature, relaxed = self.temperature_at(draw.progress), self.forward == "relaxed"

        def kernel(keys, size, totals, values, norms):
            concrete_sums(
                keys, size, draw.watch, inputs, temperature, relaxed, totals, values, norms
            )

        sums = grouped(kernel, draw.keys, parameters.shape.size, workers)
        return assembled(problem, parameters, draw, sums, sums.total / max(sums.n_finite, 1))

    def worst_mask(
        self, problem: Problem, parameters: GateParameters, draw: Draw
    ) -> NDArray[np.float64]:
        """Values of the gates of one sample, as the likelihood saw them."""
        inputs = parameters.inputs(problem.S, problem.floor)
        if self.forward == "hard":
            return hard_gates(draw.keys[0], inputs)
        return soft_gates(draw.keys[0], inputs, self.temperature_at(draw.progress))
