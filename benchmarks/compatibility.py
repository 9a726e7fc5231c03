"""How fast and how low: the compatibility error against a plain L-BFGS of the same procedure.

    python benchmarks/compatibility.py race [--p 64] [--graphs 4] [--first 0]
    python benchmarks/compatibility.py hard [--pairs 300]
    python benchmarks/compatibility.py speed [--p 100] [--jobs 2] [--wrong]
    python benchmarks/compatibility.py self
    python benchmarks/compatibility.py turned

`race` takes the processor time of both on the same draws, in turn, and compares discrepancies:
recovered graphs are the reference itself, and copies with p/4 and p/2 edges changed and about
30 % of the latents dropped. `hard` compares discrepancies where several optima are common,
unrelated graphs among them. `speed` times one whole evaluation (20 draws, both directions, 5
starts). `self` evaluates 50 protocol graphs against themselves. `turned` evaluates protocol
graphs of 10 to 100 variables against equivalent graphs with their loops turned around, whose
parameters are not known in advance.
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter, process_time

import numpy as np
from scipy.optimize import minimize

from loopscm import LatentGraph, LinearSCM
from loopscm.equivalence import compatibility
from loopscm.equivalence._family import family_of
from loopscm.equivalence._nearest import nearest
from loopscm.simulate import random_graph, random_scm

STARTS, ITERATIONS, TOLERANCE = 5, 1000, 1e-8  # the published settings


class PlainFit:
    """J over one graph with analytic gradients in numpy, minimised by SciPy's L-BFGS-B."""

    def __init__(self, sigma: np.ndarray, graph: LatentGraph) -> None:
        self.S, self.inverse = sigma, np.linalg.inv(sigma)
        self.edges, self.loadings = np.nonzero(graph.directed), np.nonzero(graph.children)
        self.shape = graph.children.shape
        self.cuts = np.cumsum([len(self.edges[0]), len(self.loadings[0])])

    def objective(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        p = len(self.S)
        b, g, log_omega = np.split(theta, self.cuts)
        A, Gamma, omega = np.eye(p), np.zeros(self.shape), np.exp(log_omega)
        A[self.edges], Gamma[self.loadings] = -b, g
        Psi = np.diag(omega) + Gamma.T @ Gamma
        try:
            V, Pi = np.linalg.inv(A), np.linalg.inv(Psi)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        R, K = A.T @ self.S @ A, V @ self.inverse @ V.T
        value = 0.25 * (np.sum(Pi * R) + np.sum(Psi * K) - 2 * p)
        in_A = 0.5 * (self.S @ A @ Pi) - 0.5 * (K @ Psi @ V).T
        in_Psi = 0.25 * (K - Pi @ R @ Pi)
        parts = -in_A[self.edges], 2 * (Gamma @ in_Psi)[self.loadings], np.diagonal(in_Psi) * omega
        gradient = np.concatenate(parts)
        return (value, gradient) if np.isfinite(value) else (1e10, np.zeros_like(theta))

    def best(self, rng: np.random.Generator) -> float:
        options = {"maxiter": ITERATIONS, "ftol": TOLERANCE, "gtol": TOLERANCE, "maxfun": 10**6}
        values = []
        for _ in range(STARTS):
            start = np.concatenate(
                [0.5 * rng.standard_normal(self.cuts[-1]), np.log(np.diagonal(self.S))]
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = minimize(
                    self.objective, start, jac=True, method="L-BFGS-B", options=options
                )
            values.append(float(found.fun))
        return min(values)


def changed(graph: LatentGraph, rng: np.random.Generator, changes: int) -> LatentGraph:
    """A graph with edges removed, reversed, and added, and about 30 % of the latents dropped."""
    directed, p = graph.directed.copy(), graph.n_observed
    for _ in range(changes):
        found, kind = np.argwhere(directed), rng.random()
        i, j = found[rng.integers(len(found))] if len(found) else (0, 1)
        if kind < 0.6:
            directed[i, j] = False
        if 0.3 <= kind < 0.6:
            directed[j, i] = True
        if kind >= 0.6:
            directed[tuple(rng.choice(p, 2, replace=False))] = True
    return LatentGraph(directed, graph.children[rng.random(graph.n_latent) >= 0.3])


def timed(function, *arguments, clock=perf_counter):
    start = clock()
    value = function(*arguments)
    return value, clock() - start


def ours(model: LinearSCM, graph: LatentGraph) -> float:
    rng, sigma = np.random.default_rng(0), model.covariance()
    return nearest(sigma, family_of(graph), starts=STARTS, rng=rng, hint=model).value


def plain(model: LinearSCM, graph: LatentGraph) -> float:
    return PlainFit(model.covariance(), graph).best(np.random.default_rng(0))


def race(options: argparse.Namespace) -> None:
    print("p, changed edges: ours and L-BFGS in ms a draw (medians), ratio of medians, of totals;")
    print("largest excess of ours, of L-BFGS")
    for changes in (0, options.p // 4, options.p // 2):
        rows = []
        for k in range(options.first, options.first + options.graphs):
            rng = np.random.default_rng([options.p, changes, k])
            graph = random_graph(options.p, 4, 0.2, rng)
            other = changed(graph, rng, changes) if changes else graph
            for source, target in ((graph, other), (other, graph)):
                for draw in range(options.draws or 5):
                    model = random_scm(source, rng)
                    if draw == 0:  # compile, and build the tables of the graph
                        ours(model, target)
                    a, seconds = timed(ours, model, target, clock=process_time)
                    b, other_seconds = timed(plain, model, target, clock=process_time)
                    rows.append((a, b, seconds, other_seconds))
        a, b, mine, theirs = np.array(rows).T
        print(
            f"p {options.p}, {changes}: {1e3 * np.median(mine):.1f} and "
            f"{1e3 * np.median(theirs):.1f}, {np.median(theirs) / np.median(mine):.1f}, "
            f"{theirs.sum() / mine.sum():.1f}; {max(a - b):.2g}, {max(b - a):.2g}"
        )


def hard(options: argparse.Namespace) -> None:
    worse, better, count, excess = 0, 0, 0, 0.0
    for k in range(options.pairs):
        rng = np.random.default_rng([7, k])
        p, ratio = int(rng.choice([4, 6, 8, 12, 16, 24])), rng.choice([0, 0.1, 0.2, 0.3])
        graph = random_graph(p, int(rng.choice([2, 4])), ratio, rng)
        other = random_graph(p, 4, ratio, rng) if k % 3 == 1 else changed(graph, rng, p)
        model = random_scm(graph, rng)
        a, b = ours(model, other), plain(model, other)
        worse, better, count = worse + (a > b + 1e-6), better + (b > a + 1e-6), count + 1
        excess = max(excess, a - b)
    print(
        f"{count} pairs: ours lower by more than 1e-6 in {better}, higher in {worse} "
        f"(largest excess {excess:.2g})"
    )


def speed(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(options.p)
    graph = random_graph(options.p, 4, 0.2, rng)
    compatibility(random_graph(6, 2, 0.2, 0), random_graph(6, 2, 0.2, 1), draws=2)  # compile
    others = {"p/2 changes": changed(graph, rng, options.p // 2)}
    if options.wrong:
        others["unrelated"] = random_graph(options.p, 4, 0.2, rng)
    for name, other in others.items():
        used = process_time()
        count, jobs = options.draws or 20, options.jobs
        result, seconds = timed(
            lambda g=other, k=count, j=jobs: compatibility(graph, g, draws=k, n_jobs=j)
        )
        used = process_time() - used
        print(
            f"p {options.p}, {graph.n_latent} latents, {name}, {count} draws: {seconds:.1f} s with "
            f"{options.jobs} threads ({used:.1f} s of processor time), total "
            f"{result.total:.4f}, {result.forward_status.name}, {result.reverse_status.name}",
            flush=True,
        )


def against_itself(_: argparse.Namespace) -> None:
    totals = []
    sizes = [(p, r, k) for k in range(2) for p in (5, 10, 20, 40, 60, 80, 100) for r in range(4)]
    for p, ratio, k in sizes[:50]:
        graph = random_graph(p, 4, ratio / 10, np.random.default_rng([p, ratio, k]))
        totals.append(compatibility(graph, graph).total)
    print(f"50 protocol graphs against themselves: largest total {max(totals):.2g}")


def with_turned_loops(graph: LatentGraph, rng: np.random.Generator) -> LatentGraph | None:
    """A graph with the same columns of A in another order; None if it has no loops to turn."""
    supports = graph.directed | np.eye(graph.n_observed, dtype=bool)
    order = np.arange(graph.n_observed)
    for members in map(np.array, graph.strongly_connected_components()):
        for _ in range(100):
            places = rng.permutation(len(members))
            moved = (places != np.arange(len(members))).any()
            if moved and supports[members, members[places]].all():
                order[members] = members[places]
                break
    if (order == np.arange(graph.n_observed)).all():
        return None
    directed = supports[:, order] & ~np.eye(graph.n_observed, dtype=bool)
    return LatentGraph(directed, graph.children[:, order])


def turned(options: argparse.Namespace) -> None:
    totals, draws = [], options.draws or 5
    for p in (10, 20, 40, 60, 100):
        for ratio in range(4):
            for k in range(options.first, options.first + options.graphs):
                rng = np.random.default_rng([p, ratio, k])
                graph = random_graph(p, 4, ratio / 10, rng)
                other = with_turned_loops(graph, rng)
                if other is not None:
                    totals.append(compatibility(graph, other, draws=draws).total)
    print(
        f"{len(totals)} graphs against turned loops, {draws} draws each way: "
        f"{sum(total > 1e-6 for total in totals)} totals above 1e-6, largest {max(totals):.2g}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["race", "hard", "speed", "self", "turned"])
    parser.add_argument("--p", type=int, default=None)
    parser.add_argument("--graphs", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="number of the first graph")
    parser.add_argument("--draws", type=int, default=None)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    options.p = options.p or (64 if options.what == "race" else 100)
    commands = {
        "race": race, "hard": hard, "speed": speed, "self": against_itself, "turned": turned,
    }  # fmt: skip
    commands[options.what](options)


if __name__ == "__main__":
    main()
