"""The exact objective by enumeration, against autograd and against its binary minimum."""

from itertools import product

import numpy as np
import pytest
from gate_worlds import exact_by_torch, problem_and_parameters
from scipy.optimize import minimize

from loopscm import GaussianStats, LatentGraph, fit
from loopscm.errors import OptionError
from loopscm.gates.objective import exact_objective
from loopscm.gates.parameters import GateParameters, inverse_softplus
from loopscm.gates.problem import Problem
from loopscm.likelihood.penalty import penalty_weight


@pytest.mark.parametrize(
    ("p", "slots"),
    [(2, 0), (3, 0), (3, 1), (3, 2), (4, 1), pytest.param(4, 2, marks=pytest.mark.slow)],
)
def test_value_and_all_gradients_equal_autograd_over_all_configurations(p, slots):
    torch = pytest.importorskip("torch")
    _, problem, parameters = problem_and_parameters(p, slots, 7 + p + slots)
    exact = exact_objective(problem, parameters)
    value, gradient = exact_by_torch(torch, problem, parameters)
    assert exact.value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(exact.gradient, gradient, rtol=1e-9, atol=1e-9 * problem.n)


def test_gradient_in_probabilities_is_a_difference_of_two_binary_ends():
    _, problem, parameters = problem_and_parameters(3, 1, 0)
    exact = exact_objective(problem, parameters)
    for k in np.flatnonzero(parameters.allowed):
        ends = []
        for value in (0.0, 1.0):
            probabilities = parameters.probabilities.copy()
            probabilities[k] = value
            ends.append(exact_objective(problem, parameters, probabilities).value)
        assert exact.in_probabilities[k] == pytest.approx(ends[1] - ends[0], rel=1e-9)


def test_a_singular_configuration_counts_only_with_positive_probability():
    _, problem, parameters = problem_and_parameters(3, 0, 0)
    W = parameters.W
    W[0, 1], W[1, 0] = 2.0, 0.5
    assert exact_objective(problem, parameters).value == np.inf
    assert np.isfinite(exact_objective(problem, parameters).gradient).all()
    probabilities = parameters.probabilities.copy()
    parameters.shape.split(probabilities)[0][1, 0] = 0.0  # the edge 0 -> 1
    assert np.isfinite(exact_objective(problem, parameters, probabilities).value)


def test_too_many_gates_are_refused():
    _, problem, parameters = problem_and_parameters(6, 0, 0)
    with pytest.raises(OptionError, match="out of reach"):
        exact_objective(problem, parameters)


def best_binary(stats):
    """min over all graphs with p = 3 and at most one latent of nll + λ c."""
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    latents = [np.zeros((0, 3), bool)]
    latents += [np.array([row]) for row in product((False, True), repeat=3) if sum(row) >= 2]
    values = []
    for code, children in product(range(2**6), latents):
        directed = np.zeros((3, 3), bool)
        for k, pair in enumerate(pairs):
            directed[pair] = bool(code >> k & 1)
        graph = LatentGraph(directed, children)
        cost = penalty_weight(stats.n) * graph.complexity
        values.append(fit(stats, graph, starts=5).nll + cost)
    return min(values)


def chain_with_confounder():
    rng = np.random.default_rng(5)
    B = np.zeros((3, 3))
    B[0, 1], B[1, 2] = 0.8, -0.7
    hidden = rng.standard_normal((400, 1)) * np.array([[0.0, 0.9, 0.9]])
    X = (hidden + rng.standard_normal((400, 3))) @ np.linalg.inv(np.eye(3) - B)
    return GaussianStats.from_data(X, center=False)


def test_global_exactness_the_infima_over_probabilities_and_over_masks_agree():
    """Proposition "Global exactness" for p = 3, one latent slot."""
    stats = chain_with_confounder()
    problem = Problem.of(stats, standardised=False, noise_floor=1e-9)
    rng = np.random.default_rng(1)
    found = []
    for _ in range(12):
        start = GateParameters.of(
            0.5 * rng.standard_normal((3, 3)),
            rng.standard_normal((1, 3)),
            inverse_softplus(np.diagonal(stats.S).copy()),
            (rng.uniform(-2, 2, (3, 3)), rng.uniform(-2, 2, (1, 3)), rng.uniform(-2, 2, 1)),
        )

        def objective(theta, start=start):
            exact = exact_objective(problem, GateParameters(start.shape, theta, start.allowed))
            return exact.value, exact.gradient

        first = start.shape.first_gate
        bounds = [(-20, 20)] * first + [(-30, 30)] * start.shape.n_gates
        result = minimize(
            objective, start.theta, jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": 400},
        )  # fmt: skip
        found.append(result.fun)
    binary = best_binary(stats)
    assert min(found) >= binary - 1e-6 * abs(binary)  # never below
    assert min(found) == pytest.approx(binary, abs=1e-3)  # and reached
