"""Text files, decoded with a refusal that names the line."""

from __future__ import annotations

from pathlib import Path

from loopscm.errors import LoopscmError


def read_text(path: str | Path, error: type[LoopscmError]) -> str:
    """The text of a file in UTF-8, with or without a byte-order mark."""
    content = Path(path).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise error(f"{path}, line {line}: not text in UTF-8; save it as UTF-8.") from None
