"""Structural metrics against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import CYCLE, EDGE, PAIR, REVERSED_CYCLE, REVERSED_EDGE, edges

from loopscm import GraphError, LatentGraph
from loopscm.equivalence import (
    class_shd,
    compare,
    graph_metrics,
    heldout_log_likelihood,
    rotation_class,
    shd,
)
from loopscm.simulate import random_graph, random_scm


def test_shd_counts_additions_removals_and_reversals():
    assert shd(edges("0>1 1>2"), edges("0>1 1>2")) == 0
    assert shd(edges("0>1 1>2"), edges("1>0 1>2")) == 1  # reversal
    assert shd(edges("0>1 1>0"), edges("0>1")) == 1  # half of a two-cycle
    assert shd(edges("0>1"), edges("1>2")) == 2
    assert shd(CYCLE, REVERSED_CYCLE) == 4
    mixed = LatentGraph(np.zeros((2, 2)), bidirected=[[0, 1], [1, 0]])
    assert shd(EDGE, mixed) == 2


@pytest.mark.parametrize("seed", range(8))
def test_metrics_of_a_graph_with_itself_are_perfect(seed):
    graph = random_graph(15, 4, 0.3, seed)
    m = graph_metrics(graph, LatentGraph(graph.directed, graph.children[::-1]))
    assert m.shd == m.latent_shd == 0 and m.latent_similarity == 1
    for part in (m.skeleton, m.orientation, m.loops, m.confounded, m.latents):
        assert part.precision == part.recall == part.f1 == 1


def test_reversal_keeps_the_skeleton():
    m = graph_metrics(edges("0>1 1>2"), edges("1>0 1>2"))
    assert m.skeleton.f1 == 1
    assert (m.orientation.precision, m.orientation.recall) == (0.5, 0.5)


def test_loops_are_compared_by_pairs():
    m = graph_metrics(edges("0>1 1>2 2>0"), edges("0>1 1>0 1>2"))
    assert (m.loops.true_positives, m.loops.false_negatives, m.loops.false_positives) == (1, 2, 0)


def test_latents_by_hand():
    truth = LatentGraph(np.zeros((5, 5)), [[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]])
    found = LatentGraph(np.zeros((5, 5)), [[1, 1, 0, 0, 0]])
    m = graph_metrics(truth, found)
    assert m.latent_shd == 1 + 2 + 1  # an edge, two edges and a latent
    assert m.latents.recall == pytest.approx(2 / 5) and m.latents.precision == 1
    assert m.latent_similarity == pytest.approx((2 / 3) / 2)
    assert m.confounded.recall == pytest.approx(1 / 4) and m.n_latents == (2, 1)


def test_nothing_to_find_and_nothing_found():
    m = graph_metrics(edges(""), edges("0>1"))
    assert (m.skeleton.precision, m.skeleton.recall, m.skeleton.f1) == (0, 1, 0)
    assert graph_metrics(edges("0>1"), edges("")).skeleton.precision == 1


def test_class_shd_is_zero_on_the_class_only():
    chain = edges("0>1 1>2")
    members = rotation_class(chain).members
    assert class_shd(members, edges("1>0 1>2")) == 0
    assert class_shd(members, edges("0>1 2>1")) == 1
    with pytest.raises(GraphError):
        class_shd([], chain)


def test_heldout_likelihood_is_that_of_the_density():
    rng = np.random.default_rng(0)
    model = random_scm(random_graph(4, 2, 0.0, rng), rng)
    data = model.sample(50, rng)
    sigma = model.covariance()
    expected = -0.5 * (
        4 * np.log(2 * np.pi)
        + np.linalg.slogdet(sigma)[1]
        + np.einsum("ni,ij,nj->n", data, np.linalg.inv(sigma), data).mean()
    )
    assert heldout_log_likelihood(model, data) == pytest.approx(expected)


def test_comparison_holds_everything():
    record = compare(EDGE, REVERSED_EDGE, draws=2).to_dict()
    assert record["class_shd"] == 0 and record["class_complete"]
    assert record["compatibility"]["total"] <= 1e-6
    assert record["quasi_equivalence"]["verdict"] == "yes"
    assert record["metrics"]["shd"] == 1
    assert compare(PAIR, EDGE, draws=2).class_shd == 0
