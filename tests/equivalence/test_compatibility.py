"""The compatibility error against theory and a plain optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import (
    ARC,
    COMPLETE,
    CYCLE,
    EDGE,
    EMPTY,
    PAIR,
    REVERSED_CYCLE,
    REVERSED_EDGE,
    SQUARE,
    altered,
    edges,
    with_turned_loops,
)
from scipy.optimize import minimize

from loopscm import GraphError, LatentGraph, OptionError
from loopscm.equivalence import DrawStatus, compatibility, rotation_class
from loopscm.equivalence._draws import random_member, wide_member
from loopscm.equivalence._family import family_of, matched_latents
from loopscm.equivalence._nearest import nearest
from loopscm.likelihood.gaussian import symmetric_divergence
from loopscm.simulate import random_graph, random_scm

ZERO = 1e-6
PROTOCOL = [
    (p, ratio, k)
    for k in range(2)
    for p in (5, 10, 20, 40, 60, 80, 100)
    for ratio in (0.0, 0.1, 0.2, 0.3)
][:50]


# ---- the values theory demands ----------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [(EDGE, REVERSED_EDGE), (PAIR, EDGE), (CYCLE, REVERSED_CYCLE), (ARC, EDGE), (ARC, PAIR)],
)
def test_equivalent_graphs_have_no_error(first, second):
    result = compatibility(first, second)
    assert result.total <= ZERO
    assert result.forward_status is result.reverse_status is DrawStatus.COMPLETE


def test_covered_edge_reversal_has_no_error_and_collider_reversal_has_one():
    chain, fork, collider = edges("0>1 1>2"), edges("1>0 1>2"), edges("0>1 2>1")
    assert compatibility(chain, fork).total <= ZERO
    assert min(compatibility(chain, collider).forward_draws) > 1e-4


def test_empty_graph_misses_exactly_the_correlation():
    """J between a 2 x 2 covariance and the closest diagonal one has a closed form.

    With correlation r the optimum scales both variances by 1/√(1 − r²), and
    J = 1/√(1 − r²) − 1.
    """
    result = compatibility(EDGE, EMPTY, draws=6, seed=3)
    assert result.reverse <= ZERO
    seeds = np.random.SeedSequence(3).spawn(2)[0].spawn(6)
    for seed, value in zip(seeds, result.forward_draws, strict=True):
        sigma = random_member(EDGE, np.random.default_rng(seed.spawn(2)[0])).covariance()
        r2 = sigma[0, 1] ** 2 / sigma[0, 0] / sigma[1, 1]
        assert value == pytest.approx(1 / np.sqrt(1 - r2) - 1, abs=1e-9)


def test_smaller_family_inside_larger():
    result = compatibility(SQUARE, COMPLETE)
    assert result.forward <= ZERO < result.reverse


@pytest.mark.parametrize(("p", "ratio", "k"), PROTOCOL)
def test_truth_against_itself(p, ratio, k):
    graph = random_graph(p, 4, ratio, np.random.default_rng([p, int(10 * ratio), k]))
    assert compatibility(graph, graph, draws=3).total <= ZERO


@pytest.mark.parametrize(("p", "ratio", "k"), [(10, 0.0, 0), (20, 0.2, 0), (40, 0.1, 0)])
def test_truth_is_found_without_knowing_the_parameters(p, ratio, k):
    graph = random_graph(p, 4, ratio, np.random.default_rng([p, k]))
    for draw in range(4):
        sigma = random_scm(graph, draw).covariance()
        found = nearest(sigma, family_of(graph), starts=5, rng=np.random.default_rng(draw))
        assert found.value <= ZERO
        np.testing.assert_allclose(found.scm.covariance(), sigma, atol=1e-2)


def test_reversed_cycles_of_all_lengths():
    for length in (2, 3, 5, 6):
        cycle = LatentGraph(np.roll(np.eye(length), 1, axis=1))
        assert compatibility(cycle, LatentGraph(cycle.directed.T), draws=5).total <= ZERO


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("p", [10, 20, 40])
def test_turned_loops_have_no_error(p, ratio):
    """Loops with parents and latents: the optimum lies on the other side of det A = 0."""
    rng = np.random.default_rng([p, int(10 * ratio)])
    other = None
    while other is None:
        graph = random_graph(p, 4, ratio, rng)
        other = with_turned_loops(graph, rng)
    assert compatibility(graph, other, draws=3).total <= ZERO


def test_graphs_of_one_rotation_class_have_no_error():
    rng = np.random.default_rng(0)
    for p in (10, 20, 40):
        graph = random_graph(p, 4, 0.0, rng)
        members = rotation_class(graph, limit=300).members
        assert compatibility(graph, members[len(members) // 2], draws=3).total <= ZERO


# ---- the procedure ----------------------------------------------------------------------


def test_value_is_the_divergence_of_the_model_found():
    rng = np.random.default_rng(0)
    graph = random_graph(12, 4, 0.2, rng)
    other = altered(graph, rng, 6)
    sigma = random_scm(graph, rng).covariance()
    found = nearest(sigma, family_of(other), starts=3, rng=rng)
    assert found.scm.graph == other
    expected = symmetric_divergence(sigma, found.scm.covariance())
    assert found.value == pytest.approx(expected, rel=1e-8)


def plain_fit(sigma: np.ndarray, graph: LatentGraph, rng: np.random.Generator) -> float:
    """J by L-BFGS with numerical gradients, an independent and slow implementation."""
    B, Gamma = np.zeros(graph.directed.shape), np.zeros(graph.children.shape)
    n, m, p = int(graph.directed.sum()), int(graph.children.sum()), graph.n_observed

    def objective(theta):
        B[graph.directed], Gamma[graph.children] = theta[:n], theta[n : n + m]
        A = np.eye(p) - B
        psi = np.diag(np.exp(theta[n + m :])) + Gamma.T @ Gamma
        try:
            V = np.linalg.inv(A)
        except np.linalg.LinAlgError:
            return 1e6
        value = symmetric_divergence(sigma, V.T @ psi @ V)
        return value if np.isfinite(value) else 1e6

    best = np.inf
    for _ in range(5):
        start = np.concatenate([0.5 * rng.standard_normal(n + m), np.log(np.diagonal(sigma))])
        found = minimize(objective, start, method="L-BFGS-B", options={"maxiter": 1000})
        best = min(best, float(found.fun))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_never_above_a_plain_optimiser(seed):
    rng = np.random.default_rng([5, seed])
    graph = random_graph(6, 4, 0.3, rng)
    other = altered(graph, rng, 4)
    sigma = random_scm(graph, rng).covariance()
    ours = nearest(sigma, family_of(other.pruned()), starts=5, rng=np.random.default_rng(0))
    assert ours.value <= plain_fit(sigma, other, rng) + 1e-6


def test_more_starts_never_hurt():
    rng = np.random.default_rng(8)
    graph, other = random_graph(10, 4, 0.3, rng), random_graph(10, 4, 0.3, rng)
    sigma = random_scm(graph, rng).covariance()
    values = [
        nearest(sigma, family_of(other), starts=k, rng=np.random.default_rng(0)).value
        for k in (1, 5, 20)
    ]
    assert values[2] <= values[1] <= values[0]


def test_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(4)
    graph = random_graph(24, 4, 0.2, rng)
    other = altered(graph, rng, 10)
    one, two, three = (compatibility(graph, other, draws=6, n_jobs=k) for k in (1, 2, 3))
    for result in (two, three):
        assert result.forward_draws.tobytes() == one.forward_draws.tobytes()
        assert result.reverse_draws.tobytes() == one.reverse_draws.tobytes()


def test_seed_decides():
    graph = edges("0>1 1>2")
    first, again, other = (compatibility(graph, EMPTY3, draws=3, seed=k) for k in (1, 1, 2))
    assert (first.forward_draws == again.forward_draws).all()
    assert (first.forward_draws != other.forward_draws).all()


EMPTY3 = LatentGraph(np.zeros((3, 3)))


def test_draws_of_the_reference_do_not_depend_on_the_recovered_graph():
    few = compatibility(edges("0>1 1>2"), EMPTY3, draws=3)
    many = compatibility(edges("0>1 1>2"), EMPTY3, draws=5)
    assert (few.forward_draws == many.forward_draws[:3]).all()
    assert few.forward == few.forward_draws.max()
    assert few.total == few.forward + few.reverse


def test_mixed_graphs_get_free_error_covariances():
    """A bidirected edge beside a directed one, which no latent-free graph of two nodes is."""
    bow = LatentGraph([[0, 1], [0, 0]], bidirected=[[0, 1], [1, 0]])
    assert compatibility(bow, EDGE).total <= ZERO
    arcs = np.zeros((4, 4), bool)
    for i in range(4):
        arcs[i, (i + 1) % 4] = arcs[(i + 1) % 4, i] = True
    assert compatibility(SQUARE, LatentGraph(np.zeros((4, 4)), bidirected=arcs)).forward <= ZERO


def test_parameter_laws_respect_the_graph():
    graph = LatentGraph(
        np.roll(np.eye(5), 1, axis=1), [[1, 1, 1, 0, 0]], bidirected=np.roll(np.eye(5), 2, axis=1)
        + np.roll(np.eye(5), -2, axis=1),
    )  # fmt: skip
    for law in (random_member, wide_member):
        model = law(graph, np.random.default_rng(0))
        assert ((model.noise_covariances != 0) == graph.bidirected).all()
        assert np.linalg.eigvalsh(model.noise_covariance())[0] > 0


def test_one_child_latents_are_removed():
    graph = LatentGraph(EDGE.directed, [[1, 0]])
    assert compatibility(graph, EDGE).total <= ZERO


# ---- refusals and statuses --------------------------------------------------------------


def test_too_few_iterations_are_a_status_of_an_upper_bound():
    """It says what the number is worth and what to do."""
    rng = np.random.default_rng(5)
    left, right = (random_graph(8, 3, 0.3, rng) for _ in range(2))
    short = compatibility(left, right, draws=3, starts=1, max_iterations=1)
    assert short.forward_status is DrawStatus.UNCONVERGED
    assert "may be too large, never too small" in repr(short)
    assert "larger max_iterations or more starts" in repr(short)
    full = compatibility(left, right, draws=3)
    assert full.forward_status is DrawStatus.COMPLETE
    assert full.forward <= short.forward


def test_unsatisfiable_acceptance_rule_is_a_status():
    dense = LatentGraph(~np.eye(14, dtype=bool))
    empty = LatentGraph(np.zeros((14, 14)))
    result = compatibility(empty, dense, draws=4)
    assert result.reverse_status is DrawStatus.UNSATISFIABLE
    assert (
        np.isnan(result.reverse) and np.isnan(result.total) and np.isnan(result.reverse_draws).all()
    )
    assert result.forward <= ZERO
    assert result.to_dict()["total"] is None
    assert "acceptance rule" in repr(result)


def test_variables_must_agree():
    named = LatentGraph(EDGE.directed, names=["a", "b"])
    turned = LatentGraph([[0, 0], [1, 0]], names=["b", "a"])  # a -> b, listed the other way
    assert compatibility(named, turned, draws=2).total <= ZERO
    assert compatibility(named, EDGE, draws=2).total <= ZERO
    with pytest.raises(GraphError, match="different variables"):
        compatibility(named, LatentGraph(EDGE.directed, names=["a", "c"]))
    with pytest.raises(GraphError, match="observed variables"):
        compatibility(EDGE, CYCLE)
    with pytest.raises(GraphError, match="LatentGraph"):
        compatibility(EDGE.directed, EDGE)  # type: ignore[arg-type]
    with pytest.raises(OptionError):
        compatibility(EDGE, EDGE, draws=0)
    with pytest.raises(OptionError):
        compatibility(EDGE, EDGE, n_jobs=0)


def test_latents_are_matched_by_their_children():
    left = LatentGraph(np.zeros((6, 6)), [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0]])
    right = LatentGraph(
        np.zeros((6, 6)), [[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0]]
    )
    assert sorted(matched_latents(left, right)) == [(0, 2), (1, 0)]
