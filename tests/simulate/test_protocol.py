"""The paper's random graphs and parameters: bounds, laws, and a fixed stream."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, ks_2samp, kstest

from loopscm.errors import GraphError, OptionError, ParameterError
from loopscm.graph import LatentGraph
from loopscm.simulate import _conditioning, protocol, random_graph, random_scm
from loopscm.simulate._conditioning import ConditionRule, causal_order

ALPHA = 1e-4  # of the statistical tests; the seeds are fixed, so they do not flicker


@given(
    p=st.integers(4, 24),
    degree=st.integers(1, 6),
    ratio=st.sampled_from([0.0, 0.01, 0.1, 0.2, 0.3]),
    max_cycle=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
def test_graphs_keep_the_bounds(p, degree, ratio, max_cycle, seed):
    graph = random_graph(p, degree, ratio, seed, max_cycle)
    assert (graph.directed.sum(axis=0) + graph.directed.sum(axis=1)).max() <= degree
    assert max(map(len, graph.strongly_connected_components())) <= max_cycle
    expected = max(1, int(p * ratio + 0.5)) if ratio else 0
    assert graph.n_latent == expected
    assert set(graph.children.sum(axis=1)) <= {2, 3, 4}


def grown_slowly(p, max_degree, max_cycle, rng):
    """The growth procedure on a dense matrix, by the letter."""
    edges = np.zeros((p, p), bool)
    cap = rng.integers(max_degree, size=p) + 1
    for i in range(p):
        for j in rng.permutation(p):
            degree = edges.sum(axis=0) + edges.sum(axis=1)
            if degree[i] >= cap[i]:
                break
            tail, head = (i, j) if rng.integers(2) else (j, i)
            if i == j or degree[j] >= cap[j] or edges[tail, head]:
                continue
            edges[tail, head] = True
            reach = np.linalg.matrix_power(np.eye(p) + edges, p) > 0
            if (reach[j] & reach[:, j]).sum() > max_cycle:
                edges[tail, head] = False
    return edges


def features(edges):
    """Edges, two-cycles, and variables on loops, as one number each."""
    graph = LatentGraph(edges)
    loops = [c for c in graph.strongly_connected_components() if len(c) > 1]
    return edges.sum(), (edges & edges.T).sum() // 2, sum(map(len, loops))


@pytest.mark.parametrize(("p", "degree", "max_cycle"), [(6, 4, 3), (7, 6, 5), (5, 2, 5)])
def test_graph_law_is_that_of_the_published_procedure(p, degree, max_cycle):
    draws = 3000
    rng, other = np.random.default_rng(1), np.random.default_rng(2)
    ours = np.array(
        [features(random_graph(p, degree, 0, rng, max_cycle).directed) for _ in range(draws)]
    )
    slow = np.array([features(grown_slowly(p, degree, max_cycle, other)) for _ in range(draws)])
    for k in range(ours.shape[1]):
        assert same_law(ours[:, k], slow[:, k]) > ALPHA


def same_law(a, b):
    """p-value of a chi-square comparison of two samples of small integers."""
    values = np.unique(np.concatenate([a, b]))
    counts = np.array([[(x == v).sum() for v in values] for x in (a, b)], float)
    common = counts.sum(axis=0) >= 20
    counts = np.column_stack([counts[:, common], counts[:, ~common].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] < 2:
        return 1.0
    expected = counts.sum(axis=0) / 2
    statistic = ((counts - expected) ** 2 / expected).sum()
    from scipy.stats import chi2

    return chi2.sf(statistic, counts.shape[1] - 1)


def test_latents_choose_sizes_and_children_uniformly():
    rng = np.random.default_rng(3)
    children = np.concatenate([random_graph(10, 2, 0.3, rng).children for _ in range(2000)])
    sizes = children.sum(axis=1)
    assert chisquare([(sizes == k).sum() for k in (2, 3, 4)]).pvalue > ALPHA
    assert chisquare(children.sum(axis=0)).pvalue > ALPHA


def test_parameters_follow_their_laws_on_acyclic_graphs():
    """Single edges reject next to nothing, so the raw laws show."""
    graph = LatentGraph.from_edges([("a", "b"), ("L", "b"), ("L", "a")], latents=["L"])
    rng = np.random.default_rng(4)
    models = [random_scm(graph, rng) for _ in range(3000)]
    B = np.array([model.coefficients[0, 1] for model in models])
    Gamma = np.concatenate([model.loadings.ravel() for model in models])
    omega = np.concatenate([model.noise_variances for model in models])
    for values in (B, Gamma):
        assert kstest(np.abs(values), "uniform", (0.2, 0.6)).pvalue > ALPHA
        assert chisquare([(values > 0).sum(), (values < 0).sum()]).pvalue > ALPHA
    assert kstest(omega, "uniform", (1, 2)).pvalue > ALPHA


@given(seed=st.integers(0, 2**32), p=st.integers(4, 20), degree=st.integers(1, 6))
def test_parameters_satisfy_the_acceptance_rule(seed, p, degree):
    rng = np.random.default_rng(seed)
    graph = random_graph(p, degree, 0.2, rng)
    B = random_scm(graph, rng).coefficients
    assert np.abs(np.linalg.eigvals(B)).max() < 0.99
    assert np.linalg.cond(np.eye(p) - B) <= 20
    assert ((B != 0) == graph.directed).all()
    assert np.abs(B[graph.directed]).min(initial=0.2) >= 0.2
    assert np.abs(B).max() <= 0.8


def rejected_jointly(graph, rng):
    """Everything redrawn until both rules hold: the definition."""
    mask = graph.directed
    while True:
        B = np.zeros(mask.shape)
        B[mask] = rng.uniform(0.2, 0.8, mask.sum()) * rng.choice([-1, 1], mask.sum())
        small = np.abs(np.linalg.eigvals(B)).max() < 0.99
        if small and np.linalg.cond(np.eye(len(B)) - B) <= protocol.CONDITION_NUMBER:
            return B


@pytest.mark.parametrize(("limit", "patience"), [(20.0, 100), (6.0, 10_000), (6.0, 0)])
def test_redrawing_loop_by_loop_has_the_law_of_joint_rejection(limit, patience, monkeypatch):
    """Two dense loops with an edge between them, where both rules reject often."""
    monkeypatch.setattr(protocol, "CONDITION_NUMBER", limit)
    monkeypatch.setattr(protocol, "PATIENCE", patience)
    directed = np.zeros((7, 7), bool)
    directed[:4, :4] = directed[4:, 4:] = True
    directed[3, 4] = True
    np.fill_diagonal(directed, False)
    graph = LatentGraph(directed)
    rng, other = np.random.default_rng(5), np.random.default_rng(6)
    ours = np.array([random_scm(graph, rng).coefficients for _ in range(1500)])
    joint = np.array([rejected_jointly(graph, other) for _ in range(1500)])
    eye = np.eye(7)
    statistics = [
        lambda B: np.abs(np.linalg.eigvals(B)).max(axis=1),
        lambda B: np.linalg.cond(eye - B),
        lambda B: np.linalg.det(eye - B),
        lambda B: B[:, 3, 4],
        lambda B: np.abs(B[:, 0, 1]),
        lambda B: B[:, 0, 1] * B[:, 1, 0],
        lambda B: B[:, 0, 1] * B[:, 1, 2] * B[:, 2, 0],
        lambda B: np.abs(B[:, :4, :4]).sum(axis=(1, 2)) - np.abs(B[:, 4:, 4:]).sum(axis=(1, 2)),
    ]
    for statistic in statistics:
        assert ks_2samp(statistic(ours), statistic(joint)).pvalue > ALPHA
    free = np.random.default_rng(7)
    blocks = free.uniform(0.2, 0.8, (1500, 7, 7)) * free.choice([-1, 1], (1500, 7, 7)) * directed
    rejected = np.abs(np.linalg.eigvals(blocks)).max(axis=1) >= 0.99
    assert rejected.mean() > 0.2  # the rule is at work here


@given(seed=st.integers(0, 2**32), limit=st.floats(2, 30))
def test_sparse_condition_rule_decides_as_the_dense_one(seed, limit):
    rng = np.random.default_rng(seed)
    graph = random_graph(int(rng.integers(12, 40)), 6, 0.0, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_conditioning, "DENSE_UP_TO", 0)
        rule = ConditionRule.of(graph, limit)
        values = rng.uniform(0.2, 0.9, len(rule.tails)) * rng.choice([-1, 1], len(rule.tails))
        B = np.zeros(graph.directed.shape)
        B[rule.tails, rule.heads] = values
        assert rule.accepts(values) == (np.linalg.cond(np.eye(len(B)) - B) <= limit)


def test_condition_rule_at_the_limit_itself(monkeypatch):
    """A limit within rounding of the condition number goes to the dense decomposition."""
    monkeypatch.setattr(_conditioning, "DENSE_UP_TO", 0)
    graph = random_graph(30, 4, 0.0, 8)
    B = random_scm(graph, 8).coefficients
    exact = np.linalg.cond(np.eye(30) - B)
    values = B[graph.directed]
    for limit in (exact, exact * (1 + 1e-9), exact * (1 - 1e-9), exact * 1.01, exact * 0.99):
        assert ConditionRule.of(graph, limit).accepts(values) == (exact <= limit)


@given(seed=st.integers(0, 2**32))
def test_causal_order_puts_causes_first(seed):
    graph = random_graph(20, 5, 0.0, seed)
    place = np.argsort(causal_order(graph))
    component = {j: c for c in graph.strongly_connected_components() for j in c}
    for i, j in np.argwhere(graph.directed):
        assert component[i] == component[j] or place[i] < place[j]


def test_large_models_are_drawn_and_accepted():
    graph = random_graph(600, 4, 0.3, 9)
    B = random_scm(graph, 9).coefficients
    assert np.linalg.cond(np.eye(600) - B) <= 20


def test_same_seed_same_bits():
    """The stream is public: named scenarios depend on it, so these hashes must never change."""
    graph = random_graph(16, 4, 0.3, 10)
    assert graph == random_graph(16, 4, 0.3, np.random.default_rng(10))
    text = repr(graph.to_edges()).encode()
    assert hashlib.sha256(text).hexdigest()[:16] == "0bff6b1c2fa16a47"
    model = random_scm(graph, 10)
    assert (model.coefficients == random_scm(graph, 10).coefficients).all()


def test_impossible_requests_are_refused():
    dense = LatentGraph(~np.eye(14, dtype=bool))
    with pytest.raises(ParameterError, match="too dense"):
        random_scm(dense, 0)
    arcs = np.array([[0, 1], [1, 0]], bool)
    with pytest.raises(GraphError, match="bidirected"):
        random_scm(LatentGraph(np.zeros((2, 2), bool), bidirected=arcs), 0)
    with pytest.raises(OptionError, match="latents need"):
        random_graph(1, 1, 0.5, 0)
    with pytest.raises(OptionError, match="rng must be"):
        random_graph(4, 1, 0.5, None)
