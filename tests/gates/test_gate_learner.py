"""The driver, the support refinement, and the extraction."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from gate_worlds import problem_and_parameters

from loopscm import GaussianStats, LatentGraph, score
from loopscm.errors import OptionError, UnboundedLikelihoodError
from loopscm.gates.driver import problem_of, run, start_or_resume, step
from loopscm.gates.estimators import LeaveOneOut, LocalExpectation, StraightThrough, Workers
from loopscm.gates.extraction import extract, refitted
from loopscm.gates.parameters import GateParameters
from loopscm.gates.refinement import best_branch, continued, plateaued
from loopscm.gates.settings import (
    GateSettings,
    Refinement,
    published_settings,
    published_slots,
    published_updates,
)
from loopscm.likelihood.gaussian import likelihood
from loopscm.simulate import random_graph, random_scm

ESTIMATORS = [LeaveOneOut(32), StraightThrough(32), LocalExpectation(4)]


def world(p=6, ratio=0.2, seed=0, n=2000):
    rng = np.random.default_rng(seed)
    model = random_scm(random_graph(p, 3, ratio, rng), rng)
    return model, GaussianStats.from_data(model.sample(n, rng), center=False)


def settings_of(estimator, **options):
    options = {"learning_rate": 0.05, "updates": 60, **options}
    return GateSettings(estimator=estimator, **options)


def learned(stats, settings, slots, seed=0, resume=None, **options):
    return run(stats, settings, start_or_resume(stats, settings, slots, seed, resume), **options)


def assert_same_run(a, b):
    np.testing.assert_array_equal(a.state.parameters.theta, b.state.parameters.theta)
    for name, column in a.state.trace.arrays().items():
        np.testing.assert_array_equal(column, b.state.trace.arrays()[name])
    assert a.best.graph == b.best.graph
    assert a.best.score == b.best.score


@pytest.mark.parametrize("slots", [0, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_every_estimator_lowers_the_objective_of_both_learners(estimator, slots):
    _, stats = world()
    found = learned(stats, settings_of(estimator, updates=250), slots)
    objective = found.state.trace.arrays()["objective"]
    assert np.isfinite(objective).all()
    assert np.mean(objective[-20:]) < np.mean(objective[:20])
    assert found.finished
    assert found.best.graph.n_latent <= slots


@pytest.mark.parametrize("slots", [0, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_same_seed_same_bits_for_any_threads_and_chunks(estimator, slots):
    _, stats = world()
    settings = settings_of(estimator)
    one = learned(stats, settings, slots)
    assert_same_run(one, learned(stats, replace(settings, chunk=5), slots, n_jobs=2))
    other = learned(stats, settings, slots, seed=1)
    assert (one.state.parameters.theta != other.state.parameters.theta).any()


def test_a_saved_state_continues_bit_for_bit():
    _, stats = world(ratio=0.0)
    plan = Refinement(window=10, tolerance=0.5, deletions=2, reversals=2)
    whole = settings_of(LeaveOneOut(32), updates=80, refinement=plan, edge_probability=0.6)
    first = learned(stats, replace(whole, updates=33), 0)
    again = learned(stats, whole, 0, resume=pickle.loads(pickle.dumps(first.state)))
    assert_same_run(learned(stats, whole, 0), again)
    assert len(first.state.trace.objective) == 33  # the earlier state has not changed
    plain = replace(whole, refinement=None)
    with pytest.raises(OptionError, match="latent slots"):
        learned(stats, plain, 2, resume=first.state)
    with pytest.raises(OptionError, match="resume"):
        learned(stats, whole, 0, resume="state")
    with pytest.raises(OptionError, match="other data"):
        learned(world(ratio=0.0, seed=1)[1], whole, 0, resume=first.state)
    with pytest.raises(OptionError, match="other units"):
        learned(stats, replace(whole, units="standardised"), 0, resume=first.state)


RESUME = """
import pickle, sys
from pathlib import Path
from loopscm.gates import run, start_or_resume
stats, settings, state = pickle.loads(Path(sys.argv[1]).read_bytes())
found = run(stats, settings, start_or_resume(stats, settings, 3, 0, state), n_jobs=2)
Path(sys.argv[1]).write_bytes(pickle.dumps(found))
"""


def test_a_state_goes_through_a_file_to_another_process_and_back(tmp_path):
    _, stats = world()
    whole = settings_of(StraightThrough(16), updates=50)
    stopped = learned(stats, replace(whole, updates=20), 3)
    path = tmp_path / "state.pickle"
    path.write_bytes(pickle.dumps((stats, whole, stopped.state)))
    subprocess.run([sys.executable, "-c", RESUME, str(path)], check=True)
    assert_same_run(learned(stats, whole, 3), pickle.loads(path.read_bytes()))


def test_a_resumed_search_compares_candidates_under_the_penalty_it_is_given():
    _, stats = world(ratio=0.0)
    plan = Refinement(window=10, tolerance=0.5)
    settings = settings_of(LeaveOneOut(32), refinement=plan, edge_probability=0.6)
    first = learned(stats, settings, 0)
    again = learned(stats, settings, 0, resume=first.state, penalty="dimension")
    assert again.best.score == pytest.approx(
        score(stats, again.best.graph, penalty="dimension"), abs=1e-6
    )


class Meter:
    total, done, finished = 0, 0, False

    def start(self, total, what):
        self.total = total

    def advance(self, count=1):
        self.done += count

    def finish(self):
        self.finished = True


def test_time_limit_and_progress():
    _, stats = world()
    meter = Meter()
    found = learned(stats, settings_of(LocalExpectation()), 1, progress=meter)
    assert (meter.total, meter.done, meter.finished) == (60, 60, True)
    stopped = learned(stats, settings_of(LocalExpectation(), updates=10**6), 1, time_limit=0.0)
    assert found.finished
    assert not stopped.finished
    assert stopped.state.updates == 0


def test_a_state_beyond_the_budget_of_updates_gives_its_answer_at_once():
    _, stats = world()
    settings, meter = settings_of(LocalExpectation()), Meter()
    found = learned(stats, settings, 1)
    shorter = replace(settings, updates=20)
    assert_same_run(found, learned(stats, shorter, 1, resume=found.state, progress=meter))
    assert (meter.total, meter.done) == (0, 0)


def test_trace_holds_the_smallest_singular_value_of_the_masks():
    _, stats = world()
    settings = settings_of(StraightThrough(16, forward="relaxed"), monitor_every=7)
    trace = learned(stats, settings, 2).state.trace.arrays()
    np.testing.assert_array_equal(trace["monitored"], np.arange(0, 60, 7))
    assert (trace["sigma_min"] > 0).all()
    assert trace["expected_edges"][0] == pytest.approx(30 * 0.01 + 2 * 0.99 * 6 * 0.5)
    assert trace["expected_latents"][0] == pytest.approx(2 * 0.99)


def test_norm_restriction_bounds_every_mask():
    _, stats = world(ratio=0.0)
    settings = settings_of(
        LocalExpectation(), norm_margin=0.4, coefficient_scale=2.0, monitor_every=1
    )
    found = learned(stats, settings, 0)
    norm = np.linalg.norm(np.abs(found.state.parameters.W), 2)
    assert norm <= 0.6 + 1e-12
    assert found.state.trace.arrays()["sigma_min"].min() >= 0.4 - 1e-12
    free = learned(stats, replace(settings, norm_margin=None), 0)
    resumed = start_or_resume(stats, settings, 0, 0, free.state)
    assert np.linalg.norm(np.abs(resumed.parameters.W), 2) <= 0.6 + 1e-12
    again = start_or_resume(stats, settings, 0, 0, found.state)
    np.testing.assert_array_equal(again.parameters.theta, found.state.parameters.theta)


def test_norm_restriction_outlives_a_refinement():
    """A branch brings the coefficients of its refit, which knows no restriction."""
    _, stats = world(p=5, ratio=0.0)
    plan = Refinement(window=5, tolerance=0.5)
    settings = settings_of(
        LeaveOneOut(32), refinement=plan, edge_probability=0.7, norm_margin=0.7, monitor_every=1
    )
    found = learned(stats, settings, 0)
    assert found.state.parameters.allowed.sum() < 20
    assert found.state.trace.arrays()["sigma_min"].min() >= 0.7 - 1e-12


def test_noise_variances_stay_above_their_floor():
    _, stats = world()
    settings = settings_of(LocalExpectation(), noise_floor=0.3, updates=200)
    found = learned(stats, settings, 2)
    problem = problem_of(stats, settings)
    assert (found.state.parameters.omega(problem.floor) > 0.3 * np.diagonal(stats.S)).all()


def test_standardised_units_ignore_the_units_of_the_data():
    _, stats = world()
    scale = np.array([1.0, 100.0, 0.01, 3.0, 1.0, 1e4])
    other = GaussianStats.from_covariance(stats.S * scale * scale[:, None], stats.n, centered=False)
    settings = settings_of(LocalExpectation(), units="standardised")
    a, b = learned(stats, settings, 2), learned(other, settings, 2)
    np.testing.assert_allclose(
        a.state.parameters.theta, b.state.parameters.theta, rtol=1e-6, atol=1e-6
    )
    assert a.best.graph == b.best.graph
    assert a.best.score == pytest.approx(b.best.score, abs=1e-4)


def test_one_step_leaves_its_state_alone():
    _, stats = world()
    settings = settings_of(LocalExpectation())
    state = start_or_resume(stats, settings, 2, 0)
    theta = state.parameters.theta.copy()
    with Workers() as workers:
        after, _, _ = step(problem_of(stats, settings), settings, state, workers)
    np.testing.assert_array_equal(state.parameters.theta, theta)
    assert (after.updates, state.updates) == (1, 0)


# ---- extraction ------------------------------------------------------------------------------


def test_useless_latents_go_without_changing_the_covariance():
    stats, problem, parameters = problem_and_parameters(5, 5, 0)
    alpha, beta, gamma = parameters.shape.split(parameters.logits)
    alpha[:] = np.where(alpha > 1, 3.0, -3.0)
    beta[:] = -3.0
    beta[0, :3] = beta[1, 2] = beta[3, :2] = beta[4, 3:] = 3.0  # 3, 1, 0, 2, 2 children
    gamma[:] = [3.0, 3.0, 3.0, -3.0, 3.0]  # the fourth is off
    settings = GateSettings(updates=0)
    model = extract(problem, parameters, settings, stats.names)
    assert model.graph.children.sum(axis=1).tolist() == [3, 2]
    gates = (parameters.probabilities > 0.5).astype(float)
    M, H, Z = parameters.shape.split(gates)
    loadings = Z[:, None] * H * parameters.Gamma
    psi = np.diag(parameters.omega(problem.floor)) + loadings.T @ loadings
    np.testing.assert_allclose(model.noise_covariance(), psi, rtol=1e-12)
    np.testing.assert_array_equal(model.graph.directed, M.T > 0)


def test_thresholds_apply_to_probabilities_and_coefficients():
    stats, problem, parameters = problem_and_parameters(3, 1, 0)
    alpha, beta, gamma = parameters.shape.split(parameters.logits)
    alpha[:], beta[:], gamma[:] = 1.0, 1.0, 1.0
    W, Gamma = parameters.W, parameters.Gamma
    W[:], Gamma[:] = 1.0, 1.0
    W[0, 1], W[1, 2] = 0.9e-4, 1.1e-4
    Gamma[0, 2] = -0.9e-4
    alpha[0, 2] = -0.01  # 2 -> 0
    graph = extract(problem, parameters, GateSettings(updates=0), stats.names).graph
    expected = ~np.eye(3, dtype=bool)
    expected[0, 1] = expected[2, 0] = False
    np.testing.assert_array_equal(graph.directed, expected)
    np.testing.assert_array_equal(graph.children, [[True, True, False]])


def test_refit_is_never_worse_than_what_was_extracted():
    model, stats = world(seed=3)
    candidate = refitted(stats, model.graph, model, "structural")
    assert candidate.fit.nll <= stats.n * likelihood(stats.S, model)


# ---- refinement ------------------------------------------------------------------------------


def test_plateau_compares_two_windows_since_the_last_event():
    plan = Refinement(window=5, tolerance=1e-3)
    flat = [100.0] * 10
    assert plateaued(flat, 0, plan)
    assert not plateaued(flat, 1, plan)
    assert not plateaued(list(np.linspace(200, 100, 10)), 0, plan)
    assert not plateaued([np.inf] * 10, 0, plan)


def test_refinement_deletes_a_superfluous_edge_for_good():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4))
    X[:, 1] += 0.8 * X[:, 0]
    X[:, 2] += 0.8 * X[:, 1]
    stats = GaussianStats.from_data(X, center=False)
    edges = np.zeros((4, 4), bool)
    edges[0, 1] = edges[1, 2] = edges[2, 3] = True
    base = refitted(stats, LatentGraph(edges), None, "structural")
    branch = best_branch(stats, base, Refinement(), "structural", ~np.eye(4, dtype=bool))
    assert branch is not None
    assert branch.deleted == (2, 3)
    settings = GateSettings(updates=0)
    problem = problem_of(stats, settings)
    parameters = start_or_resume(stats, settings, 0, 0).parameters
    moved = continued(problem, parameters, branch)
    assert moved.q[2, 3] == 0.0
    assert moved.q[3, 2] > 0.0
    assert parameters.q[2, 3] > 0.0  # the argument is unchanged
    kept = branch.candidate.graph.directed
    np.testing.assert_allclose(
        moved.W[kept], branch.candidate.fit.scm.coefficients[kept], rtol=1e-12
    )
    assert best_branch(stats, branch.candidate, Refinement(), "structural", kept) is None


def test_a_reversal_gives_the_new_edge_the_logit_of_the_old():
    """From 0 -> 2 <- 1 with the data of 0 <- 2 -> 1 and an extra edge."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5000, 3))
    X[:, 0] += 0.9 * X[:, 2]
    X[:, 1] += 0.9 * X[:, 2]
    stats = GaussianStats.from_data(X, center=False)
    edges = np.zeros((3, 3), bool)
    edges[0, 2] = edges[1, 2] = edges[0, 1] = True
    base = refitted(stats, LatentGraph(edges), None, "structural")
    plan = Refinement(deletions=0)
    branch = best_branch(stats, base, plan, "structural", ~np.eye(3, dtype=bool))
    assert branch is not None
    assert branch.reversed is not None
    i, j = branch.reversed
    assert branch.candidate.graph.directed[j, i]
    assert branch.candidate.graph.n_edges == 2
    settings = GateSettings(updates=0)
    start = start_or_resume(stats, settings, 0, 0).parameters
    theta = start.theta.copy()
    parameters = GateParameters(start.shape, theta, start.allowed)
    start.shape.split(parameters.logits)[0].T[i, j] = 4.0
    moved = continued(problem_of(stats, settings), parameters, branch)
    assert moved.q[j, i] == parameters.q[i, j]
    assert moved.q[i, j] == parameters.q[j, i]


