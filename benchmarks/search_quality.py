"""How often, and how fast, the discrete search gets at or below the generating graph's score.

    python benchmarks/search_quality.py [--quick] [--seeds 10] [--penalty structural dimension]
        [--weight paper] [--sizes 8 16 32 64] [--degrees 2 4] [--ratios 0 0.1 0.2 0.3]
        [--limit 10] [--jobs 1] [--loops]

"Truth" is the generating graph, refitted and polished by the same local search. A run is a hit
when its score is at most the truth's plus 0.01, the accuracy of scores during the search. Times
are wall seconds until the hit, compilation excluded (and stated). Worlds follow the published
protocol, n = 10,000; with --loops a third of the variables lie on loops. λ is the penalty's own
unless --weight names another.
"""

from __future__ import annotations

import argparse
import platform
import time
from typing import Any

import numpy as np

from loopscm import GaussianStats, LatentGraph
from loopscm.likelihood.penalty import Penalty, Weight, price
from loopscm.search.driver import search
from loopscm.search.result import Outcome
from loopscm.search.settings import SearchSettings
from loopscm.simulate import dense_cycles, random_graph, random_scm

WORLD = 20_261_118  # first word of every seed
N = 10_000
ACCURACY = 0.01
SECONDS = {8: 2.0, 16: 2.0, 32: 5.0, 64: 10.0, 128: 30.0, 256: 60.0, 512: 180.0}


def world(
    p: int, degree: int, ratio: float, seed: int, loops: bool = False, n: int = N
) -> tuple[GaussianStats, LatentGraph]:
    """Data of a random model, and its graph."""
    rng = np.random.default_rng([WORLD, p, degree, round(100 * ratio), seed])
    if loops:
        graph = dense_cycles(
            p, rng, latents=int(p * ratio + 0.5), extra_edges=p * (degree - 1) // 2
        )
    else:
        graph = random_graph(p, degree, ratio, rng)
    model = random_scm(graph, rng)
    return GaussianStats.from_data(model.sample(n, rng), center=False), model.graph


def run(
    stats: GaussianStats,
    graph: LatentGraph,
    seed: int,
    penalty: Penalty,
    limit: float,
    jobs: int = 1,
    weight: Weight | None = None,
):
    """(hit, seconds, gap in units of λ, kicks a second, largest block)."""
    options: dict[str, Any] = {
        "penalty": penalty,
        "max_latents": max(stats.p // 2 + 2, graph.n_latent),
    }
    polished = SearchSettings(start=graph, kicks=0, weight=weight)
    truth = search(stats, settings=polished, **options)
    settings = SearchSettings(target=truth.score + ACCURACY, weight=weight)
    found = search(stats, seed=seed, time_limit=limit, n_jobs=jobs, settings=settings, **options)
    gap = (found.score - truth.score) / price(penalty, stats.n, stats.p, weight)
    hit = found.outcome is Outcome.TARGET or found.score <= truth.score + ACCURACY
    seconds = found.trace["seconds"][-1] if hit else found.seconds
    largest = max(map(len, found.graph.components()))
    return hit, seconds, gap, found.kicks / found.seconds, largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three seeds, p = 8 to 32, degree 4")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--penalty", nargs="+", default=["structural", "dimension"])
    parser.add_argument("--weight", choices=("paper", "bic", "ebic"), help="λ")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--degrees", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--ratios", type=float, nargs="+", default=[0.0, 0.1, 0.2, 0.3])
    parser.add_argument("--limit", type=float, help="seconds a run; by default those of the table")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--loops", action="store_true", help="a third of the variables on loops")
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.sizes, options.degrees = 3, [8, 16, 32], [4]
    began = time.perf_counter()
    run(*world(4, 2, 0.25, 0), 0, "structural", 0.1)
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}")
    print(f"first call, with compilation unless cached: {time.perf_counter() - began:.1f} s")
    print("penalty      p degree ratio   hits  median s  worst s  worst gap [λ]  kicks/s  block")
    for penalty in options.penalty:
        for p in options.sizes:
            for degree in options.degrees:
                for ratio in options.ratios:
                    limit = options.limit or SECONDS.get(p, 60.0)
                    seeds = range(options.first_seed, options.first_seed + options.seeds)
                    runs = [
                        run(
                            *world(p, degree, ratio, k, options.loops),
                            k,
                            penalty,
                            limit,
                            options.jobs,
                            options.weight,
                        )
                        for k in seeds
                    ]
                    hits, seconds, gaps, rates, blocks = map(np.array, zip(*runs, strict=True))
                    print(
                        f"{penalty:<11}{p:>3}{degree:>7}{ratio:>6}{hits.sum():>4}/{len(hits):<3}"
                        f"{np.median(seconds):>9.2f}{seconds.max():>9.2f}{gaps.max():>15.1f}"
                        f"{np.median(rates):>9.0f}{blocks.max():>7}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
