"""Quasi-equivalence, inclusion, and the proofs and fits they rest on."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import COMPLETE, CYCLE, EDGE, EMPTY, PAIR, REVERSED_CYCLE, REVERSED_EDGE, SQUARE, edges

from loopscm import LatentGraph
from loopscm.equivalence import Answer, overlaps, quasi_equivalent, zero_pairs
from loopscm.equivalence._draws import wide_member
from loopscm.equivalence.quasi import part_of


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (EDGE, REVERSED_EDGE),
        (PAIR, EDGE),
        (CYCLE, REVERSED_CYCLE),
        (edges("0>1 1>2"), edges("1>0 1>2")),
    ],
)
def test_equivalent_families(first, second):
    result = quasi_equivalent(first, second)
    assert result and result.equivalent and result.included and result.includes
    assert result.dimensions[0] == result.dimensions[1]


def test_inclusion_without_equivalence():
    result = quasi_equivalent(SQUARE, COMPLETE)
    assert result.verdict is Answer.NO and result.proved
    assert result.included is Answer.YES and result.includes is Answer.NO
    assert result.dimensions == (8, 10)


def test_dimension_alone_does_not_decide():
    chain, collider = edges("0>1 1>2"), edges("0>1 2>1")
    result = quasi_equivalent(chain, collider)
    assert result.dimensions == (5, 5)
    assert result.verdict is Answer.NO and result.proved  # a vanishing covariance
    assert result.included is Answer.NO


def test_no_from_fits_when_nothing_else_decides():
    """Y-structures with different sinks: same dimension, no vanishing pair tells them apart."""
    first, second = edges("0>1 1>2 2>3 0>3", 4), edges("0>1 1>3 3>2 0>2", 4)
    result = quasi_equivalent(first, second)
    assert (zero_pairs(first) == zero_pairs(second)).all()
    assert result.verdict is Answer.NO and not result.proved
    assert min(result.forward.min(), result.reverse.min()) > 1e-6


def test_overlap_without_equality():
    """The three-cycle has full dimension but not every covariance: quasi-equivalent only."""
    cycle, complete = LatentGraph(np.roll(np.eye(3), 1, axis=1)), edges("0>1 0>2 1>2")
    result = quasi_equivalent(cycle, complete, draws=30)
    assert result.verdict is Answer.YES
    assert result.included is Answer.YES and result.includes is Answer.NO
    assert result.equivalent is Answer.NO


def test_subgraphs_are_parts():
    assert part_of(EMPTY, EDGE) and not part_of(EDGE, EMPTY)
    large = LatentGraph(np.zeros((3, 3)), [[1, 1, 0], [1, 1, 1]])
    small = LatentGraph(np.zeros((3, 3)), [[0, 1, 1]])
    assert part_of(small, large) and not part_of(large, small)
    assert overlaps(small, large) is Answer.YES


@pytest.mark.parametrize("seed", range(10))
def test_zero_pairs_vanish_and_no_others(seed):
    rng = np.random.default_rng(seed)
    graph = LatentGraph(
        (rng.random((6, 6)) < 0.12) & ~np.eye(6, dtype=bool),
        [[1, 1, 0, 0, 0, 0]] if seed % 2 else None,
        bidirected=np.eye(6)[[0, 1, 2, 3, 5, 4]] * (np.arange(6) > 3) if seed % 3 else None,
    )
    sigmas = [wide_member(graph, rng).covariance() for _ in range(3)]
    largest = np.max([np.abs(sigma) for sigma in sigmas], axis=0)
    assert ((largest < 1e-12) == zero_pairs(graph)).all()


def test_evidence_is_plain_data():
    record = quasi_equivalent(EDGE, EMPTY, draws=2).to_dict()
    assert record["verdict"] == "no" and record["dimensions"] == [3, 2]
    assert len(record["forward"]) == 2
