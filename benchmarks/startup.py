"""How long do the import and the first fit take, with and without compiled code on disk?

Each figure is a new process. The compiled code goes to a temporary folder first, so nothing
of an earlier run helps the first one. Elapsed time and processor time are printed; on a machine
that does something else besides only the latter means anything.

    python benchmarks/startup.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

CLOCKS = "import time; t, c = time.perf_counter(), time.process_time()\n"
PRINT = "\nprint(time.perf_counter() - t, time.process_time() - c)"
IMPORT = "import loopscm"
FIRST_FIT = """
import numpy as np
from loopscm import GaussianStats, LatentGraph, fit
S = np.array([[1.0, 0.4, 0.3], [0.4, 1.0, 0.5], [0.3, 0.5, 1.0]])
graph = LatentGraph([[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0, 1, 1]])
fit(GaussianStats.from_covariance(S, 100), graph)
"""


def run(code: str, cache: str) -> tuple[float, float]:
    """(elapsed, processor) seconds of some code in a new process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CLOCKS + code + PRINT]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    elapsed, processor = map(float, done.stdout.split())
    return elapsed, processor


def report(label: str, code: str, cache: str, repeats: int) -> None:
    """Print the medians over new processes."""
    elapsed, processor = zip(*(run(code, cache) for _ in range(repeats)), strict=True)
    wall, cpu = statistics.median(elapsed), statistics.median(processor)
    print(f"{label:40s} {wall:6.2f} s elapsed, {cpu:6.2f} s processor (median of {repeats})")


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        report("import loopscm", IMPORT, cache, 5)
        report("first fit, compilation included", FIRST_FIT, cache, 1)
        report("import and first fit in later processes", FIRST_FIT, cache, 5)


if __name__ == "__main__":
    main()
