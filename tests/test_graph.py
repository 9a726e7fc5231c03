"""The graph as a value: counts, order, components, round trips."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscm import GraphError, LatentGraph
from loopscm.simulate import random_graph


@st.composite
def graphs(draw, max_p=8, bidirected=True):
    p = draw(st.integers(1, max_p))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    directed = rng.random((p, p)) < draw(st.floats(0, 0.6))
    np.fill_diagonal(directed, False)
    children = rng.random((draw(st.integers(0, 3)), p)) < 0.5
    arcs = np.triu(rng.random((p, p)) < 0.2, 1) if bidirected else np.zeros((p, p), bool)
    names = draw(
        st.sampled_from([None, [f"gene {j}" for j in range(p)], [f"L{j}" for j in range(p)]])
    )
    return LatentGraph(directed, children, names, arcs | arcs.T)


def test_counts():
    graph = LatentGraph([[0, 1], [1, 0]], [[1, 1]], bidirected=[[0, 1], [1, 0]])
    assert (graph.n_observed, graph.n_latent, graph.n_edges, graph.complexity) == (2, 1, 5, 6)
    assert graph.names == ("X0", "X1")
    assert LatentGraph(np.zeros((3, 3))).complexity == 0


@given(graphs())
def test_is_an_immutable_hashable_value(graph):
    twin = LatentGraph(graph.directed, graph.children, graph.names, graph.bidirected)
    assert twin == graph and hash(twin) == hash(graph) and len({twin, graph}) == 1
    assert pickle.loads(pickle.dumps(graph)) == graph
    for array in (graph.directed, graph.children, graph.bidirected):
        with pytest.raises(ValueError):
            array[...] = False
    with pytest.raises(AttributeError):
        graph.names = ()  # type: ignore[misc]


def test_keeps_no_reference_to_the_callers_arrays():
    directed = np.zeros((3, 3), bool)
    graph = LatentGraph(directed)
    directed[0, 1] = True
    assert not graph.directed.any() and directed.flags.writeable


@given(graphs())
def test_differs_when_any_edge_does(graph):
    if graph.n_observed < 2:
        return
    flipped = graph.directed.copy()
    flipped[0, 1] = not flipped[0, 1]
    assert LatentGraph(flipped, graph.children, graph.names, graph.bidirected) != graph


def test_pruned_is_the_papers_conversion():
    graph = LatentGraph(np.zeros((3, 3)), [[0, 0, 0], [0, 1, 0], [1, 0, 1]])
    assert graph.complexity == 6
    assert graph.pruned() == LatentGraph(np.zeros((3, 3)), [[1, 0, 1]])
    assert graph.pruned().complexity == 3


@given(graphs(), st.randoms(use_true_random=False))
def test_canonical_forgets_the_order_of_latents(graph, random):
    order = list(range(graph.n_latent))
    random.shuffle(order)
    shuffled = LatentGraph(graph.directed, graph.children[order], graph.names, graph.bidirected)
    assert shuffled.canonical() == graph.canonical() == graph.canonical().canonical()


@given(graphs(), st.randoms(use_true_random=False))
def test_permutation_moves_everything(graph, random):
    order = list(range(graph.n_observed))
    random.shuffle(order)
    moved = graph.permuted(order)
    back = np.argsort(order)
    assert moved.permuted(back) == graph
    assert moved.names == tuple(graph.names[j] for j in order)
    sizes = sorted(map(len, graph.components()))
    assert sorted(map(len, moved.components())) == sizes


@given(graphs(max_p=12))
def test_strong_components_agree_with_networkx(graph):
    expected = nx.strongly_connected_components(
        nx.from_numpy_array(graph.directed, create_using=nx.DiGraph)
    )
    assert graph.strongly_connected_components() == tuple(
        sorted(tuple(sorted(c)) for c in expected)
    )


@given(graphs(max_p=12))
def test_components_agree_with_a_direct_merge(graph):
    links = nx.Graph()
    links.add_nodes_from(range(graph.n_observed))
    groups = [*graph.strongly_connected_components(), *map(np.flatnonzero, graph.children)]
    for group in groups:
        nx.add_path(links, list(map(int, group)))
    links.add_edges_from(np.argwhere(graph.bidirected).tolist())
    expected = sorted(tuple(sorted(c)) for c in nx.connected_components(links))
    assert list(graph.components()) == expected


@given(graphs())
def test_round_trips(graph):
    assert LatentGraph.from_networkx(graph.to_networkx()) == graph
    again = LatentGraph.from_edges(graph.to_edges(), names=graph.names, latents=graph.latent_names)
    assert again == graph
    assert not set(graph.latent_names) & set(graph.names)


def test_from_edges_reads_names_in_order_of_appearance():
    graph = LatentGraph.from_edges([("b", "a"), ("L", "c"), ("L", "a")], latents=["L"])
    assert graph.names == ("b", "a", "c")
    assert graph.to_edges() == [("b", "a"), ("L1", "a"), ("L1", "c")]


def test_from_edges_takes_iterators():
    graph = LatentGraph.from_edges(iter([("a", "b")]), names=iter("ab"), latents=iter("L"))
    assert graph.names == ("a", "b") and graph.n_latent == 1


def test_networkx_graph_with_a_bidirected_pair_of_strangers():
    g = nx.DiGraph([("a", "b")], bidirected=[("a", "z")])
    with pytest.raises(GraphError, match="'z', not in names"):
        LatentGraph.from_networkx(g)


def test_networkx_nodes_that_read_the_same():
    with pytest.raises(GraphError, match="distinct; rename '1'"):
        LatentGraph.from_networkx(nx.DiGraph([(1, "1")]))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "a")], "self-loops"),
        ([("a", "L")], "cannot have parents"),
        ([("a", "z")], "not in names"),
        ([("a",)], "an edge is"),
        ([("a", "b", "-o")], "mark of an edge"),
        ([("L", "b", "<->")], "bidirected"),
    ],
)
def test_bad_edge_lists(edges, message):
    with pytest.raises(GraphError, match=message):
        LatentGraph.from_edges(edges, names=["a", "b"], latents=["L"])


def test_repr_reads_like_the_graph():
    graph = LatentGraph.from_edges(
        [("a", "b"), ("L", "a"), ("L", "b"), ("b", "c", "<->")], latents=["L"]
    )
    assert repr(graph).splitlines() == [
        "LatentGraph(3 observed, 1 latent, 4 edges (1 bidirected))",
        "  a <- L1",
        "  b <- a, L1, (c <->)",
        "  c <- (b <->)",
    ]
    large = repr(random_graph(40, 4, 0.2, 0))
    assert len(large.splitlines()) == 14 and "more variables" in large
