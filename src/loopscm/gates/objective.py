"""The exact Bernoulli objective by enumeration: for small problems, and to test against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import OptionError
from loopscm.gates.kernels.enumeration import expectation
from loopscm.gates.parameters import GateParameters
from loopscm.gates.problem import Problem, complexity_gradient, expected_complexity, flat_gradient

MAX_GATES = 22  # four million configurations, some ten seconds


@dataclass(frozen=True, eq=False)
class ExactObjective:
    """Value and gradients of E[L_n] + λ_n E[c] (Eq. exact-bernoulli-objective).

    `gradient` is with respect to the flat parameters, `in_probabilities` with respect to the
    gates' probabilities. A singular configuration of positive probability makes `value`
    infinite; the gradients are then those of the finite configurations.
    """

    value: float
    gradient: NDArray[np.float64]
    in_probabilities: NDArray[np.float64]


def exact_objective(
    problem: Problem, parameters: GateParameters, probabilities: NDArray[np.float64] | None = None
) -> ExactObjective:
    """The exact objective; `probabilities` replaces those of the logits, and may be 0 or 1."""
    shape = parameters.shape
    free = np.flatnonzero(parameters.allowed)
    if len(free) > MAX_GATES:
        raise OptionError(
            f"enumeration of {len(free)} gates is out of reach; at most {MAX_GATES} may be "
            "allowed. Use an estimator."
        )
    inputs = parameters.inputs(problem.S, problem.floor)
    if probabilities is not None:
        inputs = inputs._replace(probability=np.ascontiguousarray(probabilities, np.float64))
    sums = np.zeros(shape.size)
    value = expectation(inputs, free, sums)
    first, q = shape.first_gate, inputs.probability
    in_probabilities = problem.n * sums[first:]
    in_probabilities = in_probabilities + problem.weight * complexity_gradient(shape, q)
    sums[first:] *= q * (1.0 - q)
    return ExactObjective(
        problem.n * value + problem.weight * expected_complexity(shape, q),
        flat_gradient(problem, parameters, sums),
        np.where(parameters.allowed, in_probabilities, 0.0),
    )
