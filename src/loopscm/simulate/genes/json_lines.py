"""Line numbers inside JSON text, so that a refusal can point at the culprit."""

from __future__ import annotations

import json

from loopscm.simulate.genes.kinetics import Path

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


def line_of(text: str, path: Path) -> int:
    """The line of the value at `path` (keys and positions) in valid JSON text.

    Where the path leads nowhere (a missing key), the line of the last value found.
    """
    at = _skip(text, 0)
    for key in path:
        inside = _member(text, at, key)
        if inside is None:
            break
        at = inside
    return text.count("\n", 0, at) + 1


def _member(text: str, at: int, key: str | int) -> int | None:
    """Where the value of `key` starts within the object or array at `at`."""
    opening = text[at]
    if opening not in "{[" or (opening == "{") != isinstance(key, str):
        return None
    at, position = _skip(text, at + 1), 0
    while text[at] not in "}]":
        label: str | int = position
        if opening == "{":
            label, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        if label == key:
            return at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
        position += 1
    return None


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
