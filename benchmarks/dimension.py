"""Seconds that the exact and the floating-point dimension of a family take.

python benchmarks/dimension.py [--sizes 100 200 512]
"""

from __future__ import annotations

import argparse
from time import perf_counter

from loopscm import family_dimension
from loopscm.likelihood.dimension import numerical_dimension
from loopscm.simulate import random_graph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 512])
    options = parser.parse_args()
    numerical_dimension(random_graph(5, 2, 0.2, 0))  # compile
    for p in options.sizes:
        for ratio in (0.0, 0.2, 0.3):
            graph = random_graph(p, 4, ratio, 1)
            start = perf_counter()
            exact = family_dimension(graph)
            middle = perf_counter()
            floating = numerical_dimension(graph)
            end = perf_counter()
            print(
                f"p {p}, ratio {ratio}, largest component {max(map(len, graph.components()))}: "
                f"dimension {exact} in {middle - start:.2f} s, floating point {floating} in "
                f"{end - middle:.2f} s, parameters {p + graph.n_edges}",
                flush=True,
            )


if __name__ == "__main__":
    main()
