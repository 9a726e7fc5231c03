"""Perturbations, time series, measurement noise, and the functional front."""

from __future__ import annotations

import numpy as np
import pytest
from gene_oracle import DATA
from scipy.stats import kstest

from loopscm.errors import DataError, OptionError, ParameterError
from loopscm.simulate import (
    GeneNetwork,
    Langevin,
    Perturbations,
    expression,
    measured,
    normalised,
)
from loopscm.simulate.genes.wiring import shifted

ALPHA = 1e-4


@pytest.fixture(scope="module")
def network():
    return GeneNetwork.from_json(DATA / "custom10_kinetics.json")


# ---- perturbations ----------------------------------------------------------------------------


def test_shifts_clip_basal_activation_and_every_state(network):
    wiring, rates = network._wired
    rng = np.random.default_rng(0)
    for _ in range(50):
        shift = rng.normal(0, 0.7, network.n_genes)
        alpha = shifted(wiring, rates.alpha, shift)
        for i, gene in enumerate(network.genes):
            u = np.clip(gene.alpha[0] + shift[i], 0, 1) - gene.alpha[0]
            expected = np.clip(np.array(gene.alpha) + u, 0, 1)
            start, stop = wiring.alpha_start[i : i + 2]
            np.testing.assert_allclose(alpha[start:stop], expected, atol=1e-15)


def test_laws_of_the_perturbations(network):
    weak = Perturbations.multifactorial(network, 500, 1)
    assert kstest(weak.shift.ravel() / 0.25, "norm").pvalue > ALPHA
    strong = Perturbations.strong(network, 2000, 2)
    basal = network.basal_activation()
    hit = strong.shift != 0
    assert abs(hit.mean() - 0.33) < 4 * np.sqrt(0.33 * 0.67 / hit.size)
    assert kstest((strong.shift + basal)[hit], "uniform").pvalue > ALPHA


def test_knockouts_remove_the_gene_and_knockdowns_halve_a_free_one():
    network = GeneNetwork.random([("A", "B"), ("B", "C"), ("C", "B")], 3)
    out = network.steady_states(Perturbations.knockouts(network))
    assert len(out.times) == 3
    gone = np.diagonal(out.mrna)
    assert (gone < 0.02).all()
    knocked = [network.fixed_point(transcription=row) for row in 1 - np.eye(3)]
    assert [root.mrna[i] for i, root in enumerate(knocked)] == [0.0, 0.0, 0.0]
    down = Perturbations.knockdowns(network, ["A"])
    assert (down.transcription == [[0.5, 1.0, 1.0]]).all()
    assert network.fixed_point(transcription=down.transcription[0]).mrna[0] == pytest.approx(0.5)


def test_sampling_experiments_last_as_long_as_their_deterministic_runs(network):
    """A perturbed sample scatters around the recorded state of its experiment."""
    some = Perturbations.multifactorial(network, 6, 4)
    calm = Langevin(noise=1e-5, step=0.1)
    states = network.stochastic_states(some, 5, settings=calm)
    recorded = network.steady_states(some)
    slow = recorded.times >= 100
    np.testing.assert_allclose(states.mrna[slow], recorded.mrna[slow], atol=2e-3)


def test_bad_perturbations_are_refused(network):
    with pytest.raises(ParameterError, match="unknown: 'Z'"):
        Perturbations.knockouts(network, ["Z"])
    with pytest.raises(ParameterError, match="knock-out"):
        Perturbations(np.zeros((1, 10)), -np.ones((1, 10)))
    with pytest.raises(OptionError, match="probability"):
        Perturbations.strong(network, 2, 0, probability=1.5)


# ---- time series ------------------------------------------------------------------------------


def test_deterministic_series_joins_two_trajectories(network):
    shift = np.where(np.arange(10) == 0, 0.6, 0.0)
    series = network.time_series(shift)
    assert (series.times == np.arange(0, 1001, 50)).all()
    np.testing.assert_allclose(series.mrna[0], network.wild_type().mrna)
    under = network.trajectory([450.0, 500.0], shift)
    np.testing.assert_allclose(series.mrna[9:11], under.mrna, atol=1e-9)
    released = (under.mrna[1], under.protein[1])
    after = network.trajectory([50.0, 500.0], start=released)
    np.testing.assert_allclose(series.mrna[[11, 20]], after.mrna, atol=1e-8)
    np.testing.assert_allclose(series.protein[[11, 20]], after.protein, atol=1e-8)


def test_release_between_two_print_times(network):
    shift = np.full(10, 0.5)
    series = network.time_series(shift, duration=100.0, every=40.0, until=60.0)
    at_release = network.trajectory([60.0], shift)
    released = (at_release.mrna[0], at_release.protein[0])
    late = network.trajectory([20.0], start=released).mrna[0]
    np.testing.assert_allclose(series.mrna[2], late, atol=1e-9)


