"""Shared settings of the test suite."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # for the oracles

settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
# New random examples on every run, for `make test-slow`; the suite itself never varies.
settings.register_profile(
    "explore", settings.get_profile("suite"), derandomize=False, max_examples=200, print_blob=True
)
settings.load_profile("suite")
