"""The search as its callers see it."""

import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from search_worlds import chain, world

from loopscm import GaussianStats, LatentGraph, LinearSCM, score
from loopscm.equivalence.candidates import candidate_class
from loopscm.errors import DataError, GraphError, OptionError
from loopscm.likelihood.penalty import price
from loopscm.search import driver, lane
from loopscm.search.driver import search
from loopscm.search.kicks import KINDS
from loopscm.search.knowledge import Knowledge
from loopscm.search.result import Outcome
from loopscm.search.settings import SearchSettings
from loopscm.simulate import dense_cycles, random_scm

QUICK = SearchSettings(kicks=60)


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
@pytest.mark.parametrize("seed", range(3))
def test_the_score_is_that_of_the_graph(penalty, seed):
    stats, _ = world(8, 4, 0.2, seed)
    found = search(stats, penalty=penalty, settings=QUICK)
    # The reported fit may start where the search ended, hence be better than a cold one.
    assert found.score <= score(stats, found.graph, penalty=penalty) + 1e-6
    again = stats.n * (_deviance(stats, found.fit.scm) - stats.saturated)
    cost = (found.score - again) / price(penalty, stats.n, stats.p)
    assert cost == pytest.approx(round(cost), abs=1e-6)
    if penalty == "structural":
        assert round(cost) == found.graph.complexity


def _deviance(stats, scm):
    sigma = scm.covariance()
    return 0.5 * (np.linalg.slogdet(sigma)[1] + np.trace(np.linalg.solve(sigma, stats.S)))


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
def test_the_trace_falls_and_ends_at_the_score(penalty):
    """Or above it: the final dimension may be less than the count of parameters."""
    stats, _ = world(12, 4, 0.2, 0)
    found = search(stats, penalty=penalty, settings=QUICK)
    assert (np.diff(found.trace["score"]) < 0).all()
    assert (np.diff(found.trace["kicks"]) > 0).all()
    assert (np.diff(found.trace["seconds"]) > 0).all()
    assert found.score < found.trace["score"][-1] + 0.01
    if penalty == "structural":
        assert found.score == pytest.approx(found.trace["score"][-1], abs=0.5)
    assert found.kicks == 60
    assert found.outcome is Outcome.FINISHED


def test_more_kicks_are_never_worse():
    stats, _ = world(12, 4, 0.3, 1)
    scores = [search(stats, settings=SearchSettings(kicks=k)).score for k in (0, 20, 100)]
    assert scores == sorted(scores, reverse=True)


def test_a_seed_and_a_budget_of_kicks_fix_the_answer():
    stats, _ = world(10, 4, 0.2, 2)
    first, second = (search(stats, seed=5, settings=QUICK) for _ in range(2))
    assert first.graph == second.graph
    assert first.score == second.score
    np.testing.assert_array_equal(first.trace["score"], second.trace["score"])
    np.testing.assert_array_equal(first.near.scores, second.near.scores)
    generator = search(stats, seed=np.random.default_rng(5), settings=QUICK)
    assert generator.graph == first.graph


@pytest.mark.parametrize("p", [8, 24])
def test_threads_change_nothing(p):
    stats, _ = world(p, 4, 0.2, 1)
    settings = SearchSettings(kicks=700, lanes=3, round_length=60)
    one, two, many = (search(stats, seed=2, n_jobs=k, settings=settings) for k in (1, 2, 5))
    for other in (two, many):
        assert other.graph == one.graph
        assert other.score == one.score
        assert other.kicks == one.kicks == 700
        np.testing.assert_array_equal(other.trace["score"], one.trace["score"])
        np.testing.assert_array_equal(other.near.scores, one.near.scores)


def without_edge(state, head):
    """A copy of a state without the last edge into a head."""
    result = deepcopy(state)
    result.n_tails[head] -= 1
    return result


