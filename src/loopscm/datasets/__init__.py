"""Real data and reference graphs, each with its source, licence, and caveats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from loopscm.datasets import bundled, causal_chamber
from loopscm.datasets.causal_chamber import load_causal_chamber
from loopscm.datasets.covariance_file import format_covariance, read_covariance
from loopscm.datasets.dataset import Dataset, Reference
from loopscm.errors import OptionError

__all__ = [
    "Dataset",
    "Reference",
    "describe",
    "format_covariance",
    "load",
    "load_causal_chamber",
    "names",
    "read_covariance",
]

_BUNDLED: dict[str, Callable[[], Dataset]] = {
    "sachs": bundled.sachs,
    **{
        f"dream4-size{size}-{number}": partial(bundled.dream4, size, number)
        for size, numbers in bundled.DREAM4_SIZES.items()
        for number in numbers
    },
    **{name: partial(bundled.covariance_example, name) for name in bundled.COVARIANCES},
}


def names() -> tuple[str, ...]:
    """Names that `load` knows; all but the Causal Chambers one are bundled."""
    return (*_BUNDLED, causal_chamber.NAME)


def load(name: str, path: str | Path | None = None) -> Dataset:
    """A data set by name; `path` is needed for data that are not bundled."""
    if name == causal_chamber.NAME:
        return load_causal_chamber(path)
    if name not in _BUNDLED:
        raise OptionError(f"unknown data set {name!r}; choose from {', '.join(names())}.")
    if path is not None:
        raise OptionError(f"{name} is bundled; load it without a path.")
    return _BUNDLED[name]()


def describe(name: str) -> str:
    """What a data set holds, where it comes from, and what to be careful about."""
    if name == causal_chamber.NAME:
        return f"{name}: {causal_chamber.TITLE}\n{causal_chamber.INSTRUCTIONS}"
    data = load(name)
    lines = [
        f"{name}: {data.title}",
        f"variables ({len(data.variables)}): {', '.join(data.variables)}",
        f"observations: {data.n or 'none'}{_only(data)}",
    ]
    if data.conditions is not None:
        labels, counts = _tally(data.conditions.tolist())
        lines.append(
            "conditions: " + ", ".join(f"{a} {b}" for a, b in zip(labels, counts, strict=True))
        )
    for key, reference in data.references.items():
        note = f" ({reference.note})" if reference.note else ""
        lines.append(f"reference {key}: {reference.graph.n_edges} edges, {reference.source}{note}")
    return "\n".join([*lines, f"source: {data.source}", f"licence: {data.licence}", data.notes])


def _only(data: Dataset) -> str:
    return "" if data.covariance is None else " (covariance matrix only)"


def _tally(labels: list[str]) -> tuple[list[str], list[int]]:
    """Distinct labels in order of appearance, with their counts."""
    distinct = list(dict.fromkeys(labels))
    return distinct, [labels.count(label) for label in distinct]
