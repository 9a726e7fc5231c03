"""Closed-form effects of single changes against re-evaluation, to 1e-10."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from loopscm.likelihood.flips import Flips

P = 6
TOLERANCE = 1e-10
CASES = [(sign, bidirected, seed) for sign in (1, -1) for bidirected in (False, True)
         for seed in range(3)]  # fmt: skip


@pytest.fixture(params=CASES, ids=str)
def setting(request):
    sign, bidirected, seed = request.param
    rng = np.random.default_rng([7, sign + 1, bidirected, seed])
    model, S = oracle.model_with_sign(rng, p=P, bidirected=bidirected, sign=sign)
    B, Gamma, variances, covariances = oracle.arrays(model)
    base = oracle.likelihood(S, B, Gamma, variances, covariances)

    def change(dB=0, dGamma=0, dvar=0, dcov=0, extra=None):
        rows = Gamma + dGamma if extra is None else np.vstack([Gamma, extra])
        return oracle.likelihood(S, B + dB, rows, variances + dvar, covariances + dcov) - base

    return rng, model, Flips(S, model), change


def unit(i, j, shape, value):
    result = np.zeros(shape)
    result[i, j] = value
    return result


def test_every_edge(setting):
    rng, _, flips, change = setting
    t = rng.normal(0, 1, (P, P))
    found = flips.edges(t)
    for i, j in np.argwhere(~np.eye(P, dtype=bool)):
        assert found[i, j] == pytest.approx(change(dB=unit(i, j, (P, P), t[i, j])), abs=TOLERANCE)


def test_removal_of_every_edge(setting):
    _, model, flips, change = setting
    found = flips.removals()
    for i, j in np.argwhere(model.graph.directed):
        step = unit(i, j, (P, P), -model.coefficients[i, j])
        assert found[i, j] == pytest.approx(change(dB=step), abs=TOLERANCE)


def test_every_pair_of_edges(setting):
    rng, _, flips, change = setting
    pairs = np.argwhere(~np.eye(P, dtype=bool))
    for i, j in pairs:
        for k, l in pairs[rng.choice(len(pairs), 8, replace=False)]:
            if (i, j) == (k, l):
                continue
            s, t = rng.normal(0, 1, 2)
            step = unit(i, j, (P, P), s) + unit(k, l, (P, P), t)
            assert flips.edge_pair((i, j, s), (k, l, t)) == pytest.approx(
                change(dB=step), abs=TOLERANCE
            )


def test_every_loading(setting):
    rng, model, flips, change = setting
    delta = rng.normal(0, 1, model.loadings.shape)
    delta[0, 0] = 0.0
    found = flips.loadings(delta)
    for h, j in np.ndindex(*delta.shape):
        step = unit(h, j, delta.shape, delta[h, j])
        assert found[h, j] == pytest.approx(change(dGamma=step), abs=TOLERANCE)
    found = flips.loadings(-model.loadings)
    for h, j in np.argwhere(model.graph.children):
        step = unit(h, j, delta.shape, -model.loadings[h, j])
        assert found[h, j] == pytest.approx(change(dGamma=step), abs=TOLERANCE)


def test_latents_on_and_off(setting):
    rng, model, flips, change = setting
    row = rng.normal(0, 1, P)
    assert flips.latent_on(row) == pytest.approx(change(extra=row), abs=TOLERANCE)
    for h, effect in enumerate(flips.latents_off()):
        step = np.zeros(model.loadings.shape)
        step[h] = -model.loadings[h]
        assert effect == pytest.approx(change(dGamma=step), abs=TOLERANCE)


def test_every_noise_covariance_and_variance(setting):
    rng, _, flips, change = setting
    t = rng.uniform(-1, 1, (P, P))
    t = (t + t.T) / 2
    found = flips.covariances(t)
    for i, j in np.ndindex(P, P):
        if i == j:
            expected = change(dvar=t[i, i] * np.eye(P)[i])
        else:
            step = unit(i, j, (P, P), t[i, j])
            expected = change(dcov=step + step.T)
        if np.isinf(expected):
            assert np.isinf(found[i, j])
        else:
            assert found[i, j] == pytest.approx(expected, abs=TOLERANCE)


def test_best_change_is_the_minimum_on_both_sides_of_singularity(setting):
    _, _, flips, _ = setting
    t, effect = flips.best_changes
    grid = np.concatenate([np.linspace(-8, 8, 4001), [0.0]])
    for i, j in np.argwhere(~np.eye(P, dtype=bool)):
        table = np.zeros((P, P))
        scan = min(flips.edges(table + x)[i, j] for x in grid[::40])
        assert effect[i, j] <= min(scan, 0.0) + 1e-12
        assert flips.edges(t)[i, j] == effect[i, j]


def test_singular_change_is_infinite(setting):
    _, _, flips, _ = setting
    i, j = np.unravel_index(np.abs(flips.a - np.diag(np.diagonal(flips.a))).argmax(), (P, P))
    assert flips.edges(1 / flips.a[i, j])[i, j] > 20
