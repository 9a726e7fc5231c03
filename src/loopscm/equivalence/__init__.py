"""Which graphs the data can tell apart, and how close a recovered graph is to a reference.

The names are loaded on first use, so that importing the package stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loopscm.equivalence.candidates import candidate_class, equivalence_class, minimisers
    from loopscm.equivalence.comparison import Comparison, compare
    from loopscm.equivalence.discrepancy import Compatibility, DrawStatus, compatibility
    from loopscm.equivalence.metrics import (
        GraphMetrics,
        Recovery,
        class_shd,
        confounded_pairs,
        graph_metrics,
        heldout_log_likelihood,
        shd,
    )
    from loopscm.equivalence.minimality import (
        Minimality,
        c_dagger,
        minimality_at,
        minimum_representative,
        relevant_candidates,
        structural_minimality,
    )
    from loopscm.equivalence.quasi import Answer, QuasiEquivalence, overlaps, quasi_equivalent
    from loopscm.equivalence.rotations import RotationClass, reversed_cycles, rotation_class
    from loopscm.equivalence.vanishing import zero_pairs
    from loopscm.likelihood.dimension import family_dimension

_HOMES = {
    "candidates": ("candidate_class", "equivalence_class", "minimisers"),
    "comparison": ("Comparison", "compare"),
    "discrepancy": ("Compatibility", "DrawStatus", "compatibility"),
    "metrics": (
        "GraphMetrics",
        "Recovery",
        "class_shd",
        "confounded_pairs",
        "graph_metrics",
        "heldout_log_likelihood",
        "shd",
    ),
    "minimality": (
        "Minimality",
        "c_dagger",
        "minimality_at",
        "minimum_representative",
        "relevant_candidates",
        "structural_minimality",
    ),
    "quasi": ("Answer", "QuasiEquivalence", "overlaps", "quasi_equivalent"),
    "rotations": ("RotationClass", "reversed_cycles", "rotation_class"),
    "vanishing": ("zero_pairs",),
}
_MODULE_OF = {
    name: f"loopscm.equivalence.{home}" for home, names in _HOMES.items() for name in names
}
_MODULE_OF["family_dimension"] = "loopscm.likelihood.dimension"

__all__ = [
    "Answer",
    "Comparison",
    "Compatibility",
    "DrawStatus",
    "GraphMetrics",
    "Minimality",
    "QuasiEquivalence",
    "Recovery",
    "RotationClass",
    "c_dagger",
    "candidate_class",
    "class_shd",
    "compare",
    "compatibility",
    "confounded_pairs",
    "equivalence_class",
    "family_dimension",
    "graph_metrics",
    "heldout_log_likelihood",
    "minimality_at",
    "minimisers",
    "minimum_representative",
    "overlaps",
    "quasi_equivalent",
    "relevant_candidates",
    "reversed_cycles",
    "rotation_class",
    "shd",
    "structural_minimality",
    "zero_pairs",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'loopscm.equivalence' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
