"""Kinetics as JSON: one object a gene, in state order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from loopscm.errors import ParameterError
from loopscm.simulate.genes.json_lines import line_of
from loopscm.simulate.genes.kinetics import Gene, KineticsError, Module, Path, check_genes
from loopscm.simulate.genes.text_file import read_text

RATES = ("max_transcription", "delta_mrna", "max_translation", "delta_protein")


def read_kinetics(path: str | FilePath) -> tuple[str, tuple[Gene, ...]]:
    """Name and genes of a kinetics file; refusals name the line and the reason."""
    text = read_text(path, ParameterError)
    try:
        document = json.loads(text, object_pairs_hook=_without_repetitions)
    except json.JSONDecodeError as problem:
        raise ParameterError(
            f"{path}, line {problem.lineno}: not valid JSON ({problem.msg})."
        ) from None
    except ValueError as problem:  # an integer of thousands of digits
        raise ParameterError(f"{path}: {problem}.") from None
    except RecursionError:
        raise ParameterError(f"{path}, line 1: brackets are nested too deeply.") from None
    try:
        name, genes = parse_kinetics(document)
        check_genes(genes)
    except KineticsError as problem:
        line = line_of(text, problem.path)
        raise KineticsError(f"{path}, line {line}: {problem}", problem.path) from None
    return name, genes


def format_kinetics(name: str, genes: tuple[Gene, ...]) -> str:
    """The text of a file that `read_kinetics` returns unchanged."""
    document = {"network": name, "genes": [_gene_to_document(gene) for gene in genes]}
    return json.dumps(document, indent=1) + "\n"


def parse_kinetics(document: Any) -> tuple[str, tuple[Gene, ...]]:
    """Name and genes of a decoded document; checks types, not meaning."""
    top = _mapping(document, ())
    rows = _list(top, "genes", ())
    name = top.get("network", "")
    if not isinstance(name, str):
        raise KineticsError(f"network must be a text, got {name!r}.", ("network",))
    return name, tuple(_gene(row, ("genes", g)) for g, row in enumerate(rows))


def _gene(value: Any, path: Path) -> Gene:
    row = _mapping(value, path)
    modules = _list(row, "modules", path)
    return Gene(
        _text(_field(row, "id", path), (*path, "id")),
        *(_number(_field(row, rate, path), (*path, rate)) for rate in RATES),
        alpha=_numbers(row, "alpha", path),
        modules=tuple(_module(m, (*path, "modules", b)) for b, m in enumerate(modules)),
    )


def _module(value: Any, path: Path) -> Module:
    row = _mapping(value, path)
    as_complex = _field(row, "binds_as_complex", path)
    if not isinstance(as_complex, bool):
        raise KineticsError(
            f"binds_as_complex must be true or false, got {as_complex!r}.",
            (*path, "binds_as_complex"),
        )
    return Module(
        _texts(row, "activators", path),
        _texts(row, "deactivators", path),
        _numbers(row, "k", path),
        _numbers(row, "n", path),
        as_complex,
    )


def _gene_to_document(gene: Gene) -> dict[str, Any]:
    return {
        "id": gene.id,
        **{rate: getattr(gene, rate) for rate in RATES},
        "alpha": list(gene.alpha),
        "modules": [
            {
                "binds_as_complex": module.binds_as_complex,
                "activators": list(module.activators),
                "deactivators": list(module.deactivators),
                "k": list(module.k),
                "n": list(module.n),
                "type": "enhancer" if gene.is_enhancer(b) else "repressor",
            }
            for b, module in enumerate(gene.modules)
        ],
    }


class _Repeated(dict[str, Any]):
    """An object that names a field twice, refused as soon as it is used."""

    field = ""


def _without_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    marked, keys = _Repeated(result), [key for key, _ in pairs]
    marked.field = next(key for key in keys if keys.count(key) > 1)
    return marked


def _mapping(value: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise KineticsError(f"expected an object in braces, got {value!r:.60}.", path)
    if isinstance(value, _Repeated):
        raise KineticsError(
            f"the field {value.field!r} appears twice; drop one.", (*path, value.field)
        )
    return value


def _field(row: Mapping[str, Any], key: str, path: Path) -> Any:
    if key not in row:
        raise KineticsError(f"the field {key!r} is missing; add it.", path)
    return row[key]


def _list(row: Mapping[str, Any], key: str, path: Path) -> list[Any]:
    value = _field(row, key, path)
    if not isinstance(value, list):
        raise KineticsError(f"{key} must be a list, got {value!r:.60}.", (*path, key))
    return value


def _numbers(row: Mapping[str, Any], key: str, path: Path) -> tuple[float, ...]:
    return tuple(_number(v, (*path, key, i)) for i, v in enumerate(_list(row, key, path)))


def _texts(row: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
    return tuple(_text(v, (*path, key, i)) for i, v in enumerate(_list(row, key, path)))


def _number(value: Any, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise KineticsError(f"{path[-1]} must be a number, got {value!r:.60}.", path)
    try:
        return float(value)
    except OverflowError:
        raise KineticsError(f"{path[-1]} is too large for a number.", path) from None


def _text(value: Any, path: Path) -> str:
    if not isinstance(value, str):
        raise KineticsError(f"{path[-1]} must be a text, got {value!r:.60}.", path)
    return value
