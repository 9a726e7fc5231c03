"""A bounded list of the most promising moves for every head and every latent, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.search.moves import Move

PER_ROW = 14  # moves kept for each head and each latent


class Candidates(NamedTuple):
    """Row j < p holds the moves of head j, row p + h those of latent h."""

    predicted: np.ndarray  # (rows, PER_ROW) change of the score, infinite where empty
    kind: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    value: np.ndarray
    used: np.ndarray  # (rows,) rows that may hold moves, `n_used[0]` of them
    listed: np.ndarray  # (rows,) whether a row is among them
    n_used: np.ndarray  # (1,)


def empty_candidates(rows: int) -> Candidates:
    """No candidates."""
    shape = (rows, PER_ROW)
    return Candidates(
        predicted=np.full(shape, np.inf),
        kind=np.zeros(shape, np.int64),
        a=np.zeros(shape, np.int64),
        b=np.zeros(shape, np.int64),
        c=np.zeros(shape, np.int64),
        value=np.zeros(shape),
        used=np.zeros(rows, np.int64),
        listed=np.zeros(rows, np.bool_),
        n_used=np.zeros(1, np.int64),
    )


@kernel
def clear_row(candidates: Candidates, row: int) -> None:
    """Forget a row's moves."""
    for k in range(PER_ROW):
        candidates.predicted[row, k] = np.inf


@kernel
def clear_all(candidates: Candidates) -> None:
    """Forget all moves."""
    for x in range(candidates.n_used[0]):
        clear_row(candidates, candidates.used[x])
        candidates.listed[candidates.used[x]] = False
    candidates.n_used[0] = 0


@kernel
def offer(candidates: Candidates, row: int, move: Move, predicted: float) -> None:
    """Keep a move if it is among the best of its row."""
    worst = 0
    for k in range(1, PER_ROW):
        if candidates.predicted[row, k] > candidates.predicted[row, worst]:
            worst = k
    if predicted < candidates.predicted[row, worst]:
        if not candidates.listed[row]:
            candidates.listed[row] = True
            candidates.used[candidates.n_used[0]] = row
            candidates.n_used[0] += 1
        candidates.predicted[row, worst] = predicted
        candidates.kind[row, worst] = move.kind
        candidates.a[row, worst] = move.a
        candidates.b[row, worst] = move.b
        candidates.c[row, worst] = move.c
        candidates.value[row, worst] = move.value


@merged
def take_best(candidates: Candidates) -> tuple[float, Move]:
    """Remove and return the most promising move; its prediction is infinite if none is left."""
    row, place, best = 0, 0, np.inf
    for y in range(candidates.n_used[0]):
        x = candidates.used[y]
        for k in range(PER_ROW):
            if candidates.predicted[x, k] < best:
                row, place, best = x, k, candidates.predicted[x, k]
    candidates.predicted[row, place] = np.inf
    move = Move(
        candidates.kind[row, place],
        candidates.a[row, place],
        candidates.b[row, place],
        candidates.c[row, place],
        candidates.value[row, place],
    )
    return best, move
