"""How exact are the derivatives, the flips, and the factorisation?

Random models with det(I − B) > 0 and < 0, with and without latents and free covariances.
Derivatives are compared with fourth-order finite differences of an independent likelihood
(relative to the largest entry), the Fisher information with ½ tr(Σ⁻¹ ∂Σ Σ⁻¹ ∂Σ), flips and the
factorised value with re-evaluation (absolute). The worst of all models is printed.

    python benchmarks/accuracy.py
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import oracle
from loopscm import GaussianStats, LinearSCM
from loopscm.likelihood import gaussian
from loopscm.likelihood.flips import Flips
from loopscm.likelihood.layout import layout_of
from loopscm.simulate import random_graph, random_scm

P, H = 6, 1e-4


def differences(function, theta):
    """Fourth-order central differences of a function of the parameter vector, by parameter."""
    rows = []
    for k in range(len(theta)):
        step = np.zeros(len(theta))
        step[k] = H
        near = function(theta + step) - function(theta - step)
        far = function(theta + 2 * step) - function(theta - 2 * step)
        rows.append((8 * near - far) / (12 * H))
    return np.array(rows)


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def derivative_errors(model, S):
    layout, whole = layout_of(model.graph), layout_of(model.graph, whole=True)
    theta, theta_whole = gaussian.parameters(model, layout), gaussian.parameters(model, whole)
    gradient = differences(lambda x: oracle.likelihood(S, *layout.scatter(x)), theta)
    slope = differences(lambda x: oracle.divergence(S, *whole.scatter(x)), theta_whole)
    inverse = np.linalg.inv(model.covariance())
    sigma = differences(
        lambda x: inverse @ LinearSCM.trusted(model.graph, *layout.scatter(x)).covariance(), theta
    )
    fisher = 0.5 * np.einsum("aij,bji->ab", sigma, sigma)
    return (
        relative(gaussian.likelihood_gradient(S, model), gradient),
        relative(gaussian.divergence_gradient(S, model), slope),
        relative(gaussian.fisher_information(model), fisher),
    )


def flip_errors(model, S, rng):
    B, Gamma, variances, covariances = oracle.arrays(model)
    base, flips = oracle.likelihood(S, B, Gamma, variances, covariances), Flips(S, model)

    def error(found, dB=0, dGamma=0, dvar=0, dcov=0, extra=None):
        rows = Gamma + dGamma if extra is None else np.vstack([Gamma, extra])
        value = oracle.likelihood(S, B + dB, rows, variances + dvar, covariances + dcov) - base
        return 0.0 if np.isinf(value) and np.isinf(found) else abs(value - found)

    def unit(shape, i, j, value):
        result = np.zeros(shape)
        result[i, j] = value
        return result

    worst = dict.fromkeys(("edge", "edge pair", "loading", "latent", "noise"), 0.0)
    t = rng.normal(0, 1, (P, P))
    sym = rng.uniform(-1, 1, (P, P))
    sym, delta = (sym + sym.T) / 2, rng.normal(0, 1, Gamma.shape)
    edges, noise, loadings = flips.edges(t), flips.covariances(sym), flips.loadings(delta)
    pairs = np.argwhere(~np.eye(P, dtype=bool))
    for i, j in pairs:
        worst["edge"] = max(worst["edge"], error(edges[i, j], unit((P, P), i, j, t[i, j])))
        k, l = pairs[rng.integers(len(pairs))]
        if (k, l) != (i, j):
            step = unit((P, P), i, j, t[i, j]) + unit((P, P), k, l, 0.7)
            found = flips.edge_pair((i, j, t[i, j]), (k, l, 0.7))
            worst["edge pair"] = max(worst["edge pair"], error(found, step))
        both = unit((P, P), i, j, sym[i, j])
        worst["noise"] = max(worst["noise"], error(noise[i, j], dcov=both + both.T))
    for h, j in np.ndindex(*Gamma.shape):
        step = unit(Gamma.shape, h, j, delta[h, j])
        worst["loading"] = max(worst["loading"], error(loadings[h, j], dGamma=step))
    for h, effect in enumerate(flips.latents_off()):
        step = np.zeros(Gamma.shape)
        step[h] = -Gamma[h]
        worst["latent"] = max(worst["latent"], error(effect, dGamma=step))
    row = rng.normal(0, 1, P)
    worst["latent"] = max(worst["latent"], error(flips.latent_on(row), extra=row))
    return worst


def main() -> None:
    derivatives, flips = np.zeros(3), {}
    for sign, latents, mixed, seed in product((1, -1), (0, 2), (False, True), range(10)):
        rng = np.random.default_rng([sign + 1, latents, mixed, seed])
        model, S = oracle.model_with_sign(rng, latents=latents, bidirected=mixed, sign=sign)
        derivatives = np.maximum(derivatives, derivative_errors(model, S))
        for kind, value in flip_errors(model, S, rng).items():
            flips[kind] = max(flips.get(kind, 0.0), value)
    names = ("gradient", "divergence gradient", "Fisher information")
    for name, value in zip(names, derivatives, strict=True):
        print(f"{name:20s} worst relative error {value:.1e}")
    for name, value in flips.items():
        print(f"flip: {name:14s} worst absolute error {value:.1e}")
    worst = 0.0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        model = random_scm(random_graph(40, 4, 0.3, rng), rng)
        S = GaussianStats.from_data(model.sample(200, rng), center=False).S
        exact = oracle.likelihood(S, *oracle.arrays(model))
        worst = max(worst, abs(gaussian.likelihood(S, model) - exact))
    print(f"factorised value     worst absolute error {worst:.1e} (p = 40, 30 % latents)")


if __name__ == "__main__":
    main()
