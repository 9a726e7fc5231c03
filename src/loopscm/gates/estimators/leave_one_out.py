"""The published estimator of observed-only problems: score function, leave-one-out baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_integer
from loopscm.gates.estimators.base import Draw, Estimate, Workers, assembled, grouped
from loopscm.gates.kernels.draw import hard_gates
from loopscm.gates.kernels.score import score_sums
from loopscm.gates.parameters import GateParameters
from loopscm.gates.problem import Problem


@dataclass(frozen=True)
class LeaveOneOut:
    """Unbiased gradients of the exact objective from the values of hard masks.

    With the mean of the other samples as the baseline of each, the gradient in a logit is
    Σ_s (f_s − f̄)·gate_s/(samples − 1); coefficients have pathwise gradients.
    """

    samples: int = 256

    def __post_init__(self) -> None:
        as_integer(self.samples, "samples", minimum=2)

    def estimate(
        self, problem: Problem, parameters: GateParameters, draw: Draw, workers: Workers
    ) -> Estimate:
        """The objective and its gradient."""
        shape, inputs = parameters.shape, parameters.inputs(problem.S, problem.floor)
        offset, first = problem.independent, shape.first_gate

        def kernel(keys, size, totals, values, norms):
            score_sums(keys, size, draw.watch, inputs, offset, totals, values, norms)

        sums = grouped(kernel, draw.keys, shape.size + shape.n_gates, workers)
        finite = sums.n_finite
        mean = sums.total[: shape.size] / max(finite, 1)
        if finite > 1:
            values = sums.values[np.isfinite(sums.values)]
            average = float(np.mean(values - offset))
            centred = sums.total[first : shape.size] - average * sums.total[shape.size :]
            mean[first:] = centred / (finite - 1)
        else:
            mean[first:] = 0.0
        return assembled(problem, parameters, draw, sums, mean)

    def worst_mask(
        self, problem: Problem, parameters: GateParameters, draw: Draw
    ) -> NDArray[np.float64]:
        """Values of the gates of one sample."""
        return hard_gates(draw.keys[0], parameters.inputs(problem.S, problem.floor))
