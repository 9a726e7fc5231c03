"""The compiled kernels against the slow oracle, SciPy, and linear-noise theory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from gene_oracle import DATA, drift, langevin_step
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_lyapunov

from loopscm.errors import OptionError, ParameterError
from loopscm.simulate import GeneNetwork, Langevin, Perturbations, regulatory_graph
from loopscm.simulate._parallel import spawned
from loopscm.simulate.genes import dynamics
from loopscm.simulate.genes.equilibrium import jacobian
from loopscm.simulate.genes.kinetics import Gene, Module


@pytest.fixture(scope="module")
def network():
    """Kinetics with modules of every kind."""
    edges = [(f"G{j}", f"G{i}") for i in range(8) for j in range(8) if (i * 3 + j) % 7 in (1, 3, 4)]
    edges = [(a, b) for a, b in edges if a != b]
    return GeneNetwork.random(edges, 4)


def test_fixture_has_every_kind_of_module(network):
    modules = [module for gene in network.genes for module in gene.modules]
    kinds = {(m.binds_as_complex, bool(m.deactivators), len(m.inputs) > 1) for m in modules}
    assert {(True, True, True), (True, False, True), (False, True, True), (False, False, True)} <= (
        kinds
    )
    assert max(len(gene.modules) for gene in network.genes) >= 3


@given(seed=st.integers(0, 2**32))
def test_drift_is_that_of_the_equations(network, seed):
    z = np.random.default_rng(seed).uniform(0, 1.5, 2 * network.n_genes)
    ours = dynamics.rate_of_change(z, *network._wired)
    np.testing.assert_allclose(ours, drift(network.genes, z), rtol=1e-12, atol=1e-15)


def test_extreme_levels_give_no_nan(network):
    p = network.n_genes
    for level in (0.0, 1e-300, 1e300):
        z = np.full(2 * p, level)
        z[p::2] = 0.5
        change = dynamics.rate_of_change(z, *network._wired)
        assert not np.isnan(change).any()
    empty = dynamics.rate_of_change(np.zeros(2 * p), *network._wired)
    m = np.array([gene.max_transcription for gene in network.genes])
    np.testing.assert_allclose(empty[:p], m * network.basal_activation())


def test_trajectory_agrees_with_scipy(network):
    times = np.array([0.0, 3.0, 40.0, 400.0])
    shift = np.linspace(-0.3, 0.3, network.n_genes)
    basal = network.basal_activation()
    genes = [
        Gene(
            g.id, g.max_transcription, g.delta_mrna, g.max_translation, g.delta_protein,
            tuple(np.clip(np.array(g.alpha) + np.clip(a + u, 0, 1) - a, 0, 1)), g.modules,
        )
        for g, u, a in zip(network.genes, shift, basal, strict=True)
    ]  # fmt: skip
    start = np.concatenate(network.wild_type())
    exact = solve_ivp(
        lambda _, z: drift(genes, z), (0, 400), start, "LSODA", times, rtol=1e-11, atol=1e-13
    )
    ours = np.hstack(network.trajectory(times, shift))
    np.testing.assert_allclose(ours, exact.y.T, atol=1e-8)
    repeated = network.trajectory([3.0, 3.0], shift).mrna
    assert (repeated == ours[1, : network.n_genes]).all()


def test_fixed_point_is_a_root_reached_by_the_trajectory(network):
    root = network.fixed_point()
    change = dynamics.rate_of_change(np.concatenate(root), *network._wired)
    assert np.abs(change).max() < 1e-15
    far = network.trajectory([20_000.0])
    np.testing.assert_allclose(far.mrna[0], root.mrna, atol=1e-9)
    np.testing.assert_allclose(far.protein[0], root.protein, atol=1e-9)


def repressed_by(source, k, n):
    return Module((source,), (), (k,), (n,), True)


def oscillator():
    """A ring of three steep repressors with equal rates: the repressilator."""
    names = ("A", "B", "C")
    return GeneNetwork(
        tuple(
            Gene(name, 0.03, 0.03, 0.03, 0.03, (1.0, 0.0), (repressed_by(before, 0.1, 8.0),))
            for name, before in zip(names, ("C", "A", "B"), strict=True)
        )
    )


def test_a_network_that_oscillates_has_no_fixed_point():
    network = oscillator()
    start = ([0.1, 0.5, 0.9], [0.1, 0.5, 0.9])
    late = network.trajectory(np.arange(50_000.0, 51_000.0, 10.0), start=start).mrna
    assert np.ptp(late, axis=0).min() > 0.1  # it does oscillate
    object.__setattr__(network, "_wild_type", np.concatenate(start))
    with pytest.raises(ParameterError, match="oscillates"):
        network.fixed_point()


def test_a_bistable_switch_goes_to_the_side_it_starts_on():
    genes = tuple(
        Gene(name, 0.02, 0.02, 0.03, 0.03, (1.0, 0.02), (repressed_by(other, 0.3, 4.0),))
        for name, other in (("A", "B"), ("B", "A"))
    )
    network = GeneNetwork(genes)
    object.__setattr__(network, "_wild_type", np.array([0.6, 0.5, 0.6, 0.5]))
    mrna, _ = network.fixed_point()
    assert mrna[0] > 0.8
    assert mrna[1] < 0.2


def ring_of_activators(alpha, n=4.0, k=0.5, level=1.0, speed=1.0):
    """Two genes that activate each other; full mRNA is `level`, all rates scale with `speed`."""
    rate = 0.03 * speed
    return GeneNetwork(
        tuple(
            Gene(
                name, level * rate, rate, rate, rate, alpha,
                (Module((other,), (), (k * level,), (n,), True),),
            )
            for name, other in (("A", "B"), ("B", "A"))
        )
    )  # fmt: skip


@pytest.mark.parametrize("n", [0.5, 1.0, 3.0])
def test_activators_that_are_absent_leave_a_gene_exactly_off(n):
    network = ring_of_activators((0.0, 1.0), n, k=0.3)
    levels = (network.wild_type(), network.fixed_point(), network.trajectory([1e4]))
    assert not np.any([np.ravel(state) for state in levels])


def test_genes_in_balance_rest_on_their_unstable_root():
    genes = tuple(
        Gene(name, 0.02, 0.02, 0.03, 0.03, (1.0, 0.02), (repressed_by(other, 0.3, 4.0),))
        for name, other in (("A", "B"), ("B", "A"))
    )
    mrna, protein = GeneNetwork(genes).fixed_point()
    assert mrna[0] == mrna[1] == protein[0]
    np.testing.assert_allclose(mrna[0], 1 - 0.98 / (1 + (0.3 / mrna[0]) ** 4), rtol=1e-12)


@pytest.mark.parametrize("basal", [0.02, 0.1, 0.25])
@pytest.mark.parametrize(("level", "speed"), [(1e-9, 1.0), (1.0, 1e-5), (1.0, 100.0), (1e6, 0.1)])
def test_units_of_level_and_time_change_no_fixed_point(basal, level, speed):
    usual = ring_of_activators((basal, 1.0))
    scaled = ring_of_activators((basal, 1.0), level=level, speed=speed)
    expected = np.concatenate(usual.fixed_point())
    np.testing.assert_allclose(np.concatenate(scaled.fixed_point()) / level, expected, rtol=1e-12)
    start = scaled.unregulated()
    late = scaled.trajectory([1000 / speed], start=start).mrna / level
    exact = usual.trajectory([1000], start=usual.unregulated()).mrna
    np.testing.assert_allclose(late, exact, rtol=1e-7)


def test_langevin_steps_are_those_of_the_scheme(network):
    """One run, replayed by the oracle with the same normal draws."""
    settings = Langevin(noise=0.1, step=0.5, min_duration=50.0)
    steps = settings.steps(
        max(50.0, network.steady_states(Perturbations.none(network, 1)).times[0])
    )
    normals = spawned(np.random.default_rng(13), 1)[0].standard_normal((steps, 2 * network.n_genes))
    z = np.concatenate(network.wild_type())
    for normal in normals:
        z, support = langevin_step(network.genes, z, normal, 0.5, 0.1)
    one = Perturbations.none(network, 1)
    for record, expected in (("state", z), ("support", support)):
        ours = network.stochastic_states(one, 13, record, settings=settings)
        np.testing.assert_allclose(np.concatenate(ours, axis=1)[0], expected, rtol=1e-9, atol=1e-12)


def test_number_of_threads_changes_no_bit(network):
    single = network.sample(300, 14)
    assert (single == network.sample(300, 14, n_jobs=3)).all()
    assert (single == network.sample(300, np.random.default_rng(14), n_jobs=-1)).all()
    some = Perturbations.multifactorial(network, 70, 15)
    one = network.stochastic_states(some, 16)
    many = network.stochastic_states(some, 16, n_jobs=4)
    assert (one.mrna == many.mrna).all()
    assert (one.protein == many.protein).all()


def test_samples_are_distinct_and_successive_calls_differ(network):
    rng = np.random.default_rng(17)
    first, second = network.sample(200, rng), network.sample(200, rng)
    rows = np.vstack([first, second])
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert (rows >= 0).all()


def test_a_run_depends_on_its_own_perturbation_only(network):
    """One shifted row in a batch leaves all others as they were."""
    shift = np.zeros((40, network.n_genes))
    shift[7, 2] = 0.4
    mixed = network.stochastic_states(Perturbations.shifts(network, shift), 18)
    plain = network.stochastic_states(Perturbations.none(network, 40), 18)
    same = (mixed.mrna == plain.mrna).all(axis=1)
    assert not same[7]
    assert same.sum() == 39


def test_stationary_spread_of_an_unregulated_gene():
    """sd c·√x = c at x = 1, from runs much longer than the half-life; Stratonovich drift aside."""
    network = GeneNetwork.random([("A", "B")], 19)
    settings = Langevin(min_duration=600.0)
    X = network.sample(6000, 20, settings=settings)[:, 0]
    assert abs(X.std() / 0.05 - 1) < 4 / np.sqrt(2 * 6000)


def test_small_noise_covariance_follows_linear_theory():
    """Stationary limit: J C + C Jᵀ + Q = 0 with Q = c²·diag(production + decay)."""
    network = GeneNetwork.from_json(DATA / "dream4_size10_1_kinetics.json")
    root = np.concatenate(network.fixed_point())
    J = jacobian(root, *network._wired)
    d, q = (
        np.array([getattr(g, k) for g in network.genes]) for k in ("delta_mrna", "delta_protein")
    )
    c, h, n = 1e-4, 0.5, 2000
    Q = c**2 * np.diag(2 * np.concatenate([d, q]) * root)
    C = solve_continuous_lyapunov(J, -Q)[:10, :10]
    settings = Langevin(noise=c, step=h, min_duration=1000.0)
    S = np.cov(network.sample(n, 21, settings=settings).T)
    sd = np.sqrt(np.diag(C))
    error = np.sqrt((C**2 + np.outer(sd, sd) ** 2) / n)
    assert np.abs((S - C) / error).max() < 4.5


def test_exact_jacobian(network):
    z = np.random.default_rng(22).uniform(0.2, 1.2, 2 * network.n_genes)
    J = jacobian(z, *network._wired)
    for k in range(len(z)):
        e = np.eye(len(z))[k] * 1e-5
        change = (drift(network.genes, z + e) - drift(network.genes, z - e)) / 2e-5
        np.testing.assert_allclose(J[:, k], change, atol=1e-8)


def test_a_hundred_genes_with_hidden_regulators():
    graph = regulatory_graph(100, 20, 23)
    network = GeneNetwork.random(graph, 24)
    assert network.n_genes == 120
    X = network.sample(64, 25)
    assert X.shape == (64, 120)
    z = np.random.default_rng(0).uniform(0, 1, 240)
    np.testing.assert_allclose(
        dynamics.rate_of_change(z, *network._wired), drift(network.genes, z), rtol=1e-11, atol=1e-15
    )


def test_networks_are_values(network):
    copy = pickle.loads(pickle.dumps(network))
    assert copy == network
    assert hash(copy) == hash(network)
    state = network.wild_type()
    state.mrna[:] = 0
    assert network.wild_type().mrna.max() > 0
    shift = np.full(network.n_genes, 2.0)
    network.trajectory([1.0], shift)
    assert (shift == 2.0).all()


def test_shifts_and_starts_in_every_form(network):
    shift = np.zeros(network.n_genes)
    shift[[2, 5]] = 0.3, -0.2
    names = network.names
    by_name = {names[5]: -0.2, names[2]: 0.3}
    assert (network.fixed_point(by_name).mrna == network.fixed_point(shift).mrna).all()
    out = network.fixed_point(transcription={names[0]: 0.0}).mrna
    assert (out == network.fixed_point(transcription=np.arange(network.n_genes) > 0).mrna).all()
    start = network.unregulated()
    expected = network.trajectory([9.0], start=start).mrna
    for form in (list(start), np.array(start), tuple(level.tolist() for level in start)):
        assert (network.trajectory(9, start=form).mrna == expected).all()


def test_a_fixed_duration_overrides_the_rule(network):
    """The same normal draws: a run of 30 steps is the 30-step prefix rule of any network."""
    short = network.sample(40, 26, settings=Langevin(min_duration=30.0, duration=30.0))
    assert (short == network.sample(40, 26, settings=Langevin(duration=30.0))).all()
    some = Perturbations.strong(network, 3, 27)
    calm = Langevin(noise=1e-9, step=0.02, duration=20.0)
    states = network.stochastic_states(some, 28, settings=calm)
    for e in range(3):
        exact = network.trajectory(20.0, some.shift[e]).mrna[0]
        np.testing.assert_allclose(states.mrna[e], exact, atol=1e-3)


TWO_GENES = Perturbations(np.zeros((1, 2)), np.ones((1, 2)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: g.trajectory([-1.0]), OptionError, "non-decreasing"),
        (lambda g: g.trajectory([2.0, 1.0]), OptionError, "non-decreasing"),
        (lambda g: g.trajectory([1.0], [0.0]), ParameterError, "vector of length"),
        (lambda g: g.trajectory([1.0], start=np.ones(3)), ParameterError, "pair"),
        (lambda g: g.sample(0, 1), OptionError, "at least 1"),
        (lambda g: g.sample(2, 1, record="mean"), OptionError, "record"),
        (lambda g: g.sample(2, 1, n_jobs=0), OptionError, "n_jobs"),
        (lambda g: g.fixed_point(transcription=[-1.0] * g.n_genes), ParameterError, "negative"),
        (lambda g: Langevin(step=0.0), OptionError, "step"),
        (lambda g: Langevin(duration=0.5), OptionError, "duration must be at least one step"),
        (lambda g: g.sample(2, 1, settings={"noise": 0.1}), OptionError, "Langevin"),
        (lambda g: g.trajectory("soon"), OptionError, "times must be numbers"),
        (lambda g: g.fixed_point({"Z": 0.1}), ParameterError, "unknown genes: 'Z'"),
        (lambda g: g.time_series(duration=10, every=20), OptionError, "every"),
        (lambda g: GeneNetwork((1,)), ParameterError, "expected a Gene"),
        (lambda g: g.steady_states(TWO_GENES), ParameterError, "2 genes"),
    ],
)
def test_bad_calls_are_refused(network, call, error, message):
    with pytest.raises(error, match=message):
        call(network)
