"""The discrete search against the published method, in one run.

    python benchmarks/search_and_paper.py [--sizes 8 16 32] [--ratios 0.2 0.3] [--seeds 3]
        [--first-seed 0] [--penalty structural dimension] [--weight paper]

The published method gets its published settings and slots for the true latent ratio. First the
search runs until it reaches the published method's score; the ratio of both times is the speed-up
at equal or better score. Then it runs with its default budget under each penalty, at that
penalty's own λ unless --weight names another. All times are processor seconds of one thread,
compilation excluded. Compatibility is forward + reverse with 20 draws and 5 starts. Worlds: degree
4, n = 10,000.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

from loopscm import LatentGraph, compatibility, learn
from loopscm.likelihood.penalty import Penalty, Weight
from loopscm.search import SearchSettings, driver
from search_quality import world


def timed(function):
    """Result and processor seconds."""
    began = time.process_time()
    result = function()
    return result, time.process_time() - began


def error(graph: LatentGraph, found: LatentGraph) -> float:
    return compatibility(graph, found, seed=0).total


def compare(
    p: int, ratio: float, seed: int, penalties: list[Penalty], weight: Weight | None = None
) -> list[float]:
    """One row of figures."""
    stats, graph = world(p, 4, ratio, seed)
    slots = 2 * int(p * ratio + 0.5) + 1
    paper, seconds = timed(lambda: learn(stats, method="paper", max_latents=slots, seed=seed))
    reach = SearchSettings(target=paper.score)
    fast, reached = timed(
        lambda: learn(stats, penalty="structural", time_limit=60.0, settings=reach, seed=seed)
    )
    assert fast.score <= paper.score + 1e-6
    row = [paper.score, seconds, error(graph, paper.graph), seconds / reached]
    settings = SearchSettings(weight=weight)
    for penalty in penalties:
        found, own = timed(
            lambda penalty=penalty: learn(stats, penalty=penalty, settings=settings, seed=seed)
        )
        row += [found.score, own, error(graph, found.graph)]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--ratios", type=float, nargs="+", default=[0.2, 0.3])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--penalty", nargs="+", default=["structural", "dimension"])
    parser.add_argument("--weight", choices=("paper", "bic", "ebic"), help="λ")
    options = parser.parse_args()
    with mock.patch.object(driver, "time", mock.Mock(perf_counter=time.process_time)):
        compare(4, 0.25, 0, options.penalty)
        heads = "".join(f" | {name[:6]} score   s  compat." for name in options.penalty)
        print(f"  p ratio seed | paper score    s  compat.  speed-up{heads}")
        for p in options.sizes:
            for ratio in options.ratios:
                for seed in range(options.first_seed, options.first_seed + options.seeds):
                    row = compare(p, ratio, seed, options.penalty, options.weight)
                    text = f"{row[0]:11.1f}{row[1]:7.1f}{row[2]:9.3f}{row[3]:9.0f}x"
                    for k in range(4, len(row), 3):
                        text += f" |{row[k]:9.1f}{row[k + 1]:7.2f}{row[k + 2]:9.3f}"
                    print(f"{p:>3}{ratio:>6}{seed:>5} |{text}", flush=True)


if __name__ == "__main__":
    main()
