"""Gene networks against the reference runs of GeneNetWeaver and an independent exact solver.

The `gnw` columns come from the original program (seven printed decimals), the `exact` and
`fixed_point` columns from an independent integration at relative tolerance 1e-10.
"""

from __future__ import annotations

import numpy as np
import pytest
from gene_oracle import CASES, DATA, column, table

from loopscm.simulate import GeneNetwork, Perturbations

PRINTED = 2e-7  # the original prints 7 decimals and integrates at its own tolerance
SAMPLES = 4000


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return request.param, GeneNetwork.from_json(DATA / f"{request.param}_kinetics.json")


def end_time(label):
    return float(label.rsplit("_at_t", 1)[1])


def test_wild_type(case):
    name, network = case
    rows = table(name, "wildtype")
    assert network.names == tuple(row["gene"] for row in rows)
    np.testing.assert_allclose(network.unregulated().mrna, column(rows, "mrna_initial"), atol=1e-9)
    mrna, protein = network.wild_type()
    np.testing.assert_allclose(mrna, column(rows, "mrna_gnw"), atol=PRINTED)
    np.testing.assert_allclose(protein, column(rows, "protein_gnw"), atol=PRINTED)


def test_fixed_point(case):
    name, network = case
    rows = table(name, "wildtype")
    mrna, protein = network.fixed_point()
    np.testing.assert_allclose(mrna, column(rows, "mrna_fixed_point"), atol=1e-8)
    np.testing.assert_allclose(protein, column(rows, "protein_fixed_point"), atol=1e-8)


def test_trajectory_from_the_unregulated_state(case):
    name, network = case
    rows = table(name, "wildtype")
    key = next(key for key in rows[0] if key.startswith("mrna_exact"))
    states = network.trajectory([0.0, end_time(key)], start=network.unregulated())
    np.testing.assert_allclose(states.mrna[1], column(rows, key), atol=1e-8)


def test_multifactorial_experiments(case):
    """Ten shifts: recorded state and time, exact trajectory, exact fixed point."""
    name, network = case
    rows = table(name, "multifactorial_ode")
    experiments = [rows[i : i + 4] for i in range(0, len(rows), 4)]
    values = np.array([[[float(row[g]) for g in network.names] for row in e] for e in experiments])
    recorded = network.steady_states(Perturbations.shifts(network, values[:, 0]))
    for e, experiment in enumerate(experiments):
        time, shift = end_time(experiment[2]["row"]), values[e, 0]
        assert recorded.times[e] == time
        np.testing.assert_allclose(recorded.mrna[e], values[e, 1], atol=PRINTED)
        exact = network.trajectory([time], shift).mrna[0]
        np.testing.assert_allclose(exact, values[e, 2], atol=1e-8)
        np.testing.assert_allclose(network.fixed_point(shift).mrna, values[e, 3], atol=1e-8)


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_zero_perturbation_samples_have_the_moments_of_the_original(case, seed):
    """4,000 against 4,000 samples: means and covariances within 4 standard errors.

    Those of covariances need fourth moments: genes of low expression are far from normal.
    """
    name, network = case
    rows = table(name, "zero_perturbation_sde_moments")
    mean, cov = column(rows, "mean"), np.array([column(rows, f"cov_{g}") for g in network.names])
    X = network.sample(SAMPLES, seed, record="support")
    sd = np.sqrt(np.diag(cov))
    assert np.abs((X.mean(axis=0) - mean) / (sd * np.sqrt(2 / SAMPLES))).max() < 4
    D = X - X.mean(axis=0)
    error = (D[:, :, None] * D[:, None, :]).std(axis=0) * np.sqrt(2 / SAMPLES)
    assert np.abs((np.cov(X.T) - cov) / error).max() < 4


def test_state_record_lacks_the_upward_shift_of_the_original(case):
    """The support point lies about c·√(2dx) above the state: 6 to 16 standard errors."""
    name, network = case
    mean = column(table(name, "zero_perturbation_sde_moments"), "mean")
    X = network.sample(SAMPLES, 12, record="state")
    d = np.array([gene.delta_mrna for gene in network.genes])
    offset = 0.05 * np.sqrt(2 * d * mean)
    shift = (mean - X.mean(axis=0)) / offset
    assert (shift > 0.5).all()
    assert (shift < 1.5).all()
