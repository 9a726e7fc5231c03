"""The methods of `learn` by name, imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from loopscm._checks import as_choice
from loopscm.learning.request import Request
from loopscm.learning.result import LearnResult
from loopscm.likelihood.penalty import Penalty

Method = Callable[[Request], LearnResult]

_HOMES = {
    "search": ("loopscm.learning.search_method", "discrete"),
    "paper": ("loopscm.learning.gate_methods", "paper"),
    "bernoulli": ("loopscm.learning.gate_methods", "bernoulli"),
    "concrete": ("loopscm.learning.gate_methods", "concrete"),
}
_PENALTIES: dict[str, Penalty] = {"search": "dimension"}  # of the others, the paper's


def method_names() -> tuple[str, ...]:
    """All methods that `learn` knows."""
    return tuple(_HOMES)


def usual_penalty(method: str) -> Penalty:
    """The penalty that a method minimises unless told otherwise."""
    return _PENALTIES.get(method, "structural")


def method_named(name: str) -> Method:
    """The method of that name."""
    module, attribute = _HOMES[as_choice(name, "method", _HOMES)]
    return getattr(import_module(module), attribute)