def test_gains_of_lanes_far_apart_are_merged():
    """Of two missing edges each lane has found one: after the merge both are there."""
    stats, _ = world(16, 4, 0.2, 0)
    run = driver._Run(
        stats, "structural", 6, np.random.default_rng(0), 1, SearchSettings(lanes=2), 0.0
    )
    run.team.begin()
    ours, theirs = run.team.lanes
    whole, score_of_whole = deepcopy(ours.work.best), ours.best
    one, two = np.flatnonzero(whole.n_tails > 1)[[0, -1]]
    reference = without_edge(without_edge(whole, one), two)
    ours.copy(without_edge(whole, one))
    theirs.copy(without_edge(whole, two))
    assert min(ours.best, theirs.best) > score_of_whole + 1.0
    ours.merge(theirs.work.best, reference)
    assert ours.best <= score_of_whole + 0.02


def test_inputs_stay_as_they_are():
    stats, model = world(6, 2, 0.2, 0)
    S, directed = stats.S.copy(), model.graph.directed.copy()
    forbidden = np.zeros((6, 6), bool)
    settings = SearchSettings(kicks=20, start=model.graph, knowledge=Knowledge(None, forbidden))
    search(stats, settings=settings)
    np.testing.assert_array_equal(stats.S, S)
    np.testing.assert_array_equal(model.graph.directed, directed)
    assert not forbidden.any()


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
def test_an_identifiable_graph_is_recovered(penalty):
    """Up to edges that cost the dimension as much as a latent over their ends."""
    stats, graph = chain()
    found = search(stats, penalty=penalty, settings=QUICK)
    assert found.score == pytest.approx(score(stats, graph, penalty=penalty), abs=1e-6)
    if penalty == "structural":
        assert found.graph == graph


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
def test_a_common_cause_is_found(penalty):
    """Four children of one latent: six covariances, no cheaper explanation."""
    children = np.ones((1, 5), bool)
    model = LinearSCM(
        LatentGraph(np.zeros((5, 5), bool), children), np.zeros((5, 5)), children * 0.8, np.ones(5)
    )
    stats = GaussianStats.from_covariance(model.covariance(), 10_000)
    found = search(stats, penalty=penalty, settings=QUICK)
    assert found.score <= score(stats, model.graph, penalty=penalty) + 1e-6


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
def test_a_two_cycle_is_found(penalty):
    """Each end of the loop has its own cause, which identifies it."""
    graph = LatentGraph.from_edges([("a", "b"), ("c", "d"), ("b", "d"), ("d", "b")])
    model = LinearSCM(graph, 0.6 * graph.directed, np.zeros((0, 4)), np.ones(4))
    stats = GaussianStats.from_covariance(model.covariance(), 10_000, names=graph.names)
    found = search(stats, penalty=penalty, settings=SearchSettings(kicks=2000))
    assert found.score == pytest.approx(score(stats, graph, penalty=penalty), abs=1e-6)


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
@pytest.mark.parametrize("seed", range(3))
def test_the_polished_truth_is_reached(penalty, seed):
    stats, model = world(8, 4, 0.2, seed)
    polished = SearchSettings(kicks=0, start=model.graph)
    truth = search(stats, penalty=penalty, settings=polished).score
    settings = SearchSettings(kicks=2000, target=truth + 0.01)
    found = search(stats, penalty=penalty, settings=settings)
    assert found.score <= truth + 0.02


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_the_variables_does_not_matter_in_easy_cases(seed):
    stats, _ = world(6, 2, 0.2, seed)
    order = np.random.default_rng(seed).permutation(6)
    settings = SearchSettings(kicks=10_000)
    one, two = (search(data, settings=settings) for data in (stats, stats.permuted(order)))
    assert one.score == pytest.approx(two.score, abs=1e-4)


def test_units_do_not_matter():
    stats, _ = world(6, 4, 0.2, 1)
    scale = np.array([1e-3, 1.0, 50.0, 2.0, 1e4, 0.3])
    other = GaussianStats.from_covariance(stats.S * scale * scale[:, None], stats.n, stats.names)
    one, two = (search(data, settings=SearchSettings(kicks=2000)) for data in (stats, other))
    assert one.score == pytest.approx(two.score, abs=1e-4)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_max_latents_is_kept(limit):
    stats, _ = world(10, 2, 0.3, 0)
    found = search(stats, max_latents=limit, settings=QUICK)
    assert found.graph.n_latent <= limit
    assert all(graph.n_latent <= limit for graph in found.near.graphs)