def test_stochastic_series_with_vanishing_noise_follow_the_exact_one():
    """A network at rest, so that the burn-in moves nothing; the scheme's step is the error."""
    network = GeneNetwork.from_json(DATA / "dream4_size10_1_kinetics.json")
    shift = np.linspace(-0.5, 0.5, 10)
    settings = Langevin(noise=1e-7, step=0.05)
    options = {"duration": 200.0, "every": 25.0, "until": 90.0}
    noisy = network.time_series(shift, 6, settings=settings, **options)
    exact = network.time_series(shift, **options)
    np.testing.assert_allclose(noisy.mrna, exact.mrna, atol=3e-3)
    np.testing.assert_allclose(noisy.protein, exact.protein, atol=3e-3)


def test_series_reach_their_times_whatever_the_step():
    """Print times that are no multiples of the step: segments end exactly there."""
    network = GeneNetwork.from_json(DATA / "dream4_size10_1_kinetics.json")
    shift = np.full(10, 0.5)
    options = {"duration": 100.0, "every": 2.5, "until": 100.0}
    coarse = Langevin(noise=1e-9, step=1.0)
    noisy = network.time_series(shift, 6, settings=coarse, **options)
    exact = network.time_series(shift, **options)
    late = noisy.mrna[-1] - exact.mrna[-1]
    speed = (exact.mrna[-1] - exact.mrna[-2]) / 2.5
    assert np.abs(late).max() < 4 * np.abs(speed).max()  # 20 % off in time would be 20 times


def test_first_row_of_a_series_lies_on_it_only_in_state_mode(network):
    state = network.time_series(None, 7, duration=100.0)
    support = network.time_series(None, 7, duration=100.0, record="support")
    assert (state.times == support.times).all()
    assert (state.mrna != support.mrna).any()
    again = network.time_series(None, 7, duration=100.0)
    assert (state.mrna == again.mrna).all()


# ---- measurement ------------------------------------------------------------------------------


def test_measurement_noise_laws():
    v = np.full(20_000, 0.3)
    log_ratio = np.log10(measured(v, 1, "lognormal") / v)
    assert kstest(log_ratio / 0.075, "norm").pvalue > ALPHA
    assert kstest((measured(v, 2, "normal") - v) / 0.025, "norm").pvalue > ALPHA
    variance = 0.001 + (0.69 - 0.001) / (1 + 0.3 / 0.01)
    ratio = np.log(measured(v, 3, "microarray") / v)
    assert kstest(ratio / np.sqrt(variance), "norm").pvalue > ALPHA
    both = measured(v, 4, "lognormal+normal")
    spread = np.sqrt((0.3 * np.log(10) * 0.075) ** 2 + 0.025**2)
    assert abs((both - v).std() / spread - 1) < 0.05
    assert (measured(v, 5, "none") == v).all()


def test_zero_stays_zero_under_multiplicative_noise_and_results_are_clipped():
    zeros = np.zeros((4, 3))
    for kind in ("lognormal", "microarray"):
        assert (measured(zeros, 6, kind) == 0).all()
    assert measured(np.full(1000, 1e-3), 7, "normal").min() == 0.0
    assert (zeros == 0).all()


def test_normalisation_divides_everything_by_the_largest_mrna():
    mrna, protein = np.array([[0.5, 2.0]]), np.array([[4.0, 1.0]])
    (x, y), largest = normalised(mrna, protein)
    assert largest == 2.0
    assert x.max() == 1.0
    assert (y == protein / 2).all()


def test_bad_levels_are_refused():
    with pytest.raises(DataError, match="not negative"):
        measured([-1.0], 0, "normal")
    with pytest.raises(DataError, match="above zero"):
        normalised([0.0])
    with pytest.raises(OptionError, match="kind"):
        measured([1.0], 0, "poisson")


# ---- front ------------------------------------------------------------------------------------


def test_expression_keeps_the_observed_genes_in_order(network):
    names = network.names
    full = expression(network, 40, 8)
    assert (full == network.sample(40, 8)).all()
    part = expression(network, 40, 8, observed=[names[3], names[0]])
    assert (part == full[:, [3, 0]]).all()
    with pytest.raises(ParameterError, match="unknown genes: 'Z'"):
        expression(network, 4, 8, observed=["Z"])
    with pytest.raises(ParameterError, match="list of names"):
        expression(network, 4, 8, observed=names[0])
    with pytest.raises(ParameterError, match="empty"):
        expression(network, 4, 8, observed=[])
    with pytest.raises(ParameterError, match="must be a GeneNetwork"):
        expression("net.json", 4, 8)


def test_expression_measures_and_normalises(network):
    options = {"measurement": "microarray", "normalise": True}
    values = expression(network, 50, 9, **options)
    assert values.max() == 1.0
    assert (values == expression(network, 50, 9, n_jobs=2, **options)).all()


class Counter:
    def __init__(self):
        self.calls = []

    def start(self, total, what):
        self.calls.append(("start", total))

    def advance(self, count=1):
        self.calls.append(("advance", count))

    def finish(self):
        self.calls.append(("finish", 0))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_counts_every_run(network, n_jobs):
    meter = Counter()
    network.sample(70, 10, n_jobs=n_jobs, progress=meter)
    assert meter.calls[0] == ("start", 70)
    assert meter.calls[-1][0] == "finish"
    assert sum(count for call, count in meter.calls if call == "advance") == 70
