"""Which criterion recovers graphs best, whatever the search reaches of it.

    python benchmarks/penalty_study.py [out/penalty.csv] [--sizes 8 16] [--seeds 10]
        [--samples 500 2000 10000 100000] [--ratios 0 0.1 0.2 0.3] [--degrees 4]
        [--criteria structural:1 dimension:1 dimension:ebic dimension:2] [--kicks 60]
    python benchmarks/penalty_study.py [out/penalty.csv] --table [--by ratio] [--criteria ...]

A criterion is a penalty and its price in multiples of ½ log n (or "ebic"). Each world is judged
three ways under each: "truth" is the generating graph, refitted and polished by the engine's own
local search; "found" is the graph of a search with a budget of kicks a variable; "optimum" is the
lower-scoring of the two, the best approximation of the criterion's minimiser. A large error of
the optimum is the criterion's fault, a larger one of the found graph the search's. Errors are
compatibility errors to the generating graph, forward + reverse, 20 draws and 5 starts. Finished
rows of the output file are kept. Worlds follow the published protocol.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from loopscm import GaussianStats, LatentGraph, compatibility
from loopscm.likelihood.penalty import penalty_weight, price
from loopscm.search.driver import search
from loopscm.search.result import Found
from loopscm.search.settings import SearchSettings
from search_quality import ACCURACY, world

FIRST_SEED = 300
WORLD_FIELDS = ("p", "degree", "ratio", "n", "seed")
FIELDS: tuple[str, ...] = (
    *WORLD_FIELDS, "penalty", "multiple", "weight", "kicks", "truth", "found", "gap",
    "truth_forward", "truth_reverse", "found_forward", "found_reverse",
    "edges", "latents", "truth_edges", "truth_latents", "found_edges", "found_latents",
)  # fmt: skip


class Judge:
    """Compatibility errors to one graph, each graph evaluated once."""

    def __init__(self, graph: LatentGraph) -> None:
        self.graph = graph
        self.known: dict[bytes, tuple[float, float]] = {}

    def __call__(self, found: LatentGraph) -> tuple[float, float]:
        """Forward and reverse error."""
        children = sorted(row.tobytes() for row in found.children)
        key = b"".join([found.directed.tobytes(), *children])
        if key not in self.known:
            error = compatibility(self.graph, found, seed=0)
            self.known[key] = error.forward, error.reverse
        return self.known[key]


def weight_of(multiple: str, stats: GaussianStats) -> float:
    """λ of a criterion."""
    if multiple == "ebic":
        return price("dimension", stats.n, stats.p, "ebic")
    return float(multiple) * penalty_weight(stats.n)


def judged(
    stats: GaussianStats, judge: Judge, criterion: str, kicks: int, seed: int
) -> dict[str, Any]:
    """One row: both graphs under one criterion."""
    penalty, multiple = criterion.split(":")
    graph, weight = judge.graph, weight_of(multiple, stats)
    options: dict[str, Any] = {
        "penalty": penalty,
        "max_latents": max(stats.p // 2 + 2, graph.n_latent),
        "seed": seed,
    }
    start = SearchSettings(weight=weight, start=graph, kicks=0)
    truth = search(stats, settings=start, **options)
    found = search(stats, settings=SearchSettings(weight=weight, kicks=kicks), **options)
    return {
        "penalty": penalty, "multiple": multiple, "weight": weight, "kicks": kicks,
        "gap": (found.score - truth.score) / weight,
        "edges": graph.n_edges, "latents": graph.n_latent,
        **described("truth", truth, judge), **described("found", found, judge),
    }  # fmt: skip


def described(name: str, result: Found, judge: Judge) -> dict[str, Any]:
    """What a row says about one graph."""
    forward, reverse = judge(result.graph)
    return {
        name: result.score, f"{name}_forward": forward, f"{name}_reverse": reverse,
        f"{name}_edges": result.graph.n_edges, f"{name}_latents": result.graph.n_latent,
    }  # fmt: skip


def cases(options: argparse.Namespace) -> Iterator[tuple[int, int, float, int, int]]:
    """Worlds, seed by seed so that an interrupted run covers all cells."""
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for seed, p, degree, n, ratio in product(
        seeds, options.sizes, options.degrees, options.samples, options.ratios
    ):
        yield p, degree, ratio, n, seed


def study(path: Path, options: argparse.Namespace) -> None:
    """Append the rows that are missing."""
    done = {identity(row) for row in read(path)}
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        for case in cases(options):
            where = dict(zip(WORLD_FIELDS, case, strict=True))
            stats, graph = world(case[0], case[1], case[2], case[4], n=case[3])
            judge, kicks = Judge(graph), options.kicks * case[0]
            for criterion in options.criteria:
                penalty, multiple = criterion.split(":")
                named = {**where, "penalty": penalty, "multiple": multiple, "kicks": kicks}
                if identity(named) not in done:
                    writer.writerow({**where, **judged(stats, judge, criterion, kicks, case[4])})
                    file.flush()


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes a row the same as another."""
    numbers = tuple(float(row[key]) for key in (*WORLD_FIELDS, "kicks"))
    return *numbers, row["penalty"], row["multiple"]


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of an earlier run."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def errors(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Errors of the polished truth, the found graph, and the lower-scoring one; comparisons."""
    columns = {key: np.array([float(row[key]) for row in rows]) for key in FIELDS[9:16]}
    truth = columns["truth_forward"] + columns["truth_reverse"]
    found = columns["found_forward"] + columns["found_reverse"]
    lower = columns["found"] < columns["truth"] - ACCURACY
    return {
        "truth": truth,
        "found": found,
        "optimum": np.where(lower, found, truth),
        "lower": lower,
        "hit": columns["found"] <= columns["truth"] + ACCURACY,
    }


