"""Gradient estimators against the exact gradient and against autograd."""

import numpy as np
import pytest
from gate_worlds import (
    flat_gradient,
    problem_and_parameters,
    torch_likelihood,
    torch_parts,
    torch_penalty,
)

from loopscm.errors import OptionError
from loopscm.gates.estimators import (
    Draw,
    LeaveOneOut,
    LocalExpectation,
    StraightThrough,
    Workers,
)
from loopscm.gates.kernels.noise import uniforms
from loopscm.gates.objective import exact_objective


def repeated(estimator, problem, parameters, repeats, seed=0):
    """Gradients of many updates at one parameter value, and the objectives."""
    rng = np.random.default_rng(seed)
    with Workers() as workers:
        estimates = [
            estimator.estimate(problem, parameters, Draw(keys), workers)
            for keys in rng.integers(0, 2**64, (repeats, estimator.samples), dtype=np.uint64)
        ]
    return np.array([e.gradient for e in estimates]), np.array([e.objective for e in estimates])


def standard_scores(draws, exact):
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    gap = np.abs(draws.mean(axis=0) - exact)
    np.testing.assert_allclose(gap[error == 0], 0, atol=1e-6)
    return gap[error > 0] / error[error > 0]


@pytest.mark.parametrize(("p", "slots"), [(3, 0), (3, 1), (4, 1)])
@pytest.mark.parametrize("estimator", [LeaveOneOut(512), LocalExpectation(256)])
def test_unbiased_for_the_exact_objective_over_a_hundred_thousand_draws(estimator, p, slots):
    _, problem, parameters = problem_and_parameters(p, slots, 20 + p + slots, scale=0.4)
    exact = exact_objective(problem, parameters)
    repeats = -(-110_000 // estimator.samples)
    gradients, objectives = repeated(estimator, problem, parameters, repeats, seed=p)
    assert standard_scores(gradients, exact.gradient).max() < 4
    assert standard_scores(objectives[:, None], exact.value).max() < 4


def test_straight_through_is_exact_in_expectation_only_for_the_coefficients():
    _, problem, parameters = problem_and_parameters(3, 1, 24, scale=0.4)
    exact = exact_objective(problem, parameters).gradient
    gradients, _ = repeated(StraightThrough(512), problem, parameters, 215)
    first = parameters.shape.first_gate
    assert standard_scores(gradients[:, :first], exact[:first]).max() < 4
    assert standard_scores(gradients[:, first:], exact[first:]).max() > 20


@pytest.mark.parametrize("forward", ["hard", "relaxed"])
@pytest.mark.parametrize("temperature", [1.0, 0.4])
@pytest.mark.parametrize(("p", "slots"), [(5, 0), (6, 3), (3, 4)])
def test_concrete_gradient_equals_autograd_on_the_same_noise(p, slots, forward, temperature):
    torch = pytest.importorskip("torch")
    _, problem, parameters = problem_and_parameters(p, slots, 3, scale=0.3)
    estimator = StraightThrough(16, temperature, forward=forward)
    keys = np.random.default_rng(2).integers(0, 2**64, 16, dtype=np.uint64)
    with Workers() as workers:
        estimate = estimator.estimate(problem, parameters, Draw(keys), workers)
    leaves, omega = torch_parts(torch, parameters, problem)
    W, Gamma, _, alpha, beta, gamma = leaves
    noise = torch.tensor(np.array([uniforms(key, parameters.shape.n_gates) for key in keys]))
    logits = torch.cat([alpha.T.reshape(-1), beta.reshape(-1), gamma])
    soft = torch.sigmoid((logits + torch.log(noise) - torch.log1p(-noise)) / temperature)
    gates = soft if forward == "relaxed" else soft + ((soft > 0.5).double() - soft).detach()
    M = gates[:, : p * p].reshape(16, p, p).transpose(1, 2)
    M = M * (1 - torch.eye(p, dtype=M.dtype))
    H = gates[:, p * p : p * p + slots * p].reshape(16, slots, p)
    Z = gates[:, p * p + slots * p :]
    psi = torch.diag(omega) + (H * Gamma).transpose(1, 2) @ (Z[:, :, None] * H * Gamma)
    A = torch.eye(p, dtype=M.dtype) - M * W
    value = problem.n * torch_likelihood(torch, problem.S, A, psi).mean()
    value = value + problem.weight * torch_penalty(torch, leaves)
    value.backward()
    expected = flat_gradient(leaves, parameters.shape)
    assert estimate.objective == pytest.approx(float(value.detach()), rel=1e-9)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(estimate.gradient / scale, expected / scale, rtol=1e-8, atol=1e-10)


def test_local_expectation_has_far_smaller_variance_at_equal_samples():
    _, problem, parameters = problem_and_parameters(8, 0, 2, scale=0.3, n=1000)
    first = parameters.shape.first_gate
    variances = [
        repeated(estimator, problem, parameters, 100)[0][:, first:].var(axis=0).sum()
        for estimator in (LocalExpectation(64), LeaveOneOut(64))
    ]
    assert variances[0] < variances[1] / 20


@pytest.mark.parametrize("slots", [0, 3])
@pytest.mark.parametrize(
    "estimator",
    [LeaveOneOut(50), StraightThrough(50), LocalExpectation(5)],
    ids=lambda e: type(e).__name__,
)
def test_threads_and_chunks_change_no_bit(estimator, slots):
    _, problem, parameters = problem_and_parameters(7, slots, 1)
    before = parameters.theta.copy()
    keys = np.random.default_rng(0).integers(0, 2**64, estimator.samples, dtype=np.uint64)
    results = []
    for n_jobs, chunk in ((1, None), (2, None), (3, 1), (1, 20), (2, 7)):
        with Workers(n_jobs, chunk) as workers:
            results.append(estimator.estimate(problem, parameters, Draw(keys), workers))
    for other in results[1:]:
        np.testing.assert_array_equal(other.gradient, results[0].gradient)
        assert other.objective == results[0].objective
    np.testing.assert_array_equal(parameters.theta, before)


@pytest.mark.parametrize("estimator", [LeaveOneOut(64), StraightThrough(64), LocalExpectation(64)])
@pytest.mark.parametrize("certain", [False, True])
def test_singular_masks_are_counted_and_left_out(estimator, certain):
    _, problem, parameters = problem_and_parameters(3, 1, 0)
    W = parameters.W
    W[0, 1], W[1, 0] = 2.0, 0.5
    alpha = parameters.shape.split(parameters.logits)[0]
    if certain:
        alpha[0, 1] = alpha[1, 0] = 40.0
        alpha[2, :2] = alpha[:2, 2] = -40.0
    (gradient,), (objective,) = repeated(estimator, problem, parameters, 1)
    assert np.isfinite(gradient).all()
    assert np.isfinite(objective) != certain
    assert not np.isnan(objective)


def test_the_temperature_moves_geometrically():
    estimator = StraightThrough(temperature=2.0, final_temperature=0.5)
    assert [estimator.temperature_at(x) for x in (0, 0.5, 1)] == pytest.approx([2.0, 1.0, 0.5])
    assert StraightThrough().temperature_at(0.7) == 1.0


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (LeaveOneOut, {"samples": 1}),
        (LeaveOneOut, {"samples": -5}),
        (LocalExpectation, {"samples": 0}),
        (StraightThrough, {"samples": 2.5}),
        (StraightThrough, {"temperature": 0.0}),
        (StraightThrough, {"temperature": -1.0}),
        (StraightThrough, {"final_temperature": 0.0}),
        (StraightThrough, {"forward": "soft"}),
    ],
)
def test_bad_options_are_refused_at_once(make, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        make(**options)
