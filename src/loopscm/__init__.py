"""Learn causal graphs with feedback loops and hidden common causes.

The public names are loaded on first use, so that importing the package stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loopscm._version import __version__

if TYPE_CHECKING:
    from loopscm import datasets, simulate
    from loopscm.equivalence import Compatibility, compatibility, quasi_equivalent
    from loopscm.errors import (
        DataError,
        GraphError,
        LoopscmError,
        OptionError,
        ParameterError,
        UnboundedLikelihoodError,
    )
    from loopscm.fitting import Fit, Status, fit, score
    from loopscm.graph import LatentGraph
    from loopscm.learning import LearnResult, learn
    from loopscm.likelihood.dimension import family_dimension
    from loopscm.scm import LinearSCM
    from loopscm.stats import GaussianStats

_ROOMS = ("datasets", "simulate")
_HOMES = {
    "Compatibility": "equivalence",
    "DataError": "errors",
    "Fit": "fitting",
    "GaussianStats": "stats",
    "GraphError": "errors",
    "LatentGraph": "graph",
    "LearnResult": "learning",
    "LinearSCM": "scm",
    "LoopscmError": "errors",
    "OptionError": "errors",
    "ParameterError": "errors",
    "Status": "fitting",
    "UnboundedLikelihoodError": "errors",
    "compatibility": "equivalence",
    "family_dimension": "likelihood.dimension",
    "fit": "fitting",
    "learn": "learning",
    "quasi_equivalent": "equivalence",
    "score": "fitting",
}

__all__ = [
    "Compatibility",
    "DataError",
    "Fit",
    "GaussianStats",
    "GraphError",
    "LatentGraph",
    "LearnResult",
    "LinearSCM",
    "LoopscmError",
    "OptionError",
    "ParameterError",
    "Status",
    "UnboundedLikelihoodError",
    "__version__",
    "compatibility",
    "datasets",
    "family_dimension",
    "fit",
    "learn",
    "quasi_equivalent",
    "score",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"loopscm.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'loopscm' has no attribute {name!r}")
    value = getattr(import_module(f"loopscm.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
