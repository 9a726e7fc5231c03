"""The published procedure on the paper's synthetic protocol: a baseline, reported as it is.

p = 8, 16, 32, maximum degree 2 and 4, latent ratio 0, 0.2, 0.3, five seeds, n = 10,000,
zero-based structural scores. Every run starts in a fixed state of the random numbers, so the
table can be made in parts; finished rows of the output file are kept.

    python benchmarks/gates_published.py [out/published.csv] [--sizes 8 16 32] [--seeds 5]
        [--compatibility]
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np

from loopscm import GaussianStats, LatentGraph, LinearSCM, score
from loopscm.gates import (
    GateSettings,
    LeaveOneOut,
    Refinement,
    StraightThrough,
    published_slots,
)
from loopscm.learning import learn
from loopscm.simulate import random_graph, random_scm

N = 10_000
FIELDS: tuple[str, ...] = (
    "p", "degree", "ratio", "seed", "score", "reference", "edges", "latents",
    "true_edges", "true_latents", "seconds", "processor", "graph", "forward",
    "reverse",
)  # fmt: skip


def world(p: int, degree: int, ratio: float, seed: int) -> tuple[LinearSCM, GaussianStats]:
    """A random model of the protocol and its data."""
    rng = np.random.default_rng([p, degree, round(100 * ratio), seed])
    model = random_scm(random_graph(p, degree, ratio, rng), rng)
    return model, GaussianStats.from_data(model.sample(N, rng), center=False)


def encode(graph: LatentGraph) -> str:
    """A graph as text: directed and children as bits."""
    parts = (graph.directed, graph.children)
    return ":".join("".join("01"[int(x)] for x in part.ravel()) for part in parts)


def decode(text: str, p: int) -> LatentGraph:
    """The inverse of `encode`."""
    directed, children = (np.array([c == "1" for c in part], bool) for part in text.split(":"))
    return LatentGraph(directed.reshape(p, p), children.reshape(-1, p))


def one_run(p: int, degree: int, ratio: float, seed: int) -> dict[str, object]:
    """Learn one world."""
    model, stats = world(p, degree, ratio, seed)
    began = time.process_time()
    found = learn(stats, method="paper", max_latents=published_slots(p, ratio), seed=seed)
    return {
        "p": p, "degree": degree, "ratio": ratio, "seed": seed,
        "score": found.score, "reference": score(stats, model.graph),
        "edges": found.graph.n_edges, "latents": found.graph.n_latent,
        "true_edges": model.graph.n_edges, "true_latents": model.graph.n_latent,
        "seconds": found.seconds, "processor": time.process_time() - began,
        "graph": encode(found.graph), "forward": "", "reverse": "",
    }  # fmt: skip


def add_compatibility(row: dict[str, object]) -> None:
    """Fill in the compatibility error of a row, with K = 20 and 5 starts."""
    from loopscm.equivalence import compatibility

    p = int(str(row["p"]))
    model, _ = world(p, int(str(row["degree"])), float(str(row["ratio"])), int(str(row["seed"])))
    result = compatibility(model.graph, decode(str(row["graph"]), p), draws=20, starts=5, seed=0)
    row["forward"], row["reverse"] = result.forward, result.reverse


def warm_up() -> None:
    """Compile everything that the seconds should not count."""
    _, stats = world(5, 2, 0.2, 0)
    refinement = Refinement(window=2, tolerance=0.9)
    observed = GateSettings(30, LeaveOneOut(16), refinement=refinement, edge_probability=0.6)
    latent = GateSettings(30, StraightThrough(16), edge_probability=0.6)
    for slots, method, settings in ((0, "bernoulli", observed), (2, "concrete", latent)):
        learn(stats, method=method, max_latents=slots, settings=settings)


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def table(rows: list[dict[str, object]]) -> None:
    """Means over seeds, with the range of the scores."""
    cells = defaultdict(list)
    for row in rows:
        cells[tuple(float(str(row[k])) for k in ("p", "degree", "ratio"))].append(row)
    print(
        "| p | degree | latents | score (range) | generating graph | edges (true) | "
        "latents (true) | compatibility | processor seconds |\n|" + "---|" * 9
    )
    for (p, degree, ratio), group in sorted(cells.items()):

        def of(key: str, group: list[dict[str, object]] = group) -> np.ndarray:
            return np.array([float(str(row[key])) for row in group if row[key] != ""])

        errors = of("forward") + of("reverse")
        compatible = f"{errors.mean():.3g}" if len(errors) else "-"
        print(f"| {p:.0f} | {degree:.0f} | {ratio:.0%} | {of('score').mean():.0f} "
              f"({of('score').min():.0f}–{of('score').max():.0f}) | {of('reference').mean():.0f} | "
              f"{of('edges').mean():.0f} ({of('true_edges').mean():.0f}) | "
              f"{of('latents').mean():.1f} ({of('true_latents').mean():.1f}) | {compatible} | "
              f"{of('processor').mean():.1f} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", default=Path("out/published.csv"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--compatibility", action="store_true")
    options = parser.parse_args()
    options.path.parent.mkdir(parents=True, exist_ok=True)
    warm_up()
    rows: list[dict[str, object]] = []
    if options.path.exists():
        with options.path.open(newline="") as file:
            rows = [dict(row) for row in csv.DictReader(file)]
    done = {tuple(float(str(row[k])) for k in FIELDS[:4]) for row in rows}
    for case in product(options.sizes, (2, 4), (0.0, 0.2, 0.3), range(options.seeds)):
        if tuple(map(float, case)) not in done:
            rows.append(one_run(*case))
            write(options.path, rows)
    if options.compatibility:
        for row in rows:
            if row["forward"] == "":
                add_compatibility(row)
                write(options.path, rows)
    table(rows)


if __name__ == "__main__":
    main()
