"""Data flows one way: a room imports only from rooms to its left."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import loopscm

ROOT = Path(loopscm.__file__).parent

# From left to right; names on one line are independent of each other.
ORDER = [
    ("_version", "errors", "_checks", "_compile", "_progress"),
    ("graph", "stats"),
    ("scm",),
    ("likelihood",),
    ("fitting",),
    ("datasets",),
    ("simulate",),
    ("gates", "search", "equivalence"),
    ("baselines",),
    ("learning",),
    ("experiments",),
    ("report",),
    ("cli",),
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield path, parts[0]


def imported_rooms(path: Path):
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module]
            if node.module == "loopscm":
                names = [f"loopscm.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "loopscm" and len(parts) > 1 and parts[1] in LEVEL:
                yield parts[1]


def test_every_module_has_a_place():
    rooms = {room for _, room in modules()} - {"__init__", "__main__"}
    assert rooms <= set(LEVEL), rooms - set(LEVEL)


def test_imports_point_left():
    for path, room in modules():
        if room in ("__init__", "__main__"):
            continue
        for other in imported_rooms(path):
            allowed = other == room or LEVEL[other] < LEVEL[room] or LEVEL[room] == 0
            assert allowed, f"{path.relative_to(ROOT)} imports {other}"


def test_numerical_code_neither_prints_nor_reads_files_nor_imports_frames():
    forbidden = {"pandas", "polars", "matplotlib", "typer", "rich", "tqdm"}
    for path, room in modules():
        if room in ("cli", "report", "experiments"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", where
            if isinstance(node, ast.Import):
                assert not forbidden & {alias.name.split(".")[0] for alias in node.names}, where
            if isinstance(node, ast.ImportFrom) and node.module:
                assert node.module.split(".")[0] not in forbidden, where


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, loopscm; loopscm.__all__; "
        "print([m for m in ('numba', 'scipy', 'networkx', 'pandas', 'numpy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_names_resolve_in_any_order():
    for name in loopscm.__all__:
        code = f"import loopscm; x = loopscm.{name}; from loopscm import fit; assert callable(fit)"
        if name in ("score", "simulate", "fit", "learn", "compatibility"):
            subprocess.run([sys.executable, "-c", code], check=True)
        assert getattr(loopscm, name) is not None
