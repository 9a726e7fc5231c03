"""Lanes side by side: each walks a round from the best graph, then their gains are merged.

What a lane does depends on its own random numbers and on the graphs at the ends of rounds, never
on which thread runs it when; so the number of threads changes nothing but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from types import TracebackType

from loopscm.search.lane import Lane

CHUNK = 10  # kicks of a lane between looks at the clock


class Team:
    """Some lanes that start from the same graph."""

    def __init__(self, lanes: Sequence[Lane], n_jobs: int) -> None:
        self.lanes = tuple(lanes)
        self._threads = min(n_jobs, len(self.lanes))
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool:
            self._pool.shutdown(wait=True)

    @property
    def leader(self) -> Lane:
        """The lane with the best graph, the first of them on a tie."""
        return min(self.lanes, key=lambda lane: lane.best)

    @property
    def kicks(self) -> int:
        """Kicks of all lanes so far."""
        return sum(lane.kicks for lane in self.lanes)

    def begin(self) -> None:
        """The first local search; every lane makes the same."""
        self._each(lambda lane: lane.search_locally(), self.lanes)
        self._reference = deepcopy(self.leader.work.best)

    def advance(self, kicks: int | None) -> None:
        """Some more kicks in every lane, at most that many in all; then merge if a round ended."""
        if all(lane.left == 0 for lane in self.lanes) and self.kicks > 0:
            self._merge()
        left = CHUNK * len(self.lanes) if kicks is None else kicks
        shares = {}
        for lane in self.lanes:
            shares[lane] = min(CHUNK, left, lane.left or self.lanes[0].control.round_length)
            left -= shares[lane]
        self._each(lambda lane: lane.walk(shares[lane]), self.lanes)

    def _merge(self) -> None:
        """Merge the gains of all lanes into the leader, and let all go on from there."""
        if len(self.lanes) == 1:
            return
        for lane in self.lanes:
            lane.rest()
        leader, reference = self.leader, self._reference
        others = [lane for lane in self.lanes if lane is not leader]
        for lane in sorted(others, key=lambda lane: lane.best):
            leader.merge(lane.work.best, reference)
        self._each(lambda lane: lane.copy(leader.work.best), others)
        self._reference = deepcopy(leader.work.best)

    def _each(self, task: Callable[[Lane], None], lanes: Sequence[Lane]) -> None:
        """Run a task for every lane, and wait for all of them even if one fails."""
        if self._pool is None:
            for lane in lanes:
                task(lane)
            return
        for future in [self._pool.submit(task, lane) for lane in lanes]:
            future.result()
