"""The batched kernels against the library's likelihood, mask by mask and flip by flip."""

import numpy as np
import pytest
from gate_worlds import masked, problem_and_parameters
from scipy.sparse.csgraph import connected_components

from loopscm import GaussianStats, LatentGraph, LinearSCM
from loopscm._compile import entry
from loopscm.gates import GateSettings, LocalExpectation, problem_of, start_or_resume
from loopscm.gates.kernels.draw import hard_gates
from loopscm.gates.kernels.effects import Scratch, total_effects
from loopscm.gates.kernels.flips import flip_sums
from loopscm.gates.kernels.noise import uniforms
from loopscm.gates.kernels.score import score_sums
from loopscm.likelihood.flips import Flips
from loopscm.likelihood.gaussian import likelihood, likelihood_gradient
from loopscm.likelihood.layout import layout_of


@entry
def effects(ptr, tail, minus, spread):
    """`total_effects`, callable from Python."""
    p = len(ptr) - 1
    scratch = Scratch(np.empty(p), np.empty(p, np.int64))
    return total_effects(ptr, tail, minus, spread, scratch)


CASES = [(1, 0, 0), (2, 0, 1), (5, 0, 2), (5, 1, 3), (6, 4, 4), (3, 5, 5), (12, 5, 6)]


def model_of(parameters, problem, gates):
    B, loadings, omega = masked(parameters, problem, gates)
    M, H, Z = parameters.shape.split(gates)
    graph = LatentGraph(M.T > 0, (H > 0) & (Z > 0)[:, None])
    return LinearSCM.trusted(graph, B, loadings, omega, np.zeros(B.shape))


def value_at(parameters, problem, gates):
    return likelihood(problem.S, model_of(parameters, problem, gates))


def masks(parameters, problem, seed, count=5):
    """(key, inputs, gates) of some samples."""
    inputs = parameters.inputs(problem.S, problem.floor)
    for key in np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64):
        yield key, inputs, hard_gates(key, inputs)


