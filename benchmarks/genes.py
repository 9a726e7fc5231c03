"""How fast gene networks are simulated.

    python benchmarks/genes.py [--samples 20000] [--jobs 2]

Zero-perturbation samples of 100-gene networks (100 steps of the Langevin scheme each, more where
the deterministic wild type settles late), exact trajectories, and fixed points. Kernels are
compiled before the clock starts; the time that took is printed first. For comparison: the
original Java program needs about 115 s of CPU for 20,000 samples of 100 genes (1,000 in 5.7 s);
`ratio` compares CPU seconds, and walls say something on an idle machine only.
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np

from loopscm import datasets
from loopscm.simulate import GeneNetwork, Perturbations, regulatory_graph

ORIGINAL_PER_SAMPLE = 5.7e-3  # CPU seconds, 100 genes


def timed(function):
    """Result, wall seconds, CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def networks() -> dict[str, GeneNetwork]:
    """Name → network: two DREAM4 topologies, and the benchmark's with hidden regulators."""
    result = {}
    for name in ("dream4-size100-1", "dream4-size100-2"):
        graph = datasets.load(name).references["gold-standard"].graph
        result[name] = GeneNetwork.random(graph, 1, name=name)
    for hidden in (20, 30):
        name = f"100 genes + {hidden} hidden"
        result[name] = GeneNetwork.random(regulatory_graph(100, hidden, 1), 1, name=name)
    return result


def sampling(n: int, jobs: int, cases: dict[str, GeneNetwork]) -> None:
    threads = f"{jobs} threads [s]"
    print(
        f"\n{n} samples                 edges  steps   CPU [s]   1 thread [s]   {threads}   ratio"
    )
    for name, network in cases.items():
        single, wall, cpu = timed(lambda g=network: g.sample(n, 0))
        many, parallel, _ = timed(lambda g=network: g.sample(n, 0, n_jobs=jobs))
        assert (single == many).all()
        ratio = ORIGINAL_PER_SAMPLE * n / cpu
        edges = len(network.interactions())
        one = network.steady_states(Perturbations.none(network, 1))
        steps = max(100, int(one.times[0]))
        row = f"{edges:4} {steps:6} {cpu:9.2f} {wall:14.2f} {parallel:15.2f} {ratio:7.0f}"
        print(f"  {name:<26} {row}")


def deterministic(cases: dict[str, GeneNetwork]) -> None:
    print("\ndeterministic               wild type [ms]   fixed point [ms]   100 knock-outs [s]")
    for name, network in cases.items():
        copy = GeneNetwork(network.genes)
        copy.graph()
        _, wild, _ = timed(copy.wild_type)
        _, root, _ = timed(copy.fixed_point)
        some = Perturbations.knockouts(network, network.names[:100])
        _, out, _ = timed(lambda g=copy, s=some: g.steady_states(s))
        print(f"  {name:<26} {1e3 * wild:12.1f} {1e3 * root:16.1f} {out:18.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}")
    cases = networks()
    first = next(iter(cases.values()))
    _, wall, _ = timed(lambda: (first.fixed_point(), first.sample(1, 0)))
    print(f"compiling, or loading compiled kernels: {wall:.1f} s")
    sampling(options.samples, options.jobs, cases)
    deterministic(cases)


if __name__ == "__main__":
    main()
