"""Graphs from the paper, and helpers to make others."""

from __future__ import annotations

import numpy as np

from loopscm import LatentGraph

SQUARE = LatentGraph(np.zeros((4, 4)), [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]])
COMPLETE = LatentGraph(np.triu(np.ones((4, 4)), 1))
CYCLE = LatentGraph(np.roll(np.eye(4), 1, axis=1))
REVERSED_CYCLE = LatentGraph(CYCLE.directed.T)
EDGE = LatentGraph([[0, 1], [0, 0]])
REVERSED_EDGE = LatentGraph([[0, 0], [1, 0]])
PAIR = LatentGraph(np.zeros((2, 2)), [[1, 1]])
EMPTY = LatentGraph(np.zeros((2, 2)))
ARC = LatentGraph(np.zeros((2, 2)), bidirected=[[0, 1], [1, 0]])


def edges(text: str, p: int = 3) -> LatentGraph:
    """A graph from '0>1 1>2'."""
    directed = np.zeros((p, p), bool)
    for word in text.split():
        i, j = map(int, word.split(">"))
        directed[i, j] = True
    return LatentGraph(directed)


def with_turned_loops(graph: LatentGraph, rng: np.random.Generator) -> LatentGraph | None:
    """A graph with the same columns of A in another order: loops turned around, same family.

    The latents' children move with the columns. None if there are no loops to turn.
    """
    supports = graph.directed | np.eye(graph.n_observed, dtype=bool)
    order = np.arange(graph.n_observed)
    for members in map(np.array, graph.strongly_connected_components()):
        for _ in range(100):
            places = rng.permutation(len(members))
            if (places != np.arange(len(members))).any() and supports[
                members, members[places]
            ].all():
                order[members] = members[places]
                break
    if (order == np.arange(graph.n_observed)).all():
        return None
    directed = supports[:, order] & ~np.eye(graph.n_observed, dtype=bool)
    return LatentGraph(directed, graph.children[:, order])


def altered(graph: LatentGraph, rng: np.random.Generator, changes: int) -> LatentGraph:
    """A graph with edges removed, reversed, added, and some latents dropped."""
    directed, p = graph.directed.copy(), graph.n_observed
    for _ in range(changes):
        found = np.argwhere(directed)
        i, j = rng.choice(p, 2, replace=False)
        if rng.random() < 0.7 and len(found):
            i, j = found[rng.integers(len(found))]
            directed[i, j] = False
            i, j = (j, i) if rng.random() < 0.5 else (i, i)
        if i != j:
            directed[i, j] = True
    kept = rng.random(graph.n_latent) > 0.3
    return LatentGraph(directed, graph.children[kept], graph.names)
