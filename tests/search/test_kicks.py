"""Kicks leave sound graphs, mark what they edit, and respect what is known."""

from copy import deepcopy

import numpy as np
import pytest
from numba import njit
from search_worlds import world

from loopscm.search import driver, kicks
from loopscm.search.knowledge import Knowledge
from loopscm.search.settings import SearchSettings
from loopscm.search.state import differences, graph_of, state_of


@njit
def apply_kick(problem, state, rng, kind, nodes):
    kicks.kick(problem, state, rng, kind, nodes)


def problem_of(stats, knowledge):
    settings = SearchSettings(knowledge=knowledge)
    run = driver._Run(stats, "dimension", 6, np.random.default_rng(0), 1, settings, 0.0)
    return run.problem


def kicked(problem, state, kind, nodes, seed):
    """A kicked copy."""
    result = deepcopy(state)
    apply_kick(problem, result, np.array([seed], np.uint64), kind, nodes)
    return result


@pytest.mark.parametrize("kind", range(kicks.KINDS))
def test_kicks_leave_sound_graphs_and_mark_what_they_change(kind):
    stats, model = world(10, 4, 0.3, 0)
    directed, children = model.graph.directed, model.graph.children.copy()
    children[0, :5] = True
    graph = type(model.graph)(directed, children, model.graph.names)
    forbidden = ~directed & (np.random.default_rng(0).random((10, 10)) < 0.3)
    required = directed & (np.random.default_rng(1).random((10, 10)) < 0.3)
    problem = problem_of(stats, Knowledge(required, forbidden))
    state = state_of(graph, 6, 0.2 * directed, 0.3 * children, np.full(10, 0.7))
    changed = False
    for seed in range(40):
        nodes = np.random.default_rng(seed).permutation(10)[: 2 + seed % 5]
        after = kicked(problem, state, kind, nodes, seed)
        heads, latents = differences(after, state)
        changed |= heads.any() or latents.any()
        assert not (heads & ~after.touched).any()
        assert not (latents & ~after.stirred).any()
        assert (after.noise > 0).all()
        assert (after.n_children != 1).all()
        result = graph_of(after, graph.names)
        assert result.directed.sum() == after.n_tails.sum()  # no list holds a node twice
        assert result.children.sum() == after.n_children.sum()
        assert not (result.directed & forbidden).any()
        assert not (required & ~result.directed).any()
        assert not result.directed.diagonal().any()
    assert changed
