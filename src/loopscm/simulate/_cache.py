"""Arrays on disk under the hash of their recipe, with the hash of their content inside."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

Arrays = Mapping[str, Any]
DIGEST = "content_sha256"


def default_directory() -> Path:
    """`$LOOPSCM_CACHE`, else a `loopscm` folder where the system keeps caches."""
    chosen = os.environ.get("LOOPSCM_CACHE")
    if chosen:
        return Path(chosen)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "loopscm"
    variable, fallback = "XDG_CACHE_HOME", home / ".cache"
    if sys.platform == "win32":
        variable, fallback = "LOCALAPPDATA", home / "AppData" / "Local"
    return Path(os.environ.get(variable) or fallback) / "loopscm"


def recipe_key(recipe: Mapping[str, Any]) -> str:
    """A file name for what a recipe (JSON values) will produce."""
    text = json.dumps(recipe, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def content_digest(arrays: Arrays) -> str:
    """SHA-256 over names, types, shapes, and bytes of arrays."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def store(path: Path, arrays: Arrays) -> None:
    """Write arrays and their digest so that readers see all of the file or none of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.stem}{uuid4().hex}.tmp")  # not mkstemp: others may read
    try:
        with temporary.open("xb") as stream:
            np.savez(stream, **{DIGEST: np.array(content_digest(arrays))}, **arrays)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: Path) -> dict[str, Any] | None:
    """The arrays of a file, or None when it is absent, broken, or not what was written."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    if str(arrays.pop(DIGEST, "")) != content_digest(arrays):
        return None
    return arrays