def determinant_after_comparison(problem, parameters, key, inputs, gates):
    """det A of a mask whose score sums have been compared with the library's likelihood."""
    shape = parameters.shape
    totals = np.zeros((1, shape.size + shape.n_gates))
    values, norms = np.empty(1), np.empty(1)
    score_sums(np.array([key]), 1, True, inputs, 0.0, totals, values, norms)
    model = model_of(parameters, problem, gates)
    assert values[0] == pytest.approx(likelihood(problem.S, model), rel=1e-11)
    assert norms[0] == pytest.approx((model.total_effects() ** 2).sum())
    layout = layout_of(model.graph)
    W, Gamma, omega, _ = layout.scatter(likelihood_gradient(problem.S, model))
    expected = np.concatenate([W.T.ravel(), Gamma.ravel(), omega])
    np.testing.assert_allclose(totals[0, : shape.first_gate], expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(totals[0, shape.size :], gates)
    return np.linalg.det(np.eye(shape.p) - model.coefficients)


@pytest.mark.parametrize(("p", "slots", "seed"), CASES)
@pytest.mark.parametrize("scale", [0.6, 3.0])  # the large one has negative determinants
def test_value_and_coefficient_gradient_are_those_of_the_likelihood(p, slots, seed, scale):
    _, problem, parameters = problem_and_parameters(p, slots, seed, scale=scale)
    signs = {
        np.sign(determinant_after_comparison(problem, parameters, key, inputs, gates))
        for key, inputs, gates in masks(parameters, problem, seed)
    }
    assert scale < 1 or p < 5 or -1.0 in signs


@pytest.mark.parametrize("density", [0.03, 0.08, 0.12])
def test_sparse_masks_take_another_way_to_the_same_numbers(density):
    """Below one edge in ten pairs the residual moments are summed entry by entry."""
    _, problem, parameters = problem_and_parameters(25, 0, 0, scale=1.0)
    parameters.logits[:] = np.log(density / (1.0 - density))
    cyclic = 0
    for key, inputs, gates in masks(parameters, problem, 3, 20):
        det = determinant_after_comparison(problem, parameters, key, inputs, gates)
        cyclic += abs(det - 1.0) > 1e-9
        assert gates.sum() > 0
    assert density < 0.05 or cyclic > 10


@pytest.mark.parametrize(("p", "slots", "seed"), CASES)
@pytest.mark.parametrize("scale", [0.6, 3.0])
def test_flips_are_differences_of_two_evaluations(p, slots, seed, scale):
    _, problem, parameters = problem_and_parameters(p, slots, seed, scale=scale)
    shape = parameters.shape
    for key, inputs, gates in masks(parameters, problem, seed, 2):
        totals, values, norms = np.zeros((1, shape.size)), np.empty(1), np.empty(1)
        flip_sums(np.array([key]), 1, True, inputs, totals, values, norms)
        slopes, changes = totals[0, : p * p + slots * p], totals[0, shape.first_gate :]
        for k in np.flatnonzero(parameters.allowed):
            on, off = gates.copy(), gates.copy()
            on[k], off[k] = 1.0, 0.0
            difference = value_at(parameters, problem, on) - value_at(parameters, problem, off)
            assert changes[k] == pytest.approx(difference, rel=1e-8, abs=1e-8)
            if k < len(slopes):
                model = model_of(parameters, problem, on)
                W, Gamma, _, _ = layout_of(model.graph).scatter(
                    likelihood_gradient(problem.S, model)
                )
                slope = np.concatenate([W.T.ravel(), Gamma.ravel()])[k]
                expected = inputs.probability[k] * slope
                assert slopes[k] == pytest.approx(expected, rel=1e-7, abs=1e-8)


def test_flips_agree_with_the_user_level_flips():
    _, problem, parameters = problem_and_parameters(6, 2, 11)
    shape = parameters.shape
    for key, inputs, gates in masks(parameters, problem, 1):
        totals, values, norms = np.zeros((1, shape.size)), np.empty(1), np.empty(1)
        flip_sums(np.array([key]), 1, True, inputs, totals, values, norms)
        M = shape.split(gates)[0].T > 0
        flips = Flips(problem.S, model_of(parameters, problem, gates))
        switched = flips.edges(np.where(M, -parameters.W, parameters.W))
        changes = shape.split(totals[0, shape.first_gate :])[0].T
        off = ~np.eye(6, dtype=bool)
        np.testing.assert_allclose(changes[off], np.where(M, -switched, switched)[off], rtol=1e-9)


def test_noise_is_uniform_and_independent_across_keys():
    keys = np.random.default_rng(0).integers(0, 2**64, 400, dtype=np.uint64)
    draws = np.array([uniforms(key, 250) for key in keys])
    assert draws.min() > 0
    assert draws.max() < 1
    counts = np.histogram(draws, bins=50, range=(0, 1))[0]
    assert ((counts - draws.size / 50) ** 2 / (draws.size / 50)).sum() < 49 + 4 * np.sqrt(98)
    correlations = np.corrcoef(draws.T)[np.triu_indices(250, 1)]
    assert np.abs(correlations).max() < 6 / np.sqrt(len(keys))
    assert len(np.unique(draws)) == draws.size


def test_forbidden_gates_are_never_on():
    _, problem, parameters = problem_and_parameters(4, 2, 3)
    allowed = parameters.allowed.copy()
    allowed[1] = allowed[17] = False
    closed = type(parameters)(parameters.shape, parameters.theta + 30.0, allowed)
    for _, _, gates in masks(closed, problem, 0):
        np.testing.assert_array_equal(gates > 0, allowed)


@pytest.mark.parametrize(("p", "seed"), [(1, 0), (2, 1), (5, 2), (12, 3), (25, 4)])
@pytest.mark.parametrize("density", [0.1, 0.3, 1.0])
def test_total_effects_invert_a_with_and_without_the_effects_between_components(p, density, seed):
    """Random masks have one large component of any parity, or many small ones."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        B = np.where(rng.random((p, p)) < density, rng.standard_normal((p, p)), 0.0)
        np.fill_diagonal(B, 0.0)
        head, tail = np.nonzero(B.T)
        ptr = np.searchsorted(head, np.arange(p + 1))
        minus = -B[tail, head]
        regular, log_det, V = effects(ptr, tail, minus, True)
        blocks = effects(ptr, tail, minus, False)[2]
        inverse = np.linalg.inv(np.eye(p) - B)
        assert regular
        assert log_det == pytest.approx(np.linalg.slogdet(np.eye(p) - B)[1], abs=1e-9)
        scale = np.abs(inverse).max()
        np.testing.assert_allclose(V / scale, inverse / scale, atol=1e-11)
        label = connected_components(B != 0, connection="strong")[1]
        inside = label[:, None] == label
        np.testing.assert_allclose(blocks / scale, np.where(inside, inverse, 0) / scale, atol=1e-11)


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_flips_survive_loadings_far_larger_than_the_noise(unit):
    """The published start in raw units, on data of any unit."""
    rng = np.random.default_rng(2)
    stats = GaussianStats.from_data(unit * rng.standard_normal((500, 4)))
    settings = GateSettings(5, LocalExpectation(16))
    problem = problem_of(stats, settings)
    parameters = start_or_resume(stats, settings, 3, 0).parameters
    shape = parameters.shape
    for key, inputs, gates in masks(parameters, problem, 0, 2):
        totals, values, norms = np.zeros((1, shape.size)), np.empty(1), np.empty(1)
        flip_sums(np.array([key]), 1, True, inputs, totals, values, norms)
        for k in range(shape.p**2, shape.n_gates):
            on, off = gates.copy(), gates.copy()
            on[k], off[k] = 1.0, 0.0
            difference = value_at(parameters, problem, on) - value_at(parameters, problem, off)
            change = totals[0, shape.first_gate + k]
            assert change == pytest.approx(difference, rel=1e-3, abs=1e-3)
