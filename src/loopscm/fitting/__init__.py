"""Maximum likelihood (and minimum divergence) for a fixed graph."""

from loopscm.fitting.fit import fit
from loopscm.fitting.result import Fit, Status
from loopscm.fitting.score import score

__all__ = ["Fit", "Status", "fit", "score"]
