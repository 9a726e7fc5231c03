"""Bernoulli-gate learners: the exact objective, its gradient estimators, the published method.

`loopscm.learn` runs them by name; the parts are for experiments with the method itself.
"""

from loopscm.gates.driver import Run, problem_of, run, start_or_resume, step
from loopscm.gates.estimators import (
    Draw,
    Estimate,
    Estimator,
    LeaveOneOut,
    LocalExpectation,
    StraightThrough,
    Workers,
)
from loopscm.gates.objective import ExactObjective, exact_objective
from loopscm.gates.parameters import GateParameters
from loopscm.gates.settings import (
    GateSettings,
    Refinement,
    published_settings,
    published_slots,
    published_updates,
)
from loopscm.gates.state import LearnerState

__all__ = [
    "Draw",
    "Estimate",
    "Estimator",
    "ExactObjective",
    "GateParameters",
    "GateSettings",
    "LearnerState",
    "LeaveOneOut",
    "LocalExpectation",
    "Refinement",
    "Run",
    "StraightThrough",
    "Workers",
    "exact_objective",
    "problem_of",
    "published_settings",
    "published_slots",
    "published_updates",
    "run",
    "start_or_resume",
    "step",
]
