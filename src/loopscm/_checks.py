"""Argument checks shared by the public functions; each raises before any work is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import LoopscmError, OptionError


def as_integer(value: Any, name: str, *, minimum: int) -> int:
    """An integer option at or above its minimum."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise OptionError(f"{name} must be an integer >= {minimum}, got {value!r}.")
    if value < minimum:
        raise OptionError(f"{name} must be at least {minimum}, got {value}.")
    return int(value)


def as_real(value: Any, name: str, *, minimum: float = -np.inf, strict: bool = False) -> float:
    """A finite real option at (or, when strict, above) its minimum."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise OptionError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if not np.isfinite(number) or number < minimum or (strict and number == minimum):
        bound = f" {'>' if strict else '>='} {minimum:g}" if np.isfinite(minimum) else ""
        raise OptionError(f"{name} must be a finite number{bound}, got {value!r}.")
    return number


def as_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """One of a closed set of option words."""
    allowed = tuple(choices)
    if not isinstance(value, str) or value not in allowed:
        raise OptionError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    return value


def as_flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def as_generator(rng: Any, name: str = "rng") -> np.random.Generator:
    """A `numpy.random.Generator`, from one or from an integer seed; never the global state."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise OptionError(
        f"{name} must be a numpy.random.Generator or a non-negative integer seed, got {rng!r}."
    )


def as_names(names: Any, p: int, error: type[LoopscmError]) -> tuple[str, ...]:
    """Variable names: distinct non-empty strings, one per variable; defaults X0, X1, ..."""
    if names is None:
        return tuple(f"X{j}" for j in range(p))
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise error(f"names must be a sequence of {p} strings, got {names!r}.")
    result = tuple(names)
    wrong = [name for name in result if not isinstance(name, str) or not name]
    if wrong:
        raise error(f"names must be non-empty strings; change {wrong[:3]!r} to text.")
    if len(result) != p:
        raise error(f"got {len(result)} names for {p} variables; give exactly one name each.")
    repeated = sorted({name for name in result if result.count(name) > 1})
    if repeated:
        raise error(f"names must be distinct; rename {', '.join(map(repr, repeated[:5]))}.")
    return tuple(str(name) for name in result)


def as_matrix(
    value: Any, name: str, shape: tuple[int | None, int | None], error: type[LoopscmError]
) -> NDArray[np.float64]:
    """A new, finite float64 matrix of the given shape (None: any size)."""
    try:
        if np.iscomplexobj(value):
            raise TypeError("these are complex")
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise error(f"{name} must hold real numbers only ({problem}).") from None
    expected = f"({', '.join('any' if s is None else str(s) for s in shape)})"
    wanted = tuple(n if s is None else s for s, n in zip(shape, array.shape, strict=False))
    if array.ndim != 2 or wanted != array.shape:
        raise error(f"{name} must be a matrix of shape {expected}, got shape {array.shape}.")
    if not np.isfinite(array).all():
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise error(f"{name}[{i}, {j}] is {array[i, j]}; every entry must be finite.")
    return array


def as_vector(value: Any, name: str, size: int, error: type[LoopscmError]) -> NDArray[np.float64]:
    """A new, finite float64 vector of the given length."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise error(f"{name} must hold real numbers only ({problem}).") from None
    if array.shape != (size,):
        raise error(f"{name} must be a vector of length {size}, got shape {array.shape}.")
    if not np.isfinite(array).all():
        j = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise error(f"{name}[{j}] is {array[j]}; every entry must be finite.")
    return array


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself, closed for writing."""
    array.setflags(write=False)
    return array


def listed(items: Sequence[str], limit: int = 5) -> str:
    """A short enumeration for messages: 'a', 'b', and 3 more."""
    shown = ", ".join(repr(item) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown}, and {len(items) - limit} more"
