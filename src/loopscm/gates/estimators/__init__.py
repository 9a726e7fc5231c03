"""Interchangeable estimators of the gate gradient."""

from loopscm.gates.estimators.base import Draw, Estimate, Estimator, Workers
from loopscm.gates.estimators.leave_one_out import LeaveOneOut
from loopscm.gates.estimators.local_expectation import LocalExpectation
from loopscm.gates.estimators.straight_through import StraightThrough

__all__ = [
    "Draw",
    "Estimate",
    "Estimator",
    "LeaveOneOut",
    "LocalExpectation",
    "StraightThrough",
    "Workers",
]
