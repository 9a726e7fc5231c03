"""What each ingredient of the discrete search contributes.

    python benchmarks/search_ablation.py [--seeds 8] [--first-seed 0] [--penalty structural]
        [--sizes 16 32] [--ratios 0.1 0.2 0.3] [--limit 5] [--only "no heat" ...]

Worlds of degree 4. Every variant searches the same worlds until it reaches the polished generating
graph (see `search_quality.py`) or the limit, in processor seconds of one thread; a run that misses
counts with the limit. "gap" is the mean distance from that graph's score in λ, zero if reached.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np

from loopscm.likelihood.penalty import Penalty, price
from loopscm.search import SearchSettings, driver, kicks
from loopscm.search.result import Outcome
from search_quality import ACCURACY, world

KINDS = {name: k for name, k in vars(kicks).items() if name.isupper() and name[0] != "_"}
del KINDS["KINDS"]
CONFOUNDING = (kicks.CLEAR_CONFOUND, kicks.HALF_CONFOUND, kicks.REBUILD_CONFOUND)
VARIANTS: dict[str, dict] = {
    "as it is": {},
    "no heat": {"heat": 0.0},
    "half the heat": {"heat": 1.0},
    "twice the heat": {"heat": 4.0},
    "rounds of 60": {"round_length": 60},
    "no fits with company": {"company": 1},
    "larger company": {"company": 10},
    "no slack": {"slack": 0.0},
    "every fit with company": {"slack": 1e9},
    "hopeless moves tried": {"hope": 2.0},
    "only promising moves": {"hope": 0.0},
    "kicks of two nodes": {"largest_set": 2},
    "no kicks with latents": {"without": CONFOUNDING},
    **{f"no {name}": {"without": (k,)} for name, k in KINDS.items()},
}


def run(settings: dict, cell: tuple, penalty: Penalty, limit: float) -> tuple[bool, float, float]:
    """(hit, processor seconds, gap in λ)."""
    stats, graph = world(*cell)
    options = {"penalty": penalty, "max_latents": max(stats.p // 2 + 2, graph.n_latent)}
    polished = SearchSettings(start=graph, kicks=0)
    truth = driver.search(stats, settings=polished, **options).score
    found = driver.search(
        stats,
        seed=cell[-1],
        time_limit=limit,
        settings=SearchSettings(target=truth + ACCURACY, **settings),
        **options,
    )
    hit = found.outcome is Outcome.TARGET
    seconds = found.trace["seconds"][-1] if hit else limit
    return hit, seconds, max(0.0, found.score - truth) / price(penalty, stats.n, stats.p)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--penalty", default="structural")
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--ratios", type=float, nargs="+", default=[0.1, 0.2, 0.3])
    parser.add_argument("--limit", type=float, default=5.0)
    parser.add_argument("--only", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    cells = [(p, 4, r, k) for p in options.sizes for r in options.ratios for k in seeds]
    run({}, (4, 2, 0.25, 0), "structural", 0.1)
    print(f"variant                    reached of {len(cells)}  mean seconds  mean gap [λ]")
    clock = mock.Mock(perf_counter=time.process_time)
    with mock.patch.object(driver, "time", clock):
        for name in options.only:
            settings = VARIANTS[name]
            rows = [run(settings, cell, options.penalty, options.limit) for cell in cells]
            hits, seconds, gaps = map(np.array, zip(*rows, strict=True))
            print(
                f"{name:<26}{hits.sum():>8}{seconds.mean():>16.2f}{gaps.mean():>12.2f}", flush=True
            )


if __name__ == "__main__":
    main()
