"""Independent blocks of work on threads; the kernels inside release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from loopscm._checks import as_integer
from loopscm._progress import Progress, Silent
from loopscm.errors import OptionError


def blocks(n: int, size: int) -> list[slice]:
    """range(n) cut into slices of `size`, independent of the number of workers."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def spawned(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Independent generators derived from the next draws of `rng`."""
    entropy = rng.integers(0, 2**32, size=4, dtype=np.uint32).tolist()
    return [np.random.default_rng(s) for s in np.random.SeedSequence(entropy).spawn(count)]


def workers(n_jobs: int) -> int:
    """A number of threads from an `n_jobs` option; -1 takes every available core."""
    if isinstance(n_jobs, int) and not isinstance(n_jobs, bool) and n_jobs == -1:
        available = getattr(os, "sched_getaffinity", None)
        return len(available(0)) if available else os.cpu_count() or 1
    try:
        return as_integer(n_jobs, "n_jobs", minimum=1)
    except OptionError:
        raise OptionError(f"n_jobs must be a positive integer or -1, got {n_jobs!r}.") from None


def run_blocks(
    task: Callable[[int], int],
    count: int,
    total: int,
    what: str,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> None:
    """Call task(0), ..., task(count − 1); each returns how many of the `total` steps it did."""
    threads = min(workers(n_jobs), max(count, 1))
    meter = progress or Silent()
    meter.start(total, what)
    try:
        for done in _results(task, count, threads):
            meter.advance(done)
    finally:
        meter.finish()


def _results(task: Callable[[int], int], count: int, threads: int) -> Iterable[int]:
    if threads == 1:
        yield from map(task, range(count))
        return
    with ThreadPoolExecutor(threads) as pool:
        pending = [pool.submit(task, b) for b in range(count)]
        try:
            for future in as_completed(pending):
                yield future.result()
        finally:
            for future in pending:
                future.cancel()
