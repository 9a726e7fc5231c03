"""Local expectation gradients: unbiased, and precise from a few samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_integer
from loopscm.gates.estimators.base import Draw, Estimate, Workers, assembled, grouped
from loopscm.gates.kernels.draw import hard_gates
from loopscm.gates.kernels.flips import flip_sums
from loopscm.gates.parameters import GateParameters
from loopscm.gates.problem import Problem


@dataclass(frozen=True)
class LocalExpectation:
    """Unbiased gradients of the exact objective from the flips of every gate of every sample.

    The gates are independent, so the derivative in a probability is the expected effect of
    switching that gate, known in closed form for all gates at once (see `kernels.flips`); the
    derivative in a coefficient averages over its own gate in the same way.
    """

    samples: int = 4

    def __post_init__(self) -> None:
        as_integer(self.samples, "samples", minimum=1)

    def estimate(
        self, problem: Problem, parameters: GateParameters, draw: Draw, workers: Workers
    ) -> Estimate:
        """The objective and its gradient."""
        inputs = parameters.inputs(problem.S, problem.floor)
        first = parameters.shape.first_gate

        def kernel(keys, size, totals, values, norms):
            flip_sums(keys, size, draw.watch, inputs, totals, values, norms)

        sums = grouped(kernel, draw.keys, parameters.shape.size, workers)
        mean = sums.total / max(sums.n_finite, 1)
        mean[first:] *= inputs.probability * (1.0 - inputs.probability)
        return assembled(problem, parameters, draw, sums, mean)

    def worst_mask(
        self, problem: Problem, parameters: GateParameters, draw: Draw
    ) -> NDArray[np.float64]:
        """Values of the gates of one sample."""
        return hard_gates(draw.keys[0], parameters.inputs(problem.S, problem.floor))