def test_deleted_edges_never_return_and_scores_fall():
    _, stats = world(p=5, ratio=0.0)
    plan = Refinement(window=5, tolerance=0.5)
    settings = settings_of(LeaveOneOut(32), refinement=plan, edge_probability=0.7, updates=200)
    found = learned(stats, settings, 0)
    plain = learned(stats, replace(settings, refinement=None), 0)
    off = ~found.state.parameters.shape.edges_allowed()
    assert found.state.parameters.allowed.sum() < plain.state.parameters.allowed.sum()
    assert (found.state.parameters.probabilities[off] == 0).all()
    assert found.best.score <= plain.best.score + 1e-6


# ---- settings --------------------------------------------------------------------------------


def test_published_numbers():
    table = {4: 1000, 8: 1500, 16: 3000, 32: 4000, 64: 6000, 128: 8000, 256: 10000, 512: 10000}
    assert {p: published_updates(p) for p in table} == table
    sizes = [published_updates(p) for p in range(2, 600)]
    assert sizes == sorted(sizes)
    assert published_updates(100) == 7300
    assert [published_slots(p, r) for p, r in ((8, 0.2), (16, 0.3), (10, 0.1), (8, 0.0))] == [
        5, 11, 3, 0,
    ]  # fmt: skip
    observed, latent = published_settings(16, 0), published_settings(16, 7)
    assert observed.estimator == LeaveOneOut(256)
    assert observed.refinement == Refinement(50, 1e-4, 10, 10)
    assert latent.estimator == StraightThrough(256, 1.0, None, "hard")
    assert latent.refinement is None
    for settings in (observed, latent):
        assert settings.learning_rate == 1e-2
        assert settings.edge_probability == 0.01
        assert settings.loading_probability == 0.5
        assert settings.latent_probability == 0.99
        assert settings.coefficient_scale == 0.5
        assert settings.gate_threshold == 0.5
        assert settings.coefficient_threshold == 1e-4


