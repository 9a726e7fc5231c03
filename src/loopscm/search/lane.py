"""One lane of a search: a compiled state, its random numbers, and the graphs that it met."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from loopscm.search.candidates import empty_candidates
from loopscm.search.engine import BEST, COPY, FIRST, GO_ON, MERGE, REST, Control, advance
from loopscm.search.local import FITS, LEFT, STEPS, Work
from loopscm.search.pool import empty_pool
from loopscm.search.problem import Problem
from loopscm.search.state import State, differences
from loopscm.search.tables import empty_tables


class Lane:
    """A walk through graphs; see `engine`."""

    def __init__(
        self, problem: Problem, control: Control, start: State, keep: int, seed: np.uint64
    ) -> None:
        p, slots = len(start.noise), len(start.n_children)
        self.problem, self.control = problem, control
        self.work = Work(
            state=deepcopy(start),
            trial=deepcopy(start),
            base=deepcopy(start),
            best=deepcopy(start),
            tables=empty_tables(p),
            candidates=empty_candidates(p + slots),
            counts=np.zeros(3, np.int64),
            region=np.arange(p),
            rounds=np.zeros(p, np.int64),
        )
        self.pool = empty_pool(start, keep)
        self.scores = np.zeros(2)
        self.rng = np.array([seed], np.uint64)

    def search_locally(self) -> None:
        """The first local search."""
        self.work.trial.touched[:] = True
        self.work.trial.stirred[:] = True
        self._advance(1, FIRST)

    def walk(self, kicks: int) -> None:
        """Kick that many times."""
        self._advance(kicks, GO_ON)

    def rest(self) -> None:
        """Go back to the best graph so far."""
        self._advance(1, REST)

    def copy(self, source: State) -> None:
        """Go on from a graph instead of the own one."""
        heads, latents = differences(source, self.work.state)
        self._edit(source, heads, {h: h for h in np.flatnonzero(latents)}, COPY)

    def merge(self, source: State, reference: State) -> None:
        """Take over what a graph changed against a reference, if that lowers the score.

        What this lane changed as well stays as it is, but two new latents in one slot are both
        kept if another slot is free.
        """
        heads, latents = differences(source, reference)
        own_heads, own_latents = differences(self.work.state, reference)
        slots = {h: h for h in np.flatnonzero(latents & ~own_latents)}
        used = (self.work.state.n_children > 0) | latents
        for h in np.flatnonzero(latents & own_latents & (reference.n_children == 0)):
            if source.n_children[h] > 0 and not used.all():
                slots[h] = np.flatnonzero(~used)[0]
                used[slots[h]] = True
        self._edit(source, heads & ~own_heads, slots, MERGE)

    def _edit(
        self, source: State, heads: np.ndarray, slots: dict[np.int64, np.int64], order: int
    ) -> None:
        """Overwrite heads and latents (by slot there and here) of the trial, then go on from it."""
        state, trial = self.work.state, self.work.trial
        for name in ("n_tails", "tails", "weights", "noise"):
            getattr(trial, name)[heads] = getattr(source, name)[heads]
        trial.touched[heads] = True
        for there, here in slots.items():
            for name in ("n_children", "children", "loadings"):
                getattr(trial, name)[here] = getattr(source, name)[there]
            trial.stirred[here] = True
            for graph in (state, trial):
                trial.touched[graph.children[here, : graph.n_children[here]]] = True
        if trial.touched.any():
            self._advance(1, order)

    def _advance(self, steps: int, order: int) -> None:
        if steps > 0:
            advance(
                self.problem,
                self.work,
                self.control,
                self.pool,
                self.scores,
                self.rng,
                steps,
                order,
            )

    @property
    def best(self) -> float:
        """Score of the best graph so far, not zero-based."""
        return float(self.scores[BEST])

    @property
    def kicks(self) -> int:
        """Kicks so far."""
        return int(self.work.counts[STEPS])

    @property
    def fits(self) -> int:
        """Graphs fitted so far."""
        return int(self.work.counts[FITS])

    @property
    def left(self) -> int:
        """Kicks left in the round."""
        return int(self.work.counts[LEFT])
