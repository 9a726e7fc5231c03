"""What an estimator is, and how its samples are shared among threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_integer
from loopscm.gates.parameters import GateParameters
from loopscm.gates.problem import Problem, expected_complexity, flat_gradient

Vector = NDArray[np.float64]
Keys = NDArray[np.uint64]
GROUPS = 8  # sums are formed within groups of samples, then over groups, always in this order


@dataclass(frozen=True, eq=False)
class Estimate:
    """Objective and gradient at one parameter value, from samples.

    `n_singular` samples had an infinite likelihood. They are left out of all averages, as
    configurations of probability zero are in the exact objective; `objective` is infinite
    only if every sample was singular. `worst_key` names the sample whose A came closest to
    singular, None if nobody watched.
    """

    objective: float
    gradient: Vector
    n_singular: int
    worst_key: np.uint64 | None


class Estimator(Protocol):
    """An interchangeable value that turns samples of masks into a gradient.

    Different estimators of one parameter value agree in expectation with the exact
    gradient (`LeaveOneOut`, `LocalExpectation`) or trade bias for ease (`StraightThrough`).
    """

    @property
    def samples(self) -> int:
        """Masks of an update."""
        ...

    def estimate(
        self, problem: Problem, parameters: GateParameters, draw: Draw, workers: Workers
    ) -> Estimate:
        """The objective and its gradient from the masks that `draw` names."""
        ...

    def worst_mask(self, problem: Problem, parameters: GateParameters, draw: Draw) -> Vector:
        """Values of the gates of the sample `draw.keys[0]`."""
        ...


@dataclass(frozen=True, eq=False)
class Draw:
    """The samples of an update: one key each, and the share of the budget already spent.

    `watch` asks for the sample closest to a singular A, which costs some time.
    """

    keys: Keys
    progress: float = 0.0
    watch: bool = False


class Workers:
    """Threads for one learner, and how many groups of samples are summed at a time.

    Neither changes a bit of the result: the sums of every group are formed alone and added
    in a fixed order.
    """

    def __init__(self, n_jobs: int = 1, chunk: int | None = None) -> None:
        self.n_jobs = as_integer(n_jobs, "n_jobs", minimum=1)
        self.chunk = None if chunk is None else as_integer(chunk, "chunk", minimum=1)
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, tasks: list[Callable[[], None]]) -> None:
        """Call every task; a thread takes the next one when it is done with the last."""
        waiting = deque(tasks)
        if self._pool is None or len(tasks) == 1:
            _drain(waiting)
            return
        count = min(self.n_jobs, len(tasks))
        for future in [self._pool.submit(_drain, waiting) for _ in range(count)]:
            future.result()


def _drain(waiting: deque[Callable[[], None]]) -> None:
    """Call tasks until none is left."""
    while True:
        try:
            task = waiting.popleft()
        except IndexError:
            return
        task()


class Kernel(Protocol):
    """A compiled sum over groups of samples."""

    def __call__(
        self, keys: Keys, size: int, totals: Vector, values: Vector, norms: Vector
    ) -> None: ...


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over all samples of finite likelihood, with f and (if watched) ‖A⁻¹‖² of each."""

    total: Vector
    values: Vector
    norms: Vector

    @property
    def n_finite(self) -> int:
        """Samples that entered the sums."""
        return int(np.isfinite(self.values).sum())


def grouped(kernel: Kernel, keys: Keys, width: int, workers: Workers) -> Sums:
    """Run a kernel over all samples, group by group."""
    size = max(1, -(-len(keys) // GROUPS))
    count = -(-len(keys) // size)
    chunk = count if workers.chunk is None else min(count, max(1, workers.chunk // size))
    total, values, norms = np.zeros(width), np.empty(len(keys)), np.empty(len(keys))
    for first in range(0, count, chunk):
        last = min(first + chunk, count)
        totals = np.zeros((last - first, width))
        share = last - first if workers.n_jobs == 1 else 1

        def task(
            start: int, stop: int, totals: Vector = totals, first: int = first
        ) -> Callable[[], None]:
            part = slice(start * size, stop * size)
            rows = totals[start - first : stop - first]
            return lambda: kernel(keys[part], size, rows, values[part], norms[part])

        workers.run([task(g, min(g + share, last)) for g in range(first, last, share)])
        for row in totals:
            total += row
    return Sums(total, values, norms)


def assembled(
    problem: Problem, parameters: GateParameters, draw: Draw, sums: Sums, mean: Vector
) -> Estimate:
    """The estimate from mean derivatives of f in the coefficients and logits."""
    finite = sums.n_finite
    likelihood = float(np.mean(sums.values[np.isfinite(sums.values)])) if finite else np.inf
    complexity = expected_complexity(parameters.shape, parameters.probabilities)
    return Estimate(
        problem.n * likelihood + problem.weight * complexity,
        flat_gradient(problem, parameters, mean),
        len(draw.keys) - finite,
        draw.keys[int(np.argmax(sums.norms))] if draw.watch else None,
    )