@pytest.mark.parametrize(
    "options",
    [
        {"updates": -1},
        {"updates": 1.5},
        {"learning_rate": 0.0},
        {"edge_probability": 0.0},
        {"edge_probability": 1.0},
        {"loading_probability": -0.2},
        {"latent_probability": 1.2},
        {"coefficient_scale": -1.0},
        {"noise_floor": 0.0},
        {"norm_margin": 1.0},
        {"gate_threshold": float("nan")},
        {"coefficient_threshold": -1e-4},
        {"units": "log"},
        {"chunk": 0},
        {"monitor_every": 0},
        {"estimator": "score"},
        {"estimator": LeaveOneOut},
        {"refinement": True},
    ],
)
def test_bad_settings_are_refused_at_once(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        GateSettings(**{"updates": 10, **options})


@pytest.mark.parametrize(
    "options", [{"window": 0}, {"tolerance": -1}, {"deletions": -1}, {"reversals": -2}]
)
def test_bad_refinements_are_refused_at_once(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        Refinement(**options)


def test_bad_arguments_of_the_parts_are_refused_at_once():
    _, stats = world()
    settings = settings_of(LeaveOneOut(8))
    state = start_or_resume(stats, settings, 0, 0)
    refused = {
        "latent slots": lambda: start_or_resume(stats, settings, -1, 0),
        "support refinement": lambda: start_or_resume(
            stats, replace(settings, refinement=Refinement()), 2, 0
        ),
        "time_limit": lambda: run(stats, settings, state, time_limit=-1.0),
        "n_jobs": lambda: run(stats, settings, state, n_jobs=0),
        "chunk": lambda: Workers(1, 0),
        "penalty": lambda: run(stats, settings, state, penalty="bic"),  # type: ignore[arg-type]
        "ratio": lambda: published_slots(8, -0.2),
        "slots": lambda: published_settings(8, -1),
        "p must": lambda: published_updates(0),
    }
    for match, call in refused.items():
        with pytest.raises(OptionError, match=match):
            call()


def test_supports_that_few_observations_cannot_bear_stop_only_the_answer():
    """At plateaus they are passed over; a final one is an error that says what to do."""
    stats = GaussianStats.from_data(np.random.default_rng(0).standard_normal((3, 5)))
    plan = Refinement(window=5, tolerance=0.9)
    settings = settings_of(LeaveOneOut(16), refinement=plan, updates=40, edge_probability=0.9)
    meter = Meter()
    with pytest.raises(UnboundedLikelihoodError, match="Remove parents or add observations"):
        learned(stats, settings, 0, progress=meter)
    assert (meter.done, meter.finished) == (40, True)


def test_an_earlier_candidate_answers_for_a_final_support_that_cannot_be_fitted():
    rng = np.random.default_rng(0)
    stats = GaussianStats.from_data(rng.standard_normal((3, 5)))
    settings = settings_of(LeaveOneOut(16), updates=40, edge_probability=0.9)
    state = start_or_resume(stats, settings, 0, 0)
    earlier = refitted(stats, LatentGraph(np.zeros((5, 5), bool)), None, "structural")
    found = run(stats, settings, replace(state, best=earlier))
    assert found.best.graph == earlier.graph
    assert found.best.score == earlier.score
