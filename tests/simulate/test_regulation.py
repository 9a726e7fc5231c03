"""Topologies of the gene-network benchmark: connected, bounded, cyclic, with hidden regulators."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscm.errors import OptionError
from loopscm.simulate import regulatory_graph


@given(
    p=st.integers(12, 60),
    n_latent=st.integers(0, 8),
    cap=st.integers(4, 6),
    seed=st.integers(0, 99),
)
def test_graphs_are_as_described(p, n_latent, cap, seed):
    graph = regulatory_graph(p, n_latent, seed, max_degree=cap)
    degree = graph.directed.sum(axis=0) + graph.directed.sum(axis=1)
    assert degree.max() <= cap
    assert graph.n_latent == n_latent
    assert set(graph.children.sum(axis=1)) <= {2, 3, 4}
    observed = nx.from_numpy_array(graph.directed, create_using=nx.DiGraph)
    assert nx.is_weakly_connected(observed)
    assert not (graph.directed & graph.directed.T).any()


@given(seed=st.integers(0, 99))
def test_edges_run_along_one_order_but_for_the_back_edges(seed):
    """Without back edges the same seed gives a DAG; each back edge closes a cycle."""
    forward = regulatory_graph(60, 0, seed, density=1.1, back_edges=0.0)
    assert forward.is_acyclic
    assert forward.n_edges == round(1.1 * 60)
    full = regulatory_graph(60, 0, seed, density=1.1, back_edges=0.1)
    added = np.argwhere(full.directed & ~forward.directed)
    assert len(added) == 6
    assert not (forward.directed & ~full.directed).any()
    reach = nx.from_numpy_array(forward.directed, create_using=nx.DiGraph)
    assert all(nx.has_path(reach, head, tail) for tail, head in added)


def test_same_seed_same_graph():
    assert regulatory_graph(100, 20, 3) == regulatory_graph(100, 20, np.random.default_rng(3))
    assert regulatory_graph(100, 20, 3) != regulatory_graph(100, 20, 4)


def test_back_edges_that_do_not_fit_are_refused():
    with pytest.raises(OptionError, match="do not fit"):
        regulatory_graph(20, 0, 0, max_degree=2, back_edges=2.0)
