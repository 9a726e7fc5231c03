"""How the library's kernels are compiled, and when their cached code is out of date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

# Sums are not reordered: how a compiler would do it depends on the machine and on what is
# compiled together, and with it the walk of a search.
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",  # division by zero gives inf
}
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel that Python code calls; it lets other threads run meanwhile."""
    return njit(nogil=True, **_OPTIONS)(function)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only other kernels call; it needs no entry from Python."""
    return njit(**_OPTIONS, **_NO_WRAPPERS)(function)


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Merge a kernel into its only caller before that is compiled.

    Every kernel is compiled again as a part of each kernel that calls it; one with a single
    caller is compiled once this way.
    """
    return njit(inline="always", **_OPTIONS, **_NO_WRAPPERS)(function)


def _drop_stale_caches(root: Path) -> None:
    """Forget compiled code that is older than any kernel's source.

    The compiler compares a cache only with the file of the function itself, not with the
    files of the kernels it calls, and would go on using an old version of those.
    """
    sources = [path for path in root.rglob("*.py") if "loopscm._compile" in path.read_text("utf8")]
    newest = max((path.stat().st_mtime for path in sources), default=0.0)
    for index in root.rglob("__pycache__/*.nbi"):
        try:
            if index.stat().st_mtime < newest:
                index.unlink(missing_ok=True)
        except OSError:
            continue  # removed by another process, or a read-only installation


_drop_stale_caches(Path(__file__).parent)
