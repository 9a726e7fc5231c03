"""How long computations report progress: an injected object, silent by default."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told once how much there is to do, then of each advance, then that it is over."""

    def start(self, total: int, what: str) -> None:
        """A computation of `total` steps begins."""

    def advance(self, count: int = 1) -> None:
        """`count` more steps are done."""

    def finish(self) -> None:
        """The computation is over."""


class Silent:
    """Progress that nobody watches."""

    def start(self, total: int, what: str) -> None:
        """Do nothing."""

    def advance(self, count: int = 1) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""
