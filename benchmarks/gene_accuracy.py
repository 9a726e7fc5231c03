"""How exact gene networks are: reference runs, other networks, moments of the stochastic part.

    python benchmarks/gene_accuracy.py [--networks 3] [--seeds 10]

First table: largest deviations on the two reference cases, from the recorded values of the
original program (seven decimals) and from an independent solver (relative tolerance 1e-10).
Second table: random networks of 100 genes against SciPy's LSODA on the equations written out by
the letter. Third table: 4,000 zero-perturbation samples against 4,000 of the original, the largest
deviation of any mean or covariance in standard errors of the difference (from fourth moments), over
several seeds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from loopscm import datasets
from loopscm.errors import LoopscmError
from loopscm.simulate import GeneNetwork, Perturbations, dense_cycles, regulatory_graph

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "simulate"))
from gene_oracle import CASES, DATA, column, drift, table

SAMPLES = 4000


def gap(a, b) -> float:
    """Largest absolute difference."""
    return float(np.abs(np.asarray(a) - np.asarray(b)).max())


def reference() -> None:
    print(
        "largest deviation             wild type   fixed point   10 trajectories   10 fixed points"
    )
    for case in CASES:
        network = GeneNetwork.from_json(DATA / f"{case}_kinetics.json")
        rows = table(case, "wildtype")
        wild, root = network.wild_type(), network.fixed_point()
        recorded = gap(wild, [column(rows, f"{level}_gnw") for level in wild._fields])
        fixed = gap(root, [column(rows, f"{level}_fixed_point") for level in root._fields])
        rows = table(case, "multifactorial_ode")
        paths, roots = [], []
        for e in range(0, len(rows), 4):
            shift, _, exact, end = ([float(r[g]) for g in network.names] for r in rows[e : e + 4])
            time = float(rows[e + 2]["row"].rsplit("_at_t", 1)[1])
            paths.append(gap(network.trajectory(time, shift).mrna[0], exact))
            roots.append(gap(network.fixed_point(shift).mrna, end))
        print(f"  {case:<26} {recorded:10.1e} {fixed:13.1e} {max(paths):17.1e} {max(roots):17.1e}")


def hundred_genes(seed: int) -> dict[str, GeneNetwork]:
    """One network of each kind of topology."""
    gold = [datasets.load(f"dream4-size100-{k}").references["gold-standard"].graph for k in (1, 2)]
    graphs = {
        "dream4-size100-1": gold[0],
        "dream4-size100-2": gold[1],
        "100 genes + 20 hidden": regulatory_graph(100, 20, seed),
        "loops of five": dense_cycles(100, seed, loop_size=5, extra_edges=150),
    }
    return {name: GeneNetwork.random(graph, seed) for name, graph in graphs.items()}


def others(seeds: int) -> None:
    print("\n100 genes against LSODA       networks   at rest   largest deviation")
    worst: dict[str, list[float]] = {}
    resting: dict[str, int] = {}
    for seed in range(seeds):
        for name, network in hundred_genes(seed).items():
            errors, rests = compare(network, seed)
            worst.setdefault(name, []).append(errors)
            resting[name] = resting.get(name, 0) + rests
    for name, errors in worst.items():
        print(f"  {name:<26} {len(errors):9} {resting[name]:9} {max(errors):19.1e}")


def compare(network: GeneNetwork, seed: int) -> tuple[float, bool]:
    """Largest deviation of a shifted trajectory, and of the fixed point where there is one."""
    shift = np.random.default_rng(seed).normal(0, 0.25, network.n_genes)
    genes = shifted_genes(network, shift)
    times = np.array([10.0, 100.0, 1000.0])
    errors = [gap(np.hstack(network.trajectory(times, shift)), lsoda(genes, network, times))]
    try:
        root = network.fixed_point(shift)
    except LoopscmError:  # it oscillates
        return errors[0], False
    late = lsoda(genes, network, np.array([20_000.0]))
    return max(errors[0], gap(np.concatenate(root), late)), True


def shifted_genes(network: GeneNetwork, shift):
    """The genes with their activations moved by the letter of the specification."""
    from dataclasses import replace

    moved = []
    for gene, u in zip(network.genes, shift, strict=True):
        step = np.clip(gene.alpha[0] + u, 0, 1) - gene.alpha[0]
        moved.append(replace(gene, alpha=tuple(np.clip(np.array(gene.alpha) + step, 0, 1))))
    return moved


def lsoda(genes, network: GeneNetwork, times):
    """States at the times, rows, from the recorded wild type."""
    start = np.concatenate(network.wild_type())
    options = {"t_eval": times, "method": "LSODA", "rtol": 1e-10, "atol": 1e-12}
    return solve_ivp(lambda _, z: drift(genes, z), (0.0, times[-1]), start, **options).y.T


def covariance_errors(X):
    """Standard errors of covariances from fourth moments.

    Genes of low expression are skewed (levels stop at zero), so that the formula for normal
    data, (σ_ii σ_jj + σ_ij²)/n, comes out too small by a factor of up to two.
    """
    D = X - X.mean(axis=0)
    products = D[:, :, None] * D[:, None, :]
    return products.std(axis=0) / np.sqrt(len(X))


def moments(seeds: int) -> None:
    print(f"\n{SAMPLES} samples, deviation in standard errors      means   covariances")
    for case in CASES:
        network = GeneNetwork.from_json(DATA / f"{case}_kinetics.json")
        rows = table(case, "zero_perturbation_sde_moments")
        mean = column(rows, "mean")
        cov = np.array([column(rows, f"cov_{gene}") for gene in network.names])
        sd = np.sqrt(np.diag(cov))
        for record in ("support", "state"):
            worst = []
            for seed in range(seeds):
                X = network.sample(SAMPLES, seed, record=record)
                first = np.abs(X.mean(axis=0) - mean) / (sd * np.sqrt(2 / SAMPLES))
                second = np.abs((np.cov(X.T) - cov) / covariance_errors(X) / np.sqrt(2))
                worst.append((first.max(), second.max()))
            m, c = np.max(worst, axis=0)
            print(f"  {case:<18} record={record:<8} worst of {seeds:<3} {m:11.1f} {c:13.1f}")
    zero = Perturbations.none(network, 2)
    print(f"runs last {network.steady_states(zero).times[0]:g} time units or the shortest, 100")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=3, help="per topology")
    parser.add_argument("--seeds", type=int, default=10, help="of the samples")
    options = parser.parse_args()
    reference()
    others(options.networks)
    moments(options.seeds)


if __name__ == "__main__":
    main()