def test_loops_are_kept_small():
    graph = dense_cycles(12, 0, loop_size=6, share=1.0)
    stats = GaussianStats.from_data(random_scm(graph, 0).sample(5_000, 0), center=False)
    sizes = {}
    for largest in (2, 12):
        found = search(stats, settings=SearchSettings(kicks=300, largest_loop=largest))
        graphs = (found.graph, *found.near.graphs)
        sizes[largest] = max(
            len(loop) for graph in graphs for loop in graph.strongly_connected_components()
        )
    assert sizes[2] <= 2 < sizes[12]


def test_knowledge_is_respected():
    stats, model = world(8, 4, 0.2, 1)
    rng = np.random.default_rng(0)
    forbidden = model.graph.directed & (rng.random((8, 8)) < 0.5)
    required = ~forbidden & (rng.random((8, 8)) < 0.1) & ~np.eye(8, dtype=bool)
    settings = SearchSettings(kicks=200, knowledge=Knowledge(required, forbidden))
    found = search(stats, settings=settings)
    for graph in (found.graph, *found.near.graphs):
        assert not (graph.directed & forbidden).any()
        assert not (required & ~graph.directed).any()


def test_the_price_of_an_edge_can_be_chosen():
    stats, _ = world(8, 4, 0.2, 0)
    found = {
        weight: search(
            stats, penalty="structural", settings=SearchSettings(kicks=100, weight=weight)
        )
        for weight in ("paper", "bic", "ebic", 40.0)
    }
    assert found["bic"].score == found["paper"].score
    assert found["ebic"].graph.complexity <= found["paper"].graph.complexity
    assert found[40.0].graph.complexity < found["paper"].graph.complexity
    prices = {"paper": 0.5 * np.log(stats.n), "ebic": 0.5 * np.log(stats.n) + np.log(8), 40.0: 40.0}
    for weight, unit in prices.items():
        graph, result = found[weight].graph, found[weight].fit
        divergence = result.nll - stats.n * stats.saturated
        assert found[weight].score == pytest.approx(divergence + unit * graph.complexity)


def test_unless_told_the_search_minimises_the_dimension_at_the_price_of_ebic():
    stats, _ = world(8, 4, 0.2, 0)
    found = search(stats, settings=QUICK)
    told = SearchSettings(kicks=60, weight="ebic")
    assert found.score == search(stats, penalty="dimension", settings=told).score
    told = SearchSettings(kicks=60, weight="paper")
    paper = search(stats, penalty="structural", settings=told)
    assert search(stats, penalty="structural", settings=QUICK).score == paper.score


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
@pytest.mark.parametrize("seed", range(3))
def test_no_graph_of_three_variables_is_better(penalty, seed):
    """All graphs of three variables with at most one latent, by enumeration."""
    rng = np.random.default_rng(seed)
    graphs = list(candidate_class(3, 1))
    true = graphs[rng.integers(len(graphs))]
    stats = GaussianStats.from_data(random_scm(true, rng).sample(2_000, rng), center=False)
    best = min(score(stats, graph, penalty=penalty) for graph in graphs)
    settings = SearchSettings(kicks=1000)
    found = search(stats, penalty=penalty, max_latents=1, settings=settings)
    assert found.score == pytest.approx(best, abs=1e-3)


def test_a_time_limit_ends_the_search():
    stats, _ = world(12, 4, 0.3, 0)
    found = search(stats, time_limit=0.2)
    assert found.outcome is Outcome.TIME_LIMIT
    assert found.seconds < 2.0
    assert found.score <= search(stats, settings=SearchSettings(kicks=0)).score


@pytest.mark.parametrize("lanes", [1, 2])
def test_an_interrupt_returns_the_best_so_far(monkeypatch, lanes):
    stats, _ = world(8, 4, 0.2, 0)
    calls = []

    def interrupted(*arguments):
        calls.append(len(calls))
        if len(calls) == 3:
            raise KeyboardInterrupt
        original(*arguments)

    original = lane.advance
    monkeypatch.setattr(lane, "advance", interrupted)
    settings = SearchSettings(lanes=lanes)
    found = search(stats, time_limit=60.0, n_jobs=lanes, settings=settings)
    assert found.outcome is Outcome.INTERRUPTED
    assert found.score <= score(stats, LatentGraph(np.zeros((8, 8), bool)), penalty="dimension")


