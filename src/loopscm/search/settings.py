"""Settings of the discrete search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from loopscm._checks import as_choice, as_integer, as_real
from loopscm.errors import OptionError
from loopscm.graph import LatentGraph
from loopscm.likelihood.penalty import Penalty, Weight, price
from loopscm.search.engine import Control
from loopscm.search.kicks import KINDS
from loopscm.search.knowledge import Knowledge
from loopscm.stats import GaussianStats

KICKS_PER_NODE, LEAST_KICKS = 200, 2000  # without any budget
LARGE = 128  # variables: larger graphs are searched at two places at a time, loops bounded
LARGEST_LOOP = 24  # in large graphs; the published protocol's loops have at most 5 variables


@dataclass(frozen=True)
class SearchSettings:
    """How the search works; the defaults suit the published protocol.

    Parameters
    ----------
    kicks : budget of kicks, which makes a search repeatable. None: until `time_limit`; without one,
        200 per variable and at least 2000. 0 is a local search from `start`.
    target : the search ends when it reaches this score (zero-based).
    start : graph to start from; without edges by default.
    knowledge : required and forbidden edges.
    weight : λ, the price of one unit of cost: "paper" is ½ log n, "bic" the same by another
        name, "ebic" ½ log n + log p (extended BIC with γ = ½), or a number. None: "ebic" for the
        dimension penalty, "paper" for the structural one.
    keep : size of the near-optimal set.
    lanes : places searched side by side, each on a core of its own if `n_jobs` allows; their
        gains are merged after every round. None: one, or two above 128 variables. The answer
        depends on it, but not on `n_jobs`.
    first_patience, patience : failed trials in a row that end the first local search, and
        those after kicks.
    hope : moves predicted to raise the score by more than this many λ are not tried.
    heat : mean rise of the score at which a kick is still accepted.
    round_length : kicks of a round, which begins at the best graph so far.
    region : variables from which the kicks of a round start.
    largest_set : most variables of a kick.
    company : variables of a local fit, neighbours of the changed ones included.
    slack : a change is fitted alone first, and with its company if that is within this many
        λ of a gain.
    largest_loop : most variables that may depend on each other through loops (a strong
        component). None: any number, or 24 above 128 variables, where larger ones are slow.
    most_heads : changes of more variables at once are not tried.
    without : numbers of the kinds of kick not to use, see `kicks.py`.
    """

    kicks: int | None = None
    target: float | None = None
    start: LatentGraph | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)
    weight: Weight | float | None = None
    keep: int = 50
    lanes: int | None = None
    first_patience: int = 40
    patience: int = 8
    hope: float = 0.3
    heat: float = 2.0
    round_length: int = 480
    region: int = 16
    largest_set: int = 6
    company: int = 5
    slack: float = 0.5
    largest_loop: int | None = None
    most_heads: int = 24
    without: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kicks is not None:
            as_integer(self.kicks, "kicks", minimum=0)
        if isinstance(self.weight, str):
            as_choice(self.weight, "a weight that is no number", get_args(Weight))
        elif self.weight is not None:
            as_real(self.weight, "weight", minimum=0.0)
        if self.target is not None:
            as_real(self.target, "target")
        for name in ("lanes", "largest_loop"):
            if getattr(self, name) is not None:
                as_integer(getattr(self, name), name, minimum=1)
        for name in ("keep", "first_patience", "patience", "round_length", "region", "company"):
            as_integer(getattr(self, name), name, minimum=1)
        as_integer(self.most_heads, "most_heads", minimum=1)
        as_integer(self.largest_set, "largest_set", minimum=2)
        for name in ("hope", "heat", "slack"):
            as_real(getattr(self, name), name, minimum=0.0)
        if not isinstance(self.knowledge, Knowledge):
            raise OptionError(
                f"knowledge must be a Knowledge, got {type(self.knowledge).__name__}."
            )
        if self.start is not None and not isinstance(self.start, LatentGraph):
            raise OptionError(f"start must be a LatentGraph, got {type(self.start).__name__}.")
        if not set(self.without) < set(range(KINDS)):
            raise OptionError(
                f"without must leave one of the kicks 0 to {KINDS - 1}, got {self.without!r}."
            )

    def weight_for(self, stats: GaussianStats, penalty: Penalty) -> float:
        """λ as a number."""
        return price(penalty, stats.n, stats.p, self.weight)

    def lanes_for(self, p: int) -> int:
        """The number of lanes."""
        return self.lanes if self.lanes is not None else 1 + (p > LARGE)

    def largest_loop_for(self, p: int) -> int:
        """The bound on strong components."""
        if self.largest_loop is not None:
            return self.largest_loop
        return p if p <= LARGE else LARGEST_LOOP

    def control(self, weight: float) -> Control:
        """The settings in the form compiled code takes, in units of the score."""
        return Control(
            first_patience=self.first_patience,
            patience=self.patience,
            hope=self.hope * weight,
            heat=self.heat,
            round_length=self.round_length,
            region=self.region,
            largest_set=self.largest_set,
            kicks=np.array(sorted(set(range(KINDS)) - set(self.without))),
        )
