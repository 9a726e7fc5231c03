"""How long do the import and the first fit take, with and without compiled code on disk?

Each figure is a new process. The compiled code goes to a temporary folder first, so nothing
of an earlier run helps the first one.

    python benchmarks/startup.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

IMPORT = "import time; t = time.perf_counter(); import loopscm; print(time.perf_counter() - t)"
FIRST_FIT = """
import time
t = time.perf_counter()
import numpy as np
from loopscm import GaussianStats, LatentGraph, fit
S = np.array([[1.0, 0.4, 0.3], [0.4, 1.0, 0.5], [0.3, 0.5, 1.0]])
graph = LatentGraph([[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0, 1, 1]])
fit(GaussianStats.from_covariance(S, 100), graph)
print(time.perf_counter() - t)
"""


def run(code: str, cache: str) -> float:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        print(f"import loopscm:                          {run(IMPORT, cache):6.2f} s")
        print(f"first fit, compilation included:         {run(FIRST_FIT, cache):6.2f} s")
        later = statistics.median(run(FIRST_FIT, cache) for _ in range(5))
        print(f"import and first fit in later processes: {later:6.2f} s (median of 5)")


if __name__ == "__main__":
    main()
