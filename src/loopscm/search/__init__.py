"""Discrete search over causal graphs with loops and latents."""

from loopscm.search.knowledge import Knowledge
from loopscm.search.nearby import NearOptimal
from loopscm.search.settings import SearchSettings

__all__ = ["Knowledge", "NearOptimal", "SearchSettings"]