def test_a_wrong_score_is_an_error(monkeypatch):
    stats, _ = world(6, 2, 0.2, 0)
    original = driver.matrices_of
    monkeypatch.setattr(
        driver, "matrices_of", lambda state: (1.01 * original(state)[0], original(state)[1])
    )
    with pytest.raises(RuntimeError, match="re-evaluation"):
        search(stats, settings=QUICK)


def test_near_optimal_graphs_are_distinct_and_sorted():
    stats, _ = world(10, 4, 0.2, 0)
    found = search(stats, penalty="structural", settings=SearchSettings(kicks=200, keep=10))
    near = found.near
    assert len({graph.canonical() for graph in near.graphs}) == len(near.graphs) == 10
    assert (np.diff(near.scores) >= 0).all()
    assert near.scores[0] == pytest.approx(found.score, abs=0.5)
    assert near.weights.sum() == pytest.approx(1.0)
    edges, loops = near.edge_frequencies(), near.two_cycle_frequencies()
    assert ((edges >= 0) & (edges <= 1 + 1e-12)).all()
    assert (loops <= np.minimum(edges, edges.T) + 1e-12).all()
    confounded = near.confounding_frequencies()
    np.testing.assert_allclose(confounded, confounded.T)
    for graph, value in zip(near.graphs, near.scores, strict=True):
        assert score(stats, graph) <= value + 0.1  # the search fits only what it changed


def test_progress_is_told():
    class Record:
        def __init__(self):
            self.events = []

        def start(self, total, what):
            self.events.append(("start", total))

        def advance(self, count=1):
            self.events.append(("advance", count))

        def finish(self):
            self.events.append(("finish", 0))

    record = Record()
    search(world(6, 2, 0.2, 0)[0], settings=QUICK, progress=record)
    assert record.events[0] == ("start", 100)
    assert record.events[-1][0] == "finish"
    assert sum(count for kind, count in record.events if kind == "advance") == 100


@pytest.mark.parametrize(
    "options",
    [
        {"kicks": -1},
        {"weight": -1.0},
        {"keep": 0},
        {"largest_set": 1},
        {"knowledge": 3},
        {"start": 3},
        {"heat": -0.1},
        {"weight": "aic"},
        {"lanes": 0},
        {"largest_loop": 0},
        {"without": (99,)},
        {"without": tuple(range(KINDS))},
    ],
)
def test_bad_settings_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        SearchSettings(**options)


def test_contradictions_are_refused():
    stats, _ = world(6, 2, 0.2, 0)
    edge = np.zeros((6, 6), bool)
    edge[0, 1] = True
    with pytest.raises(GraphError, match="both required and forbidden"):
        search(stats, settings=SearchSettings(knowledge=Knowledge(edge, edge)))
    with pytest.raises(GraphError, match="contradicts"):
        search(
            stats,
            settings=SearchSettings(start=LatentGraph(edge), knowledge=Knowledge(None, edge)),
        )
    with pytest.raises(GraphError, match="6 x 6"):
        search(stats, settings=SearchSettings(knowledge=Knowledge(edge[:3])))
    with pytest.raises(GraphError, match="at most 0 latents"):
        search(
            stats,
            max_latents=0,
            settings=SearchSettings(start=LatentGraph(edge, np.ones((1, 6), bool))),
        )


def test_singular_covariances_are_refused():
    rng = np.random.default_rng(0)
    stats = GaussianStats.from_data(rng.normal(size=(4, 8)))
    with pytest.raises(DataError, match="full rank"):
        search(stats)


WALK = """
import sys
sys.path.insert(0, {folder!r})
from search_worlds import world
from loopscm.search import SearchSettings
from loopscm.search.driver import search
found = search(world(24, 4, 0.3, 0)[0], settings=SearchSettings(kicks=600))
print(found.fits, repr(found.score), found.trace["kicks"].tolist())
"""


@pytest.mark.slow
def test_the_process_that_compiles_walks_as_those_after_it(tmp_path):
    code = WALK.format(folder=str(Path(__file__).parent))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    one, two = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert any(tmp_path.iterdir())
    assert one == two
