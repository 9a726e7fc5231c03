"""Progress of a computation as a bar on the terminal."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import TaskID


class Bar:
    """A `Progress` that draws on the error stream, and vanishes when the work is done."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bars = RichProgress(console=console, transient=True, disable=not console.is_terminal)
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def start(self, total: int, what: str) -> None:
        """A computation of `total` steps begins."""
        self._task = self._bars.add_task(what, total=total)

    def advance(self, count: int = 1) -> None:
        """`count` more steps are done."""
        if self._task is not None:
            self._bars.advance(self._task, count)

    def finish(self) -> None:
        """The computation is over."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = None
