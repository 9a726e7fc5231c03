"""Structure learning: one front door, methods behind it by name."""

from loopscm.learning.learn import learn
from loopscm.learning.registry import method_names
from loopscm.learning.result import LearnResult, LearnStatus

__all__ = ["LearnResult", "LearnStatus", "learn", "method_names"]
