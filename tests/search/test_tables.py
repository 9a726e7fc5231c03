"""The tables of the search, kept up to date through many changes, against plain linear algebra."""

from __future__ import annotations

from copy import deepcopy

import numba
import numpy as np
import pytest
from search_worlds import world

from loopscm.search import tables as kernels
from loopscm.search.driver import NOISE_FLOOR
from loopscm.search.problem import Problem
from loopscm.search.state import empty_state, matrices_of
from loopscm.search.tables import empty_tables

P = 60


@numba.njit
def refresh(problem, state, tables, marks):
    return kernels.refresh(problem, state, tables, marks)


@numba.njit
def forget_effects(tables, before, after):
    kernels.forget_effects(tables, before, after)


@numba.njit
def effects_of(state, tables, source):
    return kernels.effects_of(state, tables, source).copy()


@numba.njit
def slopes_and_information(state, tables, j):
    slopes, information = np.empty(state.noise.shape[0]), np.empty(state.noise.shape[0])
    kernels.slopes_into(state, tables, j, slopes)
    kernels.information_of(state, tables, slopes, information)
    return slopes, information


def problem_of(stats):
    allowed = ~np.eye(stats.p, dtype=bool)
    return Problem(
        S=np.array(stats.correlation),
        n=float(stats.n),
        weight=1.0,
        dimension=False,
        allowed=np.asfortranarray(allowed),
        required=~allowed & False,
        floor=NOISE_FLOOR,
        tolerance=1e-6,
        max_iterations=30,
        company=5,
        slack=0.0,
        largest_loop=stats.p,
        most_heads=24,
    )


def chain_of_latents(state, rng):
    """Latents that tie 50 nodes to one district, 7 to another, and a few edges with a loop."""
    for h, first in enumerate([*range(0, 48, 2), 52, 54, 56]):
        state.n_children[h] = 3
        state.children[h, :3] = [first, first + 1, first + 2]
        state.loadings[h, :3] = rng.uniform(0.3, 0.8, 3)
    for head in range(P):
        state.n_tails[head] = 1
        state.tails[head, 0] = (head * 7 + 3) % P if (head * 7 + 3) % P != head else (head + 1) % P
        state.weights[head, 0] = rng.uniform(-0.4, 0.4)


def change(state, rng):
    """Cut a latent, grow it again, or shift parameters; marks what it changes."""
    h = rng.choice([0, 1, 2, 22, 23, 24, 25, 26])
    kind = rng.integers(3)
    if kind == 0 and state.n_children[h] == 3:
        state.n_children[h] = 0
        state.stirred[h] = True
        state.touched[state.children[h, :3]] = True
    elif kind == 1 and state.n_children[h] == 0:
        state.n_children[h] = 3
        state.stirred[h] = True
        state.touched[state.children[h, :3]] = True
    else:
        j = rng.integers(P)
        state.noise[j] = rng.uniform(0.5, 1.5)
        state.weights[j, 0] = rng.uniform(-0.5, 0.5)
        state.n_tails[j] = rng.integers(2)
        state.touched[j] = True


@pytest.mark.parametrize("seed", range(2))
def test_tables_follow_many_changes(seed):
    stats, _ = world(P, 2, 0.2, seed)
    rng = np.random.default_rng(seed)
    problem, state, tables = problem_of(stats), empty_state(P, 30), empty_tables(P)
    chain_of_latents(state, rng)
    state.touched[:] = True
    state.stirred[:] = True
    before, updates = deepcopy(state), 0
    for _ in range(150):
        forget_effects(tables, before, state)
        f = refresh(problem, state, tables, state)
        updates += tables.updates.any()
        state.touched[:] = False
        state.stirred[:] = False
        B, Gamma = matrices_of(state)
        A = np.eye(P) - B
        Psi = np.diag(state.noise) + Gamma.T @ Gamma
        Pi, R = np.linalg.inv(Psi), A.T @ problem.S @ A
        f_plain = -np.linalg.slogdet(A)[1] + 0.5 * (np.linalg.slogdet(Psi)[1] + (Pi * R).sum())
        assert f == pytest.approx(f_plain, abs=1e-10)
        assert np.abs(tables.precision - Pi).max() < 1e-11
        assert np.abs(tables.diagonal - np.diag(Pi)).max() < 1e-11
        tied = state.district[:, None] == state.district
        off = np.where(tied, tables.spread - Pi @ R @ Pi, tables.spread)
        assert np.abs(off).max() < 1e-10
        for j in rng.integers(P, size=10):
            assert np.abs(effects_of(state, tables, j) - np.linalg.inv(A)[j]).max() < 1e-12
            slopes, information = slopes_and_information(state, tables, j)
            assert np.abs(slopes - (problem.S @ A @ Pi)[:, j]).max() < 1e-11
            assert np.abs(information - (Pi @ R @ Pi)[j]).max() < 1e-10
        before = deepcopy(state)
        change(state, rng)
    assert updates > 100
