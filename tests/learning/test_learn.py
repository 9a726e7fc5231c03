"""The front door: every method follows the same contract."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from loopscm import GaussianStats, score
from loopscm.errors import DataError, OptionError
from loopscm.gates.estimators import LocalExpectation
from loopscm.gates.settings import GateSettings
from loopscm.learning import LearnStatus, learn, method_names
from loopscm.search import SearchSettings
from loopscm.simulate import random_graph, random_scm

QUICK = GateSettings(updates=80, estimator=LocalExpectation(), learning_rate=0.05)
METHODS = {
    "search": {"settings": SearchSettings(kicks=100)},
    "paper": {},
    "bernoulli": {"max_latents": 0, "settings": QUICK},
    "concrete": {"max_latents": 2, "settings": QUICK},
}


@pytest.fixture(scope="module")
def stats():
    rng = np.random.default_rng(0)
    model = random_scm(random_graph(4, 2, 0.25, rng), rng)
    return GaussianStats.from_data(model.sample(2000, rng), center=False)


def test_every_method_is_tried():
    assert set(METHODS) == set(method_names())


@pytest.mark.parametrize("method", METHODS)
def test_conformance(method, stats):
    before = stats.S.copy()
    found = learn(stats, method=method, seed=3, **METHODS[method])
    np.testing.assert_array_equal(stats.S, before)
    assert found.method == method
    assert found.status is LearnStatus.FINISHED
    assert found.graph == found.scm.graph
    assert found.graph.names == stats.names
    assert (found.graph.children.sum(axis=1) >= 2).all()
    assert found.penalty == ("dimension" if method == "search" else "structural")
    assert found.score == pytest.approx(score(stats, found.graph, penalty=found.penalty), abs=0.1)
    assert found.seconds > 0
    assert all(np.asarray(column).dtype == np.float64 for column in found.trace.values())
    again = learn(stats, method=method, seed=3, n_jobs=2, **METHODS[method])
    assert again.graph == found.graph
    assert again.score == found.score
    for name, column in found.trace.items():
        if name != "seconds":
            np.testing.assert_array_equal(column, again.trace[name])
    copy = pickle.loads(pickle.dumps(found))
    assert copy.graph == found.graph
    assert "score" in repr(found)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "search"])
def test_a_stopped_search_resumes_to_the_same_result(method, stats):
    options = METHODS[method]
    stopped = learn(stats, method=method, time_limit=0.02, **options)
    resumed = learn(stats, method=method, resume=stopped.state, **options)
    whole = learn(stats, method=method, **options)
    assert resumed.status is LearnStatus.FINISHED
    np.testing.assert_array_equal(resumed.state.parameters.theta, whole.state.parameters.theta)
    assert resumed.score == whole.score


def test_paper_is_bernoulli_without_latents_and_concrete_with(stats):
    assert learn(stats, method="paper", max_latents=0, time_limit=0).settings.refinement is not None
    found = learn(stats, method="paper", max_latents=3, time_limit=0)
    assert found.settings.refinement is None
    assert found.status is LearnStatus.TIME_LIMIT
    assert found.state.parameters.shape.slots == 3


def test_the_default_is_the_search_and_it_is_better(stats):
    found = learn(stats)
    assert found.method == "search"
    published = learn(stats, method="paper").graph
    assert found.score <= score(stats, published, penalty=found.penalty) + 1e-6
    assert found.near is not None and found.near.graphs[0].n_observed == stats.p


def test_the_search_minimises_the_penalty_of_the_paper_when_asked(stats):
    found = learn(stats, penalty="structural")
    assert found.penalty == "structural"
    assert found.score <= learn(stats, method="paper").score + 1e-6


def test_the_penalty_selects_what_is_reported(stats):
    options = {"method": "concrete", "max_latents": 2, "settings": QUICK}
    found = learn(stats, penalty="dimension", **options)
    assert found.score == pytest.approx(score(stats, found.graph, penalty="dimension"), abs=0.1)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "greedy"},
        {"method": 3},
        {"penalty": "bic"},
        {"max_latents": -1},
        {"max_latents": 1.5},
        {"time_limit": -1.0},
        {"n_jobs": 0},
        {"n_jobs": -2},
        {"n_jobs": True},
        {"seed": -1},
        {"method": "bernoulli", "max_latents": 2, "match": "concrete"},
        {"method": "concrete", "max_latents": 0, "match": "bernoulli"},
        {"method": "paper", "settings": QUICK, "match": "published"},
        {"settings": QUICK, "match": "SearchSettings"},
        {"progress": "bar"},
        {"method": "concrete", "settings": {"updates": 3}, "match": "GateSettings"},
        {"resume": 3},
    ],
)
def test_bad_options_are_refused_before_any_work(options, stats):
    options = dict(options)
    match = options.pop("match", next(iter(options)))
    with pytest.raises(OptionError, match=match):
        learn(stats, **options)


def test_an_unknown_method_is_answered_with_those_there_are(stats):
    with pytest.raises(OptionError, match="'search', 'paper', 'bernoulli', 'concrete'"):
        learn(stats, method="greedy")


def test_stats_are_required():
    with pytest.raises(DataError, match="GaussianStats"):
        learn(np.eye(3))  # type: ignore[arg-type]


def test_the_front_door_loads_no_method():
    code = (
        "import sys, loopscm.learning; "
        "assert not any(m.startswith(('loopscm.gates', 'torch')) for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
