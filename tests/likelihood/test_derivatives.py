"""Values and derivatives against finite differences and brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import oracle
from loopscm.likelihood import gaussian
from loopscm.likelihood.layout import layout_of

CASES = list(product((1, -1), (0, 2), (False, True), range(3)))


def case(sign, latents, bidirected, seed):
    rng = np.random.default_rng([sign + 1, latents, bidirected, seed])
    return oracle.model_with_sign(rng, latents=latents, bidirected=bidirected, sign=sign)


def numeric_gradient(value, layout, theta, h=1e-6):
    def at(k, step):
        moved = theta.copy()
        moved[k] += step
        return value(*layout.scatter(moved))

    # Richardson: fourth-order central differences
    return np.array(
        [
            (8 * (at(k, h) - at(k, -h)) - (at(k, 2 * h) - at(k, -2 * h))) / (12 * h)
            for k in range(len(theta))
        ]
    )


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize(("sign", "latents", "bidirected", "seed"), CASES)
def test_likelihood_value_and_gradient(sign, latents, bidirected, seed):
    model, S = case(sign, latents, bidirected, seed)
    assert np.sign(np.linalg.det(np.eye(6) - model.coefficients)) == sign
    expected = oracle.likelihood(S, *oracle.arrays(model))
    assert gaussian.likelihood(S, model) == pytest.approx(expected, abs=1e-10)

    layout = layout_of(model.graph)
    theta = gaussian.parameters(model, layout)
    numeric = numeric_gradient(lambda *m: oracle.likelihood(S, *m), layout, theta, h=1e-4)
    assert relative(gaussian.likelihood_gradient(S, model), numeric) < 1e-6


@pytest.mark.parametrize(("sign", "latents", "bidirected", "seed"), CASES)
def test_divergence_value_and_gradient(sign, latents, bidirected, seed):
    model, S = case(sign, latents, bidirected, seed)
    expected = oracle.divergence(S, *oracle.arrays(model))
    assert gaussian.divergence(S, model) == pytest.approx(expected, rel=1e-10)
    assert gaussian.symmetric_divergence(S, model.covariance()) == pytest.approx(expected, rel=1e-9)

    layout = layout_of(model.graph, whole=True)
    theta = gaussian.parameters(model, layout)
    numeric = numeric_gradient(lambda *m: oracle.divergence(S, *m), layout, theta, h=1e-4)
    assert relative(gaussian.divergence_gradient(S, model), numeric) < 1e-6


@pytest.mark.parametrize(("sign", "latents", "bidirected", "seed"), CASES)
def test_hessian_is_the_derivative_of_the_gradient(sign, latents, bidirected, seed):
    model, S = case(sign, latents, bidirected, seed)
    layout = layout_of(model.graph)
    theta = gaussian.parameters(model, layout)
    h = 1e-5
    columns = []
    for k in range(layout.size):
        ends = []
        for step in (h, -h):
            moved = theta.copy()
            moved[k] += step
            scm = type(model).trusted(model.graph, *layout.scatter(moved))
            ends.append(gaussian.likelihood_gradient(S, scm))
        columns.append((ends[0] - ends[1]) / (2 * h))
    assert relative(gaussian.likelihood_hessian(S, model), np.array(columns)) < 1e-6


@pytest.mark.parametrize(("sign", "latents", "bidirected", "seed"), CASES)
def test_fisher_information_by_brute_force(sign, latents, bidirected, seed):
    """½ tr(Σ⁻¹ ∂_aΣ Σ⁻¹ ∂_bΣ) with numeric derivatives of Σ."""
    model, _ = case(sign, latents, bidirected, seed)
    layout = layout_of(model.graph)
    theta = gaussian.parameters(model, layout)

    def sigma(values):
        return type(model).trusted(model.graph, *layout.scatter(values)).covariance()

    h = 1e-4
    inverse = np.linalg.inv(model.covariance())
    slopes = []
    for k in range(layout.size):
        step = np.zeros(layout.size)
        step[k] = h
        near, far = (
            sigma(theta + step) - sigma(theta - step),
            sigma(theta + 2 * step) - sigma(theta - 2 * step),
        )
        slopes.append(inverse @ (8 * near - far) / (12 * h))
    expected = 0.5 * np.einsum("aij,bji->ab", np.array(slopes), np.array(slopes))
    found = gaussian.fisher_information(model)
    assert relative(found, expected) < 1e-6
    assert np.linalg.eigvalsh(found)[0] > -1e-9 * np.abs(found).max()


@pytest.mark.parametrize(("sign", "latents", "bidirected", "seed"), CASES)
def test_fisher_information_in_rank_two_form(sign, latents, bidirected, seed):
    """The documented form, written out with the directions of every parameter."""
    model, _ = case(sign, latents, bidirected, seed)
    layout, p = layout_of(model.graph), 6
    V = np.linalg.inv(np.eye(p) - model.coefficients)
    psi = model.noise_covariance()
    pi = np.linalg.inv(psi)
    directions = {
        0: lambda i: psi @ V[:, i],
        1: lambda h: model.loadings[h],
        2: lambda i: np.eye(p)[i],
        3: lambda j: 0.5 * np.eye(p)[j],
    }
    W = np.array([directions[k](r) for k, r in zip(layout.kind, layout.row, strict=True)]).T
    PW = pi @ W
    heads = layout.head
    expected = PW[heads] * PW[heads].T + pi[np.ix_(heads, heads)] * (W.T @ PW)
    np.testing.assert_allclose(gaussian.fisher_information(model), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_gradient_vanishes_in_expectation_at_the_truth(seed):
    model, _ = case(1, 2, True, seed)
    np.testing.assert_allclose(
        gaussian.likelihood_gradient(model.covariance(), model), 0.0, atol=1e-10
    )
    np.testing.assert_allclose(
        gaussian.divergence_gradient(model.covariance(), model), 0.0, atol=1e-10
    )


def test_divergences_between_covariances():
    rng = np.random.default_rng(0)
    S, sigma = (np.cov(rng.standard_normal((5, 40))) for _ in range(2))
    there, back = gaussian.kl_divergence(S, sigma), gaussian.kl_divergence(sigma, S)
    assert there > 0 and back > 0
    assert gaussian.symmetric_divergence(S, sigma) == pytest.approx((there + back) / 2)
    assert gaussian.kl_divergence(S, S) == pytest.approx(0, abs=1e-12)