def table(rows: list[dict[str, Any]], names: list[str], by: str) -> None:
    """Median and mean errors of each criterion, by a column; worlds judged under all of them.

    "above the best" is the mean difference to the criterion of the smallest mean, world by world.
    """
    criteria = [tuple(name.split(":")) for name in names]
    rows = [row for row in rows if (row["penalty"], row["multiple"]) in criteria]
    for p in sorted({int(row["p"]) for row in rows}):
        here = complete([row for row in rows if int(row["p"]) == p], len(criteria))
        if not here:
            continue
        values = sorted({float(row[by]) for row in here})
        cells = [f"{by} = {value:g}" for value in values] + ["all"]
        own = {c: [r for r in here if (r["penalty"], r["multiple"]) == c] for c in criteria}
        for kind in ("optimum", "found"):
            print(f"\np = {p}, error of the {kind}: median, mean")
            print(f"| criterion | {' | '.join(cells)} | above the best | at or below truth |")
            print("|" + "---|" * (len(cells) + 3))
            best = min((errors(group)[kind] for group in own.values()), key=np.mean)
            for (penalty, multiple), group in own.items():
                parts = [[r for r in group if float(r[by]) == value] for value in values]
                texts = [summary(errors(part)[kind]) for part in [*parts, group]]
                texts.append(excess(errors(group)[kind] - best))
                hit = errors(group)["hit"]
                print(f"| {penalty}, {multiple} | {' | '.join(texts)} | {hit.mean():.0%} |")
        blame(p, own, by, values)
        print(f"({len(here) // len(criteria)} worlds)")


def blame(p: int, own: dict[Any, list[dict[str, Any]]], by: str, values: list[float]) -> None:
    """The mean error of the found graph in two parts, below truth and above; and its latents."""
    cells = [f"{by} = {value:g}" for value in values]
    print(f"\np = {p}, mean error from graphs scoring below + above truth (worlds)")
    print(f"| criterion | {' | '.join(cells)} | latents (true) |\n|" + "---|" * (len(cells) + 2))
    for (penalty, multiple), group in own.items():
        texts = [parts([r for r in group if float(r[by]) == value]) for value in values]
        found, true = (
            np.mean([float(r[key]) for r in group]) for key in ("found_latents", "latents")
        )
        print(f"| {penalty}, {multiple} | {' | '.join(texts)} | {found:.1f} ({true:.1f}) |")


def parts(rows: list[dict[str, Any]]) -> str:
    """What graphs below and above truth contribute to the mean error, and their numbers."""
    values = errors(rows)
    texts, counts = [], []
    for where in (values["lower"], ~values["hit"]):
        texts.append(f"{values['found'][where].sum() / len(rows):.2f}")
        counts.append(str(where.sum()))
    return f"{' + '.join(texts)} ({', '.join(counts)})"


def complete(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Rows of worlds judged under all criteria."""
    worlds: dict[tuple[float, ...], list[dict[str, Any]]] = {}
    for row in rows:
        worlds.setdefault(tuple(float(row[key]) for key in WORLD_FIELDS), []).append(row)
    return [row for group in worlds.values() if len(group) == count for row in group]


def summary(values: np.ndarray) -> str:
    """Median and mean."""
    return f"{np.median(values):.3f}, {values.mean():.2f}"


def excess(differences: np.ndarray) -> str:
    """Mean difference over the same worlds, with its standard error."""
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.nan
    return f"{differences.mean():.2f} ± {error:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", default=Path("out/penalty.csv"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--degrees", type=int, nargs="+", default=[4])
    parser.add_argument("--ratios", type=float, nargs="+", default=[0.0, 0.1, 0.2, 0.3])
    parser.add_argument("--samples", type=int, nargs="+", default=[500, 2000, 10_000, 100_000])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--kicks", type=int, default=60, help="a variable")
    parser.add_argument(
        "--criteria",
        nargs="+",
        default=["structural:1", "dimension:1", "dimension:ebic", "dimension:2"],
    )
    parser.add_argument("--table", action="store_true", help="only print what is there")
    parser.add_argument("--by", choices=("n", "ratio"), default="n")
    options = parser.parse_args()
    if not options.table:
        study(options.path, options)
    table(read(options.path), options.criteria, options.by)


if __name__ == "__main__":
    main()
