"""Settings of the gate learners; the defaults are the published ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from loopscm._checks import as_choice, as_integer, as_real
from loopscm.errors import OptionError
from loopscm.gates.estimators import Estimator, LeaveOneOut, StraightThrough

Units = Literal["raw", "standardised"]

# Adam updates by p (Appendix "Optimization and evaluation settings").
UPDATES = {4: 1000, 8: 1500, 16: 3000, 32: 4000, 64: 6000, 128: 8000, 256: 10_000, 512: 10_000}
LATENT_RATIO = 0.2  # assumed by the published slot rule when nothing is known


def published_updates(p: int) -> int:
    """The published number of updates.

    Between the sizes of the table linear in log₂ p, rounded up to a multiple of 100; constant
    beyond its ends. (The gene networks of the paper, p = 100, got 10,000 instead of 7,300.)
    """
    sizes, counts = list(UPDATES), list(UPDATES.values())
    as_integer(p, "p", minimum=1)
    value = float(np.interp(np.log2(p), np.log2(sizes), counts))
    return 100 * math.ceil(round(value / 100, 9))


def published_slots(p: int, ratio: float = LATENT_RATIO) -> int:
    """L_max = 2⌊p·ratio + ½⌋ + 1, and none at ratio zero."""
    as_integer(p, "p", minimum=1)
    as_real(ratio, "ratio", minimum=0.0)
    return 2 * math.floor(p * ratio + 0.5) + 1 if ratio > 0 else 0


@dataclass(frozen=True)
class Refinement:
    """The compound support refinement of the observed-only learner.

    The objective has reached a plateau when its mean over the last `window` updates is within
    `tolerance`, relatively, of its mean over the `window` updates before.
    """

    window: int = 50
    tolerance: float = 1e-4
    deletions: int = 10
    reversals: int = 10

    def __post_init__(self) -> None:
        as_integer(self.window, "window", minimum=1)
        as_real(self.tolerance, "tolerance", minimum=0.0)
        as_integer(self.deletions, "deletions", minimum=0)
        as_integer(self.reversals, "reversals", minimum=0)


@dataclass(frozen=True)
class GateSettings:
    """How a gate learner starts, moves, and reads off its graph.

    Parameters
    ----------
    estimator : where gradients come from, see `loopscm.gates.estimators`.
    updates : Adam updates.
    learning_rate : of Adam.
    edge_probability, loading_probability, latent_probability : initial gate probabilities.
    coefficient_scale : standard deviation of the normal initial W and Γ. (The paper says
        "initial coefficient scale 0.5" and no more; noise variances start at the variances
        of the variables.)
    noise_floor : ε of ω = ε + softplus(d), as a share of each variable's variance.
    units : "raw" searches in the units of the data, as the paper's formulas read; with
        "standardised" data in any units give the same search.
    norm_margin : ε_A of the optional restriction ‖|W|‖₂ ≤ 1 − ε_A, kept by shrinking W.
    refinement : of the support at plateaus, None for none; only without latents.
    gate_threshold, coefficient_threshold : a gate above and |coefficient| above are an edge.
    chunk : samples whose sums are held at a time (memory only); None for all.
    monitor_every : updates between two evaluations of the smallest singular value of A.
    """

    updates: int
    estimator: Estimator = field(default_factory=LeaveOneOut)
    learning_rate: float = 1e-2
    edge_probability: float = 0.01
    loading_probability: float = 0.5
    latent_probability: float = 0.99
    coefficient_scale: float = 0.5
    noise_floor: float = 1e-6
    units: Units = "raw"
    norm_margin: float | None = None
    refinement: Refinement | None = None
    gate_threshold: float = 0.5
    coefficient_threshold: float = 1e-4
    chunk: int | None = None
    monitor_every: int = 10

    def __post_init__(self) -> None:
        as_integer(self.updates, "updates", minimum=0)
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "estimate"):
            raise OptionError(
                f"estimator must be LeaveOneOut, StraightThrough, or LocalExpectation, got "
                f"{self.estimator!r}."
            )
        as_real(self.learning_rate, "learning_rate", minimum=0.0, strict=True)
        for name in ("edge_probability", "loading_probability", "latent_probability"):
            _as_share(getattr(self, name), name)
        _as_share(self.gate_threshold, "gate_threshold")
        _as_share(self.noise_floor, "noise_floor")
        as_real(self.coefficient_scale, "coefficient_scale", minimum=0.0)
        as_real(self.coefficient_threshold, "coefficient_threshold", minimum=0.0)
        as_choice(self.units, "units", get_args(Units))
        if self.norm_margin is not None:
            _as_share(self.norm_margin, "norm_margin")
        if self.chunk is not None:
            as_integer(self.chunk, "chunk", minimum=1)
        as_integer(self.monitor_every, "monitor_every", minimum=1)
        if self.refinement is not None and not isinstance(self.refinement, Refinement):
            raise OptionError(f"refinement must be a Refinement or None, got {self.refinement!r}.")


def _as_share(value: float, name: str) -> None:
    if not 0.0 < as_real(value, name) < 1.0:
        raise OptionError(f"{name} must lie strictly between 0 and 1, got {value!r}.")


def published_settings(p: int, slots: int) -> GateSettings:
    """The published settings for p variables and a number of latent slots."""
    if as_integer(slots, "slots", minimum=0) == 0:
        return GateSettings(published_updates(p), LeaveOneOut(), refinement=Refinement())
    return GateSettings(published_updates(p), StraightThrough())
