"""Stress generators: each strains what it says, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscm.errors import OptionError, ParameterError
from loopscm.graph import LatentGraph
from loopscm.simulate import (
    dense_cycles,
    hub_latents,
    near_unit_radius,
    random_graph,
    random_scm,
    rescaled,
    scenario,
    stressed_sample,
    unequal_scales,
)
from loopscm.simulate._families import STRESS_KINDS


@given(p=st.integers(9, 60), size=st.integers(2, 6), seed=st.integers(0, 999))
def test_a_third_of_the_nodes_lies_on_cycles(p, size, seed):
    if round(p / 3) < size:
        return
    graph = dense_cycles(p, seed, loop_size=size, latents=2)
    loops = [c for c in graph.strongly_connected_components() if len(c) > 1]
    assert sum(map(len, loops)) == round(p / 3)
    assert all(size <= len(c) < 2 * size for c in loops)
    assert graph.n_latent == 2


def test_the_published_growth_has_far_fewer_loops():
    rng = np.random.default_rng(0)

    def on_loops(graph):
        return sum(len(c) for c in graph.strongly_connected_components() if len(c) > 1)

    grown = np.mean([on_loops(random_graph(30, 4, 0, rng)) for _ in range(50)])
    assert grown < 0.5 * on_loops(dense_cycles(30, rng))


def test_hubs_have_many_children():
    graph = hub_latents(40, 1, hubs=3, share=0.6)
    assert (graph.children.sum(axis=1) == 24).all()


@given(seed=st.integers(0, 999), radius=st.sampled_from([0.9, 0.999, 0.99999]))
def test_every_loop_reaches_the_radius(seed, radius):
    graph = dense_cycles(18, seed)
    model = near_unit_radius(graph, seed, radius=radius)
    for members in graph.strongly_connected_components():
        if len(members) > 1:
            block = model.coefficients[np.ix_(members, members)]
            found = np.abs(np.linalg.eigvals(block)).max()
            assert found == pytest.approx(radius, rel=1e-9)
    assert model.is_stable


def test_radius_needs_a_loop():
    with pytest.raises(ParameterError, match="no directed cycle"):
        near_unit_radius(LatentGraph([[0, 1], [0, 0]]), 0)


@pytest.mark.parametrize("noise", ["gaussian", "laplace", "student", "uniform", "exponential"])
@pytest.mark.parametrize("autocorrelation", [0.0, 0.5])
def test_samples_have_the_covariance_of_the_model(noise, autocorrelation):
    graph = random_graph(6, 2, 0.3, 2)
    model = random_scm(graph, 2)
    n = 40_000
    X = stressed_sample(model, n, 3, noise=noise, autocorrelation=autocorrelation)
    S, sigma = X.T @ X / n, model.covariance()
    sd = np.sqrt(np.diag(sigma))
    effective = n * (1 - autocorrelation**2) / (1 + autocorrelation**2) / 6  # heavy tails
    error = np.sqrt((sigma**2 + np.outer(sd, sd) ** 2) / effective)
    assert np.abs((S - sigma) / error).max() < 4
    lag = (X[1:] * X[:-1]).mean(axis=0) / np.diag(S)
    np.testing.assert_allclose(lag, autocorrelation, atol=0.04)


def test_noise_laws_differ_in_kurtosis():
    model = random_scm(LatentGraph(np.zeros((1, 1))), 4)

    def kurtosis(noise):
        x = stressed_sample(model, 50_000, 5, noise=noise)[:, 0]
        return ((x / x.std()) ** 4).mean()

    assert kurtosis("uniform") < 2 < kurtosis("gaussian") < 3.5 < kurtosis("laplace")
    assert kurtosis("exponential") > 7


def test_scales_span_the_decades_and_change_nothing_else():
    X = np.random.default_rng(6).standard_normal((20, 5))
    before = X.copy()
    scaled, factors = unequal_scales(X, 7, decades=12)
    assert np.log10(factors.max() / factors.min()) == pytest.approx(12)
    np.testing.assert_allclose(scaled / factors, X, rtol=1e-15)
    assert (before == X).all()


def test_a_rescaled_model_is_that_of_the_rescaled_data():
    model = random_scm(random_graph(7, 4, 0.3, 8), 8)
    factors = 10.0 ** np.linspace(-6, 6, 7)
    expected = model.covariance() * np.outer(factors, factors)
    np.testing.assert_allclose(rescaled(model, factors).covariance(), expected, rtol=1e-12)
    with pytest.raises(ParameterError, match="positive"):
        rescaled(model, -factors)


@pytest.mark.parametrize("kind", STRESS_KINDS)
def test_scenarios_hold_the_model_of_their_data(kind):
    """Every variance within six standard errors (of few effective samples where dependent)."""
    world = scenario(f"stress/{kind}-p20/seed1", cache=False)
    assert world.model is not None
    effective = world.n / (10 if kind == "autocorrelated" else 3)
    ratio = np.diag(world.stats.S) / np.diag(world.model.covariance())
    assert np.abs(ratio - 1).max() < 6 * np.sqrt(2 / effective)


def test_bad_options_are_refused():
    model = random_scm(LatentGraph(np.zeros((2, 2))), 0)
    with pytest.raises(OptionError, match="strictly between"):
        stressed_sample(model, 5, 0, autocorrelation=1.0)
    with pytest.raises(OptionError, match="noise"):
        stressed_sample(model, 5, 0, noise="cauchy")
    with pytest.raises(OptionError, match="rings"):
        dense_cycles(5, 0, loop_size=4)
    with pytest.raises(OptionError, match="between 2"):
        hub_latents(5, 0, share=0.1)
